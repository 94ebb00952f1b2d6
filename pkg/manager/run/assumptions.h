// ClusterAssumptions: decisions that are not in the stream yet, kept in the inventory and the node tracker.
//
// An assumption about a claim's devices ends when the stream has the claim at or after the write, when the claim is
// gone, or when the write certainly failed. Not thread-safe: the reactor's thread owns it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>

#include "pkg/inventory/inventory.h"
#include "pkg/manager/run/sinks.h"
#include "pkg/manager/run/store_view.h"
#include "pkg/nodes/node_tracker.h"

namespace dra::manager {

class ClusterAssumptions : public Assumptions {
 public:
  ClusterAssumptions(inventory::Inventory& inventory, nodes::NodeTracker& nodes, const Stores& stores)
      : inventory_(inventory), nodes_(nodes), stores_(stores) {}

  bool assume(const reconcile::Write& write) override;
  void forget(const reconcile::Write& write) override;
  void written(const reconcile::Write& write, uint64_t revision) override;
  void avoid(const reconcile::AvoidNodes& avoided) override {
    nodes_.avoid(avoided.uid, avoided.nodes, avoided.lasts, avoided.why);
  }
  void hold(const reconcile::AssumedPod& assumed) override;
  void let_go(const reconcile::AssumedPod& assumed) override;

  // A pod that has devices on one node and is not bound yet counts on that node, whoever decided it. `takes`: see
  // NodeTracker::assume().
  void recall(const api::Pod& pod, const std::optional<std::vector<api::ClaimTakes>>& takes = std::nullopt);
  // The stream of claims has reached this revision.
  void claims_reached(uint64_t revision);
  void claim_gone(const std::string& uid);
  // A new term of leadership begins without assumptions.
  void drop_all();
  size_t size() const { return held_.size(); }

 private:
  inventory::Inventory& inventory_;
  nodes::NodeTracker& nodes_;
  const Stores& stores_;
  struct Held {
    uint64_t decision = 0;             // Write::id
    std::optional<uint64_t> revision;  // of the successful write: the stream takes over here
  };

  void take(const reconcile::Write& write);
  void end(const std::string& uid);

  std::unordered_map<std::string, Held> held_;  // by claim uid
};

}  // namespace dra::manager
