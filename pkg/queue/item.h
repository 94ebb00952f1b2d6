// ItemTraits: what the queues of this package need to know of their items, which are values: a hash, and how an item is
// stored for minutes. The default suits values that own no memory; std::string has its own, and so must others that do.
#pragma once

#include <functional>
#include <memory_resource>
#include <string>
#include <string_view>

#include "pkg/base/strings.h"

namespace dra::queue {

template <typename Item>
struct ItemTraits {
  // Hash and Equal take items and what is stored of them.
  using Hash = std::hash<Item>;
  using Equal = std::equal_to<>;
  // With the memory of a pool: items can be delayed for minutes, and between pieces of short-lived objects they would
  // keep whole pages.
  using Pooled = Item;
  static Item item(const Pooled& pooled) { return pooled; }
};

template <>
struct ItemTraits<std::string> {
  using Hash = StringHash;
  struct Equal {
    using is_transparent = void;
    bool operator()(std::string_view a, std::string_view b) const { return a == b; }
  };
  using Pooled = std::pmr::string;
  static std::string item(const Pooled& pooled) { return std::string(pooled); }
};

}  // namespace dra::queue
