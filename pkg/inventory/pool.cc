#include "pkg/inventory/pool.h"

#include <algorithm>

#include "pkg/base/strings.h"

namespace dra::inventory {

Pool::Pool(PoolId pool_id, std::string_view driver_name, std::string_view pool_name, Strings& strings,
           const Features& features)
    : id(pool_id),
      driver(strings.intern(driver_name)),
      name(strings.intern(pool_name)),
      driver_text(driver_name),
      name_text(pool_name),
      strings_(strings),
      features_(features) {}

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

// ---- which slices count

namespace {

// Usable on one node as a whole, and independent of the slices of other nodes.
bool is_of_one_node(const SliceTable& slice) {
  return slice.where.kind == Where::kNode && !slice.has_counter_sets && slice.uses.empty() && slice.bare_sets.empty();
}

}  // namespace

std::unique_ptr<SliceTable> Pool::put_slice(std::unique_ptr<SliceTable> slice) {
  const SliceTable& added = *slice;
  std::unique_ptr<SliceTable> gone = std::exchange(slices_[added.name], std::move(slice));
  if (gone) strike(*gone);
  enlist(added);
  update_live(gone.get(), &added);
  return gone;
}

std::unique_ptr<SliceTable> Pool::remove_slice(std::string_view slice_name) {
  auto it = slices_.find(slice_name);
  if (it == slices_.end()) return nullptr;
  std::unique_ptr<SliceTable> gone = std::move(it->second);
  slices_.erase(it);
  strike(*gone);
  update_live(gone.get(), nullptr);
  return gone;
}

void Pool::Generation::count_place(const SliceTable& slice, int by) {
  if (slice.has_counter_sets) return;
  if (slice.where.kind != Where::kNode && slice.where.kind != Where::kAll) {
    elsewhere += by;
    return;
  }
  const auto place = places.try_emplace(slice.where.node, 0).first;
  place->second += by;
  if (place->second == 0) places.erase(place);
}

void Pool::enlist(const SliceTable& slice) {
  Generation& of = generations_[slice.generation];
  of.slices.insert(&slice);
  ++of.announced[slice.announced];
  if (!slice.problem.empty()) of.unusable.insert(&slice);
  if (!slice.hidden.empty()) of.hidden.insert(&slice);
  of.not_of_one_node += !is_of_one_node(slice);
  of.count_place(slice, 1);
  if (!slice.pool_refused.empty()) of.refusing.insert(&slice);
  if (!slice.refused.empty()) of.refusing_some.insert(&slice);
}

void Pool::strike(const SliceTable& slice) {
  auto of = generations_.find(slice.generation);
  of->second.not_of_one_node -= !is_of_one_node(slice);
  of->second.count_place(slice, -1);
  of->second.slices.erase(&slice);
  of->second.unusable.erase(&slice);
  of->second.hidden.erase(&slice);
  of->second.refusing.erase(&slice);
  of->second.refusing_some.erase(&slice);
  auto announced_by = of->second.announced.find(slice.announced);
  if (--announced_by->second == 0) of->second.announced.erase(announced_by);
  if (of->second.slices.empty()) generations_.erase(of);
}

void Pool::update_live(const SliceTable* gone, const SliceTable* added) {
  std::set<const SliceTable*> missing = usable_though_stale();
  drop_stale_except(missing);
  placed_ = false;
  const int64_t newest = generations_.empty() ? 0 : generations_.rbegin()->first;
  if (generations_.empty() || newest != generation) {
    clear_parts();
    generation = newest;
    if (!generations_.empty())
      for (const SliceTable* slice : generations_.rbegin()->second.slices) bring_in(*slice);
  } else {
    if (gone != nullptr && gone->generation == newest) take_out(*gone);
    if (added != nullptr && added->generation == newest) bring_in(*added);
  }
  for (size_t s = live_.size() - stale_parts_; s < live_.size(); ++s) missing.erase(live_[s]);
  for (const SliceTable* slice : missing) add_part(*slice, true);
  summarise_places();
  judge();
}

bool Pool::counts(const SliceTable& slice) const {
  return features_.partitionable || !(slice.has_counter_sets || slice.where.kind == Where::kPerDevice);
}

void Pool::bring_in(const SliceTable& slice) {
  if (!counts(slice)) return;
  if (slice.has_counter_sets) publish(slice);
  if (slice.size() > 0) add_part(slice, false);
}

void Pool::take_out(const SliceTable& slice) {
  if (!counts(slice)) return;
  if (slice.size() > 0) {
    auto it = std::lower_bound(live_.begin(), live_.end() - static_cast<ptrdiff_t>(stale_parts_), &slice,
                               Generation::ByName());
    remove_part(static_cast<size_t>(it - live_.begin()));
  }
  if (slice.has_counter_sets) withdraw(slice);
}

// ---- use

const std::string& Pool::why_refused(uint32_t device) const {
  if (!refused.empty()) return refused;
  static const std::string none;
  uint32_t local;
  const SliceTable& slice = slice_of(device, &local);
  const auto found = slice.refused.find(local);
  return found == slice.refused.end() ? none : slice.refusals[found->second];
}

const NodeTakes* Pool::takes(uint32_t device) const {
  if (!refused.empty() || !refuses_some) return nullptr;
  uint32_t local;
  const SliceTable& slice = slice_of(device, &local);
  const auto found = slice.takes.find(local);
  return found == slice.takes.end() ? nullptr : &found->second;
}

uint32_t Pool::find_device(StrId device_name) const {
  uint32_t lowest = kNone;
  for_each_named(device_name, [&lowest](uint32_t device) { lowest = std::min(lowest, device); });
  return lowest;
}

std::vector<Amount> Pool::sum_consumed(uint32_t device, const std::vector<HolderRef>& list, Layer layer) const {
  const CapacityShape& capacities = shape(device);
  std::vector<Amount> sums(capacities.entries.size(), 0);
  for (const HolderRef& holder : list) {
    if (layer == Layer::kObserved && !holder.observed) continue;
    // By either name whatever the release: counting too little would hand a capacity out twice.
    for (const auto& [capacity, amount] : holder.consumed)
      if (const size_t i = capacities.find(strings_.text(capacity), true); i < sums.size()) sums[i] += amount;
  }
  return sums;
}

std::vector<SharedTerms> Pool::sum_terms(uint32_t device, const std::vector<HolderRef>& list) const {
  const CapacityShape& capacities = shape(device);
  std::vector<SharedTerms> sums;
  for (const HolderRef& holder : list) {
    if (holder.terms == kNoStr) continue;
    auto known =
        std::find_if(sums.begin(), sums.end(), [&](const SharedTerms& one) { return one.terms == holder.terms; });
    if (known == sums.end())
      known = sums.insert(sums.end(), {holder.terms, 0, std::vector<Amount>(capacities.entries.size(), 0)});
    ++known->shares;
    for (const auto& [capacity, amount] : holder.consumed)
      if (const size_t i = capacities.find(strings_.text(capacity), true); i < known->sums.size())
        known->sums[i] += amount;
  }
  return sums;
}

// Updates whether a device is in use, and what its holders consume, but not its counters.
void Pool::set_held(uint32_t device) {
  auto it = holders.find(device_name(device));
  const bool any = it != holders.end() && !it->second.empty();
  const bool can_share = any && shareable(device);
  const bool whole = any && (!can_share || std::any_of(it->second.begin(), it->second.end(), [](const HolderRef& h) {
                       return h.opaque || (h.share == kNoStr && h.consumed.empty());
                     }));
  assign_bit(in_use_.data(), device, whole);
  if (can_share) {
    shared_[ref_of(device)] = sum_consumed(device, it->second, Layer::kAll);
    shared_terms_[ref_of(device)] = sum_terms(device, it->second);
  } else if (!shared_.empty()) {
    shared_.erase(ref_of(device));
    shared_terms_.erase(ref_of(device));
  }
}

void Pool::refresh_device(uint32_t device) {
  set_held(device);
  const bool any = held(device_name(device));
  if (any != test_bit(charged_.data(), device)) charge(device, any);
  refresh_available(device);
}

void Pool::refresh_available(uint32_t device) {
  bool free = !test_bit(in_use_.data(), device) && (test_bit(charged_.data(), device) || fits_in_use(device));
  free = free && !test_bit(plugins_.data(), device);
  assign_bit(open_.data(), device, free);
  assign_bit(available_.data(), device, free && !test_bit(excluded_.data(), device));
}

bool Pool::set_silicon(uint32_t device, bool excluded, bool plugins) {
  if (is_excluded(device) == excluded && is_plugins(device) == plugins) return false;
  assign_bit(excluded_.data(), device, excluded);
  assign_bit(plugins_.data(), device, plugins);
  refresh_available(device);
  return true;
}

namespace {

// The least that a request can take of a capacity: all of it without a request policy.
Amount least_request(const CapacityEntry& entry) {
  if (!entry.policy) return entry.amount;
  if (entry.policy->range) return to_amount(entry.policy->range->min);
  if (entry.policy->valid_values.empty()) return entry.policy->default_value ? 0 : entry.amount;
  Amount least = to_amount(entry.policy->valid_values.front());
  for (const api::Quantity& value : entry.policy->valid_values) least = std::min(least, to_amount(value));
  return least;
}

}  // namespace

// A shared device with a capacity of which no request can take any more.
bool Pool::used_up(uint32_t device) const {
  const std::vector<Amount>* consumed = shared(device);
  if (consumed == nullptr) return false;
  const CapacityShape& capacities = shape(device);
  for (size_t i = 0; i < consumed->size(); ++i) {
    const Amount left = capacities.entries[i].amount - (*consumed)[i];
    if ((*consumed)[i] > 0 && (left <= 0 || left < least_request(capacities.entries[i]))) return true;
  }
  return false;
}

uint32_t Pool::count_free(const uint64_t* among) const {
  uint32_t count = 0;
  std::vector<Amount> taken(counters_.size(), 0);
  std::map<StrId, GroupState> groups;  // of those counted, beside those in use
  for (size_t w = 0; w < words(); ++w) {
    uint64_t word = available_[w] & among[w];
    if (counters_.empty() && shared_.empty()) {
      count += static_cast<uint32_t>(std::popcount(word));
      continue;
    }
    for (; word != 0; word &= word - 1) {
      const auto device = static_cast<uint32_t>(w * 64 + static_cast<size_t>(std::countr_zero(word)));
      if (used_up(device)) continue;
      const CounterUse* end = uses_end(device);
      // The counters of a held device are already taken.
      const bool draws = !test_bit(charged_.data(), device);
      bool fits = true;
      for (const CounterUse* use = uses_begin(device); draws && fits && use != end; ++use) {
        const Counter& counter = counters_[use->counter];
        fits = counter.total - counter.consumed - taken[use->counter] >= use->amount;
      }
      if (draws && any_groups()) {
        for_each_set(device, [&](StrId set, const Groups& own) {
          fits = fits && groups.try_emplace(set, groups_in_use(set)).first->second.admits(own);
        });
        if (fits) for_each_set(device, [&](StrId set, const Groups& own) { groups[set].add(own); });
      }
      if (!fits) continue;
      ++count;
      for (const CounterUse* use = uses_begin(device); draws && use != end; ++use) taken[use->counter] += use->amount;
    }
  }
  return count;
}

}  // namespace dra::inventory
