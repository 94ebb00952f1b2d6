// NodeIndex: per filter, how many available candidates each node has, kept up to date from the inventory's change log.
//
// It bounds from above what a search could find on a node, so that a fleet of which one node fits is mostly not
// searched. Pools that several nodes can use count for every node. The pools of one node are counted when that node is
// first asked for: who finds something on the first nodes never pays for the others.
#pragma once

#include <unordered_map>
#include <vector>

#include "pkg/allocator/filters.h"

namespace dra::allocator {

class NodeCounts {
 public:
  struct Count {
    uint32_t candidates = 0;
    uint32_t shareable = 0;  // candidates that can be shared: they may serve several requests
  };

 private:
  friend class NodeIndex;
  struct Contribution {
    inventory::NodeId node = inventory::kNone;  // kNone: everywhere
    bool known = false;
    uint32_t candidates = 0;
    uint32_t shareable = 0;
  };
  FilterId filter_ = 0;
  bool admin_ = false;
  bool made_ = false;
  uint64_t seen_ = 0;  // position in the change log
  struct OfNode : Count {
    bool asked = false;  // its pools are counted
  };
  std::vector<OfNode> by_node_;
  Count everywhere_;  // of pools that are not local to one node
  std::vector<Contribution> by_pool_;
};

class NodeIndex {
 public:
  NodeIndex(inventory::Core& core, Filters& filters) : core_(core), filters_(filters) {}

  // The counts of a filter as of now. `admin`: of all usable devices, whether available or not. The reference is good
  // until clear().
  NodeCounts& counts(FilterId filter, bool admin);
  // At most so many devices can be had on the node; valid while the inventory does not change after counts().
  NodeCounts::Count bound(NodeCounts& counts, inventory::NodeId node) {
    if (node >= counts.by_node_.size() || !counts.by_node_[node].asked) ask(counts, node);
    const NodeCounts::OfNode& here = counts.by_node_[node];
    return {counts.everywhere_.candidates + here.candidates, counts.everywhere_.shareable + here.shareable};
  }
  void clear() { counts_.clear(); }

 private:
  void ask(NodeCounts& counts, inventory::NodeId node);
  void update(NodeCounts& counts, inventory::PoolId id);
  void note_change(NodeCounts& counts, inventory::PoolId id);

  inventory::Core& core_;
  Filters& filters_;
  std::unordered_map<uint64_t, NodeCounts> counts_;
};

}  // namespace dra::allocator
