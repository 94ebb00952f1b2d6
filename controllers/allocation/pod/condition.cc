#include "controllers/allocation/pod/condition.h"

#include <algorithm>
#include <utility>

#include "controllers/allocation/pod/pod_reconcile.h"
#include "pkg/base/timestamp.h"
#include "pkg/base/utf8.h"
#include "pkg/protocol/groups.h"
#include "pkg/protocol/pod_claims.h"
#include "pkg/protocol/writes.h"
#include "pkg/reconcile/reasons.h"

namespace dra::allocation {

using namespace reconcile;

namespace {

constexpr size_t kMaxConditionMessage = 1024;
constexpr std::string_view kUnschedulable = condition_reason(kAllocatedCondition, "Unschedulable");
static_assert(kUnschedulable == condition_reason(kPodScheduledCondition, "Unschedulable"));
constexpr std::string_view kAllocated = condition_reason(kAllocatedCondition, "Allocated");
// Not Unschedulable, for which an autoscaler would add nodes: kube-scheduler's word for what keeps it from trying.
constexpr std::string_view kSchedulerError = condition_reason(kPodScheduledCondition, "SchedulerError");
constexpr std::string_view kRequestsFail = condition_reason(kAllocatedCondition, "RequestsFail");
// Topics of notes: the kind of the last sentence written and when; and since when its numbers are outdated.
constexpr std::string_view kWrittenNote = "condition";
constexpr std::string_view kWrongNote = "condition-wrong";

std::string condition_message(const std::string& sentence) {
  const std::string text = valid_utf8(sentence);
  return std::string(utf8_prefix(text, kMaxConditionMessage));
}

// Keeps notes short: kinds may quote what tenants write.
std::string kind_digest(const std::string& kind) {
  return std::to_string(std::hash<std::string>{}(kind));
}

}  // namespace

std::string_view condition_type(Role role) {
  if (role == Role::kGated) return kAllocatedCondition;
  return role == Role::kToBind ? kPodScheduledCondition : std::string_view();
}

const api::Condition* find_condition(const api::Pod& pod, std::string_view type) {
  const auto found = std::find_if(pod.conditions.begin(), pod.conditions.end(),
                                  [&](const api::Condition& condition) { return condition.type == type; });
  return found == pod.conditions.end() ? nullptr : &*found;
}

std::string without_numbers(std::string_view text) {
  std::string rest;
  for (const char c : text)
    if (c < '0' || c > '9') rest += c;
  return rest;
}

// How long to wait before the pod's condition may be written; zero: now.
Duration PodReconcile::pause_of_condition(const api::Condition* known, const std::string& kind, Fit fit) {
  const std::string& uid = pod_.metadata.uid;
  const std::optional<View::Noted> written = view_.note(uid, kWrittenNote);
  // That a claim is missing is news once in 10 s at most (ordinary_absence()).
  if (state_.missing && !state_.ordinary_wait && (!written || written->text != kind_digest(kind))) return {};
  if (known == nullptr) {
    // Written before, and taken away by others or not seen yet.
    if (comes_at_once(fit)) return written ? kConditionPause - written->age : Duration::zero();
    Timestamp created;
    parse_rfc3339(pod_.metadata.creation_timestamp, created);
    const Duration waited = view_.now() - created;
    return std::max(kConditionPause - waited, written ? kConditionPause - written->age : Duration::zero());
  }
  // Whoever wrote the condition did so before the pod's last change.
  const Duration unchanged = view_.unchanged_for(Kind::kPod, pod_.metadata.key());
  Duration pause = kConditionPause - (written ? written->age : unchanged);
  // If the kind last written is forgotten, a difference counts as one in numbers.
  if (!written || written->text == kind_digest(kind)) {
    const std::optional<View::Noted> wrong = view_.note(uid, kWrongNote);
    if (!wrong) outcome_.add(Note{uid, std::string(kWrongNote), "wrong"});
    pause = std::max(pause, kConditionPause - (wrong ? wrong->age : Duration::zero()));
  }
  return pause;
}

// Autoscalers wait for the condition of pods that we bind.
bool PodReconcile::comes_at_once(Fit fit) const {
  return role_ == Role::kToBind && fit == Fit::kNowhere;
}

void PodReconcile::show_waiting(const std::string& sentence, const std::string& kind, Fit fit) {
  const std::string_view type = condition_type(role_);
  Timestamp created;
  // A pod without a creation time does not come from a server.
  if (type.empty() || releasing() || !parse_rfc3339(pod_.metadata.creation_timestamp, created)) return;
  const std::string message = condition_message(sentence);
  const api::Condition* known = find_condition(pod_, type);
  if (known && (known->status != "False" || known->reason != kUnschedulable)) known = nullptr;
  const std::string& uid = pod_.metadata.uid;
  if (known && known->message == message) {
    if (view_.note(uid, kWrongNote)) outcome_.add(Note{uid, std::string(kWrongNote), ""});
    return;
  }
  if (const Duration pause = pause_of_condition(known, kind, fit); pause > Duration::zero())
    return void(outcome_.requeue_in(pause));
  if (known == nullptr && comes_at_once(fit)) {
    outcome_.turn_since = waits_since(view_, pod_);
    return write_condition_of_pod("False", std::string(kUnschedulable), message, kind, outcome_.at_its_turn);
  }
  write_condition_of_pod("False", std::string(kUnschedulable), message, kind, outcome_.effects);
  // The answer changes the pod, which runs the key again. Parked now, the key would miss what happens until then.
  outcome_.park_unless_written = std::exchange(outcome_.park, std::nullopt);
}

void PodReconcile::write_condition_of_pod(const std::string& status, const std::string& reason,
                                          const std::string& message, const std::string& kind,
                                          std::vector<Effect>& effects) {
  api::Condition condition;
  condition.type = condition_type(role_);
  condition.status = status;
  condition.reason = reason;
  condition.message = message;
  effects.emplace_back(write_condition(view_, pod_, condition, "show-waiting"));
  effects.emplace_back(Note{pod_.metadata.uid, std::string(kWrittenNote), kind_digest(kind)});
  effects.emplace_back(Note{pod_.metadata.uid, std::string(kWrongNote), ""});
}

std::vector<Key> AllocationReconciler::wait_with(const View& view, const Key& key) const {
  std::vector<Key> keys;
  const api::Pod* pod = key.kind == Kind::kPod ? view.pod(key.object) : nullptr;
  const std::optional<GroupRef> group = pod ? group_of(*pod) : std::nullopt;
  if (!group || is_too_large(view, group->key()) || membership_of(view, *pod).state != Membership::State::kMember ||
      leaders_.leader_of(view, group->key(), nullptr, options_) != pod)
    return keys;
  for (const api::Pod* other : view.pods_of_group(group->key()))
    if (other != pod && !condition_type(role_of(*other, options_)).empty())
      keys.push_back(pod_key(other->metadata.key()));
  return keys;
}

std::optional<Write> AllocationReconciler::show_outage(const View& view, const Key& key,
                                                       const std::string& sentence) const {
  const api::Pod* pod = key.kind == Kind::kPod ? view.pod(key.object) : nullptr;
  if (pod == nullptr) return std::nullopt;
  const std::string_view type = condition_type(role_of(*pod, options_));
  if (type.empty()) return std::nullopt;
  api::Condition condition;
  condition.type = type;
  condition.status = "False";
  condition.reason = type == kPodScheduledCondition ? kSchedulerError : kRequestsFail;
  condition.message = condition_message(sentence);
  return write_condition(view, *pod, condition, "show-waiting");
}

// Does what kube-scheduler does after an attempt that found no node and nobody to preempt (schedule_one.go,
// handleSchedulingFailure with the nomination that DefaultPreemption overrides; seen in 1.36.2): otherwise whoever
// counts capacity by nominations would count this pod. Nominations by the controller claimtemplate are its own to
// remove.
void PodReconcile::drop_nomination() {
  if (role_ != Role::kToBind || !is_nominated_by_others(pod_)) return;
  outcome_.add(write_nomination_removed(pod_, "clear-nomination"));
  if (outcome_.park) outcome_.park_unless_written = std::exchange(outcome_.park, std::nullopt);
}

// Writes True only over False: most pods never had the condition.
void PodReconcile::show_allocated(const std::string& message) {
  const std::string_view type = condition_type(role_);
  const api::Condition* known = type.empty() ? nullptr : find_condition(pod_, type);
  if (known && known->status == "False" && type == kAllocatedCondition)
    write_condition_of_pod("True", std::string(kAllocated), condition_message(message), "allocated", outcome_.effects);
}

}  // namespace dra::allocation
