#include "pkg/inspect/verbs/not_honoured.h"

#include <algorithm>
#include <optional>

#include "pkg/alignment/bears.h"
#include "pkg/inspect/verbs/manager.h"
#include "pkg/protocol/pod_claims.h"
#include "pkg/protocol/users.h"

namespace dra::inspect {
namespace {

// Of one entry of the pod: its claim or, before that exists, its template.
struct EntryOfPod {
  std::string bearer;  // "ResourceClaim ml/x"
  std::string_view annotation;
  bool by_manager = false;  // a manager allocated it for the pod
};

EntryOfPod entry_of(const Objects& objects, const api::Pod& pod, const api::PodResourceClaim& entry) {
  const protocol::ResolvedClaim resolved = protocol::resolve_created_claim(pod, entry);
  const std::string key = pod.metadata.ns + "/" + resolved.name;
  if (const auto claim = objects.claims.find(key); claim != objects.claims.end()) {
    const api::ResourceClaim& found = *claim->second;
    return {"ResourceClaim " + key, alignment::first_annotation(found.metadata.annotations),
            protocol::is_user(found, pod.metadata.uid) ||
                (protocol::is_allocated_by_us(found) && protocol::is_reserved_for(found, pod.metadata.uid))};
  }
  if (!entry.resource_claim_template_name) return {};
  const std::string name = pod.metadata.ns + "/" + *entry.resource_claim_template_name;
  const auto from = objects.templates.find(name);
  if (from == objects.templates.end()) return {};
  return {"ResourceClaimTemplate " + name, alignment::first_annotation(from->second->claim_annotations), false};
}

std::optional<NotHonoured> judge_pod(const Objects& objects, const api::Pod& pod) {
  const auto& gates = pod.scheduling_gates;
  if (pod.resource_claims.empty() || pod.terminal() || pod.metadata.deleting() || waits_for_manager(objects, pod) ||
      std::find(gates.begin(), gates.end(), kManagerGate) != gates.end())
    return std::nullopt;
  NotHonoured found{pod.metadata.key(), std::string(alignment::first_annotation(pod.metadata.annotations)), "",
                    pod.scheduler_name};
  for (const api::PodResourceClaim& one : pod.resource_claims) {
    const EntryOfPod entry = entry_of(objects, pod, one);
    if (entry.by_manager) return std::nullopt;
    if (!found.annotation.empty() || entry.annotation.empty()) continue;
    found.annotation = entry.annotation;
    found.bearer = entry.bearer;
  }
  if (found.annotation.empty()) return std::nullopt;
  return found;
}

}  // namespace

std::vector<NotHonoured> pairs_not_honoured(const Objects& objects) {
  std::vector<NotHonoured> all;
  for (const auto& [key, pod] : objects.pods)
    if (auto found = judge_pod(objects, *pod)) all.push_back(std::move(*found));
  return all;
}

}  // namespace dra::inspect
