// NodeNumbers: the inventory's numbers of placement's nodes.
//
//   numbers.follow(cluster);                                    // once a decision
//   for (const RankedNode& node : decision.nodes) order.push_back(numbers.of(node.node));
//
// A look-up by name for each of 5,000 nodes costs more than the rest of a decision, so a number is kept while the
// inventory knows it. A node that the inventory forgot and learned again has a new number, and the old one means no
// other node; a cluster sometimes reuses a slot for another name, which follow() notices. One cluster and one inventory
// for the life of the table; one thread.
#pragma once

#include <cstdint>
#include <vector>

#include "pkg/inventory/inventory.h"
#include "pkg/placement/cluster.h"

namespace dra::placement {

class NodeNumbers {
 public:
  explicit NodeNumbers(const inventory::Inventory& inventory) : inventory_(inventory) {}

  void follow(const Cluster& cluster) {
    cluster_ = &cluster;
    if (version_ == cluster.slots_version()) return;
    version_ = cluster.slots_version();
    numbers_.assign(cluster.slots(), inventory::kNone);
  }
  // `node` must have a name, and follow() must have seen it. kNone: the inventory does not know it.
  inventory::NodeId of(NodeIndex node) {
    inventory::NodeId& number = numbers_[node];
    if (!inventory_.knows(number)) number = inventory_.node_id(cluster_->rest(node).name);
    return number;
  }

 private:
  const inventory::Inventory& inventory_;
  const Cluster* cluster_ = nullptr;
  uint64_t version_ = 0;  // 0: of no cluster
  std::vector<inventory::NodeId> numbers_;
};

}  // namespace dra::placement
