#include "pkg/inspect/state/extended.h"

#include "pkg/protocol/extended_claim.h"

namespace dra::inspect {

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
