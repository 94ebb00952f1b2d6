// Counted: the least victims for a group of interchangeable pods, by counting what each node lacks.
//
// Each node is a small sum: how much CPU, memory, pods and devices so many members need there, and what its pods free.
// The least harm that suffices on all nodes together, budgets included (selection.h), is a bound on every set of
// victims, because counting leaves rules out and adds none. If the set found by counting also suffices, it is a best
// one, whatever the size of the cluster; else it says nothing, and the search goes on without it.
//
// Good for: many equal pods over many nodes. Not for: pods of several shapes, and devices that several nodes can use.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "pkg/preempt/candidates.h"
#include "pkg/preempt/fit.h"
#include "pkg/preempt/selection.h"
#include "pkg/preempt/stage.h"
#include "pkg/preempt/world.h"

namespace dra::preempt {

class Counted {
 public:
  // The scene is arranged, and the pending pods do not fit in it. `spent`: the search must end.
  Counted(World& world, const Stage& stage, Fit& fit, const Candidates& candidates, std::function<bool()> spent);

  enum class Finding : uint8_t {
    kNothing,  // it does not apply, or counting found no set
    kSome,     // there may be one with less harm
    kSet,      // no set has less harm
  };
  struct Outcome {
    Finding finding = Finding::kNothing;
    std::vector<uint32_t> pods;  // sorted; whether they suffice is to be asked
  };
  Outcome least();

 private:
  static constexpr size_t kMaxDimensions = 8;
  static constexpr size_t kMaxSetsOfNode = 4096;
  using Amounts = std::array<int64_t, kMaxDimensions>;

  struct NodeOf {
    Amounts free{};
    std::vector<uint32_t> pods;  // that may go
  };
  // A pod of a node, as it matters there.
  struct Leaver {
    uint32_t pod = 0;
    uint32_t better = 0;  // as bits: those before it that are no worse than it in any way, so they go first
    Cost cost;
  };
  class WaysOfNode;

  bool applies();
  void read_nodes();
  void read_devices();
  void read_budgets();
  void rank_pods();
  std::optional<Selection> ways_of_nodes(bool may_break);
  std::vector<Leaver> leavers_of(const NodeOf& node, bool may_break, int64_t& most) const;
  int64_t members_with(const Amounts& free) const;
  Amounts without(Amounts free, uint32_t pod) const;
  std::optional<Outcome> least_of(bool may_break);
  Outcome found(Finding finding, const Selection::Choice& choice) const;

  World& world_;
  const Stage& stage_;
  Fit& fit_;
  const Candidates& candidates_;
  const std::function<bool()> spent_;
  std::vector<inventory::NodeId> nodes_;
  size_t dimensions_ = 3;
  Amounts needs_{};                             // of one member
  std::vector<NodeOf> of_node_;                 // as nodes_
  std::vector<Amounts> frees_;                  // by pod, at most
  std::vector<std::vector<uint32_t>> budgets_;  // by pod: those that allow some evictions, sorted
  std::vector<int64_t> violations_;             // by pod: budgets that allow none
  std::vector<uint32_t> rank_;                  // by pod: its place by priority, then by youth
  std::vector<uint32_t> last_of_priority_;      // ranks, by priority
  std::vector<std::vector<uint32_t>> goes_;     // by node: the pods that the bits of its ways stand for
};

}  // namespace dra::preempt
