#include "pkg/inventory/strings.h"

#include <cstring>
#include <functional>

namespace dra::inventory {
namespace {
constexpr StrId kTombstone = 0xfffffffeu;
uint32_t hash_text(std::string_view text) {
  size_t h = std::hash<std::string_view>{}(text);
  return static_cast<uint32_t>(h ^ (h >> 32));
}
}  // namespace

Strings::Strings() : shards_(size_t{1} << kShardBits) {
  for (Shard& shard : shards_) shard.slots.resize(16);
}

Strings::~Strings() {
  for (StrId id = 0; id < next_; ++id) delete[] entry(id).text;
}

size_t Strings::slot_of(const Shard& shard, std::string_view text, uint32_t hash) const {
  const size_t mask = shard.slots.size() - 1;
  for (size_t at = hash & mask;; at = (at + 1) & mask) {
    const Slot& slot = shard.slots[at];
    if (slot.id == kNoStr) return at;
    if (slot.hash != hash || slot.id == kTombstone) continue;
    const Entry& known = entry(slot.id);
    if (known.size == text.size() && std::memcmp(known.text, text.data(), text.size()) == 0) return at;
  }
}

StrId Strings::find(std::string_view text) const {
  const uint32_t hash = hash_text(text);
  const Shard& shard = shard_of(hash);
  return shard.slots[slot_of(shard, text, hash)].id;
}

StrId Strings::new_id() {
  if (!free_.empty()) {
    const StrId id = free_.back();
    free_.pop_back();
    ++reuse_epoch_;
    return id;
  }
  if (next_ >> kChunkBits == chunks_.size()) chunks_.push_back(std::make_unique<Entry[]>(size_t{1} << kChunkBits));
  return next_++;
}

StrId Strings::intern(std::string_view text) {
  const uint32_t hash = hash_text(text);
  Shard& shard = shard_of(hash);
  Slot& slot = shard.slots[slot_of(shard, text, hash)];
  if (slot.id != kNoStr) {
    ++entry(slot.id).refs;
    return slot.id;
  }
  const StrId id = new_id();
  char* copy = new char[text.size() + 1];
  std::memcpy(copy, text.data(), text.size());
  copy[text.size()] = '\0';
  entry(id) = Entry{copy, static_cast<uint32_t>(text.size()), 1, hash};
  slot = {id, hash};
  ++live_;
  ++shard.live;
  if (++shard.used * 10 > shard.slots.size() * 7) grow(shard);
  return id;
}

void Strings::release(StrId id) {
  Entry& gone = entry(id);
  if (--gone.refs > 0) return;
  Shard& shard = shard_of(gone.hash);
  const size_t mask = shard.slots.size() - 1;
  size_t at = gone.hash & mask;
  while (shard.slots[at].id != id) at = (at + 1) & mask;
  shard.slots[at].id = kTombstone;
  delete[] gone.text;
  gone = Entry{};
  free_.push_back(id);
  --live_;
  --shard.live;
}

void Strings::grow(Shard& shard) {
  const std::vector<Slot> old = std::move(shard.slots);
  size_t size = old.size();
  while (shard.live * 2 > size) size *= 2;
  shard.slots.assign(size, Slot{});
  shard.used = shard.live;
  const size_t mask = size - 1;
  for (const Slot& slot : old) {
    if (slot.id == kNoStr || slot.id == kTombstone) continue;
    size_t at = slot.hash & mask;
    while (shard.slots[at].id != kNoStr) at = (at + 1) & mask;
    shard.slots[at] = slot;
  }
}

}  // namespace dra::inventory
