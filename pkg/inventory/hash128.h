// Hash128: a running hash so wide that equal hashes are treated as equal input (2^-64 for 2^32 inputs). The inputs are
// numbers issued by this process (texts and shapes in use), never bytes from outside.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dra::inventory {

struct Hash128 {
  uint64_t a = 0x243f6a8885a308d3ull;
  uint64_t b = 0x13198a2e03707344ull;

  void add(uint64_t v) {
    a = (a ^ v) * 0x9e3779b97f4a7c15ull;
    a ^= a >> 29;
    b = (b + v) * 0xd6e8feb86659fd93ull;
    b ^= b >> 32;
  }
  void add(const Hash128& other) {
    add(other.a);
    add(other.b);
  }
  bool operator==(const Hash128&) const = default;
};

struct Hash128Hash {
  size_t operator()(const Hash128& h) const { return h.a; }
};

}  // namespace dra::inventory
