#include "pkg/inventory/device_names.h"

namespace dra::inventory {

// The entry of the name, or the empty entry where it belongs. Requires at least one entry.
size_t DeviceNames::place_of(StrId name) const {
  const size_t mask = entries_.size() - 1;
  size_t at = home(name);
  while (entries_[at].name != kNoStr && entries_[at].name != name) at = (at + 1) & mask;
  return at;
}

DeviceRef DeviceNames::find(StrId name) const {
  return entries_.empty() ? kNoDevice : entries_[place_of(name)].head;
}

void DeviceNames::insert(uint32_t slot, const std::vector<StrId>& names) {
  if (next_.size() <= slot) next_.resize(slot + 1);
  next_[slot].assign(names.size(), kNoDevice);
  for (uint32_t local = 0; local < names.size(); ++local) {
    if ((used_ + 1) * 4 > entries_.size() * 3) grow();
    Entry& entry = entries_[place_of(names[local])];
    used_ += entry.name == kNoStr;
    entry.name = names[local];
    next_[slot][local] = entry.head;
    entry.head = device_ref(slot, local);
  }
}

void DeviceNames::erase(uint32_t slot, const std::vector<StrId>& names) {
  for (uint32_t local = 0; local < names.size(); ++local) {
    const size_t at = place_of(names[local]);
    DeviceRef* link = &entries_[at].head;
    while (*link != device_ref(slot, local)) link = &next_[slot_in(*link)][local_in(*link)];
    *link = next_[slot][local];
    if (entries_[at].head == kNoDevice) close_gap(at);
  }
  next_[slot] = {};
}

void DeviceNames::clear() {
  *this = DeviceNames();
}

void DeviceNames::grow() {
  std::vector<Entry> old = std::move(entries_);
  entries_.assign(old.empty() ? 8 : old.size() * 2, Entry{});
  shift_ = old.empty() ? 64 - 3 : shift_ - 1;
  for (const Entry& entry : old)
    if (entry.name != kNoStr) entries_[place_of(entry.name)] = entry;
}

// Moves later entries of the same run forward, so that no search stops too early.
void DeviceNames::close_gap(size_t gap) {
  const size_t mask = entries_.size() - 1;
  for (size_t at = (gap + 1) & mask; entries_[at].name != kNoStr; at = (at + 1) & mask) {
    const size_t distance = (at - home(entries_[at].name)) & mask;
    if (distance < ((at - gap) & mask)) continue;  // it would end up before its home
    entries_[gap] = entries_[at];
    gap = at;
  }
  entries_[gap] = Entry{};
  --used_;
}

}  // namespace dra::inventory
