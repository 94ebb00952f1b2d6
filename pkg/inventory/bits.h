// Bit sets over device numbers, as vectors of 64-bit words. Unused bits of the last word are zero.
#pragma once

#include <algorithm>
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
inline uint64_t low_bits(size_t count) {  // fewer than 64
  return (uint64_t{1} << count) - 1;
}
inline void set_range(uint64_t* words, size_t from, size_t count) {
  for (const size_t end = from + count; from < end;) {
    const size_t in_word = std::min(end - from, 64 - (from & 63));
    words[from >> 6] |= (in_word == 64 ? ~uint64_t{0} : low_bits(in_word)) << (from & 63);
    from += in_word;
  }
}
// Inserts `count` zero bits before bit `at` of `bits`: later bits move up.
inline void insert_bits(Words& words, size_t bits, size_t at, size_t count) {
  if (count == 0) return;
  words.resize(words_for(bits + count), 0);
  const size_t first = at >> 6, by_words = count >> 6, by_bits = count & 63;
  const uint64_t before = words[first] & low_bits(at & 63);
  words[first] &= ~low_bits(at & 63);
  for (size_t to = words.size(); to-- > first + by_words;) {
    const size_t from = to - by_words;
    const uint64_t carried = by_bits > 0 && from > first ? words[from - 1] >> (64 - by_bits) : 0;
    words[to] = words[from] << by_bits | carried;
  }
  for (size_t w = first; w < first + by_words; ++w) words[w] = 0;
  words[first] |= before;
}
// Removes the bits at .. at + count - 1 of `bits`: later bits move down.
inline void remove_bits(Words& words, size_t bits, size_t at, size_t count) {
  if (count == 0) return;
  const size_t first = at >> 6, by_words = count >> 6, by_bits = count & 63;
  const uint64_t before = words[first] & low_bits(at & 63);
  for (size_t to = first; to < words_for(bits - count); ++to) {
    const size_t from = to + by_words;
    const uint64_t carried = by_bits > 0 && from + 1 < words.size() ? words[from + 1] << (64 - by_bits) : 0;
    words[to] = words[from] >> by_bits | carried;
  }
  words[first] = (words[first] & ~low_bits(at & 63)) | before;
  words.resize(words_for(bits - count));
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
