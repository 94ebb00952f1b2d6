#include "controllers/allocation/pod/condition.h"

#include <algorithm>
#include <utility>

#include "pkg/base/timestamp.h"
#include "pkg/base/utf8.h"
#include "pkg/protocol/groups.h"
#include "pkg/protocol/pod_claims.h"
#include "pkg/protocol/promise.h"
#include "pkg/protocol/writes.h"
#include "pkg/reconcile/reasons.h"

namespace dra::allocation {

using namespace protocol;
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

// Autoscalers wait for the condition of pods that we bind.
bool comes_at_once(const PodContext& context, Fit fit) {
  return context.role == Role::kToBind && fit == Fit::kNowhere;
}

// How long to wait before the pod's condition may be written; zero: now.
Duration pause_of_condition(const PodContext& context, const api::Condition* known, const std::string& kind, Fit fit,
                            ReconcileResult& out) {
  const View& view = context.view;
  const std::string& uid = context.pod.metadata.uid;
  const std::optional<View::Noted> written = view.note(uid, kWrittenNote);
  // That a claim is missing is news once in 10 s at most (ordinary_absence()).
  const bool is_missing = context.state.missing && !context.state.ordinary_wait;
  if (is_missing && (!written || written->text != kind_digest(kind))) return {};
  if (known == nullptr) {
    // Written before, and taken away by others or not seen yet.
    if (comes_at_once(context, fit)) return written ? kConditionPause - written->age : Duration::zero();
    Timestamp created;
    parse_rfc3339(context.pod.metadata.creation_timestamp, created);
    const Duration waited = view.now() - created;
    return std::max(kConditionPause - waited, written ? kConditionPause - written->age : Duration::zero());
  }
  // Whoever wrote the condition did so before the pod's last change.
  const Duration unchanged = view.unchanged_for(Kind::kPod, context.pod.metadata.key());
  Duration pause = kConditionPause - (written ? written->age : unchanged);
  // If the kind last written is forgotten, a difference counts as one in numbers.
  if (!written || written->text == kind_digest(kind)) {
    const std::optional<View::Noted> wrong = view.note(uid, kWrongNote);
    if (!wrong) out.add(Note{uid, std::string(kWrongNote), "wrong"});
    pause = std::max(pause, kConditionPause - (wrong ? wrong->age : Duration::zero()));
  }
  return pause;
}

struct PodCondition {
  std::string_view status, reason;
  std::string message, kind;
};

void write_condition_of_pod(const PodContext& context, const PodCondition& what, std::vector<Effect>& effects) {
  api::Condition condition;
  condition.type = condition_type(context.role);
  condition.status = what.status;
  condition.reason = what.reason;
  condition.message = what.message;
  effects.emplace_back(write_condition(context.view, context.pod, condition, "show-waiting", what.message));
  effects.emplace_back(Note{context.pod.metadata.uid, std::string(kWrittenNote), kind_digest(what.kind)});
  effects.emplace_back(Note{context.pod.metadata.uid, std::string(kWrongNote), ""});
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

void show_waiting(const PodContext& context, const std::string& sentence, const std::string& kind, Fit fit,
                  ReconcileResult& out) {
  const std::string_view type = condition_type(context.role);
  Timestamp created;
  // A pod without a creation time does not come from a server.
  if (type.empty() || is_releasing(context) || !parse_rfc3339(context.pod.metadata.creation_timestamp, created)) return;
  const std::string message = condition_message(sentence);
  const api::Condition* known = find_condition(context.pod, type);
  if (known && (known->status != "False" || known->reason != kUnschedulable)) known = nullptr;
  const std::string& uid = context.pod.metadata.uid;
  if (known && known->message == message) {
    if (context.view.note(uid, kWrongNote)) out.add(Note{uid, std::string(kWrongNote), ""});
    return;
  }
  if (const Duration pause = pause_of_condition(context, known, kind, fit, out); pause > Duration::zero())
    return void(out.requeue_in(pause));
  const PodCondition wanted{"False", kUnschedulable, message, kind};
  if (known == nullptr && comes_at_once(context, fit)) {
    out.turn_since = waits_since(context.view, context.pod);
    return write_condition_of_pod(context, wanted, out.at_its_turn);
  }
  write_condition_of_pod(context, wanted, out.effects);
  // The answer changes the pod, which runs the key again. Parked now, the key would miss what happens until then.
  out.park_unless_written = std::exchange(out.park, std::nullopt);
}

void show_allocated(const PodContext& context, const std::string& message, ReconcileResult& out) {
  const std::string_view type = condition_type(context.role);
  const api::Condition* known = type.empty() ? nullptr : find_condition(context.pod, type);
  if (known && known->status == "False" && type == kAllocatedCondition)
    write_condition_of_pod(context, {"True", kAllocated, condition_message(message), "allocated"}, out.effects);
}

std::optional<Write> write_outage(const View& view, const api::Pod& pod, const std::string& sentence,
                                  const Options& options) {
  const std::string_view type = condition_type(role_of(pod, options));
  if (type.empty()) return std::nullopt;
  api::Condition condition;
  condition.type = type;
  condition.status = "False";
  condition.reason = type == kPodScheduledCondition ? kSchedulerError : kRequestsFail;
  condition.message = condition_message(sentence);
  return write_condition(view, pod, condition, "show-waiting", condition.message);
}

// Does what kube-scheduler does after an attempt that found no node and nobody to preempt (schedule_one.go,
// handleSchedulingFailure with the nomination that DefaultPreemption overrides; seen in 1.36.2): otherwise whoever
// counts capacity by nominations would count this pod. Nominations by the controller claimtemplate are its own to
// remove.
void drop_nomination(const PodContext& context, ReconcileResult& out) {
  if (context.role != Role::kToBind || !is_nominated_by_others(context.pod)) return;
  // While a promise stands the nomination is part of it.
  if (context.tools.options.promises && has_promise(context.pod)) return;
  out.add(write_nomination_removed(context.pod, "clear-nomination"));
  if (out.park) out.park_unless_written = std::exchange(out.park, std::nullopt);
}

}  // namespace dra::allocation
