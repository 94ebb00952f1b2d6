// Harm: what it costs that a set of pods goes, or moves; smaller is better. kube-scheduler 1.36 compares the sets that
// it has chosen on each node in this order; here all sets are compared.
//
// The harm of a set is never smaller than that of a set within it: the search relies on this.
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "pkg/preempt/world.h"

namespace dra::preempt {

struct Harm {
  int64_t violations = 0;       // evictions that budgets do not allow
  int64_t highest = INT64_MIN;  // priority of a pod
  int64_t sum = 0;              // of (priority + 2^31)
  int64_t number = 0;           // of pods
  int64_t start = INT64_MIN;    // minus the earliest start of the pods of the highest priority
  double gib = 0;               // moves: the sum of sizes
  auto operator<=>(const Harm&) const = default;
};

// Of pods that go for good, by all fields but the last.
Harm harm_of_victims(const World& world, const std::vector<uint32_t>& pods);
// Of pods that move: number, then GiB. `violations` is counted, too: a move must have none.
Harm harm_of_moves(const World& world, const std::vector<uint32_t>& pods);

}  // namespace dra::preempt
