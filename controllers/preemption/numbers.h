// Numbers: the place of an object in a list, by its key ("namespace/name"). Keeps no copies of keys: the objects must
// outlive it. Not thread-safe.
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
    Slot& slot = slot_of(object.ns, object.name);
    if (slot.object == nullptr) slot = {&object, number};
  }
  // Null: there is none.
  const uint32_t* find(std::string_view key) const {
    const size_t cut = key.find('/');
    if (slots_.empty() || cut == std::string_view::npos) return nullptr;
    return find(key.substr(0, cut), key.substr(cut + 1));
  }
  const uint32_t* find(std::string_view ns, std::string_view name) const {
    if (slots_.empty()) return nullptr;
    const Slot& slot = const_cast<Numbers*>(this)->slot_of(ns, name);
    return slot.object == nullptr ? nullptr : &slot.number;
  }

 private:
  struct Slot {
    const api::ObjectMeta* object = nullptr;
    uint32_t number = 0;
  };
  // The object's, or the free one where it would be. At least half of them are free.
  Slot& slot_of(std::string_view ns, std::string_view name) {
    const std::hash<std::string_view> hash;
    for (size_t at = hash(name) + 31 * hash(ns);; ++at) {
      Slot& slot = slots_[at & (slots_.size() - 1)];
      if (slot.object == nullptr || (slot.object->name == name && slot.object->ns == ns)) return slot;
    }
  }

  std::vector<Slot> slots_;
};

}  // namespace dra::preemption
