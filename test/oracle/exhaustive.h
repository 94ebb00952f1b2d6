// The exhaustive allocator: tries every choice of alternatives and devices until one breaks no rule. Obviously correct
// and slow; for small worlds only.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "test/oracle/scene.h"

namespace dra::oracle {

enum class Answer { kFeasible, kInfeasible, kError, kTooBig };

struct Solution {
  Answer answer = Answer::kInfeasible;
  std::string node;                                        // where it fits
  std::string error;                                       // for kError
  bool must_fail = false;                                  // for kError: nothing but an error is right
  std::vector<std::pair<std::string, std::string>> picks;  // (request of claim, device) of the solution, for messages
  uint64_t steps = 0;                                      // devices tried
};

// Calls `visit` with each set of picks that breaks no rule. False if `max_steps` devices were tried before the end.
bool for_each_solution(const Scene& scene, uint64_t max_steps,
                       const std::function<void(const std::vector<Pick>&)>& visit);

// The first set of picks that breaks no rule and that `accept` takes. `gave_up`: `max_steps` devices were tried before.
std::optional<std::vector<Pick>> first_solution(const Scene& scene, uint64_t max_steps,
                                                const std::function<bool(const std::vector<Pick>&)>& accept,
                                                bool& gave_up);

// kTooBig after `max_steps` devices tried. The nodes are tried in the world's order.
Solution solve(const World& world, uint64_t max_steps = 2'000'000, const SelectorJudge& judge = judge_selector);

}  // namespace dra::oracle
