// KeyTable: entries by key, in many small hash tables, because growing one table of 50,000 keys takes 10 ms.
//
// Keys and entries belong to the caller and must stay in place. One thread.
#pragma once

#include <array>
#include <functional>
#include <string_view>
#include <unordered_map>

#include "client/informer/entry.h"

namespace dra::client {

class KeyTable {
 public:
  // The key has no entry yet.
  void add(std::string_view key, const Entry* entry) { parts_[part_of(key)].emplace(key, entry); }
  void erase(std::string_view key) { parts_[part_of(key)].erase(key); }
  // nullptr: none.
  const Entry* find(std::string_view key) const {
    const Part& part = parts_[part_of(key)];
    const auto found = part.find(key);
    return found == part.end() ? nullptr : found->second;
  }

 private:
  using Part = std::unordered_map<std::string_view, const Entry*>;
  static constexpr size_t kPartBits = 6;

  // By the high bits: the low ones choose a bucket.
  static size_t part_of(std::string_view key) {
    return std::hash<std::string_view>{}(key) >> (8 * sizeof(size_t) - kPartBits);
  }

  std::array<Part, size_t{1} << kPartBits> parts_;
};

}  // namespace dra::client
