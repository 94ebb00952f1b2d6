// Counted: the least victims for a group of interchangeable pods, by counting what each node lacks.
//
// Each node is a small sum: how much CPU, memory, pods and devices so many members need there, and what its pods free.
// The least priorities that suffice on all nodes together are a bound on every set of victims, because counting leaves
// rules out and adds none. If the set found by counting also suffices, it is a best one, whatever the size of the
// cluster; else it says nothing, and the search goes on without it.
//
// Good for: many equal pods over many nodes. Not for: pods of several shapes, devices that several nodes can use, and
// sets that must break a budget.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "pkg/preempt/candidates.h"
#include "pkg/preempt/fit.h"
#include "pkg/preempt/stage.h"
#include "pkg/preempt/world.h"

namespace dra::preempt {

class Counted {
 public:
  // The scene is arranged, and the pending pods do not fit in it. `spent`: the search must end.
  Counted(World& world, const Stage& stage, Fit& fit, const Candidates& candidates, std::function<bool()> spent);

  enum class Finding : uint8_t {
    kNothing,  // it does not apply, or counting did not find a set without violations
    kSet,      // no set has less harm; whether it suffices is to be asked
  };
  struct Outcome {
    Finding finding = Finding::kNothing;
    std::vector<uint32_t> pods;  // kSet: sorted
  };
  Outcome least();

 private:
  static constexpr size_t kMaxDimensions = 8;
  static constexpr size_t kMaxPodsOfNode = 12;  // all subsets are tried
  using Amounts = std::array<int64_t, kMaxDimensions>;

  struct Cost {
    int64_t sum = 0;  // of (priority + 2^31)
    int64_t number = 0;
    auto operator<=>(const Cost&) const = default;
  };
  // The cheapest way to host so many members on a node.
  struct Way {
    uint32_t members = 0;
    uint32_t set = 0;  // of the node's pods, as bits
    Cost cost;
  };
  struct Limits {
    int64_t priority = 0;       // nobody above goes
    int64_t start = INT64_MIN;  // of that priority, nobody who is older
  };
  struct NodeOf {
    Amounts free{};
    std::vector<uint32_t> pods;  // that may go without a violation
  };

  bool applies();
  void read_nodes();
  void read_devices();
  int64_t members_with(const Amounts& free) const;
  int64_t capacity(int64_t priority) const;
  std::vector<Way> ways_of(const NodeOf& node, const Limits& limits);
  std::optional<Cost> choose(const Limits& limits, std::vector<uint32_t>* chosen);

  World& world_;
  const Stage& stage_;
  Fit& fit_;
  const Candidates& candidates_;
  const std::function<bool()> spent_;
  std::vector<inventory::NodeId> nodes_;
  size_t dimensions_ = 3;
  Amounts needs_{};              // of one member
  std::vector<NodeOf> of_node_;  // as nodes_
  std::vector<Amounts> frees_;   // by pod, at most
  bool too_many_ = false;        // pods of one node
};

}  // namespace dra::preempt
