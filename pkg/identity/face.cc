#include "pkg/identity/face.h"

#include <algorithm>

namespace dra::identity {
namespace {

uint32_t first_common(std::span<const Value> a, std::span<const Value> b) {
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    if (a[i] == b[j]) return a[i].text;
    a[i] < b[j] ? ++i : ++j;
  }
  return kNoNumber;
}

}  // namespace

uint32_t shared_value(const Face& a, const Face& b) {
  if (a.node != b.node && a.node != kNoNumber && b.node != kNoNumber) return kNoNumber;
  const uint32_t own =
      std::min({first_common(a.own, b.own), first_common(a.own, b.part_of), first_common(a.part_of, b.own)});
  if (own != kNoNumber) return own;
  const uint32_t parent = first_common(a.part_of, b.part_of);
  if (parent == kNoNumber) return kNoNumber;
  // Own names in one namespace: different parts.
  for (const Value& x : a.own)
    for (const Value& y : b.own)
      if (x.space == y.space) return kNoNumber;
  return parent;
}

}  // namespace dra::identity
