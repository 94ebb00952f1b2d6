#include "pkg/inventory/pool.h"

#include <algorithm>

#include "pkg/base/strings.h"

namespace dra::inventory {

Pool::Pool(PoolId pool_id, std::string_view driver_name, std::string_view pool_name, Strings& strings)
    : id(pool_id),
      driver(strings.intern(driver_name)),
      name(strings.intern(pool_name)),
      driver_text(driver_name),
      name_text(pool_name),
      strings_(strings) {}

Pool::~Pool() {
  for (const auto& [device, list] : holders) {
    strings_.release(device);
    for (const HolderRef& holder : list) {
      if (holder.share != kNoStr) strings_.release(holder.share);
      for (const auto& [capacity, amount] : holder.consumed) strings_.release(capacity);
    }
  }
  slices_.clear();
  strings_.release(driver);
  strings_.release(name);
}

void Pool::put_slice(std::unique_ptr<SliceTable> slice) {
  std::string key = slice->name;
  slices_[key] = std::move(slice);
}

void Pool::remove_slice(const std::string& slice_name) {
  slices_.erase(slice_name);
}

void Pool::invalidate(std::string text) {
  if (state == PoolState::kInvalid) return;
  state = PoolState::kInvalid;
  reason = std::move(text);
}

void Pool::rebuild(const Features& features) {
  consumable_ = features.consumable;
  choose_generation(features);
  number_devices();
  build_counters(features);
  summarise_places();
  rebuild_use();
}

void Pool::choose_generation(const Features& features) {
  live_.clear();
  counter_slices_.clear();
  state = PoolState::kComplete;
  reason.clear();
  generation = 0;
  announced = seen = obsolete = 0;
  bool any = false;
  for (const auto& [slice_name, slice] : slices_) {
    if (!any || slice->generation > generation) generation = slice->generation;
    any = true;
  }
  bool inconsistent = false;
  for (const auto& [slice_name, slice] : slices_) {
    if (slice->generation != generation) {
      ++obsolete;
      continue;
    }
    if (++seen == 1) announced = slice->announced;
    inconsistent = inconsistent || slice->announced != announced;
    if (!slice->problem.empty()) invalidate(slice->problem);
    bool counters_only = slice->has_counter_sets;
    if (!features.partitionable && (counters_only || slice->where.kind == Where::kPerDevice)) continue;
    if (counters_only) counter_slices_.push_back(slice.get());
    if (slice->size() > 0) live_.push_back(slice.get());
  }
  stale_slices_ = 0;
  if (features.stale_generations && obsolete > 0) add_stale_generations();
  if (seen == announced && !inconsistent) return;
  state = PoolState::kIncomplete;
  reason = inconsistent
               ? "slices of generation " + std::to_string(generation) + " announce different resourceSliceCount"
               : "generation " + std::to_string(generation) + " has " + std::to_string(seen) + " of " +
                     std::to_string(announced) + " announced slices";
}

// The slices of an older generation, when upstream would still use them: complete, all on one node, and nothing newer
// there. Counters are left out of this.
bool Pool::usable_though_stale(int64_t older, std::vector<const SliceTable*>* found) const {
  StrId node = kNoStr;
  for (const auto& [slice_name, slice] : slices_) {
    if (slice->generation != older) continue;
    bool plain = slice->where.kind == Where::kNode && !slice->has_counter_sets && slice->uses.empty();
    if (!plain || !slice->problem.empty() || (node != kNoStr && slice->where.node != node)) return false;
    node = slice->where.node;
    found->push_back(slice.get());
  }
  for (const auto& [slice_name, slice] : slices_)
    if (slice->generation > older && (slice->where.kind != Where::kNode || slice->where.node == node)) return false;
  return static_cast<int64_t>(found->size()) == found->front()->announced;
}

void Pool::add_stale_generations() {
  std::vector<int64_t> older;
  for (const auto& [slice_name, slice] : slices_)
    if (slice->generation != generation && std::find(older.begin(), older.end(), slice->generation) == older.end())
      older.push_back(slice->generation);
  for (int64_t candidate : older) {
    std::vector<const SliceTable*> found;
    if (!usable_though_stale(candidate, &found)) continue;
    live_.insert(live_.end(), found.begin(), found.end());
    stale_slices_ += found.size();
  }
}

void Pool::number_devices() {
  first_.clear();
  size_ = 0;
  for (const SliceTable* slice : live_) {
    first_.push_back(size_);
    size_ += slice->size();
  }
  by_name_.clear();
  by_name_.reserve(size_);
  for (size_t s = 0; s < live_.size(); ++s)
    for (uint32_t i = 0; i < live_[s]->size(); ++i) by_name_.emplace_back(live_[s]->names[i], first_[s] + i);
  std::sort(by_name_.begin(), by_name_.end());
  stale_first_ = stale_slices_ == 0 ? size_ : first_[live_.size() - stale_slices_];
  for (size_t i = 1; i < by_name_.size(); ++i) {
    if (by_name_[i].first != by_name_[i - 1].first || by_name_[i].second >= stale_first_) continue;
    if (state == PoolState::kComplete)
      invalidate("device " + quote(strings_.text(by_name_[i].first)) + " is published twice");
    break;
  }
}

void Pool::build_counters(const Features& features) {
  counters_.clear();
  uses_.clear();
  use_first_.assign(1, 0);
  std::map<std::pair<StrId, StrId>, uint32_t> index;
  std::vector<StrId> sets;
  for (const SliceTable* slice : counter_slices_) {
    for (const CounterSetTable& set : slice->counter_sets) {
      if (std::find(sets.begin(), sets.end(), set.name) != sets.end() && state == PoolState::kComplete)
        invalidate("counter set " + quote(strings_.text(set.name)) + " is published twice");
      sets.push_back(set.name);
      for (const auto& [counter, amount] : set.counters) {
        index[{set.name, counter}] = static_cast<uint32_t>(counters_.size());
        counters_.push_back({set.name, counter, amount, 0});
      }
    }
  }
  use_first_.reserve(size_ + 1);
  for (const SliceTable* slice : live_) {
    for (StrId set : slice->bare_sets)
      if (features.partitionable && std::find(sets.begin(), sets.end(), set) == sets.end() &&
          state == PoolState::kComplete)
        invalidate("ResourceSlice " + quote(slice->name) + " consumes counter set " + quote(strings_.text(set)) +
                   ", which the pool does not publish");
    for (uint32_t i = 0; i < slice->size(); ++i) {
      for (uint32_t u = slice->use_first[i]; features.partitionable && u < slice->use_first[i + 1]; ++u) {
        const SliceCounterUse& use = slice->uses[u];
        auto it = index.find({use.set, use.counter});
        if (it != index.end()) {
          uses_.push_back({it->second, 0, slice->amounts[use.amount]});
        } else if (state == PoolState::kComplete) {
          invalidate("ResourceSlice " + quote(slice->name) + ": device " + quote(strings_.text(slice->names[i])) +
                     " consumes counter " + quote(strings_.text(use.counter)) + " of counter set " +
                     quote(strings_.text(use.set)) + ", which the pool does not publish");
        }
      }
      use_first_.push_back(static_cast<uint32_t>(uses_.size()));
    }
  }
  uses_.shrink_to_fit();
  user_first_.assign(counters_.size() + 1, 0);
  for (const CounterUse& use : uses_) ++user_first_[use.counter + 1];
  for (size_t c = 0; c < counters_.size(); ++c) user_first_[c + 1] += user_first_[c];
  users_.assign(uses_.size(), 0);
  std::vector<uint32_t> next(user_first_.begin(), user_first_.end() - 1);
  for (uint32_t d = 0; d < size_; ++d)
    for (const CounterUse* use = uses_begin(d); use != uses_end(d); ++use) users_[next[use->counter]++] = d;
}

void Pool::summarise_places() {
  local_node = kNoStr;
  wide = false;
  has_conditions = false;
  any_shareable_ = false;
  node_names.clear();
  auto add_place = [this](const Where& place) {
    if (place.kind == Where::kNode) {
      if (std::find(node_names.begin(), node_names.end(), place.node) == node_names.end())
        node_names.push_back(place.node);
    } else if (place.kind == Where::kSelector || place.kind == Where::kAll) {
      wide = true;
    }
  };
  for (const SliceTable* slice : live_) {
    any_shareable_ = any_shareable_ || (consumable_ && std::any_of(slice->flags.begin(), slice->flags.end(),
                                                                   [](uint8_t flags) { return flags & kMultiple; }));
    has_conditions = has_conditions || !slice->conditions.empty();
    if (slice->where.kind != Where::kPerDevice) add_place(slice->where);
    for (const Where& place : slice->device_where) add_place(place);
  }
  bool uniform = std::all_of(live_.begin(), live_.end(),
                             [](const SliceTable* slice) { return slice->where.kind == Where::kNode; });
  if (uniform && !wide && node_names.size() == 1) local_node = node_names[0];
  local_node_text = local_node == kNoStr ? std::string() : std::string(strings_.text(local_node));
}

void Pool::rebuild_use() {
  in_use_.assign(words(), 0);
  charged_.assign(words(), 0);
  available_.assign(words(), 0);
  shared_.clear();
  for (const auto& [device_name, list] : holders) {
    if (list.empty()) continue;
    for_each_named(device_name, [this](uint32_t device) {
      set_bit(charged_.data(), device);
      for (const CounterUse* use = uses_begin(device); use != uses_end(device); ++use)
        counters_[use->counter].consumed += use->amount;
    });
  }
  for (const auto& [device_name, list] : holders) {
    if (!list.empty()) for_each_named(device_name, [this](uint32_t device) { refresh_device(device); });
  }
  for (uint32_t device = 0; device < size_; ++device) refresh_available(device);
}

size_t Pool::slice_index(uint32_t device) const {
  return static_cast<size_t>(std::upper_bound(first_.begin(), first_.end(), device) - first_.begin()) - 1;
}

uint32_t Pool::find_device(StrId device_name) const {
  auto it = std::lower_bound(by_name_.begin(), by_name_.end(), std::pair<StrId, uint32_t>(device_name, 0));
  return it != by_name_.end() && it->first == device_name ? it->second : kNone;
}

std::vector<Amount> Pool::sum_consumed(uint32_t device, const std::vector<HolderRef>& list, Layer layer) const {
  const CapacityShape& capacities = shape(device);
  std::vector<Amount> sums(capacities.entries.size(), 0);
  for (const HolderRef& holder : list) {
    if (layer == Layer::kObserved && !holder.observed) continue;
    for (const auto& [capacity, amount] : holder.consumed)
      for (size_t i = 0; i < sums.size(); ++i)
        if (capacities.entries[i].name == strings_.text(capacity)) sums[i] += amount;
  }
  return sums;
}

void Pool::refresh_device(uint32_t device) {
  auto it = holders.find(device_name(device));
  bool held = it != holders.end() && !it->second.empty();
  bool can_share = shareable(device);
  bool exclusive = held && (!can_share || std::any_of(it->second.begin(), it->second.end(), [](const HolderRef& h) {
                     return h.share == kNoStr && h.consumed.empty();
                   }));
  assign_bit(in_use_.data(), device, exclusive);
  if (can_share && held) {
    shared_[device] = sum_consumed(device, it->second, Layer::kAll);
  } else {
    shared_.erase(device);
  }
  if (held != test_bit(charged_.data(), device)) set_charged(device, held);
  refresh_available(device);
}

void Pool::set_charged(uint32_t device, bool on) {
  assign_bit(charged_.data(), device, on);
  for (const CounterUse* use = uses_begin(device); use != uses_end(device); ++use)
    counters_[use->counter].consumed += on ? use->amount : -use->amount;
  for (const CounterUse* use = uses_begin(device); use != uses_end(device); ++use)
    for (const uint32_t* user = users_begin(use->counter); user != users_end(use->counter); ++user)
      refresh_available(*user);
}

void Pool::refresh_available(uint32_t device) {
  bool free = !test_bit(in_use_.data(), device) && (test_bit(charged_.data(), device) || counters_fit(device));
  assign_bit(available_.data(), device, free);
}

}  // namespace dra::inventory
