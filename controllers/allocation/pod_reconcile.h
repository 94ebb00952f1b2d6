// PodReconcile: one run of the allocation controller for one pod. It derives where the pod stands (protocol.h) and
// returns the next step; nothing is kept for the run after it.
//
// By idea: decide.cc (P1), prove.cc (P2, P3, P5), release.cc (P4), report.cc (events, metrics, parking), condition.cc.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "controllers/allocation/allocation.h"
#include "controllers/allocation/kept_devices.h"
#include "controllers/allocation/kept_nodes.h"
#include "controllers/allocation/protocol.h"
#include "controllers/allocation/topology.h"
#include "controllers/allocation/why_here.h"
#include "pkg/reconcile/extended.h"
#include "pkg/reconcile/groups.h"
#include "pkg/verdict/verdict.h"

namespace dra::allocation {

// What a run reads besides the objects. All must outlive it.
struct Tools {
  const Options& options;
  inventory::Inventory& inventory;
  allocator::Allocator& allocator;
  NodeChooser& nodes;
  WhyHere& why_here;
  KeptNodes& kept;
  KeptDevices& kept_devices;
  gang::Gangs& gangs;
};

class PodReconcile {
 public:
  // `role` is not kNone.
  PodReconcile(const reconcile::View& view, const api::Pod& pod, Role role, const Tools& tools);

  reconcile::Outcome run();
  // The pod names a group that is ignored: an event says why. To be followed by run().
  void ignore_group(const std::string& why);
  // The pod's group cannot be placed (Membership::State::kWaits): nothing is held for it.
  reconcile::Outcome wait_for_group(const reconcile::Membership& membership);
  // Another pod is reconciled for the group; `why` the group waits, or empty.
  reconcile::Outcome wait_with_group(const std::string& why);

 private:
  friend class GroupReconcile;  // takes the same steps for the pods of a group (group_reconcile.h)
  friend class GroupNodes;
  using Conflicts = std::vector<inventory::AuditFinding>;

  // ---- decide.cc
  void allocate();
  // The nodes that the pod and its already allocated claims allow.
  NodeChoice candidate_nodes();
  void leave_kept(NodeChoice& choice);  // kept_nodes.cc
  // What the pod must leave for groups whose members come again. What it says of it goes to kept_from_.
  KeptDevices::Kept leave_kept_devices(int64_t priority);
  // The nodes among these that take the pod; where not `restricted`: of all nodes.
  NodeChoice choose_among(std::vector<std::string> only, bool restricted);
  // What the claims prefer, as allocator::Request has it; what is ignored gets an event.
  std::vector<allocator::Preference> preferences();
  // The annotation of the class names no strategy: an event on the class, whoever asks for it.
  void warn_of_strategy(const std::string& device_class);
  void write_decision(const allocator::Request& request, const allocator::Decision& decision);
  // P1 for one claim, on behalf of this pod.
  reconcile::Write allocation_write(const api::ResourceClaim& claim, api::AllocationResult allocation,
                                    const std::vector<api::ResourceClaimConsumerReference>& consumers,
                                    const std::string& node) const;

  // ---- topology.cc
  // The same within domains of nodes; false: decide without them.
  bool allocate_near(const Neighbours& near, allocator::Request& request);

  // ---- prove.cc
  Conflicts conflicts_of_allocated() const;
  // No holder besides the pod's own claims is one that gives way: ours and not proven.
  bool stays(const inventory::AuditFinding& conflict) const;
  // Gives way to what stands in the overlap, or reports the conflict.
  void yield_to(const Conflicts& conflicts);
  void prove();
  // P3: one write for each claim that needs a mark.
  void add_marks();
  bool withdrawable(const ClaimState& claim) const;
  // Withdraws all unmarked siblings together; false when there is none that we may withdraw.
  bool withdraw();

  // ---- leave.cc
  // P8: takes the pod out of claims that it announced to leave. True while one of them is not left yet.
  bool leave();
  // One write: takes the pod out of the claim, or first off the list of its users.
  void leave_claim(const ClaimState& claim);
  void remove_void(const std::set<std::string>& claim_uids);
  // Takes back reservations that the pod cannot be using, since it is on no list; false when there is none.
  bool leave_unlisted(const std::vector<ClaimState>& claims);
  // Announces that the pod leaves those claims among these that list it; false when there is none.
  bool announce_leaving(const std::vector<ClaimState>& claims);
  // Gives back what is reserved for the pod and of no use to it any more.
  bool drop_abandoned();
  // Nothing fits: gives back what stands in the way. First what is not proven (P5), then what is proven (P8).
  bool give_back() {
    if (withdraw()) return true;
    const bool left = leave_unlisted(state_.claims);
    return announce_leaving(state_.claims) || left || drop_extended();
  }

  // ---- extended_use.cc
  // False, and reported, when no node would serve the pod's extended resources without an allocation that is not
  // proven.
  bool serves_extended();
  bool advertises(std::string_view node) const;
  // Leaves those nodes of the choice whose device plugins advertise the pod's extended resources.
  void keep_advertising(NodeChoice& choice) const;
  // Adds the nodes whose device plugins advertise the pod's extended resources: with claims, of those in the choice.
  void narrow_to_advertising(api::NodeSelectorTerm& term, const NodeChoice& choice) const;

  // ---- bind_extended.cc
  // Bind mode: devices of a claim may serve the pod's extended resources.
  bool serves_by_claim() const;
  // The claim for them is there, or none is needed on the nodes that are tried first. If not: it is made where devices
  // and a node were found for it, or the pod parks.
  bool make_extended();
  // The nodes on which the claim (there, or supposed) serves what the device plugins do not.
  NodeChoice choose_for_extended(std::vector<std::string> among);
  std::vector<std::string> nodes_that_leave(const std::vector<reconcile::ExtendedResource>& claimed,
                                            const std::vector<std::string>& among) const;
  bool clear_extended_name();
  void create_extended(const std::vector<reconcile::ExtendedResource>& claimed);
  // Deletes the unallocated claim; false when there is none.
  bool drop_extended();
  // The pod's status says which container gets which devices; if not, that is written.
  bool publish_extended();

  // ---- release.cc
  // Everything is allocated and settled: judges the node once more, reserves, and lets the pod go.
  void use();
  // Before an uninstall the gate goes in any case: once what is ours is proven or taken back, but whether or not there
  // are claims, devices and a node for the pod.
  bool releasing() const { return options_.release_gates && role_ == Role::kGated; }
  void release();
  // Shared claims, and those allocated by others, get this pod as a consumer before it goes. True when something was
  // written or cannot be, or the stream does not have it yet.
  bool reserve(const NodeChoice& choice);
  // Before its gate goes the pod is listed with each of its claims. True when something was written or cannot be.
  bool enlist();
  void let_go(const NodeChoice& choice);
  void warn_of_binding_conditions();
  std::string devices_words() const;
  reconcile::Event allocated_event() const;
  void say_allocated();
  void lift_gate(const api::NodeSelectorTerm& term);

  // ---- bind_steps.cc
  bool waits_for_watch(const NodeChoice& choice);
  // What must be true before the pod is bound is true (bind mode; otherwise nothing must). If not: what brings it about
  // is written and waited for, or everything is given back.
  bool prepared(const NodeChoice& choice);

  // ---- report.cc
  void no_node(const NodeChoice& choice);
  // `subject` comes before the sentence: "for ...: ".
  void no_devices(const allocator::Request& request, const std::vector<allocator::NodeId>& order,
                  const allocator::FoundNodes& found, const std::string& subject = "");
  void unusable(const allocator::Request& request, const std::vector<allocator::NodeId>& order,
                const allocator::FoundNodes& found);
  void undecided(const allocator::FoundNodes& found);
  // The slice ended: the key goes on when the others had their turn.
  void unfinished(const allocator::FoundNodes& found);
  std::set<reconcile::Cause> causes_of(const allocator::Request& request) const;
  // For kPodsCause as well when the choice of nodes depended on other pods.
  void park(const std::set<reconcile::Cause>& causes);
  // The allocated claims that leave the pod no other node, after a "; ".
  std::string what_pins() const;
  // `request`: what was asked for, where that is more than the claims that there are.
  verdict::Verdict verdict_of(const std::vector<allocator::NodeId>& passed, const allocator::FoundNodes* found,
                              const allocator::Request* request = nullptr) const;
  verdict::Holder name_of_holder(std::string_view uid, std::string_view driver, std::string_view pool) const;
  // The pod waits: event, condition and a line in the log say why.
  void waits(reconcile::EventReason reason, const std::string& note, const std::string& signature);
  void complain(reconcile::EventReason reason, const std::string& note, const std::string& signature);
  // On the claim. Of the pods that share it the first one reports, or they would contradict each other.
  void complain_about(const api::ResourceClaim& claim, const std::string& note, const std::string& signature);
  void complain_of(const reconcile::Ref& object, reconcile::EventReason reason, const std::string& note,
                   const std::string& signature);
  void count_failure(const std::string& cause);
  void count_pending(const std::string& cause);

  // ---- condition.cc
  void show_waiting(const std::string& sentence, const std::string& kind);
  void show_allocated(const std::string& message);
  // Bind mode: a node that others nominated for the pod, and that is none for it.
  void drop_nomination();
  Duration pause_of_condition(const api::Condition* known, const std::string& kind);
  void write_condition_of_pod(const std::string& status, const std::string& reason, const std::string& message,
                              const std::string& kind);

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
  // Bind mode: the claim for extended_, which is among state_.claims then; null: there is none that can be used.
  const std::shared_ptr<const api::ResourceClaim> extended_claim_;
  // What the claim serves, or is supposed to serve while nodes are tried.
  std::optional<std::vector<reconcile::ExtendedResource>> claimed_;
  std::string kept_from_;        // a clause: what was left out of the last choice, for a group
  bool waits_for_pods_ = false;  // the last choice of nodes depended on other pods
  bool waits_for_room_ = true;   // or on what they have there
  reconcile::Outcome outcome_;
};

}  // namespace dra::allocation
