// Tools: what a reconcile of the allocation controller uses besides the objects: options, the engines that it asks, and
// what the controller keeps in memory. AllocationReconciler makes one for each reconcile; the steps of pod/ and group/
// get it in their context. What it refers to changes when it is used (an allocator remembers, a note is made), on the
// reconciler's thread alone. All must outlive the reconcile.
#pragma once

#include "controllers/allocation/options.h"
#include "pkg/allocator/allocator.h"
#include "pkg/gang/gang.h"
#include "pkg/inventory/inventory.h"
#include "pkg/nodes/node_chooser.h"

namespace dra::allocation {

class GroupLeaders;
class KeptClaims;
class KeptDevices;
class KeptMembers;
class KeptNodes;
class PromisedDevices;
class WhyHere;

struct Tools {
  const Options& options;
  inventory::Inventory& inventory;
  allocator::Allocator& allocator;
  nodes::NodeChooser& nodes;
  WhyHere& why_here;
  KeptNodes& kept;
  KeptDevices& kept_devices;
  const PromisedDevices& promised;
  gang::Gangs& gangs;
  GroupLeaders& leaders;
  KeptMembers& kept_members;
  KeptClaims& kept_claims;
};

}  // namespace dra::allocation
