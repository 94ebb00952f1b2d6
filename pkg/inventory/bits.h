// Bit sets over device numbers, as vectors of 64-bit words. Unused bits of the last word are zero.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace dra::inventory {

using Words = std::vector<uint64_t>;

inline size_t words_for(size_t bits) {
  return (bits + 63) / 64;
}
inline bool test_bit(const uint64_t* words, size_t i) {
  return (words[i >> 6] >> (i & 63)) & 1;
}
inline void set_bit(uint64_t* words, size_t i) {
  words[i >> 6] |= uint64_t{1} << (i & 63);
}
inline void clear_bit(uint64_t* words, size_t i) {
  words[i >> 6] &= ~(uint64_t{1} << (i & 63));
}
inline void assign_bit(uint64_t* words, size_t i, bool on) {
  if (on) {
    set_bit(words, i);
  } else {
    clear_bit(words, i);
  }
}
inline size_t count_bits(const uint64_t* words, size_t n) {
  size_t count = 0;
  for (size_t i = 0; i < n; ++i) count += static_cast<size_t>(std::popcount(words[i]));
  return count;
}
// The first set bit at or after `from`, or `none`.
inline size_t next_bit(const uint64_t* words, size_t n, size_t from, size_t none = SIZE_MAX) {
  size_t w = from >> 6;
  if (w >= n) return none;
  uint64_t word = words[w] & (~uint64_t{0} << (from & 63));
  while (word == 0) {
    if (++w >= n) return none;
    word = words[w];
  }
  return (w << 6) + static_cast<size_t>(std::countr_zero(word));
}

}  // namespace dra::inventory
