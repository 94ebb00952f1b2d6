// Trial: what a search has placed so far, in Nodes and in the inventory; undone step by step, and by the destructor. A
// push() checks nothing: the caller has found that the step fits. Not thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "pkg/gang/request.h"
#include "pkg/gang/search/table.h"
#include "pkg/inventory/hash128.h"

namespace dra::gang {

// The decisions for claims, by their number in the table.
using ClaimResults = std::vector<std::pair<uint32_t, api::AllocationResult>>;

class Trial {
 public:
  static constexpr uint32_t kNoMember = UINT32_MAX;  // a step that decides only claims

  struct Step {
    uint32_t member = kNoMember;
    NodeId node = inventory::kNone;
    // Claims that the step decided, each with its earlier decision.
    std::vector<std::pair<uint32_t, std::optional<api::AllocationResult>>> before;
  };

  // All must outlive this.
  Trial(const Table& table, inventory::Inventory& inventory, Nodes& nodes);
  ~Trial();
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

  // Claims in `results` that are already decided are decided again.
  void push(uint32_t member, NodeId node, ClaimResults results);
  void pop();

  const std::vector<Step>& steps() const { return steps_; }
  size_t placed() const { return placed_; }
  uint32_t placed_of_kind(uint32_t kind) const { return placed_of_kind_[kind]; }
  bool is_placed(uint32_t member) const { return node_of_[member] != inventory::kNone; }
  NodeId node_of(uint32_t member) const { return node_of_[member]; }
  // In order of placing; null: none.
  const std::vector<uint32_t>* members_on(NodeId node) const;
  const std::optional<api::AllocationResult>& decided(uint32_t claim) const { return decided_[claim]; }
  // Takes the decision out of a trial that is only undone from now on.
  api::AllocationResult give_up_decided(uint32_t claim) { return std::move(*decided_[claim]); }
  // The undecided claims of the member and of the members on its node.
  std::vector<uint32_t> undecided(uint32_t member) const;
  // The first unplaced member of the kind; there must be one.
  uint32_t next_of(uint32_t kind) const;

  // Which kinds of members are on which nodes: equal if only members of one kind are swapped.
  inventory::Hash128 places() const { return sum_; }
  // The kinds of the node's members.
  inventory::Hash128 kinds_on(NodeId node) const;

  static inventory::Hash128 mark(uint32_t kind, NodeId node);

  // The decisions of these claims do not count until resume().
  void suspend(std::span<const uint32_t> claims);
  void resume(std::span<const uint32_t> claims);

 private:
  void decide(uint32_t claim, std::optional<api::AllocationResult> result);

  const Table& table_;
  inventory::Inventory& inventory_;
  Nodes& nodes_;
  std::vector<Step> steps_;
  std::vector<std::optional<api::AllocationResult>> decided_;
  std::vector<NodeId> node_of_;
  std::vector<uint32_t> placed_of_kind_;
  std::unordered_map<NodeId, std::vector<uint32_t>> on_node_;
  size_t placed_ = 0;
  inventory::Hash128 sum_{0, 0};
};

// Sums, so that the order does not matter.
inline inventory::Hash128 plus(inventory::Hash128 x, const inventory::Hash128& y) {
  return {x.a + y.a, x.b + y.b};
}

}  // namespace dra::gang
