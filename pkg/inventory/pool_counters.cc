// The shared counters of a pool: which slices publish them, which devices consume them, and what holders have taken.
#include <algorithm>

#include "pkg/base/strings.h"
#include "pkg/inventory/pool.h"

namespace dra::inventory {
namespace {

// Larger than any sum of amounts.
constexpr Amount kEndless = static_cast<Amount>(1) << 120;

void make_unique(std::vector<StrId>& ids) {
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
}

}  // namespace

// ---- what is published

void Pool::publish(const SliceTable& slice) {
  for (const CounterSetTable& table : slice.counter_sets) {
    CounterSet& set = sets_[table.name];
    auto later = std::find_if(set.publishers.begin(), set.publishers.end(),
                              [&](const auto& publisher) { return slice.name < publisher.first->name; });
    const bool counts_now = later == set.publishers.begin();
    set.publishers.insert(later, {&slice, &table});
    if (set.publishers.size() == 2) sets_twice_.insert(strings_.text(table.name));
    if (counts_now) define(table.name, set);
  }
}

void Pool::withdraw(const SliceTable& slice) {
  for (const CounterSetTable& table : slice.counter_sets) {
    CounterSet& set = sets_[table.name];
    auto it = std::find_if(set.publishers.begin(), set.publishers.end(),
                           [&table](const auto& publisher) { return publisher.second == &table; });
    const bool counted = it == set.publishers.begin();
    set.publishers.erase(it);
    if (set.publishers.size() == 1) sets_twice_.erase(strings_.text(table.name));
    if (counted) define(table.name, set);
    drop_if_idle(table.name);
  }
}

// Counters that the set already had keep their position.
void Pool::define(StrId set_name, CounterSet& set) {
  std::vector<std::pair<StrId, uint32_t>> before = std::exchange(set.counters, {});
  if (!set.publishers.empty()) {
    for (const auto& [counter, amount] : set.publishers.front().second->counters) {
      auto known =
          std::find_if(before.begin(), before.end(), [&, id = counter](const auto& c) { return c.first == id; });
      const uint32_t at = known == before.end() ? new_counter() : known->second;
      if (known != before.end()) before.erase(known);
      counters_[at].set = set_name;
      counters_[at].name = counter;
      counters_[at].total = amount;
      set.counters.emplace_back(counter, at);
    }
  }
  for (DeviceRef user : set.users) reconnect(user, set_name);
  for (const auto& [counter, at] : before) {
    counters_[at] = Counter{};
    free_counters_.push_back(at);
  }
  for (DeviceRef user : set.users) refresh_available(number_of(user));
}

uint32_t Pool::new_counter() {
  if (counters_.empty()) counters_.push_back({kNoStr, kNoStr, kEndless, 0});
  if (free_counters_.empty()) {
    counters_.emplace_back();
    return static_cast<uint32_t>(counters_.size() - 1);
  }
  const uint32_t at = free_counters_.back();
  free_counters_.pop_back();
  return at;
}

void Pool::drop_if_idle(StrId set_name) {
  auto it = sets_.find(set_name);
  if (it != sets_.end() && it->second.publishers.empty() && it->second.users.empty()) sets_.erase(it);
}

// ---- what is consumed

uint32_t Pool::counter_of(StrId set, StrId counter) const {
  auto it = sets_.find(set);
  if (it == sets_.end()) return kUnpublished;
  for (const auto& [known, at] : it->second.counters)
    if (known == counter) return at;
  return kUnpublished;
}

std::vector<StrId> Pool::sets_of(const SliceTable& slice, uint32_t first_use, uint32_t last_use) const {
  std::vector<StrId> sets;
  for (uint32_t u = first_use; u < last_use; ++u)
    if (sets.empty() || sets.back() != slice.uses[u].set) sets.push_back(slice.uses[u].set);
  if (sets.size() > 1) make_unique(sets);
  return sets;
}

void Pool::connect(Part& part) {
  const SliceTable& slice = *part.table;
  if (!features_.partitionable) return;
  if (!slice.bare_sets.empty()) naming_alone_[slice.name] = &slice;
  if (slice.uses.empty()) return;
  if (counters_.empty()) counters_.push_back({kNoStr, kNoStr, kEndless, 0});
  part.uses.reserve(slice.uses.size());
  for (const SliceCounterUse& use : slice.uses) {
    part.uses.push_back({counter_of(use.set, use.counter), 0, slice.amounts[use.amount]});
    if (part.uses.back().counter == kUnpublished) count_unpublished(part, 1);
  }
  for (uint32_t local = 0; local < slice.size(); ++local)
    for (StrId set : sets_of(slice, slice.use_first[local], slice.use_first[local + 1]))
      sets_[set].users.push_back(device_ref(part.slot, local));
}

// Call it after releasing what its devices consume.
void Pool::disconnect(Part& part) {
  const SliceTable& slice = *part.table;
  if (!features_.partitionable) return;
  naming_alone_.erase(slice.name);
  for (StrId set_name : sets_of(slice, 0, static_cast<uint32_t>(slice.uses.size()))) {
    std::erase_if(sets_[set_name].users, [&part](DeviceRef user) { return slot_in(user) == part.slot; });
    drop_if_idle(set_name);
  }
  unpublished_.erase(slice.name);
}

// Updates one device that uses a set whose counters changed.
void Pool::reconnect(DeviceRef ref, StrId set_name) {
  Part& part = *slots_[slot_in(ref)];
  const SliceTable& slice = *part.table;
  const bool charged_device = test_bit(charged_.data(), number_of(ref));
  for (uint32_t u = slice.use_first[local_in(ref)]; u < slice.use_first[local_in(ref) + 1]; ++u) {
    if (slice.uses[u].set != set_name) continue;
    CounterUse& use = part.uses[u];
    const uint32_t now = counter_of(set_name, slice.uses[u].counter);
    if (now == use.counter) continue;
    if (charged_device) {
      counters_[use.counter].consumed -= use.amount;
      counters_[now].consumed += use.amount;
    }
    count_unpublished(part, (now == kUnpublished) - (use.counter == kUnpublished));
    use.counter = now;
  }
}

void Pool::count_unpublished(Part& part, int by) {
  part.unpublished += static_cast<uint32_t>(by);
  if (part.unpublished > 0) {
    unpublished_[part.table->name] = &part;
  } else {
    unpublished_.erase(part.table->name);
  }
}

void Pool::charge(uint32_t device, bool on) {
  assign_bit(charged_.data(), device, on);
  const CounterUse* end = uses_end(device);
  if (uses_begin(device) == end) return;
  for (const CounterUse* use = uses_begin(device); use != end; ++use)
    counters_[use->counter].consumed += on ? use->amount : -use->amount;
  uint32_t local;
  const SliceTable& slice = slice_of(device, &local);
  refresh_users(sets_of(slice, slice.use_first[local], slice.use_first[local + 1]));
}

void Pool::refresh_users(const std::vector<StrId>& set_names) {
  std::vector<StrId> sets = set_names;
  make_unique(sets);
  for (StrId set_name : sets) {
    auto it = sets_.find(set_name);
    if (it == sets_.end()) continue;
    if (any_groups()) it->second.in_use = add_up_groups(set_name, it->second);
    for (DeviceRef user : it->second.users) refresh_available(number_of(user));
  }
}

// Names a slice that consumes counters no slice publishes; empty if there is none.
std::string Pool::unpublished_reason(const std::vector<const SliceTable*>* among) const {
  const auto asked = [among](const SliceTable* slice) {
    return among == nullptr || std::find(among->begin(), among->end(), slice) != among->end();
  };
  for (const auto& [slice_name, slice] : naming_alone_)
    for (StrId set : asked(slice) ? slice->bare_sets : std::vector<StrId>())
      if (auto it = sets_.find(set); it == sets_.end() || it->second.publishers.empty())
        return "ResourceSlice " + quote(slice_name) + " consumes counter set " + quote(strings_.text(set)) +
               ", which the pool does not publish";
  const auto first =
      std::find_if(unpublished_.begin(), unpublished_.end(), [&](const auto& one) { return asked(one.second->table); });
  if (first == unpublished_.end()) return {};
  const auto& [slice_name, part] = *first;
  const SliceTable& slice = *part->table;
  uint32_t u = 0;
  while (part->uses[u].counter != kUnpublished) ++u;
  const auto device = std::upper_bound(slice.use_first.begin(), slice.use_first.end(), u) - slice.use_first.begin() - 1;
  return "ResourceSlice " + quote(slice_name) + ": device " +
         quote(strings_.text(slice.names[static_cast<size_t>(device)])) + " consumes counter " +
         quote(strings_.text(slice.uses[u].counter)) + " of counter set " + quote(strings_.text(slice.uses[u].set)) +
         ", which the pool does not publish";
}

}  // namespace dra::inventory
