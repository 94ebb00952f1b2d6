// What nobody can mend here is reported: events on the pod and its claims, a metric, and the causes that the pod waits
// for.
#include "controllers/allocation/pod_reconcile.h"

#include <algorithm>
#include <map>

#include "controllers/allocation/causes.h"
#include "controllers/allocation/shape.h"
#include "pkg/reconcile/pod_claims.h"
#include "pkg/reconcile/proof.h"
#include "pkg/reconcile/writes.h"

namespace dra::allocation {

using namespace reconcile;

namespace {

// What a sentence says apart from its figures: two that differ in these only are the same news.
std::string without_numbers(const std::string& text) {
  std::string rest;
  for (const char c : text)
    if (c < '0' || c > '9') rest += c;
  return rest;
}

bool is_telling(allocator::Cause cause) {
  using allocator::Cause;
  return cause != Cause::kCombination && cause != Cause::kWrongNode && cause != Cause::kClassSelector;
}

}  // namespace

void PodReconcile::no_node(const NodeChoice& choice) {
  park({std::string(kNodesCause)});
  const std::string pins = what_pins();
  std::string note = choice.why_none;
  if (!pins.empty() && note.ends_with('.')) note.pop_back();
  complain("FailedScheduling", note + pins, without_numbers(choice.why_none) + pins);
  count_failure("NoNode");
}

void PodReconcile::no_devices(const allocator::Request& request, const std::vector<allocator::NodeId>& order) {
  const allocator::Reasons reasons = allocator_.explain(request, order);
  std::set<Cause> causes = causes_of(request);
  for (const std::string& driver : reasons.drivers) causes.insert(driver_cause(driver));
  std::map<std::string, std::string> signatures;  // by claim: which causes, without their counts
  // The main cause: of most devices, but what keeps devices from every request of the kind only where nothing else
  // does.
  allocator::Cause main_cause = allocator::Cause::kCombination;
  std::pair<bool, uint32_t> most{false, 0};
  for (const allocator::RequestReason& reason : reasons.requests) {
    std::string& signature = signatures[reason.claim];
    signature += reason.request + ":";
    for (const allocator::CauseCount& count : reason.counts) {
      signature += std::string(allocator::cause_name(count.cause)) + ",";
      const std::pair<bool, uint32_t> weight{is_telling(count.cause), count.devices};
      if (weight > most) {
        most = weight;
        main_cause = count.cause;
      }
    }
  }
  park(causes);
  std::string all;
  for (const auto& [claim, signature] : signatures) all += claim + "/" + signature;
  const std::string who =
      role_ == Role::kBoundBare ? "node " + pod_.node_name + " cannot provide" : std::string("no node can provide");
  const std::string pins = what_pins();
  complain("FailedAllocation", reasons.sentence(who) + pins, all + pins);
  for (const auto& claim : request.claims)
    complain_about(*claim, reasons.sentence(who, claim->metadata.key()), signatures[claim->metadata.key()]);
  count_failure(std::string(allocator::cause_name(main_cause)));
}

// The claims, or the classes they name, are at fault: nothing that a search could mend.
void PodReconcile::unusable(const allocator::Request& request, const std::vector<allocator::NodeId>& order,
                            const allocator::FoundNodes& found) {
  const std::string message = found.error ? found.error->message() : "the claims cannot be allocated";
  park(causes_of(request));
  complain("FailedAllocation", message, message);
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
  complain("AllocationUndecided",
           "neither found devices for the claims of this pod nor refuted them within " + std::to_string(found.budget) +
               " steps; it is tried again with twice as many each time, up to --allocation-step-budget=" +
               std::to_string(allocator_.options().max_step_budget),
           "budget");
}

void PodReconcile::unfinished(const allocator::FoundNodes& found) {
  constexpr uint32_t kWorthAnEvent = 16;  // slices: about 100 ms
  outcome_.look_again_in(found.ask_again);
  outcome_.goes_on = true;
  if (found.slices < kWorthAnEvent) return;
  complain(
      "AllocationInSlices",
      "devices for the claims of this pod take long to find, or their selectors long to evaluate: they are decided "
      "in slices of a few milliseconds, between the pods of others",
      "slices");
}

std::set<Cause> PodReconcile::causes_of(const allocator::Request& request) const {
  std::set<Cause> causes{std::string(kNodesCause)};
  for (const auto& claim : request.claims)
    for (const std::string& name : classes_of(claim->spec)) {
      causes.insert(class_cause(name));
      // New devices of one driver are no news to a pod that wants those of another.
      const api::DeviceClass* known = view_.device_class(name);
      const std::optional<std::string> driver = known ? only_driver(*known) : std::nullopt;
      causes.insert(driver ? driver_cause(*driver) : std::string(kSlicesCause));
    }
  return causes;
}

void PodReconcile::park(const std::set<Cause>& causes) {
  std::vector<Cause> all(causes.begin(), causes.end());
  if (waits_for_pods_) all.emplace_back(kPodsCause);
  outcome_.park = Park{std::move(all), pod_.priority, pod_.metadata.creation_timestamp,
                       shape_of(pod_, nodes_.shape(pod_), state_.claims, waits_for_pods_)};
  outcome_.look_again_in(options_.retry_parked);
}

std::string PodReconcile::what_pins() const {
  std::string text;
  if (role_ == Role::kExplain || role_ == Role::kBoundBare) return text;  // the node was never ours to choose
  for (const ClaimState& claim : state_.claims)
    if (const std::string why = why_pinned(pod_, claim); !why.empty()) text += "; " + why;
  return text;
}

void PodReconcile::complain(const std::string& reason, const std::string& note, const std::string& signature) {
  emit_once(view_, outcome_, {ref_of(pod_), true, reason, "Allocate", note, signature});
}

void PodReconcile::complain_about(const api::ResourceClaim& claim, const std::string& note,
                                  const std::string& signature) {
  for (const api::Pod* pod : view_.pods_of_claim(claim.metadata.key())) {
    if (role_of(*pod, options_) == Role::kNone) continue;
    if (pod->metadata.uid != pod_.metadata.uid) return;
    break;
  }
  emit_once(view_, outcome_, {ref_of(claim), true, "FailedAllocation", "Allocate", note, signature});
}

void PodReconcile::count_failure(const std::string& cause) {
  outcome_.add(Metric{Metric::Type::kCounter, "dra_allocation_failures_total", {{"cause", cause}}, 1});
}

}  // namespace dra::allocation
