// allocation: pending claims and the pods that wait for them -> allocations, proofs, and pods ungated or bound.
//
// The protocol is P1 to P7 of docs/design/arbitration.md: allocate and reserve in one write, prove on the stream that
// nothing is over-committed, mark the proof on the claim by compare-and-swap, and only then let the pod go. It is no
// sequence in memory: every pass derives from the objects where a pod stands (protocol.h) and returns the next step.
//
// The reconciler reads an inventory and a node chooser that others keep up to date; it keeps nothing between passes but
// the words with which an event says why a node was chosen, and what is kept for groups (kept_nodes.h, kept_devices.h).
// One thread owns it and them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "controllers/allocation/kept_devices.h"
#include "controllers/allocation/kept_nodes.h"
#include "controllers/allocation/node_chooser.h"
#include "controllers/allocation/why_here.h"
#include "pkg/allocator/allocator.h"
#include "pkg/gang/gang.h"
#include "pkg/inventory/inventory.h"
#include "pkg/reconcile/reconciler.h"

namespace dra::allocation {

inline constexpr std::string_view kAllocationGate = "dra-controller-manager/allocation";

enum class Mode {
  kObserve,  // explain only: no writes
  kGate,     // allocate for pods that carry our gate, when it is the last one left, then lift it
  kBind,     // the same, and bind pods of our scheduler names
};

struct Options {
  Mode mode = Mode::kGate;
  // Bind mode: the values of spec.schedulerName whose pods are ours to bind.
  std::vector<std::string> scheduler_names;
  // Before an uninstall: no new allocations; every gate of ours is lifted once what we allocated is proven or
  // withdrawn.
  bool release_gates = false;
  // The claims of template entries are made by this program: they may be used before the pod's status names them.
  bool own_claims = false;
  // Pods that kube-scheduler does not place on the node of their devices are evicted, in labelled namespaces
  // (pinned.h).
  bool recreate_pinned_pods = false;
  // The holds of a group that is not complete are given back at the latest after this time (group_reconcile.h).
  Duration gang_hold_timeout = std::chrono::seconds(30);
  // A group that waits for so long keeps the nodes that it needs from pods of its priority and below (kept_nodes.h).
  Duration gang_starvation_after = std::chrono::minutes(5);
  // Labels of nodes, or attributes of devices, from wide domains to narrow ones (topology.h).
  std::vector<std::string> topology_levels;
  // A waiting pod is tried again after this time even if nothing changed that it waits for.
  Duration retry_parked = std::chrono::minutes(5);
};

// The label values of dra_allocation_failures_total: allocator::cause_name's, and those of whole decisions.
std::vector<std::string> failure_causes();

class AllocationReconciler : public reconcile::Reconciler {
 public:
  // All must outlive the reconciler.
  AllocationReconciler(Options options, inventory::Inventory& inventory, allocator::Allocator& allocator,
                       NodeChooser& nodes)
      : options_(std::move(options)),
        inventory_(inventory),
        allocator_(allocator),
        nodes_(nodes),
        gangs_(inventory, allocator, gang_options(allocator)) {}

  std::string_view name() const override { return "allocation"; }
  // Whoever makes the claims publishes them, too: then their names need not be waited for (Options::own_claims).
  void others_run(const std::set<std::string_view>& names) override {
    options_.own_claims = names.contains("claimtemplate");
  }
  reconcile::Outcome reconcile(const reconcile::View& view, const reconcile::Key& key) const override;

  void on_pod(const reconcile::View& view, const api::Pod* before, const api::Pod* after,
              reconcile::Triggers& out) const override;
  void on_claim(const reconcile::View& view, const api::ResourceClaim* before, const api::ResourceClaim* after,
                reconcile::Triggers& out) const override;
  void on_streamed_claim(const reconcile::View& view, const api::ResourceClaim* before, const api::ResourceClaim* after,
                         reconcile::Triggers& out) const override;
  void on_room_released(const reconcile::View& view, reconcile::Triggers& out) const override;
  void on_write_given_up(const reconcile::View& view, const reconcile::Write& write,
                         reconcile::Triggers& out) const override;
  void on_node(const reconcile::View& view, const api::Node* before, const api::Node* after,
               reconcile::Triggers& out) const override;
  void on_volumes(const reconcile::View& view, std::string_view claim, reconcile::Triggers& out) const override;
  void on_group(const reconcile::View& view, std::string_view group, reconcile::Triggers& out) const override;
  void on_class(const reconcile::View& view, const api::DeviceClass* before, const api::DeviceClass* after,
                reconcile::Triggers& out) const override;
  void on_slice(const reconcile::View& view, const api::ResourceSlice* before, const api::ResourceSlice* after,
                reconcile::Triggers& out) const override;
  void on_taint_rule(const reconcile::View& view, const api::DeviceTaintRule* before, const api::DeviceTaintRule* after,
                     reconcile::Triggers& out) const override;

 private:
  static gang::Options gang_options(const allocator::Allocator& allocator) {
    gang::Options options;
    options.slice = allocator.options().slice;
    return options;
  }
  reconcile::Outcome reconcile_pod(const reconcile::View& view, const reconcile::Key& key) const;
  // The pod, and the one that is reconciled for its group.
  void add_pod(const reconcile::View& view, const api::Pod& pod, reconcile::Triggers& out) const;
  void wake_group(const reconcile::View& view, const api::Pod* before, const api::Pod* after,
                  reconcile::Triggers& out) const;

  Options options_;
  inventory::Inventory& inventory_;
  allocator::Allocator& allocator_;
  NodeChooser& nodes_;
  mutable WhyHere why_here_;          // words for events only
  mutable KeptNodes kept_;            // of groups that have waited for too long
  mutable KeptDevices kept_devices_;  // of members that come again
  mutable gang::Gangs gangs_;         // searches that go on
};

}  // namespace dra::allocation
