// ValueList: values that some devices of a pod must stand for, each device for an entry of its own.
//
// A caller who places several pods together (pkg/gang, "the same rails") fixes the list; the allocator then takes only
// devices that can be matched with it. Plain data; values are codes of pkg/inventory/value_code.h.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace dra::allocator {

struct ValueList {
  std::string attribute;
  // Without entries: a device only needs the attribute. `any` and no entries at all differ: nothing fits the latter.
  bool any = false;
  std::vector<std::string> entries;  // sorted
  // How many devices the requests take in all, with those of `taken`, at least.
  uint32_t least = 0;
  // By index in Request::claims and name of the request; the devices of all its alternatives count.
  std::vector<std::pair<uint32_t, std::string>> requests;
  // The values of each device that the pod has already, and that stands for an entry, too. Empty: it has none.
  std::vector<std::vector<std::string>> taken;
  bool operator==(const ValueList&) const = default;
};

// What candidates of a list's requests offer on a node: devices with equal values are one line.
struct ValueSupply {
  struct Line {
    std::vector<std::string> values;  // sorted, not empty
    uint32_t devices = 0;
    bool many = false;  // each may be taken several times
  };
  std::vector<Line> lines;
  bool finished = false;  // false: the slice ended first
};

}  // namespace dra::allocator
