// Judges decisions: against the exhaustive search, or against the expectation of a case file.
#pragma once

#include <cstdint>
#include <string>

#include "pkg/allocator/allocator.h"
#include "test/oracle/exhaustive.h"
#include "test/oracle/generator.h"
#include "test/oracle/world.h"

namespace dra::allocharness {

// How the decision of this project's allocator differs from the oracle's; "" if it does not. Compares feasibility, and
// whether the result obeys every rule. `undecided` is set if the oracle exhausted its steps (then only the rules are
// compared). Also checks that the reasons of an infeasible decision add up, and that the inventory's audit finds
// nothing after the decision was applied.
std::string difference(const oracle::World& world, bool* undecided = nullptr);

// How a decision differs from the case's expectation; "" if it does not.
std::string unexpected(const oracle::Case& one, const allocator::Decision& decision, const std::string& node);

struct Campaign {
  uint64_t first_seed = 0;
  uint64_t cases = 0;
  int max_failures = 5;
  oracle::Ingredients ingredients;
};

struct CampaignResult {
  uint64_t cases = 0;
  uint64_t feasible = 0;
  uint64_t undecided = 0;
  uint64_t failures = 0;
  // One text per failure: the difference, the seed, and the shrunk world as a line of a case file.
  std::string report;
};

// Compares on the random worlds first_seed, first_seed + 1, ...
CampaignResult run_random(const Campaign& campaign);
// Compares on every `stride`-th of the small worlds, from `first` on.
CampaignResult run_small(uint64_t first, uint64_t stride, int max_failures = 5);

// One input of a fuzzer: a line of a case file, however broken. Returns a violated guarantee of the allocator or
// inventory (audit drift, counts that do not add up); "" if there is none.
std::string fuzz_one(std::string_view text);

}  // namespace dra::allocharness
