#include "pkg/api/plugin_resources.h"

#include <algorithm>

#include "pkg/api/quantity.h"

namespace dra::api {
namespace {

bool positive(const std::string& text) {
  const auto quantity = Quantity::parse(text);
  return quantity && quantity->sign() > 0;
}

}  // namespace

std::set<std::string> plugin_resources(const Pod& pod) {
  std::set<std::string> out;
  if (pod.node_name.empty() || pod.terminal()) return out;
  const auto mapped = [&](const std::string& container, const std::string& resource) {
    if (!pod.extended_resource_claim_status) return false;
    const auto& mappings = pod.extended_resource_claim_status->request_mappings;
    return std::any_of(mappings.begin(), mappings.end(), [&](const ContainerExtendedResourceRequest& one) {
      return one.container_name == container && one.resource_name == resource;
    });
  };
  for (const auto* list : {&pod.containers, &pod.init_containers})
    for (const Container& container : *list)
      for (const auto& [resource, amount] : container.requests)
        if (resource.find('/') != std::string::npos && positive(amount) && !mapped(container.name, resource))
          out.insert(resource);
  return out;
}

bool offers(const Node& node, const std::string& resource) {
  const auto found = node.allocatable.find(resource);
  return found != node.allocatable.end() && positive(found->second);
}

}  // namespace dra::api
