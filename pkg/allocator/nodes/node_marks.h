// NodeMarks: when something on a node last changed, so that results computed for it can be reused.
//
//   marks.follow();                                // once a decision
//   if (kept.stamp >= marks.changed(node)) ...     // kept.stamp = marks.now() when it was computed
//
// Follows the inventory's log: claims that use a pool local to one node mark that node; any other change (slices, pools
// of several nodes, labels) marks all nodes, because it is rare or hard to attribute. One thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "pkg/inventory/device_index.h"

namespace dra::allocator {

class NodeMarks {
 public:
  explicit NodeMarks(const inventory::DeviceIndex& device_index) : device_index_(device_index) {}

  void follow();
  // At least 1; the inventory must have known the node at follow().
  uint64_t changed(inventory::NodeId node) const { return std::max(changed_[node], all_changed_); }
  uint64_t now() const { return now_; }

 private:
  const inventory::DeviceIndex& device_index_;
  std::vector<uint64_t> changed_;  // by node
  std::vector<uint64_t> tables_;   // version of the slices by pool, at the last look
  uint64_t now_ = 1;
  uint64_t all_changed_ = 1;
  uint64_t seen_ = 0;           // position in the log
  uint64_t nodes_version_ = 0;  // DeviceIndex::nodes_version()
};

}  // namespace dra::allocator
