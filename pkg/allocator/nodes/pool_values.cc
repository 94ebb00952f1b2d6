#include "pkg/allocator/nodes/pool_values.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_map>

namespace dra::allocator {
namespace {

using inventory::Amount;
using inventory::CounterUse;
using inventory::Pool;
using inventory::test_bit;

using strategy::kMillion;

int64_t part_of(Amount part, Amount whole) {
  if (whole <= 0 || part <= 0) return 0;
  if (part >= whole) return kMillion;
  if (whole < (Amount{1} << 62)) return static_cast<int64_t>(part * kMillion / whole);
  return static_cast<int64_t>((part >> 32) * kMillion / std::max<Amount>(whole >> 32, 1));
}

// The sum of the logarithms of the capacities: of two devices with the same capacities, the larger has more.
int64_t size_of(const inventory::CapacityShape& shape) {
  double sum = 0;
  for (const inventory::CapacityEntry& entry : shape.entries)
    if (entry.amount > 0) sum += std::log2(static_cast<double>(entry.amount) / inventory::kNanosPerUnit + 1);
  return std::llround(sum * 1000);
}

Amount left_of(const inventory::Counter& counter) {
  return counter.total - counter.consumed;
}

}  // namespace

void PoolValues::follow() {
  if (seen_ < device_index_.changes_begin()) {
    pools_.clear();
    seen_ = device_index_.changes_end();
  }
  for (; seen_ < device_index_.changes_end(); ++seen_) {
    const inventory::PoolId id = device_index_.change(seen_);
    if (id < pools_.size() && pools_[id]) pools_[id]->current = false;
  }
}

const PoolValue& PoolValues::of(inventory::PoolId id) {
  if (id >= pools_.size()) pools_.resize(device_index_.pool_slots());
  std::unique_ptr<PoolValue>& kept = pools_[id];
  if (!kept) kept = std::make_unique<PoolValue>();
  if (kept->current) return *kept;
  const Pool& pool = *device_index_.pool(id);
  if (kept->table_version != pool.table_version || kept->devices.size() != pool.size()) lay_out(pool, *kept);
  refresh(pool, *kept);
  kept->current = true;
  return *kept;
}

uint32_t PoolValues::kind_of(const std::string& driver) {
  return kinds_.try_emplace(driver, static_cast<uint32_t>(kinds_.size())).first->second;
}

// Computes what depends on the slices alone.
void PoolValues::lay_out(const Pool& pool, PoolValue& value) {
  value = {};
  value.kind = kind_of(pool.driver_text);
  value.local = pool.local_node != inventory::kNoStr;
  value.table_version = pool.table_version;
  value.devices.resize(pool.size());
  for (uint32_t device = 0; device < pool.size(); ++device) {
    value.devices[device].shareable = pool.shareable(device);
    value.devices[device].one_capacity = pool.shape(device).entries.size() == 1;
    value.devices[device].units_ppm = kMillion;
    value.devices[device].size = size_of(pool.shape(device));
  }
  std::vector<uint32_t> by_name(pool.size());
  std::iota(by_name.begin(), by_name.end(), 0);
  std::sort(by_name.begin(), by_name.end(), [&](uint32_t a, uint32_t b) {
    return device_index_.strings().text(pool.device_name(a)) < device_index_.strings().text(pool.device_name(b));
  });
  for (uint32_t rank = 0; rank < by_name.size(); ++rank) value.devices[by_name[rank]].name_rank = rank;
  make_groups(pool, value);
}

// Groups counters that are used by one device.
void PoolValues::make_groups(const Pool& pool, PoolValue& value) {
  std::vector<uint32_t> joined(pool.counters().size());
  std::iota(joined.begin(), joined.end(), 0);
  const auto root = [&](uint32_t counter) {
    while (joined[counter] != counter) counter = joined[counter] = joined[joined[counter]];
    return counter;
  };
  for (uint32_t device = 0; device < pool.size(); ++device)
    for (const CounterUse* use = pool.uses_begin(device); use != pool.uses_end(device); ++use)
      joined[root(use->counter)] = root(pool.uses_begin(device)->counter);
  // Compatibility groups are about a whole set.
  std::unordered_map<inventory::StrId, uint32_t> first_of_set;
  for (uint32_t counter = 0; pool.any_groups() && counter < joined.size(); ++counter)
    joined[root(counter)] = root(first_of_set.try_emplace(pool.counters()[counter].set, counter).first->second);
  std::unordered_map<uint32_t, uint32_t> group_of;  // by root
  for (uint32_t device = 0; device < pool.size(); ++device) {
    const CounterUse* first = pool.uses_begin(device);
    if (first == pool.uses_end(device)) continue;
    const auto [found, added] = group_of.try_emplace(root(first->counter), static_cast<uint32_t>(value.groups.size()));
    if (added) value.groups.emplace_back();
    value.devices[device].group = found->second;
    GroupValue& group = value.groups[found->second];
    int64_t weight = 1;
    for (const CounterUse* use = first; use != pool.uses_end(device); ++use)
      weight += part_of(use->amount, pool.counters()[use->counter].total) / 1000;
    group.devices.push_back(device);
    group.weights.push_back(weight);
    group.total += weight;
  }
  for (uint32_t counter = 0; counter < joined.size(); ++counter)
    if (const auto found = group_of.find(root(counter)); found != group_of.end())
      value.groups[found->second].counters.push_back(counter);
  for (const GroupValue& group : value.groups)
    for (const uint32_t device : group.devices) {
      int64_t sum = 0;
      for (const CounterUse* use = pool.uses_begin(device); use != pool.uses_end(device); ++use)
        sum += part_of(use->amount, pool.counters()[use->counter].total);
      value.devices[device].units_ppm = sum / static_cast<int64_t>(group.counters.size());
    }
}

// Computes what depends on use.
void PoolValues::refresh(const Pool& pool, PoolValue& value) {
  value.free_ppm = value.tight_ppm = 0;
  value.whole = 0;
  for (GroupValue& group : value.groups) {
    refresh_group(pool, group, value);
    value.free_ppm += group.free_ppm;
    value.whole += group.whole;
    if (!group.whole) value.tight_ppm += group.free_ppm;
  }
  for (uint32_t d = 0; d < value.devices.size(); ++d) {
    DeviceValue& device = value.devices[d];
    const bool available = test_bit(pool.available(), d);
    device.free_ppm = available ? kMillion : 0;
    if (device.shareable && available) {
      const inventory::CapacityShape& shape = pool.shape(d);
      if (const std::vector<Amount>* held = pool.shared(d))
        for (size_t i = 0; i < held->size(); ++i)
          device.free_ppm = std::min(device.free_ppm, part_of(shape.entries[i].amount - (*held)[i],
                                                              std::max<Amount>(shape.entries[i].amount, 1)));
    }
    if (device.group != inventory::kNone) {
      device.whole = value.groups[device.group].whole;
      continue;
    }
    device.whole = available && !test_bit(pool.charged(), d);
    value.free_ppm += device.free_ppm;
    value.whole += device.whole;
    if (!device.whole) value.tight_ppm += device.free_ppm;
  }
}

void PoolValues::refresh_group(const Pool& pool, GroupValue& group, PoolValue& value) {
  std::vector<Amount> left;
  left.reserve(group.counters.size());
  for (const uint32_t counter : group.counters) left.push_back(left_of(pool.counters()[counter]));
  if (left == group.left && !pool.any_groups()) return;
  group.left = std::move(left);
  group.whole = true;
  int64_t sum = 0;
  for (const uint32_t counter : group.counters) {
    const inventory::Counter& one = pool.counters()[counter];
    group.whole = group.whole && one.consumed == 0;
    sum += part_of(left_of(one), one.total);
  }
  group.free_ppm = group.counters.empty() ? 0 : sum / static_cast<int64_t>(group.counters.size());
  for (const uint32_t device : group.devices) value.devices[device].lost = lost_by(pool, group, {device});
}

namespace {

// By compatibility groups: beside the devices in use, and these.
bool groups_fit_beside(const Pool& pool, uint32_t device, const std::vector<uint32_t>& taken) {
  bool fit = true;
  pool.for_each_set(device, [&](inventory::StrId set, const inventory::Groups& groups) {
    inventory::GroupState state = pool.groups_in_use(set);
    for (const uint32_t other : taken)
      if (!test_bit(pool.charged(), other))
        pool.for_each_set(other, [&](inventory::StrId theirs, const inventory::Groups& of_other) {
          if (theirs == set) state.add(of_other);
        });
    fit = fit && state.admits(groups);
  });
  return fit;
}

}  // namespace

bool PoolValues::fits_beside(const Pool& pool, uint32_t device, const std::vector<uint32_t>& taken) {
  if (test_bit(pool.charged(), device)) return true;
  for (const CounterUse* use = pool.uses_begin(device); use != pool.uses_end(device); ++use) {
    Amount left = left_of(pool.counters()[use->counter]) - use->amount;
    for (const uint32_t other : taken) {
      if (test_bit(pool.charged(), other)) continue;
      for (const CounterUse* theirs = pool.uses_begin(other); theirs != pool.uses_end(other); ++theirs)
        if (theirs->counter == use->counter) left -= theirs->amount;
    }
    if (left < 0) return false;
  }
  return !pool.any_groups() || groups_fit_beside(pool, device, taken);
}

int64_t PoolValues::lost_by(const Pool& pool, const GroupValue& group, const std::vector<uint32_t>& taken) {
  // There are few counters: plain loops over small vectors.
  std::vector<std::pair<uint32_t, Amount>> charged;
  for (const uint32_t device : taken) {
    if (test_bit(pool.charged(), device)) continue;  // its counters are already taken
    for (const CounterUse* use = pool.uses_begin(device); use != pool.uses_end(device); ++use) {
      const auto found =
          std::find_if(charged.begin(), charged.end(), [&](const auto& one) { return one.first == use->counter; });
      if (found == charged.end())
        charged.emplace_back(use->counter, use->amount);
      else
        found->second += use->amount;
    }
  }
  int64_t lost = 0;
  for (size_t i = 0; i < group.devices.size(); ++i) {
    const uint32_t device = group.devices[i];
    if (!test_bit(pool.available(), device) || test_bit(pool.charged(), device)) continue;
    bool fits = std::find(taken.begin(), taken.end(), device) == taken.end();
    for (const CounterUse* use = pool.uses_begin(device); fits && use != pool.uses_end(device); ++use)
      for (const auto& [counter, amount] : charged)
        fits = fits && (counter != use->counter || left_of(pool.counters()[counter]) - amount >= use->amount);
    fits = fits && (!pool.any_groups() || groups_fit_beside(pool, device, taken));
    if (!fits) lost += group.weights[i];
  }
  return group.total == 0 ? 0 : lost * kMillion / group.total;
}

}  // namespace dra::allocator
