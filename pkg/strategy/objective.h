// Objective: what makes one choice of node and devices for a request better than another.
//
// Compared field by field, in this order; smaller is better. A strategy leaves the fields that it does not use at 0.
#pragma once

#include <compare>
#include <cstdint>

namespace dra::strategy {

struct Cost {
  int64_t rank = 0;         // sum of the indices of the firstAvailable alternatives taken (KEP-4816)
  int64_t unpreferred = 0;  // how much preferred affinity, taints and spreading of the pod speak against the node
  int64_t uncertain = 0;    // devices of pools with binding conditions: they may still fail (KEP-5007)
  int64_t apart = 0;        // weight of soft locality that is not satisfied
  int64_t lost = 0;         // value of free devices and CPU that recent requests can no longer use, in millionths
  int64_t broken = 0;       // wholly free devices that are taken
  int64_t size = 0;         // of the devices: the smallest that suffice
  int64_t whole = 0;        // wholly free devices of the node: nodes in use are filled up first
  int64_t tight = 0;        // free capacity left in the devices that are in use

  auto operator<=>(const Cost&) const = default;
};

}  // namespace dra::strategy
