// Face: what a device says of itself, as numbers, and whether two devices are one piece of silicon that must not be
// given out twice (docs/design/identity.md, rules 1, 2 and 4).
//
// Numbers stand for texts of the caller (equal numbers, equal texts). Lists are sorted by value. Pure.
#pragma once

#include <cstdint>
#include <span>

namespace dra::identity {

inline constexpr uint32_t kNoNumber = 0xffffffffu;

struct Value {
  uint32_t text = kNoNumber;   // namespace and text together
  uint32_t space = kNoNumber;  // the namespace alone
  auto operator<=>(const Value&) const = default;
};

struct Face {
  std::span<const Value> own;      // of the device itself
  std::span<const Value> part_of;  // of what it is a part of; none of `own`
  uint32_t node = kNoNumber;       // where the values hold; kNoNumber: they are not of one node
};

// The value by which they are one piece; kNoNumber: they are not. If several: the first own one, else the first
// parent's, in the order of numbers.
uint32_t shared_value(const Face& a, const Face& b);
inline bool one_piece(const Face& a, const Face& b) {
  return shared_value(a, b) != kNoNumber;
}

}  // namespace dra::identity
