#include "pkg/inspect/state/extended.h"

#include <set>
#include <string_view>

#include "pkg/protocol/extended_claim.h"

namespace dra::inspect {

bool is_extended_resource(std::string_view name) {
  const size_t slash = name.find('/');
  if (slash == std::string_view::npos) return false;
  const std::string_view domain = name.substr(0, slash);
  return name.starts_with(protocol::kImplicitResourcePrefix) ||
         (domain != "kubernetes.io" && !domain.ends_with(".kubernetes.io"));
}

std::set<std::string> resources_of_nodes(const Objects& objects) {
  std::set<std::string> all;
  for (const auto& [name, node] : objects.nodes)
    for (const auto& [resource, amount] : node->allocatable) all.insert(resource);
  return all;
}

std::vector<std::string> unoffered_resources(const Objects& objects, const api::Pod& pod) {
  std::set<std::string> asked;
  for (const auto* containers : {&pod.init_containers, &pod.containers})
    for (const api::Container& container : *containers)
      for (const auto& [name, amount] : container.requests)
        if (is_extended_resource(name) && amount != "0") asked.insert(name);
  if (asked.empty() || objects.hides("nodes") || objects.hides("deviceclasses")) return {};
  std::set<std::string> offered = resources_of_nodes(objects);
  for (const auto& [name, one] : objects.classes) {
    offered.insert(std::string(protocol::kImplicitResourcePrefix) + name);
    if (one->extended_resource_name) offered.insert(*one->extended_resource_name);
  }
  std::vector<std::string> missing;
  for (const std::string& name : asked)
    if (!offered.contains(name)) missing.push_back(name);
  return missing;
}

std::string supposed_uid(const std::string& pod_uid) {
  return pod_uid + "/extended";
}

std::optional<ByClass> asked_by_class(const Objects& objects, const api::Pod& pod) {
  const auto gate = objects.feature_gates.find("DRAExtendedResource");
  const bool off = gate != objects.feature_gates.end() && !gate->second;
  if (off || pod.extended_resource_claim_status) return std::nullopt;
  std::vector<const api::DeviceClass*> classes;
  for (const auto& [name, one] : objects.classes) classes.push_back(one.get());
  ByClass found;
  found.resources = protocol::extended_resources_of(classes, pod);
  if (found.resources.empty()) return std::nullopt;
  found.rest = protocol::without_resources(pod, found.resources);
  auto claim = std::make_shared<api::ResourceClaim>();
  claim->metadata.ns = pod.metadata.ns;
  claim->metadata.name = pod.metadata.name + "-extended-resources";
  claim->metadata.uid = supposed_uid(pod.metadata.uid);
  claim->spec.requests = protocol::plan_extended(pod, found.resources).requests;
  found.claim = std::move(claim);
  for (const auto& [name, node] : objects.nodes)
    if (protocol::to_claim_on(*node, found.resources) == found.resources)
      found.nodes.push_back(name);
    else
      found.others = true;
  return found;
}

}  // namespace dra::inspect
