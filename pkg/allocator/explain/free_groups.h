// Free groups: how many groups of a rule about pairs a node's devices make that the requests could each take now, and
// which nodes have fewer than a plan asks.
//
// Selected, tolerated, exclusive ones free, shared ones with room for one more such request; a device serves one term,
// one that may be allocated several times one of each term. Other requests, constraints and shared counters are left
// aside. Where a node has as many as are asked, one of those is the reason why claims do not fit.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "pkg/allocator/groups/group_counter.h"
#include "pkg/allocator/pairs.h"
#include "pkg/allocator/plan/columns.h"
#include "pkg/allocator/plan/plan.h"

namespace dra::allocator {

class FreeGroups {
 public:
  // All must outlive this.
  FreeGroups(const Plan& plan, inventory::DeviceIndex& device_index, Filters& filters, Columns& columns, Meter& meter)
      : plan_(plan), device_index_(device_index), filters_(filters), columns_(columns), meter_(meter) {}

  // Of the entry's groups, counting no further than `most`. Nullopt: the slice ended, or the count took too long. Of a
  // request with alternatives the first one counts.
  std::optional<uint32_t> on_node(const PlanPairs& entry, inventory::NodeId node, uint32_t most);

  // Values of the node whose devices find no partner, a clause for people: "2 gpu of pcieRoot pci0000:60 have no free
  // nic". The first kMostGaps by name; empty: there is none, a device has several values, or the slice ended.
  std::string gaps(const PlanPairs& entry, const PairRule& rule, inventory::NodeId node);
  static constexpr size_t kMostGaps = 2;

  // For each rule whose `asked` is the same on every node (no alternatives, no mode All, no admin access, no allocated
  // claims): the nodes that have fewer. Ends with the slice.
  std::vector<PairShort> shorts(std::span<const inventory::NodeId> nodes);

 private:
  bool add_terms(const PlanPairs& entry, inventory::NodeId node, const Column& column, std::vector<GroupTerm>& terms);
  bool add_devices(const PlanAlternative& alternative, inventory::NodeId node, const Column& column, GroupTerm& term);
  // Whether one more such request has room on the device, whose holders are known.
  bool has_room(const PlanAlternative& alternative, const inventory::Pool& pool, uint32_t device);

  const Plan& plan_;
  inventory::DeviceIndex& device_index_;
  Filters& filters_;
  Columns& columns_;
  Meter& meter_;
  GroupCounter counter_;
};

}  // namespace dra::allocator
