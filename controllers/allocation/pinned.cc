#include "controllers/allocation/pinned.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "pkg/reconcile/pod_claims.h"
#include "pkg/reconcile/proof.h"
#include "pkg/reconcile/writes.h"

namespace dra::allocation {

using namespace reconcile;

namespace {

const api::Condition* unschedulable(const api::Pod& pod) {
  const auto found = std::find_if(pod.conditions.begin(), pod.conditions.end(), [](const api::Condition& c) {
    return c.type == "PodScheduled" && c.status == "False" && c.reason == "Unschedulable";
  });
  return found == pod.conditions.end() ? nullptr : &*found;
}

struct Pin {
  std::string node, claims;
};

// What holds the pod to one node; nothing when nothing of ours does.
std::optional<Pin> pin_of(const View& view, const api::Pod& pod) {
  Pin pin;
  for (const api::ResourceClaim* claim : view.claims_reserved_for(pod.metadata.uid)) {
    if (claim->metadata.ns != pod.metadata.ns || !claim->status.allocation || !is_allocated_by_us(*claim) ||
        !is_proven(*claim))
      continue;
    const std::string* node = api::only_node(*claim->status.allocation);
    if (!node) continue;
    pin.node = *node;
    pin.claims += (pin.claims.empty() ? "\"" : ", \"") + claim->metadata.name + "\"";
  }
  return pin.node.empty() ? std::nullopt : std::optional(std::move(pin));
}

// Why the pod is left as it is; empty: it may be evicted.
std::string why_kept(const View& view, const api::Pod& pod, const Options& options, NodeChooser& nodes) {
  if (!options.recreate_pinned_pods) return "--recreate-pinned-pods is off";
  const std::optional<std::string> label = nodes.namespace_label(pod.metadata.ns, std::string(kRecreateLabel));
  if (!label) return "its namespace is not known yet";
  if (*label != "true")
    return "namespace " + pod.metadata.ns + " has no label " + std::string(kRecreateLabel) + "=true";
  const api::OwnerReference* owner = pod.metadata.controller();
  if (!owner) return "no controller would make it again";
  // Whether a Job takes an eviction for a failure is said by its podReplacementPolicy, which is not watched.
  if (owner->kind == "Job") return "it belongs to a Job";
  if (!pod.nominated_node_name.empty()) return "it is nominated for node " + pod.nominated_node_name;
  // A claim that outlives the pod pins the next one to the same node.
  for (const api::ResourceClaim* claim : view.claims_reserved_for(pod.metadata.uid))
    if (!is_for_pod(pod, *claim)) return "claim \"" + claim->metadata.name + "\" stays where it is without this pod";
  if (nodes.times_avoided(owner->uid) >= kMostRecreations)
    return std::to_string(kMostRecreations) + " pods of its controller were evicted for this already";
  return "";
}

Write write_eviction(const api::Pod& pod) {
  Write write;
  write.verb = Verb::kCreate;
  write.object = ref_of(pod);
  write.subresource = "eviction";
  write.purpose = "recreate-pinned";
  const nlohmann::json body{
      {"apiVersion", "policy/v1"},
      {"kind", "Eviction"},
      {"metadata", {{"name", pod.metadata.name}, {"namespace", pod.metadata.ns}}},
      {"deleteOptions",
       {{"preconditions", {{"uid", pod.metadata.uid}, {"resourceVersion", pod.metadata.resource_version}}}}}};
  write.body = body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return write;
}

// Figures change with every attempt of kube-scheduler: they are no news.
std::string without_digits(std::string text) {
  std::erase_if(text, [](char c) { return c >= '0' && c <= '9'; });
  return text;
}

}  // namespace

bool is_unschedulable(const api::Pod& pod) {
  return pod.node_name.empty() && pod.scheduling_gates.empty() && !pod.resource_claims.empty() && !pod.terminal() &&
         !pod.metadata.deleting() && unschedulable(pod);
}

Outcome look_at_pinned(const View& view, const api::Pod& pod, const Options& options, NodeChooser& nodes) {
  Outcome outcome;
  const std::optional<Pin> pin = pin_of(view, pod);
  if (!pin) return outcome;
  const api::Condition& condition = *unschedulable(pod);
  const std::string kept = why_kept(view, pod, options, nodes);
  WallTime since;
  const bool dated = parse_rfc3339(condition.last_transition_time, since);
  const Duration left =
      dated ? std::chrono::duration_cast<Duration>(since + kPinnedLongEnough - view.now()) : kPinnedLongEnough;
  const std::string holds = "claims " + pin->claims + " hold devices on node " + pin->node + " for this pod";
  if (kept.empty() && left <= Duration::zero()) {
    Write write = write_eviction(pod);
    write.success_event = Event{ref_of(pod),
                                true,
                                "PinnedPodEvicted",
                                "Evict",
                                "kube-scheduler did not place this pod for 10 minutes while " + holds +
                                    ": its controller makes another, which goes elsewhere",
                                ""};
    outcome.add(std::move(write));
    outcome.add(AvoidNode{pod.metadata.controller()->uid, pin->node, kNodeIsAvoided,
                          "kube-scheduler did not place a pod of the same controller there"});
    return outcome;
  }
  const std::string what =
      kept.empty() ? "it is evicted after 10 minutes of this" : "delete it to free them; it is not evicted: " + kept;
  emit_once(view, outcome,
            {ref_of(pod), true, "PinnedUnschedulable", "Schedule",
             "kube-scheduler: " + condition.message + "; " + holds + "; " + what,
             without_digits(condition.message) + pin->node + what});
  // The nomination, the label or the condition may change without an event that brings the pod back.
  if (options.recreate_pinned_pods)
    outcome.look_again_in(kept.empty() ? std::max<Duration>(left, std::chrono::seconds(1)) : std::chrono::minutes(1));
  return outcome;
}

}  // namespace dra::allocation
