#include "test/oracle/objective.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace dra::oracle {
namespace {

constexpr int64_t kMillion = 1'000'000;

int64_t millionths(Amount part, Amount whole) {
  if (whole <= 0 || part <= 0) return 0;
  return part >= whole ? kMillion : static_cast<int64_t>(part * kMillion / whole);
}

// One device of a pool, wherever it may be used.
struct PoolDevice {
  DeviceName name;
  const api::Device* device = nullptr;
  bool shared = false, held = false, charged = false, available = false;
  std::map<CounterKey, Amount> uses;
  std::map<std::string, Amount> consumed;
  size_t group = SIZE_MAX;

  int64_t free_millionths() const {
    if (!available) return 0;
    int64_t left = kMillion;
    for (const auto& [name_of, taken] : consumed) {
      const auto capacity = device->capacity.find(name_of);
      if (capacity == device->capacity.end()) continue;
      const Amount whole = parse_amount(capacity->second.value).value_or(0);
      left = std::min(left, millionths(whole - taken, std::max<Amount>(whole, 1)));
    }
    return shared ? left : kMillion;
  }
};

// Counters that some device draws on together.
struct Group {
  std::set<CounterKey> counters;
  std::vector<size_t> devices;
};

// One pool with everything in it, including what this node cannot use: counters belong to the pool.
class PoolFacts {
 public:
  PoolFacts(const World& world, const std::string& driver, const std::string& pool) : local_(true) {
    for (const api::ResourceSlice& slice : world.slices)
      if (slice.driver == driver && slice.pool.name == pool) add(world, slice);
    for (PoolDevice& one : devices)
      if (one.charged)
        for (const auto& [counter, amount] : one.uses) left_[counter] -= amount;
    for (PoolDevice& one : devices) one.available = !one.held && (one.charged || fits(one, {}));
    join();
  }

  std::vector<PoolDevice> devices;
  std::vector<Group> groups;

  bool local_to(const std::string& node) const { return local_ && node_ == node; }
  size_t find(const DeviceName& name) const {
    for (size_t i = 0; i < devices.size(); ++i)
      if (devices[i].name == name) return i;
    return SIZE_MAX;
  }
  bool untouched(const Group& group) const {
    return std::all_of(group.counters.begin(), group.counters.end(),
                       [&](const CounterKey& counter) { return left_.at(counter) == total_.at(counter); });
  }
  int64_t free_of(const Group& group) const {
    int64_t sum = 0;
    for (const CounterKey& counter : group.counters) sum += millionths(left_.at(counter), total_.at(counter));
    return sum / static_cast<int64_t>(group.counters.size());
  }
  // How much of the group's weight becomes unavailable once `taken` are.
  int64_t lost_of(const Group& group, const std::set<size_t>& taken) const {
    int64_t lost = 0, all = 0;
    for (const size_t device : group.devices) {
      int64_t weight = 1;
      for (const auto& [counter, amount] : devices[device].uses)
        weight += millionths(amount, total_.at(counter)) / 1000;
      all += weight;
      if (!devices[device].available || devices[device].charged) continue;
      if (taken.contains(device) || !fits(devices[device], taken)) lost += weight;
    }
    return all == 0 ? 0 : lost * kMillion / all;
  }

 private:
  void add(const World& world, const api::ResourceSlice& slice) {
    for (const api::CounterSet& set : slice.shared_counters)
      for (const auto& [counter, value] : set.counters)
        left_[{set.name, counter}] = total_[{set.name, counter}] = parse_amount(value).value_or(0);
    if (slice.devices.empty()) return;
    local_ = local_ && !slice.node_name.empty() && (node_.empty() || node_ == slice.node_name);
    node_ = slice.node_name;
    for (const api::Device& device : slice.devices) {
      PoolDevice one;
      one.name = {slice.driver, slice.pool.name, device.name};
      one.device = &device;
      one.shared = device.allow_multiple_allocations;
      const auto share = world.allocated_shares.lower_bound({one.name, ""});
      const bool shares =
          world.consumed.contains(one.name) || (share != world.allocated_shares.end() && share->first == one.name);
      one.held = world.allocated.contains(one.name) || (!one.shared && shares);
      one.charged = one.held || shares;
      if (const auto consumed = world.consumed.find(one.name); consumed != world.consumed.end())
        for (const auto& [capacity, amount] : consumed->second)
          one.consumed[capacity] = parse_amount(amount).value_or(0);
      for (const auto& consumption : device.consumes_counters)
        for (const auto& [counter, value] : consumption.counters)
          one.uses[{consumption.counter_set, counter}] += parse_amount(value).value_or(0);
      devices.push_back(std::move(one));
    }
  }

  bool fits(const PoolDevice& one, const std::set<size_t>& beside) const {
    return std::all_of(one.uses.begin(), one.uses.end(), [&](const auto& use) {
      Amount left = left_.at(use.first);
      for (const size_t other : beside)
        if (const auto theirs = devices[other].uses.find(use.first); theirs != devices[other].uses.end())
          left -= devices[other].charged ? 0 : theirs->second;
      return left >= use.second;
    });
  }

  void join() {
    for (size_t i = 0; i < devices.size(); ++i) {
      if (devices[i].uses.empty()) continue;
      Group mine;
      mine.devices = {i};
      for (const auto& [counter, amount] : devices[i].uses) mine.counters.insert(counter);
      for (auto other = groups.begin(); other != groups.end();) {
        const bool apart = std::none_of(other->counters.begin(), other->counters.end(),
                                        [&](const CounterKey& counter) { return mine.counters.contains(counter); });
        if (apart) {
          ++other;
          continue;
        }
        mine.counters.insert(other->counters.begin(), other->counters.end());
        mine.devices.insert(mine.devices.end(), other->devices.begin(), other->devices.end());
        other = groups.erase(other);
      }
      groups.push_back(std::move(mine));
    }
    for (size_t g = 0; g < groups.size(); ++g)
      for (const size_t device : groups[g].devices) devices[device].group = g;
  }

  bool local_;
  std::string node_;
  std::map<CounterKey, Amount> total_, left_;
};

int64_t size_of(const api::Device& device) {
  double sum = 0;
  for (const auto& [name, capacity] : device.capacity)
    if (const Amount amount = parse_amount(capacity.value).value_or(0); amount > 0)
      sum += std::log2(static_cast<double>(amount) / static_cast<double>(kOne) + 1);
  return std::llround(sum * 1000);
}

// The rest of a device is worth its size as long as nothing was requested.
int64_t worth(int64_t free) {
  return std::clamp<int64_t>((free + 1) * 100 / kMillion, 0, 100) * 10'000;
}

// The largest part of a capacity that the pick takes.
int64_t need_of(const Pick& pick, const api::Device& device) {
  int64_t need = 0;
  const auto taken = amounts_taken(*pick.option->spec, device);
  if (!taken) return 0;
  for (const auto& [name, amount] : *taken) {
    const Amount whole = parse_amount(device.capacity.at(name).value).value_or(0);
    if (whole <= 0) continue;
    const double part = static_cast<double>(amount) / static_cast<double>(whole);
    need = std::max(need, static_cast<int64_t>(part * kMillion + 0.5));
  }
  return need;
}

class Sum {
 public:
  Sum(const Scene& scene, std::vector<PoolFacts>& pools) : scene_(scene), pools_(pools) { taken_.resize(pools.size()); }

  void add(const Pick& pick) {
    if (pick.option->spec->admin_access) return;
    const SceneDevice& device = scene_.devices[pick.device];
    PoolFacts& pool = pools_[device.pool];
    const size_t at = pool.find(device.name);
    const PoolDevice& one = pool.devices[at];
    const bool first = taken_[device.pool].insert(at).second;
    out_.uncertain += scene_.pools[device.pool].conditional;
    out_.size += size_of(*one.device);
    const bool whole = one.available && !one.charged;
    if (one.shared) {
      int64_t& used = used_[{device.pool, at}];
      const int64_t need = need_of(pick, *one.device), free = one.free_millionths();
      out_.lost += worth(free - used) - worth(free - used - need);
      used += need;
      if (first && one.group == SIZE_MAX) out_.broken += whole;
    } else if (one.group == SIZE_MAX) {
      out_.lost += kMillion;
      out_.broken += whole;
    }
  }

  Objective finish() {
    bool partitioned = false;
    int64_t whole = 0, tight = 0;
    for (size_t p = 0; p < pools_.size(); ++p) {
      const PoolFacts& pool = pools_[p];
      for (const Group& group : pool.groups) {
        std::set<size_t> taken;
        for (const size_t device : taken_[p])
          if (std::find(group.devices.begin(), group.devices.end(), device) != group.devices.end())
            taken.insert(device);
        if (taken.empty()) continue;
        out_.lost += pool.lost_of(group, taken);
        out_.broken += pool.untouched(group);
      }
      if (!pool.local_to(scene_.node->metadata.name)) continue;
      partitioned = partitioned || !pool.groups.empty();
      for (const Group& group : pool.groups) {
        whole += pool.untouched(group);
        if (!pool.untouched(group)) tight += pool.free_of(group);
      }
      for (const PoolDevice& one : pool.devices) {
        if (one.group != SIZE_MAX) continue;
        const bool is_whole = one.available && !one.charged;
        whole += is_whole;
        if (!is_whole) tight += one.free_millionths();
      }
    }
    if (partitioned) {
      out_.lost = (out_.lost + 50) / 100 * 100;
      out_.whole = whole;
      out_.tight = -(tight / kMillion);
    }
    return out_;
  }

  Objective out_;

 private:
  const Scene& scene_;
  std::vector<PoolFacts>& pools_;
  std::vector<std::set<size_t>> taken_;  // by pool: devices
  std::map<std::pair<size_t, size_t>, int64_t> used_;
};

}  // namespace

std::string Objective::text() const {
  std::string out;
  for (const int64_t field : {rank, uncertain, lost, broken, size, whole, tight})
    out += (out.empty() ? "" : " ") + std::to_string(field);
  return out;
}

Objective objective(const Scene& scene, const std::vector<Pick>& picks) {
  std::vector<PoolFacts> pools;
  for (const ScenePool& pool : scene.pools) pools.emplace_back(*scene.world, pool.driver, pool.name);
  Sum sum(scene, pools);
  std::set<std::pair<size_t, size_t>> ranked;
  for (const Pick& pick : picks) {
    sum.add(pick);
    if (pick.option->alternative >= 0 && ranked.insert({pick.option->claim, pick.option->request}).second)
      sum.out_.rank += pick.option->alternative;
  }
  return sum.finish();
}

std::vector<Pick> picks_of(const Scene& scene, const std::vector<api::AllocationResult>& results) {
  std::vector<Pick> picks;
  for (const SceneRequest& request : scene.requests)
    for (const SceneOption& option : request.options)
      for (const api::DeviceRequestAllocationResult& result : results.at(option.claim).results) {
        if (result.request != option.result_name) continue;
        for (size_t d = 0; d < scene.devices.size(); ++d)
          if (scene.devices[d].name == DeviceName{result.driver, result.pool, result.device})
            picks.push_back({&option, d});
      }
  return picks;
}

}  // namespace dra::oracle
