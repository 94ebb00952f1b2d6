#include "pkg/inspect/state/successor.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <initializer_list>
#include <nlohmann/json.hpp>

#include "pkg/inspect/state/manifest.h"
#include "pkg/protocol/avoided.h"
#include "pkg/protocol/leaving.h"
#include "pkg/protocol/pin.h"
#include "pkg/protocol/pod_claims.h"
#include "pkg/protocol/proof.h"

namespace dra::inspect {
namespace {

void add_volumes_and_claims(api::Pod& pod, const api::Pod& from) {
  pod.resource_claims = from.resource_claims;
  for (const api::PodVolume& volume : from.volumes) {
    std::erase_if(pod.volumes, [&](const api::PodVolume& own) { return own.name == volume.name; });
    pod.volumes.push_back(volume);
  }
}

void update_containers(std::vector<api::Container>& containers, const std::vector<api::Container>& from) {
  for (const api::Container& wanted : from) {
    const auto own = std::find_if(containers.begin(), containers.end(),
                                  [&](const api::Container& one) { return one.name == wanted.name; });
    if (own == containers.end()) {
      containers.push_back(wanted);
      continue;
    }
    api::Container next = wanted;
    next.requests.insert(own->requests.begin(), own->requests.end());  // the defaults of a LimitRange
    next.limits.insert(own->limits.begin(), own->limits.end());
    *own = std::move(next);
  }
}

void apply_template(api::Pod& pod, const api::Pod& from) {
  for (const auto& [key, value] : from.metadata.labels) pod.metadata.labels[key] = value;
  for (const auto& [key, value] : from.metadata.annotations) pod.metadata.annotations[key] = value;
  for (const auto& [key, value] : from.node_selector) pod.node_selector[key] = value;
  pod.node_affinity = from.node_affinity;
  pod.pod_affinity = from.pod_affinity;
  pod.pod_anti_affinity = from.pod_anti_affinity;
  pod.topology_spread = from.topology_spread;
  pod.scheduling_gates = from.scheduling_gates;
  pod.pod_group_name = from.pod_group_name;
  if (!from.scheduler_name.empty()) pod.scheduler_name = from.scheduler_name;
  for (const api::Toleration& one : from.tolerations)
    if (std::find(pod.tolerations.begin(), pod.tolerations.end(), one) == pod.tolerations.end())
      pod.tolerations.push_back(one);
  if (from.pod_requests) pod.pod_requests = from.pod_requests;
  add_volumes_and_claims(pod, from);
  update_containers(pod.containers.edit(), from.containers);
  update_containers(pod.init_containers.edit(), from.init_containers);
}

void clear_status(api::Pod& pod) {
  pod.node_name.clear();
  pod.phase = "Pending";
  pod.nominated_node_name.clear();
  pod.refusal.reset();
  pod.conditions.clear();
  pod.resource_claim_statuses.clear();
  pod.extended_resource_claim_status.reset();
  pod.claims_take.reset();
  pod.resized_containers.clear();
  pod.unhealthy_devices.clear();
  pod.resized.reset();
}

std::string owner_key(std::string_view kind, std::string_view ns, std::string_view name) {
  return std::string(kind) + "/" + std::string(ns) + "/" + std::string(name);
}

// The member at the end of the path, or null.
const nlohmann::json& member_at(const nlohmann::json& object, std::initializer_list<const char*> path) {
  static const nlohmann::json kNothing;
  const nlohmann::json* at = &object;
  for (const char* key : path) {
    const auto found = at->is_object() ? at->find(key) : at->end();
    if (!at->is_object() || found == at->end()) return kNothing;
    at = &*found;
  }
  return *at;
}

// "web-3" -> 3; -1 for other names.
int64_t ordinal_of(const std::string& name) {
  const size_t dash = name.rfind('-');
  int64_t ordinal = -1;
  if (dash != std::string::npos) std::from_chars(name.data() + dash + 1, name.data() + name.size(), ordinal);
  return ordinal;
}

}  // namespace

UsedClaims claims_used_by(const Objects& objects, const api::Pod& pod) {
  UsedClaims claims;
  for (const std::string& key : protocol::claim_keys_of(pod))
    if (const auto claim = objects.claims.find(key); claim != objects.claims.end()) claims.push_back(claim->second);
  return claims;
}

api::Pod successor_of(const api::Pod& gone, const UsedClaims& claims, const OwnerTemplate* from) {
  api::Pod pod = gone;
  if (from == nullptr) protocol::remove_pin(pod, claims);
  for (const std::string_view mark : {protocol::kAvoidedDevices, protocol::kLeavingAnnotation,
                                      protocol::kProofAnnotation, protocol::kProvenForAnnotation})
    if (const auto known = pod.metadata.annotations.find(mark); known != pod.metadata.annotations.end())
      pod.metadata.annotations.erase(known);
  clear_status(pod);
  pod.metadata.uid.clear();
  pod.metadata.resource_version.clear();
  pod.metadata.creation_timestamp.clear();
  pod.metadata.deletion_timestamp.clear();
  pod.metadata.finalizers.clear();
  pod.metadata.managed_fields.clear();
  if (from != nullptr) apply_template(pod, from->pod);
  std::erase(pod.scheduling_gates, kOurGate);
  return pod;
}

const OwnerKind* owner_kind_of(const api::OwnerReference& owner) {
  // DaemonSets are left out: their controller adds the node to each pod, which stays.
  static constexpr std::array<OwnerKind, 4> kKinds{{{"apps", "v1", "replicasets", "ReplicaSet"},
                                                    {"apps", "v1", "statefulsets", "StatefulSet"},
                                                    {"batch", "v1", "jobs", "Job"},
                                                    {"", "v1", "replicationcontrollers", "ReplicationController"}}};
  for (const OwnerKind& kind : kKinds) {
    const std::string version = (kind.group.empty() ? "" : std::string(kind.group) + "/") + std::string(kind.version);
    if (owner.kind == kind.kind && owner.api_version == version) return &kind;
  }
  return nullptr;
}

Result<void> add_owner(Objects& objects, const OwnerToRead& owner, std::string_view text) {
  const nlohmann::json object = nlohmann::json::parse(text, nullptr, false);
  const std::string shown = owner.owner.kind + " " + owner.ns + "/" + owner.owner.name;
  if (!object.is_object()) return fail(Code::kInvalidArgument, shown + ": the answer is not an object");
  const nlohmann::json& uid = member_at(object, {"metadata", "uid"});
  if (!uid.is_string() || uid.get<std::string>() != owner.owner.uid)
    return fail(Code::kNotFound, shown + " is another object than the owner of the pods: its uid differs");
  if (!member_at(object, {"spec", "template"}).is_object())
    return fail(Code::kInvalidArgument, shown + " has no spec.template");
  nlohmann::json named = object;
  named["kind"] = owner.owner.kind;
  const auto manifest = read_manifest(named.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace), owner.ns);
  if (!manifest) return fail(manifest.error().wrap(shown));
  if (manifest->workloads.empty()) return fail(Code::kInvalidArgument, shown + " has no pod template that is read");
  auto known = std::make_shared<OwnerTemplate>();
  known->uid = owner.owner.uid;
  known->pod = manifest->workloads.front().pod;
  const nlohmann::json& partition = member_at(object, {"spec", "updateStrategy", "rollingUpdate", "partition"});
  if (owner.owner.kind == "StatefulSet" && partition.is_number_integer())
    known->from_ordinal = partition.get<int64_t>();
  objects.owner_templates[owner_key(owner.owner.kind, owner.ns, owner.owner.name)] = std::move(known);
  return {};
}

const OwnerTemplate* template_for(const Objects& objects, const api::Pod& pod) {
  const api::OwnerReference* owner = pod.metadata.controller();
  if (owner == nullptr) return nullptr;
  const auto known = objects.owner_templates.find(owner_key(owner->kind, pod.metadata.ns, owner->name));
  if (known == objects.owner_templates.end() || known->second->uid != owner->uid) return nullptr;
  if (known->second->from_ordinal > 0 && ordinal_of(pod.metadata.name) < known->second->from_ordinal) return nullptr;
  return known->second.get();
}

}  // namespace dra::inspect
