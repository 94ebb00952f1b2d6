#include "controllers/tainteviction/tainteviction.h"

#include <algorithm>

#include "controllers/tainteviction/verdict.h"
#include "pkg/reconcile/pod_claims.h"
#include "pkg/reconcile/writes.h"

namespace dra::tainteviction {

using namespace reconcile;

namespace {

constexpr const char* kReason = "DeviceTaintManagerEviction";
constexpr const char* kConditionReason = "DeletionByDeviceTaintManager";
constexpr const char* kConditionMessage = "Device Taint manager: deleting due to NoExecute taint";
// What was last said about a pod, as the signature of its event.
constexpr const char* kCancelled = "cancelled";
constexpr const char* kStarted = "started";
// A deadline further away is looked at again after this time.
constexpr Duration kLongestWait = std::chrono::hours(24);

void tell(const View& view, Outcome& outcome, const api::Pod& pod, std::string note, std::string signature) {
  emit_once(view, outcome, {ref_of(pod), false, kReason, "Delete", std::move(note), std::move(signature)});
}

// Something was announced that has not been called off.
bool announced(const View& view, const api::Pod& pod) {
  const std::optional<std::string> last = view.last_event(pod.metadata.uid, kReason);
  return last && *last != kCancelled;
}

bool is_marked(const api::Pod& pod) {
  return std::any_of(pod.conditions.begin(), pod.conditions.end(), [](const api::Condition& condition) {
    return condition.type == kDisruptionTarget && condition.status == "True" && condition.reason == kConditionReason;
  });
}

// The other controller did not do it. A reason of its own: this is no announcement that could be called off.
void report_left(const View& view, Outcome& outcome, const api::Pod& pod, const Verdict& verdict) {
  const std::string due = format_rfc3339(verdict.due);
  emit_once(view, outcome,
            {ref_of(pod), true, "DeviceTaintNotEvicted", "Delete",
             "should have been evicted at " + due + " (" + verdict.reason +
                 "), but kube-controller-manager's device-taint-eviction-controller left it; switch that on, or start "
                 "this manager with --device-taint-eviction=own",
             "due " + due});
}

// Event, condition, deletion, in upstream's order; a crash in between is taken up by the next pass.
void evict(const View& view, Outcome& outcome, const api::Pod& pod, const Verdict& verdict) {
  tell(view, outcome, pod, "Marking for deletion: " + verdict.reason, kStarted);
  if (!is_marked(pod)) outcome.add(write_disruption_target(view, pod, kConditionReason, kConditionMessage));
  Write deletion = write_delete(Kind::kPod, pod.metadata, "evict");
  // Bound to the instance, not to its version: the condition has just changed that, and kubelets do all the time.
  deletion.resource_version.clear();
  deletion.on_success.push_back(
      {Metric::Type::kCounter, "device_taint_eviction_controller_pod_deletions_total", {}, 1});
  const double late = std::chrono::duration<double>(view.now() - verdict.due).count();
  deletion.on_success.push_back({Metric::Type::kHistogram,
                                 "device_taint_eviction_controller_pod_deletion_duration_seconds",
                                 {},
                                 std::max(0.0, late)});
  outcome.add(std::move(deletion));
}

bool has_no_execute(const api::ResourceSlice& slice) {
  for (const api::Device& device : slice.devices)
    for (const api::DeviceTaint& taint : device.taints)
      if (taint.effect == "NoExecute") return true;
  return false;
}

}  // namespace

Outcome TaintEvictionReconciler::reconcile(const View& view, const Key& key) const {
  Outcome outcome;
  const api::Pod* pod = key.kind == Kind::kPod ? view.pod(key.object) : nullptr;
  if (!pod) return outcome;
  const std::optional<Verdict> verdict = judge(view, inventory_, *pod);
  if (!verdict) {
    const bool stays = !pod->terminal() && !pod->metadata.deleting();
    if (stays && announced(view, *pod)) tell(view, outcome, *pod, "Cancelling deletion", kCancelled);
    return outcome;
  }
  if (const Duration left = verdict->due + options_.grace - view.now(); left > Duration::zero()) {
    const std::string due = format_rfc3339(verdict->due);
    if (options_.grace == Duration::zero())
      tell(view, outcome, *pod, "Will be deleted at " + due + ": " + verdict->reason, "due " + due);
    outcome.look_again_in(std::min(left, kLongestWait));
    return outcome;
  }
  if (!options_.evicts) {
    report_left(view, outcome, *pod, *verdict);
    return outcome;
  }
  outcome.paced = true;
  // The server is asked first: the pod may be finished, deleted or replaced by now.
  switch (view.confirmed(ref_of(*pod))) {
    case Presence::kUnknown:
      outcome.add(Confirm{ref_of(*pod)});
      break;
    case Presence::kPresent:
      evict(view, outcome, *pod, *verdict);
      break;
    case Presence::kAbsent:
      break;
  }
  return outcome;
}

bool TaintEvictionReconciler::concerns(const View& view, const api::Pod& pod) const {
  return announced(view, pod) || judge(view, inventory_, pod).has_value();
}

void TaintEvictionReconciler::on_pod(const View& view, const api::Pod*, const api::Pod* after, Triggers& out) const {
  if (after && !after->node_name.empty() && concerns(view, *after)) out.add(pod_key(after->metadata.key()));
}

void TaintEvictionReconciler::add_pods_of(const View& view, const api::ResourceClaim& claim, Triggers& out) const {
  for (const api::Pod* pod : view.pods_of_claim(claim.metadata.key()))
    if (!pod->node_name.empty() && concerns(view, *pod)) out.add(pod_key(pod->metadata.key()));
}

void TaintEvictionReconciler::on_claim(const View& view, const api::ResourceClaim* before,
                                       const api::ResourceClaim* after, Triggers& out) const {
  add_pods_of(view, after ? *after : *before, out);
}

// Which taints count depends on the whole pool (its highest generation), so all claims on it are looked at when slices
// come, go or change generation; otherwise only when there is, or was, a taint that evicts.
void TaintEvictionReconciler::on_slice(const View& view, const api::ResourceSlice* before,
                                       const api::ResourceSlice* after, Triggers& out) const {
  const bool same_pool = before && after && before->driver == after->driver && before->pool.name == after->pool.name;
  const bool same_set = same_pool && before->pool.generation == after->pool.generation;
  if (same_set && !has_no_execute(*before) && !has_no_execute(*after)) return;
  for (const api::ResourceSlice* slice : {before, after}) {
    if (!slice || (same_pool && slice == after)) continue;
    for (const api::ResourceClaim* claim : view.claims_on_pool(slice->driver, slice->pool.name))
      add_pods_of(view, *claim, out);
  }
}

}  // namespace dra::tainteviction
