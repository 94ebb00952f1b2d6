// Reports what cannot be solved here: events on the pod and its claims, a metric, and the causes for which the pod
// waits.
#include "controllers/allocation/pod/pod_reconcile.h"

#include <algorithm>

#include "controllers/allocation/bind/bind_conditions.h"
#include "controllers/allocation/causes.h"
#include "controllers/allocation/pod/condition.h"
#include "pkg/base/timestamp.h"
#include "pkg/nodes/shape.h"
#include "pkg/protocol/pod_claims.h"
#include "pkg/protocol/proof.h"
#include "pkg/protocol/writes.h"

namespace dra::allocation {

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
      case DeviceProblem::kLimit:
        return Cause::kLimit;
    }
    return Cause::kCombination;
  };
  return std::string(cause_name(name(request.groups.front().problem)));
}

}  // namespace

// The claim's name, if it is in this namespace: pods may not learn what other namespaces hold.
verdict::Holder PodReconcile::name_of_holder(std::string_view uid) const {
  verdict::Holder holder;
  const api::ResourceClaim* claim = view_.allocated_claim(uid);
  if (claim == nullptr || claim->metadata.ns != pod_.metadata.ns) return holder;
  holder.claim = claim->metadata.key();
  for (const api::ResourceClaimConsumerReference& consumer : claim->status.reserved_for)
    if (is_pod_reference(consumer)) holder.pods.push_back(claim->metadata.ns + "/" + consumer.name);
  return holder;
}

verdict::Verdict PodReconcile::verdict_of(const std::vector<allocator::NodeId>& passed,
                                          const allocator::FoundNodes* found, const allocator::Request* request) const {
  verdict::Question question;
  question.pod = &pod_;
  for (const ClaimState& claim : state_.claims)
    if (request == nullptr || claim.allocated()) question.claims.push_back(claim.claim);
  if (request != nullptr) question.claims.insert(question.claims.end(), request->claims.begin(), request->claims.end());
  verdict::NodeFindings findings;
  if (role_ == Role::kBoundBare)
    question.nodes = {pod_.node_name};
  else
    findings = nodes_.findings(pod_);
  if (findings.nodes == 0) {
    findings.nodes = static_cast<uint32_t>(passed.size());
    for (const auto& [group, nodes] : kept_nodes_) findings.nodes += static_cast<uint32_t>(nodes.size());
    findings.passed = findings.nodes;
  }
  if (role_ != Role::kBoundBare) refuse_kept_nodes(findings);
  const verdict::NameOfHolder names = [this](std::string_view uid) { return name_of_holder(uid); };
  const std::vector<verdict::SetAside> aside{
      {std::string(kHeldBack), std::string(kWhyHeldBack)},
      {std::string(kKeptForGroups), "kept for a group of pods, one of which comes again"}};
  return verdict::explain({inventory_, allocator_, names, verdict::kNamedInSentence, aside}, question, findings, passed,
                          found);
}

void PodReconcile::ignore_group(const std::string& why) {
  complain("GroupIgnored", "the pod is placed alone: " + why, why);
}

void PodReconcile::no_node(const NodeChoice& choice) {
  park({std::string(kNodesCause)});
  if (choice.ask_again) outcome_.requeue_in(*choice.ask_again);
  const std::string pins = what_pins();
  std::string note = choice.why_none;
  std::string signature = without_numbers(note);
  const verdict::Verdict verdict = choice.why_is_whole ? verdict::Verdict{} : verdict_of({}, nullptr);
  if (verdict.nodes > 0 && !verdict.node_groups.empty()) {
    note = verdict::sentence(verdict);
    signature = verdict::kind(verdict);
  }
  if (!pins.empty() && note.ends_with('.')) note.pop_back();
  waits("FailedScheduling", note + pins, signature + pins, Fit::kNowhere);
  drop_nomination();
  count_failure("NoNode");
}

void PodReconcile::no_devices(const allocator::Request& request, const std::vector<allocator::NodeId>& order,
                              const allocator::FoundNodes& found, const std::string& subject) {
  const verdict::Verdict verdict = verdict_of(order, &found, &request);
  std::set<Cause> causes = causes_of(request);
  for (const std::string& driver : verdict.drivers) causes.insert(driver_cause(driver));
  park(causes);
  verdict::SentenceOptions words;
  if (role_ == Role::kBoundBare) words.only_node = pod_.node_name;
  const std::string pins = what_pins();
  const std::string kind = verdict::kind(verdict);
  const bool nodes = verdict.main == verdict::Verdict::Main::kNodes;
  const std::string sentence = verdict::sentence(verdict, words);
  const std::string without = kept_from_ + avoided_clause();
  waits(nodes ? EventReason("FailedScheduling") : EventReason("FailedAllocation"), subject + sentence + pins + without,
        subject + kind + pins + (without.empty() ? "" : "kept"), Fit::kNowhere);
  for (const auto& claim : request.claims) {
    words.claim = claim->metadata.key();
    complain_about(*claim, request.claims.size() == 1 ? sentence : verdict::sentence(verdict, words), kind);
  }
  drop_nomination();
  count_failure(metric_cause(verdict));
}

// "; the driver could not prepare a/p/gpu-0 for this pod, so it avoids that device until 2026-05-01T10:30:00Z".
std::string PodReconcile::avoided_clause() const {
  constexpr size_t kShown = 3;
  const std::vector<AvoidedDevice> avoided = avoided_devices(pod_, view_.now());
  if (avoided.empty()) return "";
  std::string names;
  Timestamp until = avoided.front().until;
  for (size_t i = 0; i < avoided.size(); ++i) {
    if (i < kShown) names += (i == 0 ? "" : ", ") + avoided[i].name.text();
    until = std::min(until, avoided[i].until);
  }
  if (avoided.size() > kShown) names += " and " + std::to_string(avoided.size() - kShown) + " more";
  return "; the driver could not prepare " + names + " for this pod, so it avoids " +
         (avoided.size() == 1 ? "that device until " : "these devices, the first until ") + format_rfc3339(until);
}

// The claims, or the classes that they name, are at fault: no search can help.
void PodReconcile::unusable(const allocator::Request& request, const std::vector<allocator::NodeId>& order,
                            const allocator::FoundNodes& found) {
  const std::string message = found.error ? found.error->message() : "the claims cannot be allocated";
  park(causes_of(request));
  waits("FailedAllocation", message, message, Fit::kNowhere);
  std::optional<uint32_t> guilty = found.guilty_claim;
  if (request.claims.size() == 1) guilty = 0;
  if (guilty) complain_about(*request.claims.at(*guilty), message, message);
  const allocator::Reasons reasons = allocator_.explain(request, order);
  const bool counted = reasons.requests.size() == 1 && reasons.requests.front().counts.size() == 1;
  const allocator::Cause cause =
      counted ? reasons.requests.front().counts.front().cause : allocator::Cause::kEvaluationError;
  count_failure(std::string(allocator::cause_name(cause)));
}

void PodReconcile::undecided(const allocator::FoundNodes& found) {
  outcome_.retry = "the search for devices took more than its budget of steps";
  count_failure("BudgetSpent");
  waits("AllocationUndecided",
        "neither found devices for the claims of this pod nor refuted them within " + std::to_string(found.budget) +
            " steps; it is tried again with twice as many each time, up to --allocation-step-budget=" +
            std::to_string(allocator_.options().max_step_budget),
        "budget");
}

void PodReconcile::unfinished(const allocator::FoundNodes& found) {
  constexpr uint32_t kWorthAnEvent = 16;  // slices: about 100 ms
  outcome_.requeue_in(found.ask_again);
  outcome_.goes_on = true;
  if (found.slices < kWorthAnEvent) return;
  waits("AllocationInSlices",
        "devices for the claims of this pod take long to find, or their selectors long to evaluate: they are decided "
        "in slices of a few milliseconds, between the pods of others",
        "slices");
}

std::set<Cause> PodReconcile::causes_of(const allocator::Request& request) const {
  std::set<Cause> causes{std::string(kNodesCause)};
  for (const auto& claim : request.claims)
    for (const std::string& name : classes_of(claim->spec)) {
      causes.insert(class_cause(name));
      // New devices of one driver do not concern a pod that requests those of another.
      const api::DeviceClass* known = view_.device_class(name);
      const std::optional<std::string> driver = known ? only_driver(*known) : std::nullopt;
      causes.insert(driver ? driver_cause(*driver) : std::string(kSlicesCause));
    }
  // A bad pool of any driver rules mode All out on its nodes.
  for (const auto& claim : request.claims)
    if (asks_for_all(claim->spec)) causes.insert(std::string(kSlicesCause));
  return causes;
}

void PodReconcile::park(const std::set<Cause>& causes) {
  std::vector<Cause> all(causes.begin(), causes.end());
  if (waits_for_capacity_) all.emplace_back(kCapacityCause);
  if (waits_for_pods_) all.emplace_back(kPodsCause);
  if (!volume_claim_keys_of(pod_).empty()) all.emplace_back(kVolumesCause);
  outcome_.park = Park{std::move(all), pod_.priority, waits_since(view_, pod_),
                       shape_of(pod_, nodes_.shape(pod_), state_.claims, waits_for_pods_)};
  outcome_.requeue_in(options_.retry_parked);
}

std::string PodReconcile::what_pins() const {
  std::string text;
  if (role_ == Role::kExplain || role_ == Role::kBoundBare) return text;  // the node was never ours to choose
  for (const ClaimState& claim : state_.claims)
    if (const std::string why = why_pinned(pod_, claim); !why.empty()) text += "; " + why;
  return text;
}

void PodReconcile::complain(EventReason reason, const std::string& note, const std::string& signature) {
  complain_of(ref_of(pod_), reason, note, signature);
}

// Once, and again every half hour while the reason holds: API servers delete events after an hour.
void PodReconcile::complain_of(const Ref& object, EventReason reason, const std::string& note,
                               const std::string& signature) {
  constexpr Duration kAgain = std::chrono::minutes(30);
  const std::optional<View::Noted> said = view_.note(object.uid, "said/" + reason);
  if (view_.last_event(object.uid, reason) == signature && !(said && said->age >= kAgain)) return;
  outcome_.add(Event{object, true, reason, "Allocate", note, signature});
}

void PodReconcile::waits(EventReason reason, const std::string& note, const std::string& signature, Fit fit) {
  outcome_.decided = Decided{false, "", "", note};
  complain(reason, note, signature);
  show_waiting(note, signature, fit);
}

void PodReconcile::complain_about(const api::ResourceClaim& claim, const std::string& note,
                                  const std::string& signature) {
  if (claim.metadata.resource_version.empty()) return;  // supposed: the claim does not exist yet
  for (const api::Pod* pod : view_.pods_of_claim(claim.metadata.key())) {
    if (role_of(*pod, options_) == Role::kNone) continue;
    if (pod->metadata.uid != pod_.metadata.uid) return;
    break;
  }
  complain_of(ref_of(claim), "FailedAllocation", note, signature);
}

void PodReconcile::count_failure(const std::string& cause) {
  outcome_.add(Metric{Metric::Type::kCounter, "dra_allocation_failures_total", {{"cause", cause}}, 1});
  count_pending(cause);
}

}  // namespace dra::allocation
