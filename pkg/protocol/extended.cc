#include "pkg/protocol/extended.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "pkg/api/quantity.h"

namespace dra::protocol {

using namespace reconcile;

namespace {

// An unreadable quantity counts as asked for: the pod stays gated rather than ungated unproven.
bool is_above_zero(const std::string& quantity) {
  const auto parsed = api::Quantity::parse(quantity);
  return !parsed || parsed->value() > 0;
}

void add_names(const api::ResourceList& list, std::set<std::string>& out) {
  for (const auto& [name, quantity] : list)
    if (name.find('/') != std::string::npos && is_above_zero(quantity)) out.insert(name);
}

// The class that provides the resource; empty: none.
std::string class_of(const std::vector<const api::DeviceClass*>& classes, const std::string& resource) {
  const bool implicit = resource.starts_with(kImplicitResourcePrefix);
  const std::string name = implicit ? resource.substr(kImplicitResourcePrefix.size()) : "";
  const api::DeviceClass* best = nullptr;
  for (const api::DeviceClass* one : classes) {
    if (implicit ? one->metadata.name != name : one->extended_resource_name != resource) continue;
    const auto order = [](const api::DeviceClass& c) { return std::tie(c.metadata.creation_timestamp); };
    if (!best || order(*one) > order(*best) ||
        (order(*one) == order(*best) && one->metadata.name < best->metadata.name))
      best = one;
  }
  return best ? best->metadata.name : "";
}

std::set<std::string> names_asked_for(const api::Pod& pod) {
  std::set<std::string> names;
  for (const auto* containers : {&pod.containers, &pod.init_containers})
    for (const api::Container& container : *containers) {
      add_names(container.requests, names);
      add_names(container.limits, names);
    }
  if (pod.pod_requests) add_names(*pod.pod_requests, names);
  return names;
}

}  // namespace

std::vector<ExtendedResource> extended_resources_of(const std::vector<const api::DeviceClass*>& classes,
                                                    const api::Pod& pod) {
  std::vector<ExtendedResource> found;
  for (const std::string& name : names_asked_for(pod))
    if (std::string device_class = class_of(classes, name); !device_class.empty())
      found.push_back({name, std::move(device_class)});
  return found;
}

std::vector<ExtendedResource> extended_resources_of(const View& view, const api::Pod& pod) {
  // Most pods ask for no extended resource: for them the classes are not listed.
  if (names_asked_for(pod).empty()) return {};
  return extended_resources_of(view.device_classes(), pod);
}

bool advertises(const api::Node& node, const std::vector<ExtendedResource>& resources) {
  return std::all_of(resources.begin(), resources.end(), [&](const ExtendedResource& resource) {
    const auto amount = node.allocatable.find(resource.name);
    if (amount == node.allocatable.end()) return false;
    const auto parsed = api::Quantity::parse(amount->second);
    return parsed && parsed->value() > 0;
  });
}

}  // namespace dra::protocol
