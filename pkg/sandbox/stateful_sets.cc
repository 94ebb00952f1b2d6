#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "pkg/sandbox/pod_sets.h"
#include "pkg/sandbox/workload.h"

namespace dra::sandbox {
namespace {

constexpr const char* kRevisionLabel = "/metadata/labels/controller-revision-hash";

// The number after the set's name; -1 for a pod with another name.
int64_t ordinal_of(const Json& set, const Json& pod) {
  const std::string prefix = text_at(set, "/metadata/name") + "-", name = text_at(pod, "/metadata/name");
  if (!name.starts_with(prefix) || name.size() == prefix.size() || name.size() > prefix.size() + 9) return -1;
  const std::string digits = name.substr(prefix.size());
  return digits.find_first_not_of("0123456789") == std::string::npos ? std::stoll(digits) : -1;
}

Json pod_at(const Json& set, int64_t ordinal, const std::string& revision) {
  const std::string number = std::to_string(ordinal), name = text_at(set, "/metadata/name") + "-" + number;
  Json pod = pod_of(kStatefulSetOwner, set, name,
                    {{"statefulset.kubernetes.io/pod-name", name},
                     {"apps.kubernetes.io/pod-index", number},
                     {"controller-revision-hash", revision}});
  pod["metadata"]["generateName"] = text_at(set, "/metadata/name") + "-";
  Json& spec = pod["spec"];
  spec["hostname"] = name;
  const std::string service = text_at(set, "/spec/serviceName");
  if (!service.empty()) spec["subdomain"] = service;
  for (const Json& claim : set.value("/spec/volumeClaimTemplates"_json_pointer, Json::array())) {
    const std::string volume = text_at(claim, "/metadata/name");
    Json& volumes = spec["volumes"];
    if (!volumes.is_array()) volumes = Json::array();
    std::erase_if(volumes.get_ref<Json::array_t&>(), [&](const Json& v) { return v.value("name", "") == volume; });
    volumes.push_back({{"name", volume}, {"persistentVolumeClaim", {{"claimName", volume + "-" + name}}}});
  }
  return pod;
}

// A pod's volume claims are created before it; an existing one stays as it is, whatever the template says now.
void create_volume_claims(const Json& set, const Json& pod, Step& step) {
  for (const Json& claim : set.value("/spec/volumeClaimTemplates"_json_pointer, Json::array())) {
    const std::string ns = text_at(set, "/metadata/namespace");
    Json object = {{"apiVersion", "v1"},
                   {"kind", "PersistentVolumeClaim"},
                   {"metadata", claim.value("metadata", Json::object())},
                   {"spec", claim.value("spec", Json::object())}};
    object["metadata"]["name"] = text_at(claim, "/metadata/name") + "-" + text_at(pod, "/metadata/name");
    object["metadata"]["namespace"] = ns;
    object["metadata"]["labels"].update(set.value("/spec/selector/matchLabels"_json_pointer, Json::object()));
    step.calls.push_back({"POST", "/api/v1/namespaces/" + ns + "/persistentvolumeclaims", object.dump()});
  }
}

}  // namespace

Step stateful_set_pass(const Json& set, const std::vector<const Json*>& pods) {
  Step step;
  if (deleting(set)) return step;
  const int64_t first = number_at(set, "/spec/ordinals/start", 0);
  const int64_t wanted = std::max<int64_t>(0, number_at(set, "/spec/replicas", 1));
  const bool ordered = text_at(set, "/spec/podManagementPolicy", "OrderedReady") == "OrderedReady";
  const std::string revision = text_at(set, "/metadata/name") + "-" + template_hash(set);
  std::map<int64_t, const Json*> by_ordinal;
  for (const Json* pod : pods)
    if (ordinal_of(set, *pod) >= 0) by_ordinal[ordinal_of(set, *pod)] = pod;

  bool settled = true;  // all wanted pods exist and are ready
  size_t created = 0;
  for (int64_t n = first; n < first + wanted && created < kMaxPodsPerPass; ++n) {
    const auto at = by_ordinal.find(n);
    if (at != by_ordinal.end() && ready(*at->second) && !deleting(*at->second) && !finished(*at->second)) continue;
    settled = false;
    if (at == by_ordinal.end()) {
      const Json pod = pod_at(set, n, revision);
      create_volume_claims(set, pod, step);
      step.calls.push_back(create_pod(pod));
      ++created;
    } else if (finished(*at->second) && !deleting(*at->second)) {
      step.calls.push_back(delete_pod(*at->second));  // the next pass creates it again
    }
    if (ordered) break;
  }
  // Pods beyond the wanted range are deleted from the highest number down; if ordered, one at a time.
  bool condemned = false;
  for (auto at = by_ordinal.rbegin(); at != by_ordinal.rend(); ++at) {
    if (at->first >= first && at->first < first + wanted) continue;
    condemned = true;
    if (!deleting(*at->second) && (settled || !ordered)) step.calls.push_back(delete_pod(*at->second));
    if (ordered) break;
  }
  const int64_t partition = number_at(set, "/spec/updateStrategy/rollingUpdate/partition", 0);
  const bool rolls = text_at(set, "/spec/updateStrategy/type", "RollingUpdate") == "RollingUpdate";
  if (rolls && !condemned) {
    // One outdated pod at a time, from the highest number; the next one when all before it are ready again.
    for (auto at = by_ordinal.rbegin(); at != by_ordinal.rend() && at->first >= partition; ++at) {
      const Json& pod = *at->second;
      if (text_at(pod, kRevisionLabel) != revision) {
        if (!deleting(pod)) step.calls.push_back(delete_pod(pod));
        break;
      }
      if (!ready(pod)) break;
    }
  }

  int64_t total = 0, available = 0, updated = 0;
  for (const auto& [ordinal, pod] : by_ordinal) {
    if (deleting(*pod) || finished(*pod)) continue;
    ++total;
    available += ready(*pod) ? 1 : 0;
    updated += text_at(*pod, kRevisionLabel) == revision ? 1 : 0;
  }
  const bool complete = updated == wanted && total == wanted && available == wanted;
  const std::string was = text_at(set, "/status/currentRevision");
  const std::string current = complete || was.empty() ? revision : was;
  report(kStatefulSetOwner, set,
         {{"observedGeneration", number_at(set, "/metadata/generation", 0)},
          {"replicas", total},
          {"readyReplicas", available},
          {"availableReplicas", available},
          {"currentReplicas", current == revision ? updated : total - updated},
          {"updatedReplicas", updated},
          {"currentRevision", current},
          {"updateRevision", revision},
          {"collisionCount", 0}},
         step);
  return step;
}

}  // namespace dra::sandbox
