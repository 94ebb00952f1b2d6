// Strings: texts and attribute values as dense numbers with counted references.
//
// An inventory of 800,000 devices repeats the same few thousand names and values; each is stored once. A number is
// reused after its last reference is released; reuse_epoch() then grows, so that caches keyed by numbers start over.
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
  StrId find(std::string_view text) const;  // kNoStr if unknown; takes no reference
  void retain(StrId id) { ++entry(id).refs; }
  void release(StrId id);
  std::string_view text(StrId id) const { return {entry(id).text, entry(id).size}; }
  uint64_t reuse_epoch() const { return reuse_epoch_; }
  size_t size() const { return live_; }

 private:
  struct Entry {
    const char* text = nullptr;
    uint32_t size = 0;
    uint32_t refs = 0;
    uint32_t hash = 0;
  };
  struct Slot {
    StrId id = kNoStr;  // kNoStr: empty, kTombstone: deleted
    uint32_t hash = 0;
  };
  // An open-addressing table. There are many shards, so that none takes long to grow.
  struct Shard {
    std::vector<Slot> slots;
    size_t live = 0;
    size_t used = 0;  // including tombstones
  };
  static constexpr uint32_t kShardBits = 6;
  static constexpr uint32_t kChunkBits = 12;

  Entry& entry(StrId id) const { return chunks_[id >> kChunkBits][id & ((1u << kChunkBits) - 1)]; }
  Shard& shard_of(uint32_t hash) { return shards_[hash >> (32 - kShardBits)]; }
  const Shard& shard_of(uint32_t hash) const { return shards_[hash >> (32 - kShardBits)]; }
  size_t slot_of(const Shard& shard, std::string_view text, uint32_t hash) const;
  StrId new_id();
  static void grow(Shard& shard);

  std::vector<std::unique_ptr<Entry[]>> chunks_;  // entries never move
  StrId next_ = 0;
  std::vector<StrId> free_;
  std::vector<Shard> shards_;
  size_t live_ = 0;
  uint64_t reuse_epoch_ = 0;
};

}  // namespace dra::inventory
