// Strings: texts and attribute values as dense numbers with counted references.
//
// An inventory of 800,000 devices repeats the same few thousand names and values; each is kept once. A number is reused
// after its last reference is gone; reuse_epoch() then grows, so that caches keyed by numbers know to start afresh.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace dra::inventory {

using StrId = uint32_t;
inline constexpr StrId kNoStr = 0xffffffffu;

// Not thread-safe.
class Strings {
 public:
  Strings();
  ~Strings();
  Strings(const Strings&) = delete;
  Strings& operator=(const Strings&) = delete;

  StrId intern(std::string_view text);      // takes a reference
  StrId find(std::string_view text) const;  // kNoStr when there is none; takes no reference
  void retain(StrId id) { ++entries_[id].refs; }
  void release(StrId id);
  std::string_view text(StrId id) const { return {entries_[id].text, entries_[id].size}; }
  uint64_t reuse_epoch() const { return reuse_epoch_; }
  size_t size() const { return live_; }

 private:
  struct Entry {
    const char* text = nullptr;
    uint32_t size = 0;
    uint32_t refs = 0;
    uint32_t hash = 0;
  };
  size_t slot_of(std::string_view text, uint32_t hash) const;
  void grow();

  std::vector<Entry> entries_;
  std::vector<StrId> free_;
  std::vector<StrId> slots_;  // open addressing; kNoStr: empty, kTombstone: was used
  size_t live_ = 0;
  size_t used_slots_ = 0;
  uint64_t reuse_epoch_ = 0;
};

}  // namespace dra::inventory
