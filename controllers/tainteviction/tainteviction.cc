#include "controllers/tainteviction/tainteviction.h"

#include <algorithm>

#include "controllers/tainteviction/rules.h"
#include "controllers/tainteviction/verdict.h"
#include "pkg/base/timestamp.h"
#include "pkg/protocol/pod_claims.h"
#include "pkg/protocol/writes.h"

namespace dra::tainteviction {

using namespace protocol;
using namespace reconcile;

namespace {

constexpr EventReason kReason = "DeviceTaintManagerEviction";
constexpr std::string_view kConditionReason = condition_reason(kDisruptionTarget, "DeletionByDeviceTaintManager");
constexpr const char* kConditionMessage = "Device Taint manager: deleting due to NoExecute taint";
// The last event about a pod, as its signature.
constexpr const char* kCancelled = "cancelled";
constexpr const char* kStarted = "started";
// A pod whose rules' pods are still being counted is checked again after this time.
constexpr Duration kCountingTakes = std::chrono::milliseconds(100);
// A deadline further away is checked again after this time.
constexpr Duration kLongestWait = std::chrono::hours(24);
// New numbers in the status of a rule are written after this time; a change of what it does is written at once.
constexpr Duration kRuleStatusPeriod = std::chrono::seconds(10);

Key rule_key(const api::DeviceTaintRule& rule) {
  return {Kind::kTaintRule, rule.metadata.name};
}

void record(const View& view, ReconcileResult& outcome, const api::Pod& pod, std::string note, std::string signature) {
  emit_once(view, outcome, {ref_of(pod), false, kReason, "Delete", std::move(note), std::move(signature)});
}

// Something was announced and not cancelled.
bool announced(const View& view, const api::Pod& pod) {
  const std::optional<std::string> last = view.last_event(pod.metadata.uid, kReason);
  return last && *last != kCancelled;
}

bool is_marked(const api::Pod& pod) {
  return std::any_of(pod.conditions.begin(), pod.conditions.end(), [](const api::Condition& condition) {
    return condition.type == kDisruptionTarget && condition.status == "True" && condition.reason == kConditionReason;
  });
}

// The other controller did not evict the pod. It gets a reason of its own, so that nobody takes the event for a
// cancelled announcement.
void report_left(const View& view, ReconcileResult& outcome, const api::Pod& pod, const DueEviction& verdict) {
  const std::string due = format_rfc3339(verdict.due);
  emit_once(view, outcome,
            {ref_of(pod), true, "DeviceTaintNotEvicted", "Delete",
             "should have been evicted at " + due + " (" + verdict.reason +
                 "), but kube-controller-manager's device-taint-eviction-controller left it; switch that on, or start "
                 "this manager with --device-taint-eviction=own",
             "due " + due});
}

// Event, condition, deletion, in upstream's order; after a crash in between the next reconcile continues.
void evict(const View& view, ReconcileResult& outcome, const api::Pod& pod, const DueEviction& verdict) {
  record(view, outcome, pod, "Marking for deletion: " + verdict.reason, kStarted);
  if (!is_marked(pod)) outcome.add(write_disruption_target(view, pod, kConditionReason, kConditionMessage));
  Write deletion = write_delete(Kind::kPod, pod.metadata, "evict");
  // Bound to the instance, not its version: the condition just changed that, and kubelets do so all the time.
  deletion.resource_version.clear();
  for (const std::string& uid : verdict.rules) {
    deletion.tally.push_back(uid);
    for (const api::DeviceTaintRule* rule : view.taint_rules())
      if (rule->metadata.uid == uid) deletion.tally.push_back(tally_of_generation(*rule));
  }
  deletion.on_success.push_back(
      {Metric::Type::kCounter, "device_taint_eviction_controller_pod_deletions_total", {}, 1});
  const double late = std::chrono::duration<double>(view.now() - verdict.due).count();
  deletion.on_success.push_back({Metric::Type::kHistogram,
                                 "device_taint_eviction_controller_pod_deletion_duration_seconds",
                                 {},
                                 std::max(0.0, late)});
  outcome.add(std::move(deletion));
}

// The taints that evict, as one text.
std::string no_execute_taints(const api::Device& device) {
  std::string text;
  for (const api::DeviceTaint& taint : device.taints)
    if (taint.effect == "NoExecute") text += taint.key + "=" + taint.value + "@" + taint.time_added + "\n";
  return text;
}

}  // namespace

ReconcileResult TaintEvictionReconciler::reconcile(const Key& key, const View& view, reconcile::State& state) const {
  Reaches& reaches = static_cast<State&>(state).reaches;
  if (key.kind == Kind::kTaintRule) {
    const api::DeviceTaintRule* rule = view.taint_rule(key.object);
    return rule && options_.evicts ? reconcile_rule(view, *rule, reaches) : ReconcileResult{};
  }
  const api::Pod* pod = key.kind == Kind::kPod ? view.pod(key.object) : nullptr;
  return pod ? reconcile_pod(view, *pod, reaches) : ReconcileResult{};
}

RuleReading TaintEvictionReconciler::reading(const View& view, Reaches& reaches, bool& counting) const {
  if (!options_.evicts || options_.max_evictions_per_rule == 0) return {};
  return {"", [this, &view, &reaches, &counting](const std::string& name) {
            const uint64_t guard = options_.max_evictions_per_rule;
            const api::DeviceTaintRule* rule = view.taint_rule(name);
            if (!rule || !may_evict(*rule, guard)) return false;
            if (has_no_limit(*rule, guard)) return true;
            const std::optional<Reach> reach = reaches.of(view, inventory_, *rule);
            counting = counting || !reach;
            return reach && may_evict_another(view, *reach, *rule, guard);
          }};
}

ReconcileResult TaintEvictionReconciler::reconcile_rule(const View& view, const api::DeviceTaintRule& rule,
                                                        Reaches& reaches) const {
  ReconcileResult outcome;
  const api::Condition* before = eviction_condition(rule);
  const bool current = before && before->observed_generation == rule.metadata.generation;
  // Each generation is simulated once: recreating the rule makes another simulation.
  if (current && rule.taint.effect == "None" && before->reason == "NoEffect") return outcome;
  const bool reaches_pods = rule.taint.effect == "None" || rule.taint.effect == "NoExecute";
  const std::optional<Reach> reach = reaches_pods ? reaches.of(view, inventory_, rule) : Reach{};
  if (!reach) {
    outcome.goes_on = true;
    outcome.requeue_in(Duration::zero());
    return outcome;
  }
  const api::Condition now = condition_for(view, *reach, rule, options_.max_evictions_per_rule);
  if (now.status == "True") outcome.requeue_in(kRuleStatusPeriod);
  const bool same = current && before->status == now.status && before->reason == now.reason;
  if (same && before->message == now.message) return outcome;
  // What pods wait for (the guard) is written at once; numbers and the end of evictions after kRuleStatusPeriod.
  const bool urgent = !same && options_.max_evictions_per_rule > 0 && now.status == "True";
  Timestamp written;
  if (current && !urgent && parse_rfc3339(before->last_transition_time, written))
    if (const Duration left = written + kRuleStatusPeriod - view.now();
        left > Duration::zero() && left <= kRuleStatusPeriod)
      return outcome.requeue_in(left);
  outcome.add(write_rule_condition(view, rule, now));
  if (now.reason == "WaitsForApproval")
    emit_once(view, outcome,
              {ref_of(Kind::kTaintRule, rule.metadata), true, "EvictionsWait", "Delete", now.message,
               std::to_string(rule.metadata.generation)});
  return outcome;
}

ReconcileResult TaintEvictionReconciler::reconcile_pod(const View& view, const api::Pod& the_pod,
                                                       Reaches& reaches) const {
  ReconcileResult outcome;
  const api::Pod* pod = &the_pod;
  bool counting = false;
  const std::optional<DueEviction> verdict = judge(view, inventory_, *pod, reading(view, reaches, counting));
  if (counting) {
    outcome.requeue_in(kCountingTakes);
    if (!verdict) return outcome;
  }
  if (!verdict) {
    const bool stays = !pod->terminal() && !pod->metadata.deleting();
    if (stays && announced(view, *pod)) record(view, outcome, *pod, "Cancelling deletion", kCancelled);
    return outcome;
  }
  if (const Duration left = verdict->due + options_.grace - view.now(); left > Duration::zero()) {
    const std::string due = format_rfc3339(verdict->due);
    if (options_.grace == Duration::zero())
      record(view, outcome, *pod, "Will be deleted at " + due + ": " + verdict->reason, "due " + due);
    outcome.requeue_in(std::min(left, kLongestWait));
    return outcome;
  }
  if (!options_.evicts) {
    report_left(view, outcome, *pod, *verdict);
    return outcome;
  }
  outcome.paced = true;
  // First a live GET: the pod may be finished, deleted or replaced by now.
  switch (view.live_presence(ref_of(*pod))) {
    case Presence::kUnknown:
      outcome.add(LiveGet{ref_of(*pod)});
      break;
    case Presence::kPresent:
      evict(view, outcome, *pod, *verdict);
      break;
    case Presence::kAbsent:
      break;
  }
  return outcome;
}

void TaintEvictionEvents::add_if_concerned(const View& view, const api::Pod& pod, EnqueueRequests& out) const {
  if (pod.node_name.empty()) return;
  const std::optional<DueEviction> verdict = judge(view, inventory_, pod);
  if (verdict || announced(view, pod)) out.add(pod_key(pod.metadata.key()));
  if (!verdict || verdict->rules.empty() || !options_.evicts) return;
  // With the guard on, pods wait for the rule's status.
  const Duration delay = options_.max_evictions_per_rule > 0 ? std::chrono::milliseconds(100) : kRuleStatusPeriod;
  for (const api::DeviceTaintRule* rule : view.taint_rules())
    if (verdict->rules.contains(rule->metadata.uid)) out.add_after(rule_key(*rule), delay);
}

void TaintEvictionEvents::on_pod(const View& view, const Changed<api::Pod>& change, State& state,
                                 EnqueueRequests& out) const {
  const auto& [before, after] = change;
  state.reaches.changed(after ? *after : *before);
  if (after) add_if_concerned(view, *after, out);
}

// A rule that was created, deleted, or changed in what it selects or does; or whose status starts waiting evictions.
void TaintEvictionEvents::on_taint_rule(const View& view, const Changed<api::DeviceTaintRule>& change, State& state,
                                        EnqueueRequests& out) const {
  const auto& [before, after] = change;
  if (before && (!after || before->metadata.uid != after->metadata.uid)) state.reaches.forget(*before);
  if (after && options_.evicts) out.add(rule_key(*after));
  const uint64_t guard = options_.max_evictions_per_rule;
  const bool same_rule = before && after && before->metadata.generation == after->metadata.generation &&
                         before->metadata.uid == after->metadata.uid;
  if (same_rule && may_evict(*before, guard) == may_evict(*after, guard)) return;
  const auto evicts = [](const api::DeviceTaintRule* rule) { return rule && rule->taint.effect == "NoExecute"; };
  if (!evicts(before) && !evicts(after)) return;
  for (const api::DeviceTaintRule* rule : {before, after}) {
    if (!rule) continue;
    Walk walk = [this, rule = *rule, place = ClaimsOfRule{}](const View& now, EnqueueRequests& requests) mutable {
      for (const api::ResourceClaim* claim : place.next(now, rule)) add_pods_of_rule(now, *claim, requests);
      return !place.done();
    };
    if (walk(view, out)) out.walks.push_back(std::move(walk));
  }
}

void TaintEvictionEvents::add_pods_of_rule(const View& view, const api::ResourceClaim& claim,
                                           EnqueueRequests& out) const {
  for (const api::Pod* pod : view.pods_of_claim(claim.metadata.key()))
    if (!pod->node_name.empty() && (announced(view, *pod) || judge(view, inventory_, *pod)))
      out.add(pod_key(pod->metadata.key()));
}

void TaintEvictionEvents::add_pods_of(const View& view, const api::ResourceClaim& claim, EnqueueRequests& out) const {
  for (const api::Pod* pod : view.pods_of_claim(claim.metadata.key())) add_if_concerned(view, *pod, out);
}

void TaintEvictionEvents::on_claim(const View& view, const Changed<api::ResourceClaim>& change, State& state,
                                   EnqueueRequests& out) const {
  const auto& [before, after] = change;
  state.reaches.changed(view, after ? *after : *before);
  add_pods_of(view, after ? *after : *before, out);
}

// Which taints count depends on the whole pool (its highest generation). So all claims on it are checked when that
// changes; otherwise those with a device that got, lost or changed a taint that evicts.
void TaintEvictionEvents::on_slice(const View& view, const Changed<api::ResourceSlice>& change, State& state,
                                   EnqueueRequests& out) const {
  const auto add = [this](const View& now, const api::ResourceClaim& claim, EnqueueRequests& requests) {
    add_pods_of(now, claim, requests);
  };
  state.slices.visit(view, inventory_, change.before, change.after, no_execute_taints, add, out);
}

void TaintEvictionEvents::changed(const Change& change, const View& view, reconcile::State& handed,
                                  EnqueueRequests& out) const {
  State& state = static_cast<State&>(handed);
  std::visit(Cases{[&](const Changed<api::Pod>& pod) { on_pod(view, pod, state, out); },
                   [&](const Changed<api::ResourceClaim>& claim) { on_claim(view, claim, state, out); },
                   [&](const Changed<api::ResourceSlice>& slice) { on_slice(view, slice, state, out); },
                   [&](const Changed<api::DeviceTaintRule>& rule) { on_taint_rule(view, rule, state, out); },
                   [](const auto&) {}},
             change);
}

Parts parts(const Options& options, const inventory::Inventory& inventory) {
  return {.name = "tainteviction",
          .reconciler = std::make_unique<TaintEvictionReconciler>(options, inventory),
          .events = std::make_unique<TaintEvictionEvents>(options, inventory),
          .state = std::make_unique<State>(),
          .pace = options.pace};
}

}  // namespace dra::tainteviction
