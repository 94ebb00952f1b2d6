// State of the allocation controller: what its reconciles and events share (pkg/reconcile/state.h).
//
// Nothing here decides whether an allocation is right: that is derived from the objects, and proven on the stream. What
// is kept saves work, or is owed to pods and groups for a while; each field says what a restart loses.
#pragma once

#include <memory>
#include <set>
#include <string_view>

#include "controllers/allocation/kept/group_leaders.h"
#include "controllers/allocation/kept/kept_claims.h"
#include "controllers/allocation/kept/kept_devices.h"
#include "controllers/allocation/kept/kept_nodes.h"
#include "controllers/allocation/kept/promised_devices.h"
#include "controllers/allocation/options.h"
#include "controllers/allocation/pod/why_here.h"
#include "pkg/allocator/allocator.h"
#include "pkg/gang/gang.h"
#include "pkg/inventory/inventory.h"
#include "pkg/nodes/node_chooser.h"
#include "pkg/protocol/recreations.h"
#include "pkg/reconcile/state.h"

namespace dra::allocation {

class KeptMembers;

struct State : reconcile::State {
  // All must outlive the state.
  State(Options options, inventory::Inventory& inventory, allocator::Allocator& allocator, nodes::NodeChooser& nodes);
  ~State() override;
  void events_end() override;
  // Sets Options::own_claims: if this program also makes the claims, pods need not wait for their names.
  void controllers_run(const std::set<std::string_view>& names) override;

  // ---- what it was given

  Options options;
  // Kept up to date by the manager. A decision assumes devices in the inventory while it lasts, and the three keep
  // answers that they would otherwise derive again from the objects.
  inventory::Inventory& inventory;
  allocator::Allocator& allocator;
  nodes::NodeChooser& nodes;

  // ---- what it keeps

  // Why a strategy chose a node, until the pod's event. Lost: the event lacks the clause.
  WhyHere why_here;
  // The waiting pods that are reconciled for their groups. Lost: each group's next reconcile looks for its leader.
  GroupLeaders leaders;
  // Nodes that are kept for groups that have waited too long. Lost: the group's next reconcile keeps them again, and
  // what small pods took meanwhile is taken.
  KeptNodes kept_nodes;
  // Devices of members that ended, kept until their successors come. Lost: others may take them.
  KeptDevices kept_devices;
  // Devices that pods were promised. Lost: the pods' events bring them again before the next reconcile.
  PromisedDevices promised;
  // Claims that keep devices without a pod, and what pods take of them. Lost: the claims' events bring them again.
  KeptClaims kept_claims;
  // Evictions of pinned pods that are under way. Lost: each owner may lose Recreations::kAtOnce pods more.
  protocol::Recreations recreations;
  // Searches for groups that go on in the next slice. Lost: they begin anew.
  gang::Gangs gangs;
  // The members of groups with such a search. Lost: derived again. Never null.
  const std::unique_ptr<KeptMembers> kept_members;
};

}  // namespace dra::allocation
