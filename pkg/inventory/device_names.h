// DeviceNames: from device names to the devices of one pool that bear them.
//
// A name has one device unless the pool is published wrongly or two of its generations count; then its devices form a
// chain. Inserting takes constant time, erasing the length of the chain. About 16 bytes a device.
//
// Not thread-safe.
#pragma once

#include <cstdint>
#include <vector>

#include "pkg/inventory/strings.h"

namespace dra::inventory {

// A device by the slot of its slice (a number that stays when slices before it come and go) and its place there.
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
  // Enters the devices of a slot, by their names. Every name's number must be retained by the caller.
  void insert(uint32_t slot, const std::vector<StrId>& names);
  void erase(uint32_t slot, const std::vector<StrId>& names);
  void clear();

  // kNoDevice when nothing bears the name; else the head of its chain.
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
