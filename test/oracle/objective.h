// The objective of best-fit (pkg/strategy/objective.h), computed independently from the world and a set of picks, for
// an empty mix. With for_each_solution (exhaustive.h) the optimum is found by trying all solutions. For worlds without
// facts about nodes.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "pkg/api/resource.h"
#include "test/oracle/scene.h"

namespace dra::oracle {

// The same fields as strategy::Cost; smaller is better.
struct Objective {
  int64_t rank = 0, uncertain = 0, lost = 0, broken = 0, size = 0, whole = 0, tight = 0;
  auto operator<=>(const Objective&) const = default;
  std::string text() const;
};

// `picks` are of the scene, which must have no incomplete or invalid pools.
Objective objective(const Scene& scene, const std::vector<Pick>& picks);

// The picks that an allocator's results describe; one entry per claim of the world.
std::vector<Pick> picks_of(const Scene& scene, const std::vector<api::AllocationResult>& results);

}  // namespace dra::oracle
