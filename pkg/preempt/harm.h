// Harm: what it costs that a set of pods goes, or moves; smaller is better. kube-scheduler 1.36 compares the sets that
// it has chosen on each node in this order; here all sets are compared.
//
// The harm of a set is never smaller than that of a set within it: the search relies on this.
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <vector>

#include "pkg/preempt/world.h"

namespace dra::preempt {

// Added to each priority, so that a sum over more pods is larger.
inline constexpr int64_t kPriorityOffset = int64_t{1} << 31;

struct Harm {
  int64_t violations = 0;       // evictions that budgets do not allow
  int64_t highest = INT64_MIN;  // priority of a pod
  int64_t sum = 0;              // of (priority + 2^31)
  int64_t number = 0;           // of pods
  int64_t start = INT64_MIN;    // minus the earliest start of the pods of the highest priority
  double gib = 0;               // moves: the sum of sizes
  auto operator<=>(const Harm&) const = default;
};

// The same for many sets of one world, whose budgets must not change meanwhile.
class Harms {
 public:
  explicit Harms(const World& world);
  Harm of_victims(std::span<const uint32_t> pods) const;
  Harm of_moves(std::span<const uint32_t> pods) const;

 private:
  int64_t violations_of(std::span<const uint32_t> pods) const;

  const World& world_;
  std::vector<std::vector<uint32_t>> budgets_;  // by pod: those under which it counts
};

// Of pods that go for good, by all fields but the last.
Harm harm_of_victims(const World& world, const std::vector<uint32_t>& pods);
// Of pods that move: number, then GiB. `violations` is counted, too: a move must have none.
Harm harm_of_moves(const World& world, const std::vector<uint32_t>& pods);

}  // namespace dra::preempt
