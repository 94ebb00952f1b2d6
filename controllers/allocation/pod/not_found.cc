#include "controllers/allocation/pod/not_found.h"

#include <algorithm>
#include <set>
#include <utility>

#include "controllers/allocation/causes.h"
#include "controllers/allocation/kept/kept_devices.h"
#include "controllers/allocation/kept/promised_devices.h"
#include "controllers/allocation/pod/kept_from.h"
#include "controllers/allocation/pod/node_takes.h"
#include "controllers/allocation/pod/report.h"
#include "pkg/base/strings.h"
#include "pkg/protocol/avoided.h"
#include "pkg/protocol/keep.h"
#include "pkg/protocol/pod_claims.h"

namespace dra::allocation {

using namespace protocol;
using namespace reconcile;

namespace {

// The cause under which dra_allocation_failures_total counts the main obstacle.
std::string metric_cause(const verdict::Verdict& verdict) {
  using allocator::Cause;
  using verdict::DeviceProblem;
  if (verdict.main == verdict::Verdict::Main::kNodes) return "NoNode";
  if (verdict.main == verdict::Verdict::Main::kTogether) return std::string(cause_name(Cause::kCombination));
  const auto& requests = verdict.requests;
  if (requests.empty() || !requests.front().invalid.empty()) return std::string(cause_name(Cause::kInvalidRequest));
  const verdict::RequestVerdict& request = requests[verdict.main_request];
  if (request.groups.empty()) return std::string(cause_name(Cause::kClassSelector));
  const auto name = [](DeviceProblem problem) {
    switch (problem) {
      case DeviceProblem::kFree:
        return Cause::kCombination;
      case DeviceProblem::kFreeElsewhere:
        return Cause::kNodeRefused;
      case DeviceProblem::kHeld:
      case DeviceProblem::kSetAside:
        return Cause::kInUse;
      case DeviceProblem::kCut:
      case DeviceProblem::kCounter:
        return Cause::kCounterShort;
      case DeviceProblem::kCapacity:
        return Cause::kCapacityShort;
      case DeviceProblem::kTaint:
        return Cause::kTaint;
      case DeviceProblem::kSelector:
        return Cause::kRequestSelector;
      case DeviceProblem::kSelectorFails:
        return Cause::kEvaluationError;
      case DeviceProblem::kConstraint:
        return Cause::kConstraint;
      case DeviceProblem::kPoolIncomplete:
        return Cause::kPoolIncomplete;
      case DeviceProblem::kPoolInvalid:
        return Cause::kPoolInvalid;
      case DeviceProblem::kUnknownField:
        return Cause::kUnknownField;
      case DeviceProblem::kFeature:
        return Cause::kFeatureDisabled;
      case DeviceProblem::kNotShared:
        return Cause::kNotShared;
      case DeviceProblem::kSameSilicon:
        return Cause::kSameSilicon;
      case DeviceProblem::kPlugin:
        return Cause::kDevicePlugin;
      case DeviceProblem::kLimit:
        return Cause::kLimit;
    }
    return Cause::kCombination;
  };
  return std::string(cause_name(name(request.groups.front().problem)));
}

// The claim's name, if it is in this namespace: pods may not learn what other namespaces hold.
verdict::Holder name_of_holder(const PodContext& context, std::string_view uid) {
  verdict::Holder holder;
  const api::ResourceClaim* claim = context.view.allocated_claim(uid);
  if (claim == nullptr || claim->metadata.ns != context.pod.metadata.ns) return holder;
  holder.claim = claim->metadata.key();
  for (const api::ResourceClaimConsumerReference& consumer : claim->status.reserved_for)
    if (is_pod_reference(consumer)) holder.pods.push_back(claim->metadata.ns + "/" + consumer.name);
  if (is_only_kept(*claim)) holder.kept = keep_words(*keep_of(*claim));
  return holder;
}

}  // namespace

verdict::Verdict verdict_of(const PodContext& context, const Obstacles& obstacles,
                            const std::vector<allocator::NodeId>& passed, const allocator::FoundNodes* found,
                            const allocator::Request* request) {
  verdict::Question question;
  question.pod = &context.pod;
  for (const protocol::ClaimState& claim : context.state.claims)
    if (request == nullptr || claim.allocated()) question.claims.push_back(claim.claim);
  if (request != nullptr) {
    question.claims.insert(question.claims.end(), request->claims.begin(), request->claims.end());
    question.pairs = request->pairs;
    question.room = request->room;
  }
  verdict::NodeFindings findings;
  if (context.role == Role::kBoundBare)
    question.nodes = {context.pod.node_name};
  else
    findings = context.tools.nodes.findings(pod_with_takes(context).value_or(context.pod));
  if (findings.nodes == 0) {
    findings.nodes = static_cast<uint32_t>(passed.size());
    for (const auto& [group, nodes] : obstacles.kept_nodes) findings.nodes += static_cast<uint32_t>(nodes.size());
    findings.passed = findings.nodes;
  }
  if (context.role != Role::kBoundBare) refuse_kept_nodes(obstacles, findings);
  const verdict::NameOfHolder names = [&](std::string_view uid) { return name_of_holder(context, uid); };
  const std::vector<verdict::SetAside> aside{
      {std::string(kHeldBack), std::string(kWhyHeldBack)},
      {std::string(kKeptForGroups), "kept for a group of pods, one of which comes again"},
      {std::string(kPromisedToPods), "promised to a pod that takes the place of others"}};
  return verdict::explain({context.tools.inventory, context.tools.allocator, names, verdict::kNamedInSentence, aside},
                          question, findings, passed, found);
}

void report_no_node(const PodContext& context, const Candidates& candidates, ReconcileResult& out) {
  const nodes::NodeChoice& choice = candidates.choice;
  park_pod(context, {std::string(kNodesCause)}, candidates.obstacles, out);
  if (choice.ask_again) out.requeue_in(*choice.ask_again);
  const std::string pins = what_pins(context);
  std::string note = choice.why_none;
  std::string signature = without_numbers(note);
  const verdict::Verdict verdict =
      choice.why_is_whole ? verdict::Verdict{} : verdict_of(context, candidates.obstacles, {});
  if (verdict.nodes > 0 && !verdict.node_groups.empty()) {
    note = verdict::sentence(verdict);
    signature = verdict::kind(verdict);
  }
  if (!pins.empty() && note.ends_with('.')) note.pop_back();
  say_waiting(context, {"FailedScheduling", note + pins, signature + pins}, Fit::kNowhere, out);
  drop_nomination(context, out);
  count_failure(context, "NoNode", out);
}

// Free devices fit, and what they take of the node does not.
void report_no_room(const PodContext& context, const NotFound& what, ReconcileResult& out) {
  Obstacles obstacles = what.obstacles;
  obstacles.on_capacity = true;
  park_pod(context, causes_of(context, what.request), obstacles, out);
  const std::string note =
      "0/" + std::to_string(what.order.size()) +
      " nodes have room for what the devices of the claims take beside the pod's requests: " + what.found.short_of_room;
  say_waiting(context, {"FailedScheduling", note, without_numbers(note)}, Fit::kNowhere, out);
  drop_nomination(context, out);
  count_failure(context, "NoNode", out);
}

void report_no_devices(const PodContext& context, const NotFound& what, ReconcileResult& out) {
  if (!what.found.short_of_room.empty()) return report_no_room(context, what, out);
  const verdict::Verdict verdict = verdict_of(context, what.obstacles, what.order, &what.found, &what.request);
  std::set<Cause> causes = causes_of(context, what.request);
  for (const std::string& driver : verdict.drivers) causes.insert(driver_cause(driver));
  park_pod(context, causes, what.obstacles, out);
  verdict::SentenceOptions words;
  if (context.role == Role::kBoundBare) words.only_node = context.pod.node_name;
  const std::string pins = what_pins(context);
  const std::string kind = verdict::kind(verdict);
  const bool nodes = verdict.main == verdict::Verdict::Main::kNodes;
  const std::string sentence = verdict::sentence(verdict, words);
  const std::string without = what.kept_devices + avoided_clause(context);
  say_waiting(context,
              {nodes ? EventReason("FailedScheduling") : EventReason("FailedAllocation"),
               what.subject + sentence + pins + without, what.subject + kind + pins + (without.empty() ? "" : "kept")},
              Fit::kNowhere, out);
  const auto& claims = what.request.claims;
  for (const auto& claim : claims) {
    words.claim = claim->metadata.key();
    complain_of_claim(context, *claim, claims.size() == 1 ? sentence : verdict::sentence(verdict, words), kind, out);
  }
  drop_nomination(context, out);
  count_failure(context, metric_cause(verdict), out);
}

void report_unusable(const PodContext& context, const NotFound& what, ReconcileResult& out) {
  const auto& [request, order, found, obstacles, kept_devices, subject] = what;
  const std::string message = found.error ? found.error->message() : "the claims cannot be allocated";
  park_pod(context, causes_of(context, request), obstacles, out);
  say_waiting(context, {"FailedAllocation", message, message}, Fit::kNowhere, out);
  std::optional<uint32_t> guilty = found.guilty_claim;
  if (request.claims.size() == 1) guilty = 0;
  if (guilty) complain_of_claim(context, *request.claims.at(*guilty), message, message, out);
  const allocator::Reasons reasons = context.tools.allocator.explain(request, order);
  const bool counted = reasons.requests.size() == 1 && reasons.requests.front().counts.size() == 1;
  const allocator::Cause cause =
      counted ? reasons.requests.front().counts.front().cause : allocator::Cause::kEvaluationError;
  count_failure(context, std::string(allocator::cause_name(cause)), out);
}

void report_undecided(const PodContext& context, const allocator::FoundNodes& found, ReconcileResult& out) {
  out.retry = "the search for devices took more than its budget of steps";
  count_failure(context, "BudgetSpent", out);
  say_waiting(
      context,
      {"AllocationUndecided",
       "neither found devices for the claims of this pod nor refuted them within " + std::to_string(found.budget) +
           " steps; it is tried again with twice as many each time, up to --allocation-step-budget=" +
           std::to_string(context.tools.allocator.options().max_step_budget),
       "budget"},
      Fit::kUndecided, out);
}

void go_on_later(const PodContext& context, const allocator::FoundNodes& found, ReconcileResult& out) {
  out.requeue_in(found.ask_again);
  out.goes_on = true;
  if (found.slices < kSlicesWorthAnEvent) return;
  say_waiting(context,
              {"AllocationInSlices",
               "devices for the claims of this pod take long to find, or their selectors long to evaluate: they are "
               "decided in slices of a few milliseconds, between the pods of others",
               "slices"},
              Fit::kUndecided, out);
}

namespace {

// "A, B and 2 more", and when the first of them is tried again.
std::pair<std::string, Timestamp> shown(const std::vector<AvoidedDevice>& avoided) {
  std::vector<std::string> names;
  Timestamp until = avoided.front().until;
  for (const AvoidedDevice& one : avoided) {
    names.push_back(one.name.text());
    until = std::min(until, one.until);
  }
  return {join_some(names, 3), until};
}

}  // namespace

std::string avoided_clause(const PodContext& context) {
  std::string text;
  if (const std::vector<AvoidedDevice> own = own_avoided_devices(context.view, context.pod); !own.empty()) {
    const auto [names, until] = shown(own);
    text = "; the driver could not prepare " + names + " for this pod, so it avoids " +
           (own.size() == 1 ? "that device until " : "these devices, the first until ") + format_rfc3339(until);
  }
  if (const std::vector<AvoidedDevice> kept = quarantined_devices(context.view); !kept.empty()) {
    const auto [names, until] = shown(kept);
    text += "; nobody gets " + names + " until " + format_rfc3339(until) +
            (kept.size() == 1 ? "" : " (the first of them)") + ", since drivers could not prepare " +
            (kept.size() == 1 ? "it" : "them");
  }
  return text;
}

}  // namespace dra::allocation
