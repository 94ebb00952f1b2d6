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
#include "controllers/allocation/extended.h"
#include "controllers/allocation/protocol.h"
#include "pkg/verdict/verdict.h"

namespace dra::allocation {

// What a run reads besides the objects. All must outlive it.
struct Tools {
  const Options& options;
  inventory::Inventory& inventory;
  allocator::Allocator& allocator;
  NodeChooser& nodes;
};

class PodReconcile {
 public:
  // `role` is not kNone.
  PodReconcile(const reconcile::View& view, const api::Pod& pod, Role role, const Tools& tools);

  reconcile::Outcome run();

 private:
  using Conflicts = std::vector<inventory::AuditFinding>;

  // ---- decide.cc
  void allocate();
  // The nodes that the pod and its already allocated claims allow.
  NodeChoice candidate_nodes();
  void write_decision(const allocator::Request& request, const allocator::Decision& decision);

  // ---- prove.cc
  Conflicts conflicts_of_allocated() const;
  // Gives way to what stands in the overlap, or reports the conflict.
  void yield_to(const Conflicts& conflicts);
  void prove();
  bool withdrawable(const ClaimState& claim) const;
  // Withdraws all unmarked siblings together; false when there is none that we may withdraw.
  bool withdraw();

  // ---- leave.cc
  // P8: takes the pod out of claims that it announced to leave. True while one of them is not left yet.
  bool leave();
  // Announces that the pod leaves the settled claims among these that are reserved for it; false when there is none.
  bool announce_leaving(const std::vector<ClaimState>& claims);
  // Gives back what is reserved for the pod and of no use to it any more.
  bool drop_abandoned();
  // Nothing fits: gives back what stands in the way. First what is not proven (P5), then what is proven (P8).
  bool give_back() { return withdraw() || announce_leaving(state_.claims); }

  // ---- extended_use.cc
  // False, and reported, when no node would serve the pod's extended resources without an allocation that is not
  // proven.
  bool serves_extended();
  // Adds the nodes whose device plugins advertise the pod's extended resources.
  void narrow_to_advertising(api::NodeSelectorTerm& term) const;

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
  void let_go(const NodeChoice& choice);
  void warn_of_binding_conditions();
  std::string devices_words() const;
  void lift_gate(const api::NodeSelectorTerm& term);

  // ---- report.cc
  void no_node(const NodeChoice& choice);
  void no_devices(const allocator::Request& request, const std::vector<allocator::NodeId>& order,
                  const allocator::FoundNodes& found);
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
  verdict::Verdict verdict_of(const std::vector<allocator::NodeId>& passed, const allocator::FoundNodes* found) const;
  verdict::Holder name_of_holder(std::string_view uid, std::string_view driver, std::string_view pool) const;
  // The pod waits: event, condition and a line in the log say why.
  void waits(const std::string& reason, const std::string& note, const std::string& signature);
  void complain(const std::string& reason, const std::string& note, const std::string& signature);
  // On the claim. Of the pods that share it the first one reports, or they would contradict each other.
  void complain_about(const api::ResourceClaim& claim, const std::string& note, const std::string& signature);
  void complain_of(const reconcile::Ref& object, const std::string& reason, const std::string& note,
                   const std::string& signature);
  void count_failure(const std::string& cause);

  // ---- condition.cc
  void show_waiting(const std::string& sentence, const std::string& kind);
  void show_allocated(const std::string& message);
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
  const PodState state_;
  const std::vector<ExtendedResource> extended_;
  bool waits_for_pods_ = false;  // the last choice of nodes depended on other pods
  reconcile::Outcome outcome_;
};

}  // namespace dra::allocation
