// Pairs, judged from the specification: whether picks form the groups that entries ask, and how many groups a node's
// devices could form. Written for sight, not for speed, and without the counting of the allocator: a number of groups
// is chosen for each value, and devices are matched to them one by one.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "pkg/allocator/pairs.h"
#include "test/oracle/scene.h"

namespace dra::oracle {

// Something that can stand in a group once: for one of `sides`, by one of `values`.
struct GroupUnit {
  std::vector<size_t> sides;
  std::set<std::string> values;
};

// The most groups, at most `at_most`, that have numbers[s] units of each side s and a value in common.
uint64_t most_groups(const std::vector<uint32_t>& numbers, const std::vector<GroupUnit>& units, uint64_t at_most);
// The same by trying every side and value for every unit. For few units.
uint64_t most_groups_by_trial(const std::vector<uint32_t>& numbers, const std::vector<GroupUnit>& units);

// The first rule that the picks, which serve all requests, break; "" if they break none. `Term::claim` of the rules
// numbers the claims of the world.
std::string broken_pairs(const Scene& scene, const std::vector<Pick>& picks,
                         const std::vector<allocator::PairRule>& rules);

// How many groups, at most `asked`, the devices form that the rule's requests could each take now on the scene's node.
// The requests have no alternatives.
uint64_t free_groups(const Scene& scene, const allocator::PairRule& rule, uint64_t asked);

}  // namespace dra::oracle
