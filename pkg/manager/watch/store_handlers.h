// What follows from a change in a store: derived state first (inventory, node tracker, memory, figures), then the
// runner, which enqueues the keys concerned. So a reconcile never sees derived state that is older than its objects.
#pragma once

#include "pkg/base/clock.h"

namespace dra::inventory {
class Inventory;
}

namespace dra::nodes {
class NodeTracker;
class PluginNodes;
}  // namespace dra::nodes

namespace dra::manager {

class Audit;
class ClusterAssumptions;
class Exclusivity;
class GroupWatches;
class Instruments;
struct Memory;
class PinnedPods;
class Runner;
class SiliconKeeper;
class StuckClaims;
class UnknownObjects;
class UsageReporter;
struct Watches;

// All must outlive the watches. One copy is shared by the handlers of all stores.
struct StoreHandlers {
  const Clock& clock;
  inventory::Inventory& inventory;
  nodes::NodeTracker& nodes;
  Memory& memory;
  ClusterAssumptions& assumptions;
  Audit& audit;
  Instruments& instruments;
  Exclusivity& exclusivity;
  StuckClaims& stuck;
  PinnedPods& pinned;
  GroupWatches& groups;
  Runner& runner;
  UnknownObjects& unknown;
  UsageReporter& usage;
  nodes::PluginNodes& plugins;
  SiliconKeeper& silicon;
};

// Call once, before the watches start.
void connect_stores(Watches& watches, const StoreHandlers& handlers);

}  // namespace dra::manager
