// The allocation controller: allocates claims of waiting pods, proves the allocations, then ungates or binds the pods.
//
// It follows the protocol P1 to P8 of docs/design/arbitration.md: allocate and reserve in one write, prove on the
// stream that nothing is over-committed, mark the proof on the claim by compare-and-swap, and only then ungate or bind
// the pod. Each reconcile derives the pod's state from the objects (protocol.h) and returns the next step.
//
// The reconciler reads an inventory and a node chooser that others keep up to date. Between reconciles it keeps only
// what a restart may lose: clauses for events, what is kept for groups (kept_nodes.h, kept_devices.h), and unfinished
// searches. One thread owns the reconciler and all of these.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "controllers/allocation/kept/group_leaders.h"
#include "controllers/allocation/kept/kept_devices.h"
#include "controllers/allocation/kept/kept_nodes.h"
#include "controllers/allocation/options.h"
#include "controllers/allocation/pod/recreations.h"
#include "controllers/allocation/pod/why_here.h"
#include "pkg/allocator/allocator.h"
#include "pkg/gang/gang.h"
#include "pkg/inventory/inventory.h"
#include "pkg/nodes/node_chooser.h"
#include "pkg/reconcile/reconciler.h"

namespace dra::allocation {

class KeptMembers;

class AllocationReconciler : public reconcile::Reconciler {
 public:
  // All must outlive the reconciler.
  AllocationReconciler(Options options, inventory::Inventory& inventory, allocator::Allocator& allocator,
                       NodeChooser& nodes)
      : options_(std::move(options)),
        inventory_(inventory),
        allocator_(allocator),
        nodes_(nodes),
        gangs_(inventory, allocator, gang_options(allocator)),
        kept_members_(make_kept_members()) {}

  std::string_view name() const override { return "allocation"; }
  void events_end() const override;
  // If this program also makes the claims, pods need not wait for their names to be published (Options::own_claims).
  void others_run(const std::set<std::string_view>& names) override;
  reconcile::Outcome reconcile(const reconcile::View& view, const reconcile::Key& key) const override;

  void on_pod(const reconcile::View& view, const api::Pod* before, const api::Pod* after,
              reconcile::EnqueueRequests& out) const override;
  void on_claim(const reconcile::View& view, const api::ResourceClaim* before, const api::ResourceClaim* after,
                reconcile::EnqueueRequests& out) const override;
  void on_streamed_claim(const reconcile::View& view, const api::ResourceClaim* before, const api::ResourceClaim* after,
                         reconcile::EnqueueRequests& out) const override;
  void on_capacity_released(const reconcile::View& view, reconcile::EnqueueRequests& out) const override;
  void on_write_given_up(const reconcile::View& view, const reconcile::Write& write,
                         reconcile::EnqueueRequests& out) const override;
  std::vector<reconcile::Key> wait_with(const reconcile::View& view, const reconcile::Key& key) const override;
  std::optional<reconcile::Write> show_outage(const reconcile::View& view, const reconcile::Key& key,
                                              const std::string& sentence) const override;
  void on_node(const reconcile::View& view, const api::Node* before, const api::Node* after,
               reconcile::EnqueueRequests& out) const override;
  void on_volumes(const reconcile::View& view, std::string_view claim, reconcile::EnqueueRequests& out) const override;
  void on_group(const reconcile::View& view, std::string_view group, reconcile::EnqueueRequests& out) const override;
  void on_class(const reconcile::View& view, const api::DeviceClass* before, const api::DeviceClass* after,
                reconcile::EnqueueRequests& out) const override;
  void on_slice(const reconcile::View& view, const api::ResourceSlice* before, const api::ResourceSlice* after,
                reconcile::EnqueueRequests& out) const override;
  void on_taint_rule(const reconcile::View& view, const api::DeviceTaintRule* before, const api::DeviceTaintRule* after,
                     reconcile::EnqueueRequests& out) const override;

 private:
  static gang::Options gang_options(const allocator::Allocator& allocator) {
    gang::Options options;
    options.slice = allocator.options().slice;
    options.step_budget = std::min(options.step_budget, allocator.options().max_step_budget);
    return options;
  }
  static std::shared_ptr<KeptMembers> make_kept_members();
  reconcile::Outcome reconcile_pod(const reconcile::View& view, const reconcile::Key& key) const;
  // Adds the pod, and the pod that is reconciled for its group.
  void add_pod(const reconcile::View& view, const api::Pod& pod, reconcile::EnqueueRequests& out) const;
  // The same for many pods: the leader of a group is looked up once, and of many members that wait together, which
  // follow it, only the leader is added.
  void add_pods(const reconcile::View& view, const std::vector<const api::Pod*>& pods,
                reconcile::EnqueueRequests& out) const;
  // The first member of the group was let go.
  void on_first(const reconcile::View& view, std::string_view group, reconcile::EnqueueRequests& out) const;
  void enqueue_group(const reconcile::View& view, const api::Pod* before, const api::Pod* after,
                     reconcile::EnqueueRequests& out) const;

  Options options_;
  inventory::Inventory& inventory_;
  allocator::Allocator& allocator_;
  NodeChooser& nodes_;
  mutable WhyHere why_here_;                         // clauses for events only
  mutable GroupLeaders leaders_;                     // waiting pods that are reconciled for their groups
  mutable KeptNodes kept_;                           // for groups that have waited too long
  mutable KeptDevices kept_devices_;                 // for members that come again
  mutable Recreations recreations_;                  // of pinned pods
  mutable gang::Gangs gangs_;                        // unfinished searches
  const std::shared_ptr<KeptMembers> kept_members_;  // of groups with such a search
};

}  // namespace dra::allocation
