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

Strings::Strings() : slots_(1024, kNoStr) {}

Strings::~Strings() {
  for (Entry& entry : entries_) delete[] entry.text;
}

size_t Strings::slot_of(std::string_view text, uint32_t hash) const {
  size_t mask = slots_.size() - 1;
  for (size_t slot = hash & mask;; slot = (slot + 1) & mask) {
    StrId id = slots_[slot];
    if (id == kNoStr) return slot;
    if (id == kTombstone) continue;
    const Entry& entry = entries_[id];
    if (entry.hash == hash && entry.size == text.size() && std::memcmp(entry.text, text.data(), text.size()) == 0)
      return slot;
  }
}

StrId Strings::find(std::string_view text) const {
  return slots_[slot_of(text, hash_text(text))];
}

StrId Strings::intern(std::string_view text) {
  uint32_t hash = hash_text(text);
  size_t slot = slot_of(text, hash);
  if (slots_[slot] != kNoStr) {
    ++entries_[slots_[slot]].refs;
    return slots_[slot];
  }
  StrId id;
  if (!free_.empty()) {
    id = free_.back();
    free_.pop_back();
    ++reuse_epoch_;
  } else {
    id = static_cast<StrId>(entries_.size());
    entries_.emplace_back();
  }
  char* copy = new char[text.size() + 1];
  std::memcpy(copy, text.data(), text.size());
  copy[text.size()] = '\0';
  entries_[id] = Entry{copy, static_cast<uint32_t>(text.size()), 1, hash};
  slots_[slot] = id;
  ++live_;
  if (++used_slots_ * 10 > slots_.size() * 7) grow();
  return id;
}

void Strings::release(StrId id) {
  Entry& entry = entries_[id];
  if (--entry.refs > 0) return;
  slots_[slot_of({entry.text, entry.size}, entry.hash)] = kTombstone;
  delete[] entry.text;
  entry = Entry{};
  free_.push_back(id);
  --live_;
}

void Strings::grow() {
  std::vector<StrId> old = std::move(slots_);
  size_t size = old.size();
  while (live_ * 2 > size) size *= 2;
  slots_.assign(size, kNoStr);
  size_t mask = size - 1;
  used_slots_ = 0;
  for (StrId id : old) {
    if (id == kNoStr || id == kTombstone) continue;
    size_t slot = entries_[id].hash & mask;
    while (slots_[slot] != kNoStr) slot = (slot + 1) & mask;
    slots_[slot] = id;
    ++used_slots_;
  }
}

}  // namespace dra::inventory
