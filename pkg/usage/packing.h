// Packing: the most devices of a card that can be in use together, by what they take of its counters.
//
//   Packings packings;
//   Packed now = packings.most({{{0, 1}}, {{0, 1}, {1, 1}}}, {1, 1});   // two devices, two counters: 1
//
// Exact by search, within kMaxSteps for one card; beyond that the count is a lower bound and says so. Answers are kept,
// because most cards of a fleet are alike. Not thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "pkg/inventory/amount.h"

namespace dra::usage {

// What a device takes: counters by their place in the list of what is left, each once, and amounts above 0.
using Takes = std::vector<std::pair<uint32_t, inventory::Amount>>;

struct Packed {
  uint32_t count = 0;
  bool exact = true;  // false: at least this many
};

class Packings {
 public:
  static constexpr uint64_t kMaxSteps = 20'000;  // 2 ms
  static constexpr size_t kMaxKept = 1024;
  static constexpr size_t kMaxKeptBytes = 1u << 20;  // of keys

  Packed most(std::vector<Takes> devices, const std::vector<inventory::Amount>& left);
  // Steps of all searches so far.
  uint64_t steps() const { return steps_; }

 private:
  std::unordered_map<std::string, Packed> kept_;
  size_t kept_bytes_ = 0;
  uint64_t steps_ = 0;
};

}  // namespace dra::usage
