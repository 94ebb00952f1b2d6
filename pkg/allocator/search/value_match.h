// ValueMatch: which picks of one decision stand for which entries of a ValueList.
//
// A bipartite matching, kept while devices are picked and given back: add() finds an augmenting path (Berge), and what
// is left after remove() is a matching still. The sets of devices that can be matched are a transversal matroid, so a
// single request never backtracks for the list: whatever it has picked can be completed to the largest set.
#pragma once

#include <cstdint>
#include <vector>

#include "pkg/allocator/plan/columns.h"
#include "pkg/allocator/value_list.h"
#include "pkg/inventory/bits.h"
#include "pkg/inventory/hash128.h"

namespace dra::allocator {

class ValueMatch {
 public:
  // Forgets all picks. False: the devices that are taken already do not match the list. Both must outlive the picks.
  bool begin(const ValueList& list, const Column& column);
  // False, and nothing changes: the device cannot stand for an entry beside the others.
  bool add(uint32_t local);
  void remove(uint32_t local);
  // Devices that could stand for some entry.
  const inventory::Words& possible() const { return possible_; }
  uint32_t size() const { return size_; }  // picks, with those taken already
  // Equal if the same further devices can be added, whichever they are.
  inventory::Hash128 state() const;
  // The entries that these devices could cover at most beside what is picked, up to `enough`. Changes nothing.
  uint32_t most(const uint64_t* devices, size_t words, uint32_t enough);

 private:
  static constexpr uint32_t kFree = UINT32_MAX;
  static constexpr uint32_t kTaken = 0x80000000u;  // low bits: index into ValueList::taken

  const std::vector<uint32_t>& entries_of(uint32_t owner) const;
  bool augment(uint32_t owner);

  const ValueList* list_ = nullptr;
  const Column* column_ = nullptr;
  uint32_t size_ = 0;
  std::vector<uint32_t> owner_;                     // by entry
  std::vector<std::vector<uint32_t>> with_number_;  // by value number of the column: the entries of that value
  std::vector<std::vector<uint32_t>> with_list_;    // by list of the column
  std::vector<std::vector<uint32_t>> with_taken_;
  inventory::Words possible_;
  std::vector<uint8_t> visited_;  // by entry, of one augment()
};

}  // namespace dra::allocator
