// DeviceNames: maps device names to the devices of one pool that have them.
//
// A name has one device unless the pool is published wrongly or two of its generations count; then its devices form a
// chain. Insertion takes constant time, removal time in the length of the chain. About 16 bytes per device.
//
// Not thread-safe.
#pragma once

#include <cstdint>
#include <vector>

#include "pkg/inventory/strings.h"

namespace dra::inventory {

// A device as the slot of its slice (a number unaffected by other slices) and its position in the slice.
using DeviceRef = uint32_t;
inline constexpr DeviceRef kNoDevice = 0xffffffffu;
inline constexpr uint32_t kLocalBits = 12;
inline DeviceRef device_ref(uint32_t slot, uint32_t local) {
  return slot << kLocalBits | local;
}
inline uint32_t slot_in(DeviceRef ref) {
  return ref >> kLocalBits;
}
inline uint32_t local_in(DeviceRef ref) {
  return ref & ((1u << kLocalBits) - 1);
}

class DeviceNames {
 public:
  // Adds the devices of a slot, by name. The caller must retain the number of every name.
  void insert(uint32_t slot, const std::vector<StrId>& names);
  void erase(uint32_t slot, const std::vector<StrId>& names);
  void clear();

  // kNoDevice if no device has the name; else the head of its chain.
  DeviceRef find(StrId name) const;
  // kNoDevice at the end of a chain.
  DeviceRef next(DeviceRef ref) const { return next_[slot_in(ref)][local_in(ref)]; }

 private:
  struct Entry {
    StrId name = kNoStr;
    DeviceRef head = kNoDevice;
  };
  size_t home(StrId name) const { return name * 0x9e3779b97f4a7c15ull >> shift_; }
  size_t place_of(StrId name) const;
  void grow();
  void close_gap(size_t gap);

  std::vector<Entry> entries_;  // open addressing, a power of two
  uint32_t shift_ = 64;
  size_t used_ = 0;
  std::vector<std::vector<DeviceRef>> next_;  // by slot, then local
};

}  // namespace dra::inventory
