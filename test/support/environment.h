// Numbers that a run of a property may choose: seeds, and how many worlds.
//
//   const uint64_t first = test::number_from("DRA_SEED", 1), cases = test::number_from("DRA_PAIR_CASES", 2000);
#pragma once

#include <cstdint>
#include <cstdlib>

namespace dra::test {

inline uint64_t number_from(const char* variable, uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

}  // namespace dra::test
