#include "controllers/allocation/allocation.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "controllers/allocation/protocol.h"
#include "pkg/reconcile/pod_claims.h"
#include "pkg/reconcile/proof.h"
#include "pkg/reconcile/writes.h"

namespace dra::allocation {

using namespace reconcile;

namespace {

constexpr std::string_view kNodesCause = "nodes";
constexpr std::string_view kSlicesCause = "slices";

std::string class_cause(const std::string& name) {
  return "class/" + name;
}
std::string driver_cause(std::string_view driver) {
  return "driver/" + std::string(driver);
}

void classes_of(const api::ResourceClaimSpec& spec, std::set<Cause>& out) {
  for (const api::DeviceRequest& request : spec.requests) {
    if (request.exactly) out.insert(class_cause(request.exactly->device_class_name));
    for (const api::DeviceSubRequest& alternative : request.first_available)
      out.insert(class_cause(alternative.device_class_name));
  }
}

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

// One pass over one pod.
class Pass {
 public:
  Pass(const View& view, const api::Pod& pod, Role role, const Options& options, inventory::Inventory& inventory,
       allocator::Allocator& allocator, NodeChooser& nodes)
      : view_(view),
        pod_(pod),
        role_(role),
        options_(options),
        inventory_(inventory),
        allocator_(allocator),
        nodes_(nodes),
        state_(derive_state(view, pod, options)) {}

  Outcome run() {
    if (releasing() && (!state_.waits_for.empty() || !state_.all_allocated())) {
      release();
    } else if (!state_.waits_for.empty()) {
      if (!state_.ordinary_wait) complain("FailedAllocation", state_.waits_for, state_.waits_for);
    } else if (!state_.all_allocated()) {
      if (!options_.release_gates) allocate();
    } else if (!state_.all_settled()) {
      prove();
    } else if (!reserve() && (!state_.unpublished || releasing())) {
      let_go();
    }
    return std::move(outcome_);
  }

 private:
  // Before an uninstall the gate goes in any case: once what is ours is proven or taken back, but whether or not there
  // are claims, devices and a node for the pod.
  bool releasing() const { return options_.release_gates && role_ == Role::kGated; }

  // ---- P1

  void allocate() {
    if (role_ == Role::kGated || role_ == Role::kToBind || role_ == Role::kBoundBare || role_ == Role::kExplain) {
      // Nothing more is taken beside a sibling that cannot be used.
      if (const std::vector<inventory::AuditFinding> conflicts = conflicts_of_allocated(); !conflicts.empty())
        return yield_to(conflicts);
      const NodeChoice choice = candidate_nodes();
      if (choice.nodes.empty()) return no_node(choice);
      allocator::Request request;
      for (const ClaimState& claim : state_.claims)
        if (!claim.allocated()) request.claims.push_back(claim.claim);
      std::vector<allocator::NodeId> order;
      order.reserve(choice.nodes.size());
      for (const std::string_view node : choice.nodes) order.push_back(inventory_.node_id(node));
      const allocator::FoundNodes found = allocator_.find_nodes(request, order, 1);
      switch (found.outcome) {
        case allocator::Outcome::kFeasible:
          if (role_ != Role::kExplain) write_decision(request, found.decisions.front());
          return;
        case allocator::Outcome::kInfeasible:
          return no_devices(request, order);
        case allocator::Outcome::kBudgetSpent:
          outcome_.retry = "the search for devices took more than its budget of steps";
          count_failure("BudgetSpent");
          return complain("AllocationUndecided",
                          "neither found devices for the claims of this pod nor refuted them within the step budget of "
                          "one decision; it is tried again",
                          "budget");
        case allocator::Outcome::kError:
          return unusable(request, order, found.error ? found.error->message() : "the claims cannot be allocated");
      }
    }
  }

  // The nodes that the pod and its already allocated claims allow.
  NodeChoice candidate_nodes() {
    std::vector<std::string> only;
    bool restricted = false;
    if (role_ == Role::kBoundBare) {
      return {{pod_.node_name}, ""};
    }
    for (const ClaimState& claim : state_.claims) {
      if (!claim.allocated() || !claim.claim->status.allocation->node_selector) continue;
      const api::NodeSelector& selector = *claim.claim->status.allocation->node_selector;
      if (!restricted) {
        const std::vector<std::string>* named = api::named_nodes(selector);
        only = named ? *named : nodes_.all_nodes();
      }
      restricted = true;
      only.erase(std::remove_if(only.begin(), only.end(),
                                [&](const std::string& node) { return !nodes_.matches(selector, node); }),
                 only.end());
    }
    if (restricted && only.empty())
      return {{}, "no node satisfies the node selectors of the allocated claims of this pod"};
    return nodes_.choose(pod_, only);
  }

  void write_decision(const allocator::Request& request, const allocator::Decision& decision) {
    const std::string node = inventory_.node_name(decision.node);
    const std::string now = format_rfc3339(view_.now());
    for (size_t i = 0; i < request.claims.size(); ++i) {
      const api::ResourceClaim& claim = *request.claims[i];
      api::AllocationResult allocation = decision.results.at(i);
      allocation.allocation_timestamp = now;
      // A pod bound by others is reserved after the proof (P7).
      std::vector<api::ResourceClaimConsumerReference> consumers;
      if (role_ != Role::kBoundBare) consumers.push_back(pod_reference(pod_));
      Write write = write_allocation(claim, allocation, consumers, "allocate");
      write.assume_pod = AssumedPod{ref_of(pod_), node};
      WallTime created;
      if (parse_rfc3339(claim.metadata.creation_timestamp, created)) {
        const double seconds = std::chrono::duration<double>(view_.now() - created).count();
        write.on_success.push_back(
            {Metric::Type::kHistogram, "dra_claim_allocation_duration_seconds", {}, std::max(0.0, seconds)});
      }
      outcome_.add(std::move(write));
    }
  }

  void no_node(const NodeChoice& choice) {
    if (give_back()) return;
    park({std::string(kNodesCause)});
    const std::string pins = what_pins();
    std::string note = choice.why_none;
    if (!pins.empty() && note.ends_with('.')) note.pop_back();
    complain("FailedScheduling", note + pins, without_numbers(choice.why_none) + pins);
    count_failure("NoNode");
  }

  void no_devices(const allocator::Request& request, const std::vector<allocator::NodeId>& order) {
    // An allocation of ours made before for a sibling may be what stands in the way: it goes back first.
    if (give_back()) return;
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
    park({causes.begin(), causes.end()});
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
  void unusable(const allocator::Request& request, const std::vector<allocator::NodeId>& order,
                const std::string& message) {
    if (give_back()) return;
    const std::set<Cause> causes = causes_of(request);
    park({causes.begin(), causes.end()});
    complain("FailedAllocation", message, message);
    const allocator::Reasons reasons = allocator_.explain(request, order);
    const bool counted = reasons.requests.size() == 1 && reasons.requests.front().counts.size() == 1;
    const allocator::Cause cause =
        counted ? reasons.requests.front().counts.front().cause : allocator::Cause::kEvaluationError;
    for (const auto& claim : request.claims)
      if (message.find("\"" + claim->metadata.key() + "\"") != std::string::npos || request.claims.size() == 1)
        complain_about(*claim, message, message);
    count_failure(std::string(allocator::cause_name(cause)));
  }

  std::set<Cause> causes_of(const allocator::Request& request) const {
    std::set<Cause> causes{std::string(kNodesCause), std::string(kSlicesCause)};
    for (const auto& claim : request.claims) classes_of(claim->spec, causes);
    return causes;
  }

  void park(std::vector<Cause> causes) {
    outcome_.park = Park{std::move(causes), pod_.priority, pod_.metadata.creation_timestamp};
    outcome_.look_again_in(options_.retry_parked);
  }

  // ---- P2, P3

  std::vector<inventory::AuditFinding> conflicts_of_allocated() const {
    std::vector<std::string> uids;
    for (const ClaimState& claim : state_.claims)
      if (claim.allocated()) uids.push_back(claim.claim->metadata.uid);
    return inventory_.over_commitments(uids, inventory::Layer::kObserved);
  }

  // Taking back helps only where an allocation of ours stands in the overlap itself: to withdraw the sibling of one
  // that stays would only begin the same over again.
  void yield_to(const std::vector<inventory::AuditFinding>& conflicts) {
    const bool helps = std::any_of(state_.claims.begin(), state_.claims.end(), [&](const ClaimState& claim) {
      return withdrawable(claim) &&
             std::any_of(conflicts.begin(), conflicts.end(), [&](const inventory::AuditFinding& conflict) {
               return std::find(conflict.claims.begin(), conflict.claims.end(), claim.claim->metadata.uid) !=
                      conflict.claims.end();
             });
    });
    if (helps && give_back()) return count_failure("LostRace");
    complain("DeviceConflict", "held back: " + conflicts.front().message, conflicts.front().message);
    outcome_.look_again_in(std::chrono::seconds(30));
  }

  void prove() {
    // A claim that another pod is reserved for is proven by that pod's passes.
    for (const ClaimState& claim : state_.claims)
      if (claim.needs_proof() && !claim.in_stream) return;  // the stream brings the key back
    if (const std::vector<inventory::AuditFinding> conflicts = conflicts_of_allocated(); !conflicts.empty())
      return yield_to(conflicts);
    if (role_ != Role::kBoundBare) {
      const NodeChoice choice = candidate_nodes();
      if (choice.nodes.empty() && !releasing()) return no_node(choice);
      if (choice.nodes.empty() && give_back()) return;
    }
    if (role_ == Role::kExplain) return;  // nothing stands in the way of a proof, and nobody writes one here
    for (const ClaimState& claim : state_.claims) {
      if (!claim.needs_proof()) continue;
      const api::ResourceClaim& object = *claim.claim;
      std::vector<std::string> finalizers = object.metadata.finalizers;
      if (!object.metadata.has_finalizer(api::kDeleteProtectionFinalizer))
        finalizers.emplace_back(api::kDeleteProtectionFinalizer);
      outcome_.add(write_metadata(
          object, finalizers,
          {{std::string(kProofAnnotation), proof_value(pod_.metadata.uid, *object.status.allocation)}}, "prove"));
    }
  }

  // ---- P5

  bool withdrawable(const ClaimState& claim) const {
    if (role_ == Role::kExplain) return false;  // observe mode writes nothing but events
    // What was allocated for another pod is that pod's to give back.
    if (!claim.reserved && !claim.claim->status.reserved_for.empty()) return false;
    return may_withdraw(view_, claim, options_);
  }

  // All unmarked siblings together; false when there is nothing that we may take back.
  bool give_back() {
    bool any = false;
    for (const ClaimState& claim : state_.claims) {
      if (!withdrawable(claim)) continue;
      Write write = write_deallocation(*claim.claim, "withdraw");
      write.release_pod = pod_.metadata.uid;
      outcome_.add(std::move(write));
      any = true;
    }
    if (any) outcome_.hold = retreat_delay(pod_, state_);
    return any;
  }

  // ---- P4

  // Shared claims, and those allocated by others, get this pod as a consumer before it goes; true when something was
  // written or cannot be, or the stream does not have it yet.
  bool reserve() {
    if (role_ == Role::kExplain || role_ == Role::kBoundBare) return true;  // the lifecycle controller reserves
    bool busy = false;
    for (const ClaimState& claim : state_.claims) {
      if (claim.reserved) {
        // kube-scheduler must not see the pod without its gate before it sees the reservation: it would write its own
        // and fail. Its streams are about as old as ours.
        busy = busy || (role_ == Role::kGated && !releasing() && !claim.reserved_in_stream);
        continue;
      }
      std::vector<api::ResourceClaimConsumerReference> consumers = claim.claim->status.reserved_for;
      if (consumers.size() >= api::kMaxReservedFor) {
        complain("FailedAllocation",
                 "claim \"" + claim.claim->metadata.key() + "\" has " + std::to_string(api::kMaxReservedFor) +
                     " consumers, which is the most a claim can have",
                 "full");
        busy = busy || !releasing();
        continue;
      }
      busy = true;
      consumers.push_back(pod_reference(pod_));
      outcome_.add(write_reservations(*claim.claim, consumers, "reserve"));
    }
    return busy;
  }

  void let_go() {
    if (role_ == Role::kToBind) {
      const NodeChoice choice = candidate_nodes();
      if (choice.nodes.empty()) return no_node(choice);
      const std::string node(choice.nodes.front());
      Write write = write_binding(pod_, node);
      write.success_event = Event{ref_of(pod_),
                                  false,
                                  "Scheduled",
                                  "Binding",
                                  "Successfully assigned " + pod_.metadata.key() + " to " + node,
                                  ""};
      outcome_.add(std::move(write));
      outcome_.hold = std::chrono::seconds(2);  // the answer is no pod: the stream shows it bound
      return;
    }
    api::NodeSelectorTerm term;
    for (const ClaimState& claim : state_.claims) {
      if (single_term(*claim.claim->status.allocation, term)) continue;
      // An OR of terms cannot be added to the pod's own: one node of those it allows has to do.
      const NodeChoice choice = candidate_nodes();
      if (choice.nodes.empty() && !releasing()) return no_node(choice);
      term = {};
      if (!choice.nodes.empty())
        term.match_fields.push_back({"metadata.name", "In", {std::string(choice.nodes.front())}});
      break;
    }
    lift_gate(term);
  }

  void lift_gate(const api::NodeSelectorTerm& term) {
    Write write = write_ungated(pod_, kAllocationGate, term);
    std::string where = "the devices are allocated";
    if (term.match_fields.size() == 1 && term.match_fields.front().values.size() == 1)
      where += " on node " + term.match_fields.front().values.front();
    write.success_event = Event{ref_of(pod_), false, "Allocated", "Allocate", where + "; the gate is lifted", ""};
    outcome_.add(std::move(write));
  }

  // Release, with claims that are not there or not allocated: what is ours and unproven goes back or, where it is not
  // this pod's to give back, is proven (P7); then the gate goes, and kube-scheduler takes it from there.
  void release() {
    if (give_back()) return;
    if (std::any_of(state_.claims.begin(), state_.claims.end(), [](const ClaimState& c) { return c.needs_proof(); }))
      return prove();
    api::NodeSelectorTerm term;
    for (const ClaimState& claim : state_.claims)
      if (claim.allocated()) single_term(*claim.claim->status.allocation, term);
    lift_gate(term);
  }

  // ---- telling

  // The allocated claims that leave the pod no other node, after a "; ".
  std::string what_pins() const {
    std::string text;
    if (role_ == Role::kExplain || role_ == Role::kBoundBare) return text;  // the node was never ours to choose
    for (const ClaimState& claim : state_.claims)
      if (const std::string why = why_pinned(pod_, claim); !why.empty()) text += "; " + why;
    return text;
  }

  void complain(const std::string& reason, const std::string& note, const std::string& signature) {
    emit_once(view_, outcome_, {ref_of(pod_), true, reason, "Allocate", note, signature});
  }
  // Tells the claim too. Of the pods that share it the first one speaks, or they would contradict each other.
  void complain_about(const api::ResourceClaim& claim, const std::string& note, const std::string& signature) {
    for (const api::Pod* pod : view_.pods_of_claim(claim.metadata.key())) {
      if (role_of(*pod, options_) == Role::kNone) continue;
      if (pod->metadata.uid != pod_.metadata.uid) return;
      break;
    }
    emit_once(view_, outcome_, {ref_of(claim), true, "FailedAllocation", "Allocate", note, signature});
  }
  void count_failure(const std::string& cause) {
    outcome_.add(Metric{Metric::Type::kCounter, "dra_allocation_failures_total", {{"cause", cause}}, 1});
  }

  const View& view_;
  const api::Pod& pod_;
  const Role role_;
  const Options& options_;
  inventory::Inventory& inventory_;
  allocator::Allocator& allocator_;
  NodeChooser& nodes_;
  const PodState state_;
  Outcome outcome_;
};

// The unbound pod may have had a share of a node that was chosen for it: all of them but those that wait for devices
// (of which there can be very many, and none of them frees anything).
bool may_count_on_a_node(const View& view, const api::Pod& pod, const Options& options) {
  if (pod.scheduling_gates.empty()) return !pod.resource_claims.empty() || options.mode == Mode::kBind;
  const std::vector<std::string> keys = claim_keys_of(pod);
  return std::any_of(keys.begin(), keys.end(), [&](const std::string& key) {
    const api::ResourceClaim* claim = view.claim(key);
    return claim && is_reserved_for(*claim, pod.metadata.uid);
  });
}

bool still_allocated(const api::ResourceClaim* before, const api::ResourceClaim* after) {
  return after && after->status.allocation && before && before->status.allocation &&
         *after->status.allocation == *before->status.allocation;
}

}  // namespace

Outcome AllocationReconciler::reconcile(const View& view, const Key& key) const {
  if (key.kind != Kind::kPod) return {};
  const api::Pod* pod = view.pod(key.object);
  if (!pod) return {};
  const Role role = role_of(*pod, options_);
  if (role == Role::kNone) return {};
  return Pass(view, *pod, role, options_, inventory_, allocator_, nodes_).run();
}

void AllocationReconciler::on_pod(const View& view, const api::Pod* before, const api::Pod* after,
                                  Triggers& out) const {
  const bool had_node = before && !before->node_name.empty() && !before->terminal();
  const bool has_node = after && !after->node_name.empty() && !after->terminal();
  const bool ended = before && !before->terminal() && (!after || after->terminal());
  if ((had_node && !has_node) || (ended && !had_node && may_count_on_a_node(view, *before, options_)))
    out.wake(std::string(kNodesCause));
  if (after && role_of(*after, options_) != Role::kNone) out.add(pod_key(after->metadata.key()));
}

void AllocationReconciler::on_claim(const View& view, const api::ResourceClaim* before, const api::ResourceClaim* after,
                                    Triggers& out) const {
  const api::ResourceClaim& claim = after ? *after : *before;
  for (const api::Pod* pod : view.pods_of_claim(claim.metadata.key()))
    if (role_of(*pod, options_) != Role::kNone) out.add(pod_key(pod->metadata.key()));
}

void AllocationReconciler::on_streamed_claim(const View& view, const api::ResourceClaim* before,
                                             const api::ResourceClaim* after, Triggers& out) const {
  if (before && before->status.allocation && !still_allocated(before, after)) {
    std::set<Cause> causes;
    classes_of(before->spec, causes);
    for (const api::DeviceRequestAllocationResult& result : before->status.allocation->results)
      causes.insert(driver_cause(result.driver));
    // A withdrawal: the pod's share of the node is free again, too.
    if (is_allocated_by_us(*before) && !is_proven(*before)) causes.insert(std::string(kNodesCause));
    for (const Cause& cause : causes) out.wake(cause);
  }
  const bool to_prove = after && needs_proof(*after) && !is_proven(*after);
  const bool reserved = after && (!before || before->status.reserved_for != after->status.reserved_for);
  if (!to_prove && !reserved) return;
  for (const api::Pod* pod : view.pods_of_claim(after->metadata.key()))
    if (role_of(*pod, options_) != Role::kNone) out.add(pod_key(pod->metadata.key()));
}

void AllocationReconciler::on_write_given_up(const View& view, const Write& write, Triggers& out) const {
  std::set<Cause> causes;
  if (write.assume_pod) causes.insert(std::string(kNodesCause));
  if (write.assume) {
    if (const api::ResourceClaim* claim = view.claim(write.object.store_key())) classes_of(claim->spec, causes);
    for (const api::DeviceRequestAllocationResult& result : write.assume->results)
      causes.insert(driver_cause(result.driver));
  }
  for (const Cause& cause : causes) out.wake(cause);
}

void AllocationReconciler::on_room_released(const View&, Triggers& out) const {
  out.wake(std::string(kNodesCause));
}

std::vector<std::string> failure_causes() {
  std::vector<std::string> names{"BudgetSpent", "LostRace", "NoNode"};
  for (size_t cause = 0; cause <= static_cast<size_t>(allocator::Cause::kInvalidRequest); ++cause)
    names.emplace_back(allocator::cause_name(static_cast<allocator::Cause>(cause)));
  return names;
}

void AllocationReconciler::on_node(const View&, const api::Node* before, const api::Node* after, Triggers& out) const {
  if (!after) return;
  if (before && before->metadata.labels == after->metadata.labels && before->unschedulable == after->unschedulable &&
      before->allocatable == after->allocatable && before->taints == after->taints)
    return;
  out.wake(std::string(kNodesCause));
}

void AllocationReconciler::on_class(const View&, const api::DeviceClass*, const api::DeviceClass* after,
                                    Triggers& out) const {
  if (after) out.wake(class_cause(after->metadata.name));
}

void AllocationReconciler::on_slice(const View&, const api::ResourceSlice*, const api::ResourceSlice*,
                                    Triggers& out) const {
  out.wake(std::string(kSlicesCause));
}

}  // namespace dra::allocation
