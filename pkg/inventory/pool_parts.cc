// How the devices of one slice enter and leave a pool: their numbers, names, locations and holders.
#include <algorithm>

#include "pkg/base/check.h"
#include "pkg/inventory/pool.h"

namespace dra::inventory {

bool Pool::has_groups(const SliceTable& slice) const {
  return !slice.groups.empty() && features_.compatibility_groups && features_.partitionable;
}

void Pool::add_part(const SliceTable& slice, bool stale) {
  auto fresh_end = live_.end() - static_cast<ptrdiff_t>(stale_parts_);
  auto at = stale ? std::lower_bound(fresh_end, live_.end(), &slice, Generation::ByName())
                  : std::lower_bound(live_.begin(), fresh_end, &slice, Generation::ByName());
  const auto position = static_cast<size_t>(at - live_.begin());
  const uint32_t first = position < first_.size() ? first_[position] : size_;

  auto added = std::make_unique<Part>();
  Part& part = *added;
  part.table = &slice;
  part.stale = stale;
  stale_parts_ += stale;
  if (free_slots_.empty()) {
    part.slot = static_cast<uint32_t>(slots_.size());
    DRA_CHECK(part.slot < kNoDevice >> kLocalBits);
    slots_.push_back(&part);
    positions_.push_back(0);
  } else {
    part.slot = free_slots_.back();
    free_slots_.pop_back();
    slots_[part.slot] = &part;
  }
  live_.insert(at, &slice);
  parts_.insert(parts_.begin() + static_cast<ptrdiff_t>(position), std::move(added));
  part_slots_.insert(part_slots_.begin() + static_cast<ptrdiff_t>(position), part.slot);
  for (size_t s = position; s < first_.size(); ++s) first_[s] += slice.size();
  first_.insert(first_.begin() + static_cast<ptrdiff_t>(position), first);
  for (Words* words : {&in_use_, &charged_, &available_, &open_, &excluded_, &plugins_})
    insert_bits(*words, size_, first, slice.size());
  size_ += slice.size();
  renumber(position);

  if (!stale) count_names(slice, true);
  names_.insert(part.slot, slice.names);
  count_places(slice, 1);
  connect(part);
  std::vector<StrId> touched;
  for (uint32_t local = 0; local < slice.size() && !holders.empty(); ++local) {
    if (!held(slice.names[local])) continue;
    const uint32_t device = first + local;
    set_held(device);
    set_bit(charged_.data(), device);
    for (const CounterUse* use = uses_begin(device); use != uses_end(device); ++use)
      counters_[use->counter].consumed += use->amount;
    if (part.uses.empty()) continue;
    for (StrId set : sets_of(slice, slice.use_first[local], slice.use_first[local + 1])) touched.push_back(set);
  }
  for (uint32_t local = 0; local < slice.size(); ++local) refresh_available(first + local);
  refresh_users(touched);
  if (has_groups(slice) && grouped_parts_++ == 0) refresh_all_groups();
}

void Pool::remove_part(size_t position) {
  Part& part = *parts_[position];
  const SliceTable& slice = *part.table;
  const uint32_t first = first_[position], count = slice.size();
  const bool grouped = has_groups(slice);
  std::vector<StrId> touched;
  for (uint32_t local = 0; local < slice.size(); ++local) {
    if (!test_bit(charged_.data(), first + local)) continue;
    if (!shared_.empty()) {
      shared_.erase(device_ref(part.slot, local));
      shared_terms_.erase(device_ref(part.slot, local));
    }
    for (const CounterUse* use = uses_begin(first + local); use != uses_end(first + local); ++use)
      counters_[use->counter].consumed -= use->amount;
    if (part.uses.empty()) continue;
    for (StrId set : sets_of(slice, slice.use_first[local], slice.use_first[local + 1])) touched.push_back(set);
  }
  disconnect(part);
  count_places(slice, -1);
  names_.erase(part.slot, slice.names);
  if (!part.stale) count_names(slice, false);

  for (Words* words : {&in_use_, &charged_, &available_, &open_, &excluded_, &plugins_})
    remove_bits(*words, size_, first, count);
  size_ -= count;
  stale_parts_ -= part.stale;
  slots_[part.slot] = nullptr;
  free_slots_.push_back(part.slot);
  live_.erase(live_.begin() + static_cast<ptrdiff_t>(position));
  first_.erase(first_.begin() + static_cast<ptrdiff_t>(position));
  for (size_t s = position; s < first_.size(); ++s) first_[s] -= count;
  part_slots_.erase(part_slots_.begin() + static_cast<ptrdiff_t>(position));
  parts_.erase(parts_.begin() + static_cast<ptrdiff_t>(position));
  renumber(position);
  refresh_users(touched);
  if (grouped && --grouped_parts_ == 0) refresh_all_groups();
}

void Pool::clear_parts() {
  for (const SliceTable* slice : live_) count_places(*slice, -1);
  live_.clear();
  parts_.clear();
  part_slots_.clear();
  positions_.clear();
  first_.clear();
  slice_at_.clear();
  slots_.clear();
  free_slots_.clear();
  size_ = stale_first_ = 0;
  stale_parts_ = grouped_parts_ = 0;
  names_.clear();
  twice_.clear();
  counters_.clear();
  free_counters_.clear();
  sets_.clear();
  sets_twice_.clear();
  unpublished_.clear();
  naming_alone_.clear();
  for (Words* words : {&in_use_, &charged_, &available_, &open_, &excluded_, &plugins_}) words->clear();
  shared_.clear();
  shared_terms_.clear();
}

// Recomputes what depends on the order of slices and their first devices, from `position` on.
void Pool::renumber(size_t position) {
  slice_at_.resize(words());
  for (size_t s = position; s < first_.size(); ++s) {
    positions_[part_slots_[s]] = static_cast<uint32_t>(s);
    const uint32_t end = s + 1 < first_.size() ? first_[s + 1] : size_;
    for (size_t word = words_for(first_[s]); word * 64 < end; ++word) slice_at_[word] = static_cast<uint32_t>(s);
  }
  stale_first_ = stale_parts_ == 0 ? size_ : first_[live_.size() - stale_parts_];
}

// Counts names that the highest generation publishes more than once. Call it before entering the names of an added
// slice, and after erasing those of a removed one.
void Pool::count_names(const SliceTable& slice, bool added) {
  auto published = [this](StrId device_name) {
    for (DeviceRef ref = names_.find(device_name); ref != kNoDevice; ref = names_.next(ref))
      if (!slots_[slot_in(ref)]->stale) return true;
    return false;
  };
  std::vector<StrId> names = slice.names;
  std::sort(names.begin(), names.end());
  for (size_t i = 0; i < names.size(); ++i) {
    const bool again = (i > 0 && names[i] == names[i - 1]) || published(names[i]);
    if (!again) continue;
    const std::string_view text = strings_.text(names[i]);
    if (added) {
      ++twice_[text];
    } else if (auto it = twice_.find(text); --it->second == 0) {
      twice_.erase(it);
    }
  }
}

void Pool::count_places(const SliceTable& slice, int by) {
  const auto step = static_cast<size_t>(static_cast<ptrdiff_t>(by));
  if (slice.where.kind == Where::kNode) node_slices_ += step;
  if (slice.where.kind == Where::kAll) everywhere_slices_ += step;
  if (!slice.conditions.empty()) conditional_slices_ += step;
  const bool multiple = std::any_of(slice.flags.begin(), slice.flags.end(), [](uint8_t f) { return f & kMultiple; });
  if (features_.consumable && multiple) shareable_slices_ += step;
  if (slice.where.kind != Where::kPerDevice) return count_place(slice.where, by);
  for (const Where& place : slice.device_where) count_place(place, by);
}

void Pool::count_place(const Where& place, int by) {
  if (place.kind == Where::kSelector || place.kind == Where::kAll)
    wide_places_ += static_cast<size_t>(static_cast<ptrdiff_t>(by));
  if (place.kind != Where::kNode) return;
  if (by > 0) {
    auto [it, entered] = places_.try_emplace(place.node, static_cast<uint32_t>(node_names.size()));
    if (entered) {
      node_names.push_back(place.node);
      place_users_.push_back(0);
      node_changes_.entered.push_back(place.node);
    }
    ++place_users_[it->second];
    return;
  }
  auto it = places_.find(place.node);
  const uint32_t at = it->second;
  if (--place_users_[at] > 0) return;
  node_changes_.left.push_back(place.node);
  places_[node_names.back()] = at;
  node_names[at] = node_names.back();
  place_users_[at] = place_users_.back();
  node_names.pop_back();
  place_users_.pop_back();
  places_.erase(place.node);
}

void Pool::summarise_places() {
  wide = wide_places_ > 0;
  has_conditions = conditional_slices_ > 0;
  const bool local = !wide && node_slices_ == live_.size() && node_names.size() == 1;
  local_node = local ? node_names[0] : kNoStr;
  local_node_text = local ? std::string(strings_.text(local_node)) : std::string();
}

}  // namespace dra::inventory
