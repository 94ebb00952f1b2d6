// Judging decisions: against the exhaustive search, or against what a case file expects.
#pragma once

#include <cstdint>
#include <string>

#include "pkg/allocator/allocator.h"
#include "test/oracle/exhaustive.h"
#include "test/oracle/generator.h"
#include "test/oracle/world.h"

namespace dra::allocharness {

// How the decision of this project's allocator differs from the oracle's, "" when it does not: feasible or not, and
// whether the result obeys every rule. `undecided` is set when the oracle gave up within its steps (no difference then
// beyond the rules). Also asked: the reasons of an infeasible decision add up, and the inventory's audit finds nothing
// after the decision was taken.
std::string difference(const oracle::World& world, bool* undecided = nullptr);

// How a decision differs from what the case expects, "" when it does not.
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
  // One text a failure: the difference, the seed, and the shrunk world as a line of a case file.
  std::string report;
};

// Compares on the random worlds first_seed, first_seed + 1, ...
CampaignResult run_random(const Campaign& campaign);
// Compares on every `stride`-th of the small worlds, from `first` on.
CampaignResult run_small(uint64_t first, uint64_t stride, int max_failures = 5);

// One input of a fuzzer: a line of a case file, however broken. Returns a broken promise of the allocator or inventory
// (audit drift, counts that do not add up), "" when there is none.
std::string fuzz_one(std::string_view text);

}  // namespace dra::allocharness
