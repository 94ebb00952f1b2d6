// PodReconcile: one reconcile of one pod by the allocation controller. It derives the pod's state (protocol.h) and
// returns the next step. Nothing is kept for the next reconcile, except by groups (kept_members.h).
//
// By file: decide.cc and topology.cc (P1), prove.cc (P2, P3, P5), release.cc (P4), leave.cc (P8), bind_extended.cc and
// extended_use.cc (extended resources), report.cc (events, metrics, parking), condition.cc.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "controllers/allocation/allocation.h"
#include "controllers/allocation/kept/group_leaders.h"
#include "controllers/allocation/kept/kept_devices.h"
#include "controllers/allocation/kept/kept_nodes.h"
#include "controllers/allocation/pod/topology.h"
#include "controllers/allocation/pod/why_here.h"
#include "controllers/allocation/protocol.h"
#include "pkg/protocol/extended.h"
#include "pkg/protocol/groups.h"
#include "pkg/verdict/verdict.h"

namespace dra::allocation {

class KeptMembers;
class SameChoice;

// What a reconcile reads besides the objects. All must outlive it.
struct Tools {
  const Options& options;
  inventory::Inventory& inventory;
  allocator::Allocator& allocator;
  NodeChooser& nodes;
  WhyHere& why_here;
  KeptNodes& kept;
  KeptDevices& kept_devices;
  gang::Gangs& gangs;
  GroupLeaders& leaders;
  KeptMembers& kept_members;
};

class PodReconcile {
 public:
  // What a pod that waits is known to be: fitting nowhere now, or waiting for an answer.
  enum class Fit : uint8_t { kNowhere, kUndecided };

  // `role` is not kNone.
  PodReconcile(const reconcile::View& view, const api::Pod& pod, Role role, const Tools& tools);

  reconcile::Outcome run();
  // Records an event that says why the pod's group is ignored. Call run() after it.
  void ignore_group(const std::string& why);
  // The pod's group cannot be placed (Membership::State::kWaits): withdraws what is unproven; a marked pod goes on.
  reconcile::Outcome wait_for_group(const reconcile::Membership& membership);
  // Another pod is reconciled for the group. `why`: what the group waits for, or empty.
  reconcile::Outcome wait_with_group(const std::string& why, bool fits_nowhere);

  // Notes since when a claim is missing, and requeues the pod for when that is no longer ordinary.
  void watch_missing();

  bool asks_for_extended() const { return !extended_.empty(); }
  const PodState& state() const { return state_; }
  // Forgets the outcome, for another reconcile while nothing that the state was derived from has changed
  // (kept_members.h).
  void begin_again();

 private:
  friend class GroupReconcile;  // takes the same steps for the pods of a group (group_reconcile.h)
  friend class GroupNodes;
  using Conflicts = std::vector<inventory::AuditFinding>;

  // ---- decide.cc
  void allocate();
  // The nodes that the pod and its already allocated claims allow.
  NodeChoice candidate_nodes();
  // kept_nodes.cc
  void leave_kept(NodeChoice& choice);
  std::string kept_nodes_clause() const;
  void refuse_kept_nodes(verdict::NodeFindings& findings) const;
  // What the pod must leave to groups whose members come again. The reason goes to kept_from_.
  KeptDevices::Kept leave_kept_devices(int64_t priority);
  // The nodes of `only` that fit the pod; where not `restricted`, of all nodes.
  NodeChoice choose_among(std::vector<std::string> only, bool restricted);
  // The same for the one node of the pod's devices, by the answer for another member if that is the same.
  NodeChoice choose_node(const std::string& node);
  // The claims' preferences, for allocator::Request. Records an event for each claim whose preferences are ignored.
  std::vector<allocator::Preference> preferences();
  // Records an event on the class whose annotation names an unknown strategy, whichever pod asks for the class.
  void warn_of_strategy(const std::string& device_class);
  void write_decision(const allocator::Request& request, const allocator::Decision& decision);
  // P1 reserves the claim for the pod. Not if others bound the pod (P7), or may have since it left the claim (P8):
  // kubelet would start it with an allocation that nobody has proven. Then it is reserved after the proof.
  bool is_reserved_at_once(const api::ResourceClaim& claim) const;
  // P1 for one claim, on behalf of this pod.
  reconcile::Write allocation_write(const std::shared_ptr<const api::ResourceClaim>& claim,
                                    api::AllocationResult allocation,
                                    std::vector<api::ResourceClaimConsumerReference> consumers,
                                    const std::string& node) const;

  // ---- topology.cc
  // allocate() within domains of nodes; false: decide without them.
  bool allocate_near(const Neighbours& near, allocator::Request& request);
  // Bind mode, a member without devices of one node: keeps the nodes in the required domain that its group is in.
  void keep_at_home(NodeChoice& choice);
  // The node that the pod's allocated claims pin it to; null: none does.
  const std::string* only_node() const;

  // ---- prove.cc
  Conflicts conflicts_of_allocated() const;
  // True when every holder in the conflict, the pod's own claims aside, is proven or not ours: none will give way.
  bool stays(const inventory::AuditFinding& conflict) const;
  // The conflicts of which stays() is true.
  Conflicts those_that_stay(Conflicts conflicts) const;
  // Gives way to the other holders in the overlap, or reports the conflict.
  void withdraw_for(const Conflicts& conflicts);
  void prove();
  // P3: one write for each claim that needs a mark.
  void add_marks();
  bool withdrawable(const ClaimState& claim) const;
  // Withdraws all unmarked siblings together; false when we may withdraw none.
  bool withdraw();

  // ---- leave.cc
  // P8 is for pods that have not started and that a write of ours starts.
  bool may_leave() const { return role_ == Role::kGated || role_ == Role::kToBind; }
  // P8: takes the pod out of claims that it announced to leave. True while it has not left one of them.
  bool leave();
  // One write: takes the pod off the claim's list of users, else out of its reservations; the last user does both.
  void leave_claim(const ClaimState& claim);
  // The same for a pod that others may bind at any moment: list, reservation, live GET, allocation.
  void leave_without_gate(const ClaimState& claim);
  void remove_void(const std::set<std::string>& claim_uids);
  // Removes reservations that the pod cannot be using because no list of users has the pod, and frees claims that it
  // was the last to leave; false when there is none.
  bool leave_unlisted(const std::vector<ClaimState>& claims);
  // Announces that the pod leaves those of `claims` that list it as a user; false when there is none.
  bool announce_leaving(const std::vector<ClaimState>& claims);
  // Withdraws or leaves claims that are reserved for the pod and no longer of use to it.
  bool drop_abandoned();
  // Nothing fits: frees what pins the pod. Withdraws what is unproven (P5), else leaves what is proven (P8).
  bool withdraw_all() {
    if (withdraw()) return true;
    const bool left = leave_unlisted(state_.claims);
    return announce_leaving(state_.claims) || left || drop_extended();
  }

  // ---- extended_use.cc
  // False, with an event, when no node's device plugin advertises the pod's extended resources: kube-scheduler would
  // allocate the devices itself, unproven.
  bool serves_extended();
  bool advertises(std::string_view node) const;
  // Keeps only those nodes of the choice whose device plugins advertise the pod's extended resources.
  void keep_advertising(NodeChoice& choice) const;
  // Restricts the term to nodes whose device plugins advertise them; with claims, to such nodes of the choice.
  void narrow_to_advertising(api::NodeSelectorTerm& term, const NodeChoice& choice) const;

  // ---- bind_extended.cc
  // Bind mode: devices of a claim may serve the pod's extended resources.
  bool serves_by_claim() const;
  // True when their claim exists, or the nodes tried first need none. Else makes the claim if devices and a node were
  // found for it, or parks the pod.
  bool make_extended();
  // The nodes on which the claim (existing or supposed) serves what the device plugins do not.
  NodeChoice choose_for_extended(std::vector<std::string> among);
  std::vector<std::string> nodes_that_leave(const std::vector<reconcile::ExtendedResource>& claimed,
                                            const std::vector<std::string>& among) const;
  bool clear_extended_name();
  void create_extended(const std::vector<reconcile::ExtendedResource>& claimed);
  // Deletes the claim if it is unallocated; false when there is none.
  bool drop_extended();
  // True when the pod's status says which container gets which devices; else writes that.
  bool publish_extended();

  // ---- release.cc
  // Everything is allocated and settled: judges the node once more, reserves, then ungates or binds the pod.
  void use();
  // All but the last step of use(): where the pod may go, or nothing when something else must be done or waited for.
  // `without_conflict`: conflicts_of_allocated() is known to be empty.
  std::optional<NodeChoice> ready_to_go(bool without_conflict);
  // Before an uninstall the gate is lifted in any case, with or without claims, devices and a node for the pod, once
  // our allocations are proven or withdrawn.
  bool releasing() const { return options_.release_gates && role_ == Role::kGated; }
  // Now, or once its gate is lifted.
  bool is_bound_by_us() const { return options_.mode == Mode::kBind && is_ours_to_bind(pod_, options_); }
  void release();
  // Adds this pod as a consumer of shared claims and of claims allocated by others. True when something was written,
  // cannot be written, or is not in the stream yet.
  bool reserve(const NodeChoice& choice);
  // Lists the pod as a user of its claims before its gate is lifted or it is bound. True when something was or cannot
  // be written.
  bool enlist();
  void lift_gate(const NodeChoice& choice);
  void warn_of_binding_conditions();
  std::string devices_words() const;
  reconcile::Event allocated_event() const;
  void say_allocated();
  void lift_gate(const api::NodeSelectorTerm& term);

  // ---- bind_steps.cc
  bool waits_for_watch(const NodeChoice& choice);
  // A Binding of the pod is under way, perhaps in its group's list: the stream requeues the pod, or the failure does.
  bool is_being_bound();
  // Bind mode: true when all bind steps are done (always true otherwise). If not, writes what they need and waits, or
  // frees everything.
  bool prepared(const NodeChoice& choice);

  // ---- report.cc
  void no_node(const NodeChoice& choice);
  // `subject` comes before the sentence: "for ...: ".
  void no_devices(const allocator::Request& request, const std::vector<allocator::NodeId>& order,
                  const allocator::FoundNodes& found, const std::string& subject = "");
  void unusable(const allocator::Request& request, const std::vector<allocator::NodeId>& order,
                const allocator::FoundNodes& found);
  void undecided(const allocator::FoundNodes& found);
  // The time slice ended: the key continues after other keys had their turn.
  void unfinished(const allocator::FoundNodes& found);
  std::string avoided_clause() const;
  std::set<reconcile::Cause> causes_of(const allocator::Request& request) const;
  // Parks under kPodsCause as well when the choice of nodes depended on other pods.
  void park(const std::set<reconcile::Cause>& causes);
  // The allocated claims that pin the pod to a node, as a clause after "; ".
  std::string what_pins() const;
  // `request`: what was requested, where that is more than the existing claims.
  verdict::Verdict verdict_of(const std::vector<allocator::NodeId>& passed, const allocator::FoundNodes* found,
                              const allocator::Request* request = nullptr) const;
  verdict::Holder name_of_holder(std::string_view uid) const;
  // The pod waits: an event, the condition and a log line say why.
  void waits(reconcile::EventReason reason, const std::string& note, const std::string& signature,
             Fit fit = Fit::kUndecided);
  void complain(reconcile::EventReason reason, const std::string& note, const std::string& signature);
  // An event on the claim. Only the first of the pods that share it reports: several would contradict each other.
  void complain_about(const api::ResourceClaim& claim, const std::string& note, const std::string& signature);
  void complain_of(const reconcile::Ref& object, reconcile::EventReason reason, const std::string& note,
                   const std::string& signature);
  void count_failure(const std::string& cause);
  void count_pending(const std::string& cause);

  // ---- condition.cc
  void show_waiting(const std::string& sentence, const std::string& kind, Fit fit);
  bool comes_at_once(Fit fit) const;
  void show_allocated(const std::string& message);
  // Bind mode: removes a nomination by others to a node that does not fit the pod.
  void drop_nomination();
  Duration pause_of_condition(const api::Condition* known, const std::string& kind, Fit fit);
  void write_condition_of_pod(const std::string& status, const std::string& reason, const std::string& message,
                              const std::string& kind, std::vector<reconcile::Effect>& effects);

  const reconcile::View& view_;
  const api::Pod& pod_;
  const Role role_;
  const Options& options_;
  inventory::Inventory& inventory_;
  allocator::Allocator& allocator_;
  NodeChooser& nodes_;
  WhyHere& why_here_;
  KeptNodes& kept_;
  KeptDevices& kept_devices_;
  gang::Gangs& gangs_;
  const std::vector<reconcile::ExtendedResource> extended_;
  const PodState state_;
  // Bind mode: the claim for extended_, then also in state_.claims; null: none is usable.
  const std::shared_ptr<const api::ResourceClaim> extended_claim_;
  // The extended resources that the claim serves, or is supposed to serve while nodes are tried.
  std::optional<std::vector<reconcile::ExtendedResource>> claimed_;
  SameChoice* same_choice_ = nullptr;  // of the group's members; null: a single pod
  std::optional<std::string> home_;    // the required domain that the group's search found, or most members are in
  std::string kept_from_;              // a clause: the devices that the last choice left out for a group
  // The nodes that it left out, by the group that they are kept for.
  std::map<std::string, std::vector<std::string>> kept_nodes_;
  bool waits_for_pods_ = false;     // the last choice of nodes depended on other pods
  bool waits_for_capacity_ = true;  // or on the capacity that others use there
  reconcile::Outcome outcome_;
};

}  // namespace dra::allocation
