// Pairs in a plan: the rules of Request::pairs, and those that match constraints written by hand amount to.
//
// By hand, "4 GPUs and 4 NICs by PCIe root" are eight requests of one device and four matchAttribute constraints. Such
// constraints (one attribute, no request in two of them, equal filters and counts) are the groups of one implied entry,
// whose only purpose is its bound: what each constraint means is checked as always.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "pkg/allocator/pairs.h"

namespace dra::allocator {

struct Plan;

struct PlanPairTerm {
  std::vector<uint32_t>
      requests;  // indices in Plan::requests; one, or of an implied entry several, or none (allocated)
  uint32_t number = 1;
  const std::vector<Anchor>* allocated = nullptr;  // of a claim that is allocated already
};

struct PlanPairs {
  std::vector<PlanPairTerm> terms;
  uint32_t column = 0;  // index in Plan::columns
  std::string text;     // for people
  bool implied = false;
};

// `column_of` returns the index in Plan::columns of an attribute, adding it if needed.
void add_pairs(Plan& plan, const std::function<uint32_t(const std::string& attribute)>& column_of);
void add_implied_pairs(Plan& plan);
// Why a rule can never be met, whatever the devices: a request takes fewer than a group has. Empty: it can.
std::string why_never(const Plan& plan);
// Appends everything about the pairs that decides whether claims fit.
void write_pair_shape(const Plan& plan, std::string& shape);

}  // namespace dra::allocator
