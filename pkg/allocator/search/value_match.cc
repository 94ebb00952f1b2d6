#include "pkg/allocator/search/value_match.h"

#include <algorithm>

namespace dra::allocator {

namespace {

const std::vector<uint32_t> kNoEntries;

void append_entries(std::vector<uint32_t>& to, const ValueList& list, const std::string& code) {
  const auto [from, end] = std::equal_range(list.entries.begin(), list.entries.end(), code);
  for (auto at = from; at != end; ++at) to.push_back(static_cast<uint32_t>(at - list.entries.begin()));
}

}  // namespace

bool ValueMatch::begin(const ValueList& list, const Column& column) {
  list_ = &list;
  column_ = &column;
  size_ = 0;
  owner_.assign(list.entries.size(), kFree);
  visited_.resize(list.entries.size());
  with_number_.assign(column.values, {});
  with_list_.assign(column.lists.size(), {});
  with_taken_.assign(list.taken.size(), {});
  possible_.assign(column.value.size() / 64, 0);
  if (list.any) {
    for (uint32_t local = 0; local < column.value.size(); ++local)
      if (!column.missing(local)) inventory::set_bit(possible_.data(), local);
    size_ = static_cast<uint32_t>(list.taken.size());
    return std::none_of(list.taken.begin(), list.taken.end(), [](const auto& values) { return values.empty(); });
  }
  for (uint32_t number = 0; number < column.values; ++number)
    append_entries(with_number_[number], list, column.codes[number]);
  for (size_t i = 0; i < column.lists.size(); ++i)
    for (const uint32_t number : column.lists[i])
      with_list_[i].insert(with_list_[i].end(), with_number_[number].begin(), with_number_[number].end());
  for (uint32_t local = 0; local < column.value.size(); ++local)
    if (!entries_of(local).empty()) inventory::set_bit(possible_.data(), local);
  for (uint32_t i = 0; i < list.taken.size(); ++i) {
    for (const std::string& code : list.taken[i]) append_entries(with_taken_[i], list, code);
    std::fill(visited_.begin(), visited_.end(), 0);
    if (!augment(kTaken | i)) return false;
    ++size_;
  }
  return true;
}

const std::vector<uint32_t>& ValueMatch::entries_of(uint32_t owner) const {
  if (owner & kTaken) return with_taken_[owner & ~kTaken];
  const uint32_t value = column_->value[owner];
  if (value == kNoValue) return kNoEntries;
  return value & kListFlag ? with_list_[value & ~kListFlag] : with_number_[value];
}

bool ValueMatch::augment(uint32_t owner) {
  const std::vector<uint32_t>& entries = entries_of(owner);
  for (const uint32_t entry : entries) {
    if (owner_[entry] != kFree) continue;
    owner_[entry] = owner;
    return true;
  }
  for (const uint32_t entry : entries) {
    if (visited_[entry]) continue;
    visited_[entry] = 1;
    // The depth is bounded by the entries: kMaxPlanClaims claims of 32 devices.
    if (!augment(owner_[entry])) continue;
    owner_[entry] = owner;
    return true;
  }
  return false;
}

bool ValueMatch::add(uint32_t local) {
  if (column_->missing(local)) return false;
  if (!list_->any) {
    std::fill(visited_.begin(), visited_.end(), 0);
    if (!augment(local)) return false;
  }
  ++size_;
  return true;
}

void ValueMatch::remove(uint32_t local) {
  --size_;
  if (list_->any) return;
  // A device that two requests share stands for two entries, which are interchangeable.
  *std::find(owner_.begin(), owner_.end(), local) = kFree;
}

inventory::Hash128 ValueMatch::state() const {
  inventory::Hash128 sum{0, 0};
  for (const uint32_t owner : owner_) {
    if (owner == kFree || (owner & kTaken)) continue;
    inventory::Hash128 one;
    one.add(uint64_t{column_->value[owner]});
    sum = {sum.a + one.a, sum.b + one.b};
  }
  sum.add(uint64_t{size_});
  return sum;
}

uint32_t ValueMatch::most(const uint64_t* devices, size_t words, uint32_t enough) {
  const std::vector<uint32_t> before = owner_;
  std::vector<uint32_t> hopeless;  // values of devices: where one failed, so does every later one
  uint32_t found = 0;
  for (size_t local = inventory::next_bit(devices, words, 0); local != SIZE_MAX && found < enough;
       local = inventory::next_bit(devices, words, local + 1)) {
    const uint32_t value = column_->value[local];
    if (value == kNoValue) continue;
    if (list_->any) {
      ++found;
      continue;
    }
    if (std::find(hopeless.begin(), hopeless.end(), value) != hopeless.end()) continue;
    std::fill(visited_.begin(), visited_.end(), 0);
    if (augment(static_cast<uint32_t>(local)))
      ++found;
    else
      hopeless.push_back(value);
  }
  owner_ = before;
  return found;
}

}  // namespace dra::allocator
