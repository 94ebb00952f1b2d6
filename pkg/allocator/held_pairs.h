// Whether devices that claims hold already form the groups that rules about pairs ask, by what is published now.
//
// For rules over claims that are all allocated: nothing is searched for them, and they may have been allocated by
// somebody who knows no pairs, or by attributes that have changed since. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "pkg/allocator/pairs.h"
#include "pkg/inventory/device_index.h"

namespace dra::allocator {

struct HeldPairs {
  const PairRule* unmet = nullptr;  // the first rule that is not met; null: there is none
  uint32_t has = 0;                 // the groups that its devices form
  uint32_t asked = 0;               // 0: a request has fewer devices than one group needs
  bool unknown = false;             // values are lists, and finding out takes too long
};
// Rules with a term of an open claim are left aside. A device that no slice has is in no group.
// `node`: where the devices are; kNone: on none alone.
HeldPairs held_pairs(std::span<const PairRule> rules, const inventory::DeviceIndex& device_index,
                     inventory::NodeId node = inventory::kNone);

// A clause for people: "the devices of its claims form 1 such pair (gpu+nic by example.com/root), 2 are asked".
std::string held_sentence(const HeldPairs& held);

}  // namespace dra::allocator
