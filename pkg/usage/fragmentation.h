// Fragmentation: of one device class, the most devices that one node can give now, and what it could give if all that
// is held were packed, so that the free silicon of the cluster lay together.
//
//   Fragmentation class_counts(index, packings);
//   ... class_counts.add(pool, usable);   // every pool once
//   ClassFragmentation found = class_counts.found();
//
// Example: two nodes with a card of four slices each; a quarter is held on both. Of the class "half" (two slices) a
// node can give 1 now, and 2 when empty; six free slices could serve 3. So it is 1 now, 2 if packed, and 1 is lost.
//
// Free silicon is counted by card: of a card without shared counters one device or none; of a card with counters the
// mean part of each counter that is left, divided by the part that the smallest device of the class on it takes. The
// sum over all cards is a bound on the devices that could be served; a node has no more than it has when nothing is
// held. Devices of complete pools count. Those that several nodes can use count as a place of their own, as if one node
// had them. CPU, memory, constraints between devices and compatibility groups are left aside; a device that several
// claims may share counts while it may be left.
//
// Not thread-safe: belongs to the thread of the inventory. Both arguments must outlive it.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "pkg/inventory/device_index.h"
#include "pkg/usage/packing.h"

namespace dra::usage {

struct ClassFragmentation {
  uint32_t largest = 0;   // devices that one node can give now; a request asks for 32 at most
  bool exact = true;      // false: `largest` or `on_empty` is at least this
  std::string node;       // which gives most; empty: none, or devices that several nodes can use
  uint32_t on_empty = 0;  // that one node could give if nothing were held
  uint32_t free = 0;      // that the free silicon could serve, all nodes together

  uint32_t if_packed() const;
  uint32_t lost() const { return if_packed() - largest; }
};

class Fragmentation {
 public:
  Fragmentation(const inventory::DeviceIndex& index, Packings& packings) : index_(index), packings_(packings) {}

  // `usable`: a bit for each device of the pool that the class selects and that no taint keeps claims from.
  void add(const inventory::Pool& pool, const uint64_t* usable);
  // Devices and counters visited so far: some ten nanoseconds each.
  uint64_t work() const { return work_; }
  ClassFragmentation found() const;

 private:
  struct Place {
    uint64_t now = 0, on_empty = 0;
  };
  struct Cards;

  void add_device(const inventory::Pool& pool, uint32_t device, Cards& cards);
  void add_card(const inventory::Pool& pool, const std::vector<uint32_t>& devices,
                const std::vector<uint32_t>& counters);
  Place& place_of(const inventory::Pool& pool, uint32_t device);

  const inventory::DeviceIndex& index_;
  Packings& packings_;
  std::unordered_map<inventory::StrId, Place> places_;  // by node; kNoStr: devices that several nodes can use
  double free_ = 0;
  bool exact_ = true;
  uint64_t work_ = 0;
};

}  // namespace dra::usage
