// NodeIndex: per filter, how many available candidates each node has, kept up to date from the inventory's change log.
//
// It bounds from above what a search could find on a node, so that a fleet of which one node fits is mostly not
// searched. Pools that several nodes can use count for every node.
#pragma once

#include <unordered_map>
#include <vector>

#include "pkg/allocator/filters.h"

namespace dra::allocator {

struct NodeCounts {
  bool made = false;
  uint64_t seen = 0;  // position in the change log
  std::vector<uint32_t> by_node;
  uint64_t everywhere = 0;  // of pools that are not local to one node
  struct Contribution {
    inventory::NodeId node = inventory::kNone;  // kNone: everywhere
    uint32_t candidates = 0;
    uint32_t shareable = 0;
  };
  std::vector<Contribution> by_pool;
  uint64_t shareable = 0;  // candidates that can be shared, in all pools

  uint64_t bound(inventory::NodeId node) const { return everywhere + (node < by_node.size() ? by_node[node] : 0); }
};

class NodeIndex {
 public:
  NodeIndex(inventory::Core& core, Filters& filters) : core_(core), filters_(filters) {}

  // The counts of a filter as of now. `admin`: of all usable devices, whether available or not.
  const NodeCounts& counts(FilterId filter, bool admin);
  void clear() { counts_.clear(); }

 private:
  void update(NodeCounts& counts, FilterId filter, bool admin, inventory::PoolId id);

  inventory::Core& core_;
  Filters& filters_;
  std::unordered_map<uint64_t, NodeCounts> counts_;
};

}  // namespace dra::allocator
