// SpreadMap: values by text, in 64 small hash tables, because growing one table of 50,000 keys takes 10 ms. For long
// keys with common beginnings, which a tree compares again and again.
//
//   SpreadMap<std::string, Pod> pods;
//   auto [pod, added] = pods.try_emplace(uid);
//
// Values stay in place until they are erased. In no order. One thread.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "pkg/base/strings.h"

namespace dra {

// `Key`: std::string, or std::string_view if the caller keeps the text in place.
template <typename Key, typename Value>
class SpreadMap {
 public:
  template <typename... Arguments>
  std::pair<Value*, bool> try_emplace(const Key& key, Arguments&&... arguments) {
    const auto [at, added] = parts_[part_of(key)].try_emplace(key, std::forward<Arguments>(arguments)...);
    return {&at->second, added};
  }
  // nullptr: none.
  Value* find(std::string_view key) {
    Part& part = parts_[part_of(key)];
    const auto found = part.find(key);
    return found == part.end() ? nullptr : &found->second;
  }
  const Value* find(std::string_view key) const { return const_cast<SpreadMap*>(this)->find(key); }
  bool erase(std::string_view key) {
    Part& part = parts_[part_of(key)];
    const auto found = part.find(key);
    if (found == part.end()) return false;
    part.erase(found);
    return true;
  }

 private:
  using Part = std::unordered_map<Key, Value, StringHash, std::equal_to<>>;
  static constexpr size_t kPartBits = 6;

  // By the high bits: the low ones choose a bucket.
  static size_t part_of(std::string_view key) { return StringHash{}(key) >> (8 * sizeof(size_t) - kPartBits); }

  std::array<Part, size_t{1} << kPartBits> parts_;
};

}  // namespace dra
