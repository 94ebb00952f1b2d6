#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "pkg/api/core.h"
#include "pkg/api/decode/decode.h"
#include "pkg/api/selectors.h"
#include "pkg/sandbox/pod_sets.h"
#include "pkg/sandbox/workload.h"

namespace dra::sandbox {
namespace {

constexpr const char* kRevisionPointer = "/metadata/labels/controller-revision-hash";

// Tolerations of every DaemonSet's pods (util.AddOrUpdateDaemonPodTolerations).
Json daemon_tolerations(const Json& spec) {
  Json list = spec.value("tolerations", Json::array());
  if (!list.is_array()) list = Json::array();
  const auto add = [&](const char* key, const char* effect) {
    list.push_back({{"key", key}, {"operator", "Exists"}, {"effect", effect}});
  };
  add("node.kubernetes.io/not-ready", "NoExecute");
  add("node.kubernetes.io/unreachable", "NoExecute");
  for (const char* key : {"node.kubernetes.io/disk-pressure", "node.kubernetes.io/memory-pressure",
                          "node.kubernetes.io/pid-pressure", "node.kubernetes.io/unschedulable"})
    add(key, "NoSchedule");
  if (spec.value("hostNetwork", false)) add("node.kubernetes.io/network-unavailable", "NoSchedule");
  return list;
}

std::string node_of(const Json& pod) {
  const Json::json_pointer terms(
      "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms");
  for (const Json& term : pod.value(terms, Json::array()))
    for (const Json& field : term.value("matchFields", Json::array()))
      if (field.value("key", "") == "metadata.name" && field.value("values", Json::array()).size() == 1)
        return field["values"][0].get<std::string>();
  return text_at(pod, "/spec/nodeName");
}

bool tolerated(const std::vector<api::Taint>& taints, const std::vector<api::Toleration>& tolerations) {
  return std::all_of(taints.begin(), taints.end(), [&](const api::Taint& taint) {
    return taint.effect == "PreferNoSchedule" || api::tolerates(tolerations, taint);
  });
}

// The template as a pod, for its node selector, affinity and tolerations.
class Fit {
 public:
  explicit Fit(const Json& set) {
    Json pod = pod_of(kDaemonSetOwner, set, "fit", Json::object());
    pod["spec"]["tolerations"] = daemon_tolerations(pod["spec"]);
    auto decoded = api::decode<api::Pod>(pod.dump());
    if (decoded) pod_ = std::move(*decoded);
  }
  bool on(const Json& document) const {
    if (!pod_) return false;
    const auto node = api::decode<api::Node>(document.dump());
    if (!node) return false;
    const auto& labels = node->metadata.labels;
    if (!api::has_labels(pod_->node_selector, labels)) return false;
    const auto& affinity = pod_->node_affinity;
    if (affinity && affinity->required && !api::matches(*affinity->required, node->metadata.name, labels)) return false;
    return tolerated(node->taints, pod_->tolerations);
  }

 private:
  std::optional<api::Pod> pod_;
};

Json daemon_pod(const Json& set, const std::string& node, const std::string& revision, Random& random) {
  const std::string base = text_at(set, "/metadata/name") + "-";
  Json pod = pod_of(kDaemonSetOwner, set, base.substr(0, 58) + random.name_suffix(),
                    {{"controller-revision-hash", revision},
                     {"pod-template-generation",
                      text_at(set, "/metadata/annotations/deprecated.daemonset.template.generation", "1")}});
  pod["metadata"]["generateName"] = base;
  Json& spec = pod["spec"];
  spec["tolerations"] = daemon_tolerations(spec);
  spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] = {
      {"nodeSelectorTerms", {{{"matchFields", {{{"key", "metadata.name"}, {"operator", "In"}, {"values", {node}}}}}}}}};
  return pod;
}

}  // namespace

Step daemon_set_pass(const Json& set, const std::vector<const Json*>& pods, const std::vector<const Json*>& nodes,
                     Random& random) {
  Step step;
  if (deleting(set)) return step;
  const std::string revision = template_hash(set);
  const Fit fit(set);
  std::map<std::string, std::vector<const Json*>> by_node;
  for (const Json* pod : pods) by_node[node_of(*pod)].push_back(pod);

  int64_t desired = 0, current = 0, misscheduled = 0, available = 0, updated = 0;
  size_t created = 0;
  std::vector<const Json*> outdated;
  for (const Json* node : nodes) {
    const std::string name = text_at(*node, "/metadata/name");
    auto at = by_node.find(name);
    std::vector<const Json*> here = at == by_node.end() ? std::vector<const Json*>{} : at->second;
    if (at != by_node.end()) by_node.erase(at);
    if (!fit.on(*node)) {
      misscheduled += here.empty() ? 0 : 1;
      for (const Json* pod : here)
        if (!deleting(*pod)) step.calls.push_back(delete_pod(*pod));
      continue;
    }
    ++desired;
    bool counted = false;
    for (const Json* pod : here) {
      if (finished(*pod) && !deleting(*pod)) step.calls.push_back(delete_pod(*pod));
      if (finished(*pod) || deleting(*pod) || counted) continue;
      counted = true;
      ++current;
      available += ready(*pod) ? 1 : 0;
      const bool of_today = text_at(*pod, kRevisionPointer) == revision;
      updated += of_today ? 1 : 0;
      if (!of_today) outdated.push_back(pod);
    }
    if (here.empty() && created < kMaxPodsPerPass) {
      step.calls.push_back(create_pod(daemon_pod(set, name, revision, random)));
      ++created;
    }
  }
  for (const auto& [name, orphans] : by_node)  // their nodes are gone
    for (const Json* pod : orphans)
      if (!deleting(*pod)) step.calls.push_back(delete_pod(*pod));

  if (text_at(set, "/spec/updateStrategy/type", "RollingUpdate") == "RollingUpdate") {
    const Json allowed = set.value("/spec/updateStrategy/rollingUpdate/maxUnavailable"_json_pointer, Json(1));
    int64_t may_go = std::max<int64_t>(1, amount_of(allowed, desired, true, 1)) - (desired - available);
    for (const Json* pod : outdated) {
      // Deleting a pod that is not ready costs no availability.
      if (ready(*pod) && may_go-- <= 0) continue;
      step.calls.push_back(delete_pod(*pod));
    }
  }
  report(kDaemonSetOwner, set,
         {{"observedGeneration", number_at(set, "/metadata/generation", 0)},
          {"desiredNumberScheduled", desired},
          {"currentNumberScheduled", current},
          {"numberMisscheduled", misscheduled},
          {"numberReady", available},
          {"numberAvailable", available},
          {"numberUnavailable", desired - available},
          {"updatedNumberScheduled", updated}},
         step);
  return step;
}

}  // namespace dra::sandbox
