// Numbers: the place of an object in a list, by its key ("namespace/name"). Keeps no copies of keys: the objects must
// outlive it. A table with open addressing, of which at least half is free. Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "pkg/api/meta.h"

namespace dra::preemption {

class Numbers {
 public:
  // Before the first add(): how many there will be at most.
  void reserve(size_t most) {
    size_t slots = 16;
    while (slots < 2 * most) slots *= 2;
    slots_.assign(slots, {});
  }
  // Of objects of one key the first counts.
  void add(const api::ObjectMeta& object, uint32_t number) {
    Slot& slot = slots_[at(object.ns, object.name)];
    if (slot.object == nullptr) slot = {&object, number};
  }
  // Null: there is none.
  const uint32_t* find(std::string_view key) const {
    const size_t cut = key.find('/');
    return cut == std::string_view::npos ? nullptr : find(key.substr(0, cut), key.substr(cut + 1));
  }
  const uint32_t* find(std::string_view ns, std::string_view name) const {
    if (slots_.empty()) return nullptr;
    const Slot& slot = slots_[at(ns, name)];
    return slot.object == nullptr ? nullptr : &slot.number;
  }

 private:
  struct Slot {
    const api::ObjectMeta* object = nullptr;
    uint32_t number = 0;
  };
  // The object's slot, or the free one where it would be.
  size_t at(std::string_view ns, std::string_view name) const {
    const std::hash<std::string_view> hash;
    for (size_t i = hash(name) + 31 * hash(ns);; ++i) {
      const api::ObjectMeta* there = slots_[i & (slots_.size() - 1)].object;
      if (there == nullptr || (there->name == name && there->ns == ns)) return i & (slots_.size() - 1);
    }
  }

  std::vector<Slot> slots_;
};

}  // namespace dra::preemption
