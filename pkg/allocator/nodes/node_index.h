// NodeIndex: per filter, the number of available candidates on each node, kept up to date from the change log.
//
// It gives an upper bound for a search on a node, so that most nodes of a fleet in which one node fits are not
// searched. Pools that several nodes can use count for every node. The pools of one node are counted when that node is
// first queried: a request that fits on the first nodes never pays for the others. Counting makes masks, so it stops
// when the meter's slice ends; the next call continues.
#pragma once

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "pkg/allocator/plan/filters.h"

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
  bool made_ = false;           // the pools of several nodes are counted
  inventory::PoolId next_ = 0;  // until then: the first pool not counted
  uint64_t last_used_ = 0;      // NodeIndex::clock_
  uint64_t seen_ = 0;           // position in the change log
  struct OfNode : Count {
    bool asked = false;  // its pools are counted
  };
  std::vector<OfNode> by_node_;
  Count everywhere_;  // of pools that are not local to one node
  std::vector<Contribution> by_pool_;
};

class NodeIndex {
 public:
  // All arguments must outlive this.
  NodeIndex(inventory::DeviceIndex& device_index, Filters& filters, Meter& meter, DeferredFrees& frees)
      : device_index_(device_index), filters_(filters), meter_(meter), deferred_frees_(frees) {}

  static constexpr size_t kFewestBytes = 1u << 20, kMostBytes = 4u << 20;

  // The current counts of a filter; null: the slice ended first. `admin`: counts all usable devices, available or not.
  // The pointer is valid until clear() or trim().
  NodeCounts* counts(FilterId filter, bool admin);
  // An upper bound for the devices available on the node; valid while the inventory does not change after counts().
  // False: the slice ended first.
  bool bound(NodeCounts& counts, inventory::NodeId node, NodeCounts::Count& most) {
    if ((node >= counts.by_node_.size() || !counts.by_node_[node].asked) && !ask(counts, node)) return false;
    const NodeCounts::OfNode& here = counts.by_node_[node];
    most = {counts.everywhere_.candidates + here.candidates, counts.everywhere_.shareable + here.shareable};
    return true;
  }
  // The part of the counted devices that is in pools not local to one node.
  static uint32_t not_local(const NodeCounts& counts) { return counts.everywhere_.candidates; }
  // For how many filters one decision may request counts, so that they stay within max_bytes() until trim().
  size_t most_filters() const { return std::clamp<size_t>(kMostBytes / bytes_of_one(), kFewestFilters, kMostFilters); }
  // Of all counts, after trim().
  size_t max_bytes() const { return std::clamp<size_t>(kMostFilters * bytes_of_one(), kFewestBytes, kMostBytes); }
  void clear() { deferred_frees_.add(counts_, kFreesOfCounts); }
  // Drops the least recently used counts beyond max_bytes().
  void trim();

 private:
  static constexpr size_t kFreesOfCounts = 1000;  // two large vectors take as long as this many small frees
  static constexpr size_t kFewestFilters = 8;
  static constexpr size_t kMostFilters = 64;  // so that a check of one node takes at most a microsecond

  size_t bytes_of_one() const {
    return sizeof(NodeCounts) + device_index_.pool_slots() * sizeof(NodeCounts::Contribution) +
           device_index_.node_slots() * sizeof(NodeCounts::OfNode);
  }
  bool ask(NodeCounts& counts, inventory::NodeId node);
  bool update(NodeCounts& counts, inventory::PoolId id);
  bool note_change(NodeCounts& counts, inventory::PoolId id);

  inventory::DeviceIndex& device_index_;
  Filters& filters_;
  Meter& meter_;
  DeferredFrees& deferred_frees_;
  std::unordered_map<uint64_t, NodeCounts> counts_;
  uint64_t clock_ = 0;
};

}  // namespace dra::allocator
