// What a DeviceInput holds. Internal to pkg/cel.
#pragma once

#include <string>
#include <vector>

#include "pkg/cel/device/device.h"
#include "pkg/cel/lib/arena.h"

namespace dra::cel {

// A hash of (domain, name); equal pairs hash equally in every program and device.
uint64_t member_hash(std::string_view domain, std::string_view name);

// One attribute or capacity under its full name.
struct DeviceMember {
  std::string_view domain;
  std::string_view name;
  const Value* value;
};

// Finds members by hash: open addressing over a power of two of slots.
struct MemberIndex {
  struct Slot {
    uint64_t hash = 0;
    const DeviceMember* member = nullptr;
  };
  std::vector<DeviceMember> members;
  std::vector<Slot> slots;

  void build();
  const Value* find(uint64_t hash, std::string_view domain, std::string_view name) const {
    if (slots.empty()) return nullptr;
    size_t mask = slots.size() - 1;
    for (size_t i = hash & mask;; i = (i + 1) & mask) {
      const Slot& slot = slots[i];
      if (slot.member == nullptr) return nullptr;
      if (slot.hash == hash && slot.member->name == name && slot.member->domain == domain) return slot.member->value;
    }
  }
};

// What the nodes need that read a device directly.
struct DeviceFacts {
  Value driver;
  Value allow_multiple;
  MemberIndex attributes;
  MemberIndex capacities;
};

struct DeviceInput::Rep {
  Arena arena;
  DeviceFacts facts;
  MapRep device;  // driver, attributes, capacity, allowMultipleAllocations
  MapEntry fields[4];
  std::string spoiled;       // whatever the environment
  std::string spoiled_list;  // where lists are off
};

}  // namespace dra::cel
