#include "pkg/allocator/explain/explain.h"

#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "pkg/allocator/explain/class_nodes.h"
#include "pkg/allocator/explain/device_cause.h"
#include "pkg/allocator/explain/holders.h"
#include "pkg/allocator/explain/nearest_miss.h"
#include "pkg/allocator/explain/there_on_nodes.h"
#include "pkg/allocator/explain/value_miss.h"

namespace dra::allocator {
namespace {

using inventory::NodeId;
using inventory::Pool;
using inventory::PoolId;
using inventory::test_bit;
using inventory::Words;

constexpr size_t kMaxReason = 256;  // bytes of why a pool cannot be used
// Values are compared for people: with more devices that would take longer than the rest of an explanation.
constexpr uint32_t kMostCompared = 4096;
constexpr size_t kMostSelector = 1024;  // DeviceJudge::example() cuts longer ones

bool is_refused_by_selectors(Cause cause) {
  return cause == Cause::kWrongNode || cause == Cause::kClassSelector || cause == Cause::kRequestSelector;
}

// A pool as the scope sees it. Empty masks mean all devices.
struct PoolInScope {
  const Pool* pool = nullptr;
  NodeId node = inventory::kNone;  // the node of all its devices; kNone: no such node
  bool reached = false;            // some device is usable on a node that the pod can go to
  Words here, reach;               // in the scope; usable on a node that the pod can go to

  bool is_here(uint32_t device) const { return here.empty() || test_bit(here.data(), device); }
  bool is_reached(uint32_t device) const { return reached && (reach.empty() || test_bit(reach.data(), device)); }
};

// A count per node. In most explanations few nodes have anything left, so the table of all nodes is created with the
// first count.
class CountByNode {
 public:
  void add(NodeId node, uint32_t count, size_t nodes) {
    if (counts_.empty()) counts_.resize(nodes, 0);
    if (counts_[node] == 0 && count > 0) counted_.push_back(node);
    counts_[node] += count;
  }
  uint32_t operator[](NodeId node) const { return counts_.empty() ? 0 : counts_[node]; }
  const std::vector<NodeId>& counted() const { return counted_; }  // nodes with a count above 0, each once

 private:
  std::vector<uint32_t> counts_;
  std::vector<NodeId> counted_;
};

// Usable devices by node.
struct UsableOnNodes {
  CountByNode passed, refused;                  // in pools of one node
  uint32_t wide = 0;                            // in pools that every node can use
  std::vector<std::pair<PoolId, Words>> other;  // in pools that some nodes can use
};

// The pool as the segment's node sees it. An older generation that the node still uses is complete.
inventory::PoolState state_seen(const inventory::Segment& segment, const Pool& pool) {
  const bool only_stale =
      !segment.mask.empty() && inventory::next_bit(segment.mask.data(), segment.mask.size(), 0) >= pool.stale_first();
  return only_stale ? inventory::PoolState::kComplete : pool.state;
}

class Explainer {
 public:
  Explainer(const Plan& plan, inventory::DeviceIndex& device_index, Selectors& selectors, Filters& filters,
            DeviceCountsByFilter& counts_by_filter, Meter& meter)
      : plan_(plan),
        device_index_(device_index),
        meter_(meter),
        counts_by_filter_(counts_by_filter),
        judge_(device_index, selectors, filters) {}

  Reasons run(const ExplainScope& scope) {
    Reasons reasons;
    reasons.nodes_asked = static_cast<uint32_t>(scope.passed.size());
    reasons.nodes_examined = scope.everywhere ? reasons.nodes_asked : 0;
    if (!scope.everywhere) collect(scope, reasons.nodes_examined);
    for (uint32_t r = 0; r < plan_.requests.size(); ++r) {
      of_class_.begin();
      for (const PlanAlternative& alternative : plan_.requests[r].alternatives) {
        RequestReason reason =
            scope.everywhere ? from_device_counts(r, alternative, scope) : explain_alternative(r, alternative, scope);
        if (reason.devices_examined < reason.devices_asked) of_class_.forget();
        if (reason.devices_examined > 0 || reason.devices_asked == 0) reasons.requests.push_back(std::move(reason));
      }
      of_class_.end();
    }
    reasons.of_class = of_class_.take();
    // What keeps these devices from the request may be held under the name of any driver.
    const auto excluded = [](const CauseCount& count) {
      return count.cause == Cause::kSameSilicon || count.cause == Cause::kDevicePlugin;
    };
    if (std::any_of(reasons.requests.begin(), reasons.requests.end(), [&](const RequestReason& request) {
          return std::any_of(request.counts.begin(), request.counts.end(), excluded);
        }))
      add_all_drivers();
    reasons.drivers.assign(drivers_.begin(), drivers_.end());
    for (NodeId node = 0; node < able_.size() && reasons.able_though_refused.size() < kMaxAble; ++node)
      if (able_[node] == plan_.requests.size() && !plan_.requests.empty() && !passes(node, scope))
        reasons.able_though_refused.push_back(node);
    return reasons;
  }

 private:
  // Collects the pools with a slice usable on one of the nodes, and the devices usable on any of them.
  void collect(const ExplainScope& scope, uint32_t& examined) {
    size_t devices = 0;
    std::map<PoolId, PoolInScope> found;
    const auto add = [&](NodeId node, bool passed) {
      if (!device_index_.knows(node)) return;
      for (const inventory::Segment& segment : device_index_.view(node).segments) {
        const Pool& pool = *device_index_.pool(segment.pool);
        auto [known, fresh] = found.try_emplace(segment.pool);
        PoolInScope& one = known->second;
        if (fresh) {
          devices += pool.size();
          one.pool = &pool;
          one.node = local_node(pool);
          one.here.resize(pool.words(), 0);
          one.reach.resize(pool.words(), 0);
        }
        one.reached = one.reached || passed;
        for (size_t w = 0; w < one.here.size(); ++w) {
          const uint64_t mask = segment.mask.empty() ? ~uint64_t{0} : segment.mask[w];
          one.here[w] |= mask;
          if (passed) one.reach[w] |= mask;
        }
      }
    };
    for (const NodeId node : scope.passed) {
      if (devices > kMaxExplainedDevices) break;
      ++examined;
      add(node, true);
    }
    for (const NodeId node : scope.others)
      if (devices <= kMaxExplainedDevices) add(node, false);
    for (auto& [id, one] : found) pools_.push_back(std::move(one));
  }

  // Whether the pod can go to the node.
  bool passes(NodeId node, const ExplainScope& scope) {
    if (passes_.empty()) {
      passes_.assign(device_index_.node_slots(), false);
      for (const NodeId one : scope.passed)
        if (one < passes_.size()) passes_[one] = true;
    }
    return passes_[node];
  }

  // ---- the whole fleet: from the device counts, except what depends on the pod's nodes and on other devices

  RequestReason from_device_counts(uint32_t r, const PlanAlternative& alternative, const ExplainScope& scope) {
    const std::shared_ptr<DeviceCounts> kept = counts_by_filter_.of(alternative.filter, alternative.admin);
    DeviceCounts& device_counts = *kept;
    const bool all = device_counts.update(device_index_, judge_, meter_);
    RequestReason reason = about(r, alternative);
    reason.devices_examined = device_counts.devices();
    reason.devices_asked = all ? device_counts.devices() : static_cast<uint32_t>(device_index_.device_count());
    uint32_t selected = 0;
    std::vector<CauseCount> counts;
    counts.reserve(device_counts.groups().size());
    const bool none_passes =
        all &&
        std::all_of(device_counts.groups().begin(), device_counts.groups().end(), [](const DeviceCounts::Group& group) {
          return group.devices == 0 || is_refused_by_selectors(group.cause.cause);
        });
    for (size_t g = 0; g < device_counts.groups().size(); ++g) {
      const DeviceCounts::Group& group = device_counts.groups()[g];
      if (group.devices == 0) continue;
      if (group.cause.cause != Cause::kClassSelector) selected += group.devices;
      if (group.cause.cause == Cause::kCombination) continue;
      CauseCount& count = counts.emplace_back();
      count.cause = group.cause.cause;
      count.index = group.cause.index;
      count.detail = group.cause.detail;
      count.devices = group.devices;
      show_example(device_counts, static_cast<uint16_t>(g), alternative, count);
      if (none_passes) add_values(device_counts, static_cast<uint16_t>(g), alternative, count);
    }
    add_holders(device_counts, all, counts);
    for (CauseCount& count : counts) reason.counts.push_back(std::move(count));
    for (const auto& [driver, pools] : device_counts.drivers()) drivers_.insert(driver);
    if (!all) add_all_drivers();
    add_class_nodes(device_counts);
    split_usable(r, alternative, scope, device_counts, reason);
    std::stable_sort(reason.counts.begin(), reason.counts.end(),
                     [](const CauseCount& a, const CauseCount& b) { return a.cause < b.cause; });
    if (selected == 0 && all) reason.nearest_miss = miss_of_class(*alternative.device_class);
    if (reason.devices_wanted > 1 && all && reason.most_on_one_node < reason.devices_wanted)
      reason.most_there = most_there_on_a_node(device_counts, device_index_, reason.devices_wanted, scope.passed,
                                               [&](NodeId node) { return passes(node, scope); });
    note_blocked(alternative, scope, reason);
    return reason;
  }

  // The comparison of the selector that none of the group's devices passes, and what they have.
  void add_values(const DeviceCounts& device_counts, uint16_t group, const PlanAlternative& alternative,
                  CauseCount& count) {
    if (count.cause != Cause::kRequestSelector || count.devices > kMostCompared) return;
    if (count.example.size() >= kMostSelector) return;  // perhaps cut
    ValueMiss miss(count.example);
    if (miss.empty()) return;
    uint32_t seen = 0;
    for (PoolId id = 0; id < device_counts.pools().size() && seen < count.devices; ++id) {
      if (!has_group(device_counts.pools()[id], group)) continue;
      const DeviceCounts::PoolTally& tally = device_counts.pools()[id];
      const Pool& pool = *device_index_.pool(id);
      const bool all_of_group = tally.counts.size() == 1;  // selectors are what costs most here
      for (uint32_t device = 0; device < tally.next && !out_of_time(); ++device) {
        if (!all_of_group) {
          const DeviceCause found = judge_.alone(alternative.filter, alternative.admin, pool, device);
          if (found.cause != count.cause || found.index != count.index) continue;
        }
        miss.add(device_index_, pool, device);
        ++seen;
      }
    }
    if (seen == count.devices) count.values = miss.words();
  }

  // Why a class selects nothing: a name that is not there, or a value that no device has.
  std::string miss_of_class(const api::DeviceClass& device_class) {
    std::string near = nearest_miss(device_index_, device_class.selectors);
    if (!near.empty() || device_index_.device_count() > kMostCompared) return near;
    for (const std::string& selector : device_class.selectors) {
      ValueMiss miss(selector);
      if (miss.empty()) continue;
      for (PoolId id = 0; id < device_index_.pool_slots(); ++id)
        if (const Pool* pool = device_index_.pool(id))
          for (uint32_t device = 0; device < pool->size(); ++device) miss.add(device_index_, *pool, device);
      if (near = miss.words(); !near.empty()) break;
    }
    return near;
  }

  void add_class_nodes(const DeviceCounts& device_counts) {
    for (const DeviceCounts::PoolTally& tally : device_counts.pools())
      if (std::any_of(tally.counts.begin(), tally.counts.end(), [&](const auto& count) {
            return count.second > 0 && device_counts.groups()[count.first].cause.cause != Cause::kClassSelector;
          }))
        of_class_.add(tally.node);
  }

  void add_all_drivers() {
    for (PoolId id = 0; id < device_index_.pool_slots(); ++id)
      if (const Pool* pool = device_index_.pool(id)) drivers_.insert(pool->driver_text);
  }

  static bool has_group(const DeviceCounts::PoolTally& tally, uint16_t group) {
    return std::any_of(tally.counts.begin(), tally.counts.end(), [&](const auto& c) { return c.first == group; });
  }

  // Finds a device of the group again: the pool where one was last seen may have changed.
  void show_example(const DeviceCounts& device_counts, uint16_t group, const PlanAlternative& alternative,
                    CauseCount& count) {
    PoolId id = device_counts.groups()[group].pool;
    if (id >= device_counts.pools().size() || !has_group(device_counts.pools()[id], group)) {
      const auto found = std::find_if(device_counts.pools().begin(), device_counts.pools().end(),
                                      [&](const DeviceCounts::PoolTally& tally) { return has_group(tally, group); });
      if (found == device_counts.pools().end()) return;
      id = static_cast<PoolId>(found - device_counts.pools().begin());
    }
    // Never show a device that the class does not select.
    if (count.cause == Cause::kClassSelector) return;
    const Pool& pool = *device_index_.pool(id);
    for (uint32_t device = 0; device < device_counts.pools()[id].next && !out_of_time(); ++device) {
      const DeviceCause found = judge_.alone(alternative.filter, alternative.admin, pool, device);
      if (found.cause != count.cause || found.index != count.index || found.detail != count.detail) continue;
      count.device = device_text(pool, device);
      count.example = judge_.example(alternative.filter, pool, device, found);
      if (found.cause == Cause::kSameSilicon) add_silicon_holders(pool, device, count);
      return;
    }
  }

  // The claims that hold the other name of the device's silicon.
  void add_silicon_holders(const Pool& pool, uint32_t device, CauseCount& count) {
    const auto why = device_index_.silicon().why_excluded(pool, device);
    if (!why) return;
    for (const inventory::ClaimIndex claim : why->claims)
      if (count.holders.size() < kMaxHolders)
        count.holders.push_back({device_index_.claim(claim).uid, 1});
      else
        ++count.more_holders;
  }

  // Adds the holders of the first held devices.
  void add_holders(DeviceCounts& device_counts, bool all_counted, std::vector<CauseCount>& counts) {
    HolderCounts holders(device_index_);
    for (CauseCount& count : counts) {
      if (count.cause == Cause::kInUse && device_counts.in_use) {
        const CauseCount& known = device_counts.in_use->count;
        count.holders = known.holders;
        count.more_holders = known.more_holders;
        count.holders_sampled = known.holders_sampled;
        continue;
      }
      if (count.cause != Cause::kInUse) continue;
      for (PoolId id = 0; id < device_counts.pools().size() && !count.holders_sampled; ++id) {
        const Words& mask = device_counts.pools()[id].held_mask;
        for (size_t w = 0; w < mask.size(); ++w)
          for (uint64_t bits = mask[w]; bits != 0 && !count.holders_sampled; bits &= bits - 1)
            holders.add(&count, count.cause, *device_index_.pool(id),
                        static_cast<uint32_t>(64 * w) + std::countr_zero(bits));
        last_examined_ = id;
      }
    }
    holders.add_short(device_counts, judge_, counts);
    holders.finish();
    for (const CauseCount& count : counts)
      if (count.cause == Cause::kInUse && !device_counts.in_use && all_counted) {
        device_counts.in_use = DeviceCounts::HolderSample{inventory::kNone, {}};
        device_counts.in_use->last = count.holders_sampled ? last_examined_ : inventory::kNone;
        device_counts.in_use->count.holders = count.holders;
        device_counts.in_use->count.more_holders = count.more_holders;
        device_counts.in_use->count.holders_sampled = count.holders_sampled;
      }
  }

  // Splits usable devices: ruled out by a constraint, on nodes that the pod cannot go to, and the rest.
  void split_usable(uint32_t r, const PlanAlternative& alternative, const ExplainScope& scope,
                    const DeviceCounts& device_counts, RequestReason& reason) {
    UsableOnNodes usable;
    find_common_values(alternative, true);
    const bool too_many = !alternative.all && alternative.count > api::kMaxAllocationResults;
    std::map<std::pair<Cause, std::string>, CauseCount> counts;
    std::optional<std::map<PoolId, Words>> reach;  // of pools of several nodes
    const Words& pools = device_counts.pools_with_usable();
    for (size_t at = 0; (at = inventory::next_bit(pools.data(), pools.size(), at)) != SIZE_MAX; ++at) {
      const auto id = static_cast<PoolId>(at);
      const DeviceCounts::PoolTally& tally = device_counts.pools()[id];
      PoolInScope one;
      one.pool = device_index_.pool(id);
      one.node = tally.node;
      if (one.node != inventory::kNone) {
        one.reached = passes(one.node, scope);
      } else if (one.pool->everywhere()) {
        one.reached = !scope.passed.empty();
      } else {
        if (!reach) reach = reach_of_shared_pools(scope);
        if (const auto found = reach->find(id); found != reach->end()) {
          one.reached = true;
          one.reach = found->second;
        }
      }
      Words of_several;
      const bool plain = alternative.constraints.empty() && !too_many && one.reach.empty() &&
                         (one.node != inventory::kNone || one.pool->everywhere() || !one.reached);
      if (plain) {
        add_plain(one, tally, usable, counts);
        continue;
      }
      for (size_t w = 0; w < tally.usable_mask.size(); ++w)
        for (uint64_t bits = tally.usable_mask[w]; bits != 0; bits &= bits - 1) {
          const uint32_t device = static_cast<uint32_t>(64 * w) + std::countr_zero(bits);
          DeviceCause found = constrained(alternative, one, device);
          if (too_many && found.cause == Cause::kCombination) found = {Cause::kLimit, -1, "at most 32 results a claim"};
          note_usable(one, device, found, usable, of_several);
          tally_up(counts, found, *one.pool, device, 1);
        }
      if (!of_several.empty()) usable.other.emplace_back(id, std::move(of_several));
    }
    for (auto& [key, count] : counts) reason.counts.push_back(std::move(count));
    reason.most_on_one_node = count_on_nodes(r, alternative, usable, scope);
  }

  void add_plain(const PoolInScope& one, const DeviceCounts::PoolTally& tally, UsableOnNodes& usable,
                 std::map<std::pair<Cause, std::string>, CauseCount>& counts) const {
    const DeviceCause found{one.reached ? Cause::kCombination : Cause::kNodeRefused, -1, ""};
    if (one.node != inventory::kNone)
      (one.reached ? usable.passed : usable.refused).add(one.node, tally.usable, device_index_.node_slots());
    else if (one.pool->everywhere())
      usable.wide += tally.usable;
    uint32_t first = 0;
    for (size_t w = 0; w < tally.usable_mask.size(); ++w)
      if (tally.usable_mask[w] != 0) {
        first = static_cast<uint32_t>(64 * w) + std::countr_zero(tally.usable_mask[w]);
        break;
      }
    tally_up(counts, found, *one.pool, first, tally.usable);
  }

  void tally_up(std::map<std::pair<Cause, std::string>, CauseCount>& counts, const DeviceCause& found, const Pool& pool,
                uint32_t device, uint32_t devices) const {
    auto [entry, fresh] = counts.try_emplace({found.cause, found.detail});
    if (fresh) {
      entry->second.cause = found.cause;
      entry->second.detail = found.detail;
      entry->second.device = device_text(pool, device);
    }
    entry->second.devices += devices;
  }

  std::map<PoolId, Words> reach_of_shared_pools(const ExplainScope& scope) {
    std::map<PoolId, Words> reach;
    for (const NodeId node : scope.passed) {
      if (!device_index_.knows(node) || out_of_time()) continue;
      for (const inventory::Segment& segment : device_index_.view(node).segments) {
        const Pool& pool = *device_index_.pool(segment.pool);
        if (is_local(pool) || pool.everywhere()) continue;
        Words& words = reach[segment.pool];
        words.resize(pool.words(), 0);
        for (size_t w = 0; w < words.size(); ++w) words[w] |= segment.mask.empty() ? ~uint64_t{0} : segment.mask[w];
      }
    }
    return reach;
  }

  // ---- some nodes

  static bool is_local(const Pool& pool) { return pool.local_node != inventory::kNoStr && !pool.wide; }
  NodeId local_node(const Pool& pool) const {
    return is_local(pool) ? device_index_.find_node(pool.local_node_text) : inventory::kNone;
  }

  RequestReason about(uint32_t r, const PlanAlternative& alternative) const {
    RequestReason reason;
    reason.claim = plan_.claims[plan_.requests[r].claim]->metadata.key();
    reason.request = alternative.name;
    reason.device_class = alternative.spec->device_class_name;
    reason.devices_wanted = alternative.all ? 0 : alternative.count;
    return reason;
  }

  RequestReason explain_alternative(uint32_t r, const PlanAlternative& alternative, const ExplainScope& scope) {
    RequestReason reason = about(r, alternative);
    std::map<std::tuple<Cause, int, std::string>, CauseCount> counts;
    HolderCounts holders(device_index_);
    UsableOnNodes usable;
    find_common_values(alternative, false);
    const bool too_many = !alternative.all && alternative.count > api::kMaxAllocationResults;
    bool any_selected = false, none_passes = true;
    std::map<int, ValueMiss> misses;  // by index of the selector
    for (const PoolInScope& one : pools_) {
      const Pool& pool = *one.pool;
      reason.devices_asked += pool.size();
      Words of_several;
      bool selected = false;
      // Judge at least the first device, but not for hundreds of alternatives.
      for (uint32_t device = 0; device < pool.size(); ++device) {
        if (out_of_time() && (reason.devices_examined > 0 || judged_late_++ >= kMostJudgedLate)) break;
        DeviceCause found = judge(alternative, one, device);
        if (too_many && found.cause == Cause::kCombination) found = {Cause::kLimit, -1, "at most 32 results a claim"};
        note_usable(one, device, found, usable, of_several);
        selected = selected || (found.cause != Cause::kClassSelector && found.cause != Cause::kWrongNode);
        auto [entry, fresh] = counts.try_emplace({found.cause, found.index, found.detail});
        CauseCount& count = entry->second;
        if (fresh) {
          count.cause = found.cause;
          count.index = found.index;
          count.detail = found.detail;
          count.device = device_text(pool, device);
          count.example = judge_.example(alternative.filter, pool, device, found);
          if (found.cause == Cause::kSameSilicon) add_silicon_holders(pool, device, count);
        }
        if (found.cause == Cause::kInUse || found.cause == Cause::kCounterShort)
          holders.add(&count, found.cause, pool, device);
        none_passes = none_passes && is_refused_by_selectors(found.cause);
        if (none_passes && found.cause == Cause::kRequestSelector && count.devices < kMostCompared &&
            count.example.size() < kMostSelector)
          misses.try_emplace(found.index, count.example).first->second.add(device_index_, pool, device);
        ++count.devices;
        ++reason.devices_examined;
      }
      any_selected = any_selected || selected;
      if (selected || meter_.stopped()) drivers_.insert(pool.driver_text);
      if (selected) of_class_.add(one.node);
      if (!of_several.empty()) usable.other.emplace_back(pool.id, std::move(of_several));
    }
    holders.finish();
    const bool complete = reason.devices_examined == reason.devices_asked;
    for (auto& [key, count] : counts) {
      const auto miss = misses.find(count.index);
      if (count.cause == Cause::kRequestSelector && none_passes && complete && count.devices <= kMostCompared &&
          miss != misses.end())
        count.values = miss->second.words();
      reason.counts.push_back(std::move(count));
    }
    reason.most_on_one_node = count_on_nodes(r, alternative, usable, scope);
    if (!any_selected && complete) reason.nearest_miss = miss_of_class(*alternative.device_class);
    note_blocked(alternative, scope, reason);
    return reason;
  }

  // Mode All is refused on a node with a pool that is incomplete or invalid, whichever devices it asks for.
  void note_blocked(const PlanAlternative& alternative, const ExplainScope& scope, RequestReason& reason) {
    if (!alternative.all) return;
    for (const NodeId node : scope.passed) {
      if (out_of_time() || !device_index_.knows(node)) continue;
      const Pool* bad = nullptr;
      for (const inventory::Segment& segment : device_index_.view(node).segments) {
        const Pool& pool = *device_index_.pool(segment.pool);
        if (state_seen(segment, pool) == inventory::PoolState::kComplete) continue;
        if (bad == nullptr) bad = &pool;
        drivers_.insert(pool.driver_text);
      }
      if (bad == nullptr) continue;
      ++reason.nodes_blocked;
      if (reason.blocked_by.empty())
        reason.blocked_by = "pool " + bad->driver_text + "/" + bad->name_text + " is " +
                            std::string(inventory::pool_state_name(bad->state)) + ": " +
                            bad->reason.substr(0, kMaxReason);
    }
  }

  void note_usable(const PoolInScope& one, uint32_t device, const DeviceCause& found, UsableOnNodes& usable,
                   Words& of_several) const {
    const bool passed = found.cause == Cause::kCombination;
    if (!passed && found.cause != Cause::kNodeRefused) return;
    if (one.node != inventory::kNone) {
      // Also a device that serves several requests at once counts once: one request cannot have it twice.
      (passed ? usable.passed : usable.refused).add(one.node, 1, device_index_.node_slots());
    } else if (one.pool->everywhere()) {
      ++usable.wide;
    } else {
      if (of_several.empty()) of_several.resize(one.pool->words(), 0);
      inventory::set_bit(of_several.data(), device);
    }
  }

  // The most devices on a node that the pod can go to; marks other nodes that have enough.
  uint32_t count_on_nodes(uint32_t r, const PlanAlternative& alternative, UsableOnNodes& usable,
                          const ExplainScope& scope) {
    const auto of_several = [&](NodeId node) {
      uint32_t count = 0;
      if (usable.other.empty()) return count;
      for (const inventory::Segment& segment : device_index_.view(node).segments)
        for (const auto& [pool, words] : usable.other)
          for (size_t w = 0; pool == segment.pool && w < words.size(); ++w)
            count += static_cast<uint32_t>(
                std::popcount(words[w] & (segment.mask.empty() ? ~uint64_t{0} : segment.mask[w])));
      return count;
    };
    uint32_t most = 0;
    const bool of_one_node = usable.wide == 0 && usable.other.empty();
    for (const NodeId node : of_one_node ? std::span(usable.passed.counted()) : scope.passed)
      if (device_index_.knows(node) && !out_of_time())
        most = std::max(most, usable.passed[node] + usable.wide + of_several(node));
    if (!usable.refused.counted().empty()) able_.resize(device_index_.node_slots(), 0);
    const uint32_t wanted = alternative.all ? 1 : alternative.count;
    for (const NodeId node : usable.refused.counted())
      if (able_[node] == r && !passes(node, scope) && usable.refused[node] + usable.wide >= wanted) able_[node] = r + 1;
    return most;
  }

  std::string device_text(const Pool& pool, uint32_t device) const {
    return pool.driver_text + "/" + pool.name_text + "/" +
           std::string(device_index_.strings().text(pool.device_name(device)));
  }

  // Charges every eighth device: otherwise cheap selectors would never advance the meter.
  bool out_of_time() {
    if (++examined_ % 8 == 0) meter_.charge(1);
    return meter_.stopped();
  }

  // For each match constraint of the alternative: the values that enough usable devices have.
  void find_common_values(const PlanAlternative& alternative, bool everywhere) {
    common_.clear();
    for (uint32_t c : alternative.constraints) {
      const PlanConstraint& spec = plan_.constraints[c];
      if (spec.distinct || alternative.all || !spec.derived.empty()) continue;
      std::set<std::string> common;
      bool first = true;
      for (uint32_t other : spec.requests) {
        const PlanRequest& request = plan_.requests[other];
        if (request.alternatives.size() != 1 || request.alternatives[0].all) continue;
        std::map<std::string, uint32_t> had = values_had(request.alternatives[0], spec.attribute, everywhere);
        std::set<std::string> enough;
        for (const auto& [code, count] : had)
          if (count >= request.alternatives[0].count && (first || common.contains(code))) enough.insert(code);
        common = std::move(enough);
        first = false;
      }
      if (meter_.stopped()) return;  // the common values are unknown
      if (!first) common_.emplace(c, std::move(common));
    }
  }

  // The values of an attribute over devices that are usable alone, with the number of devices for each.
  std::map<std::string, uint32_t> values_had(const PlanAlternative& alternative, const std::string& attribute,
                                             bool everywhere) {
    std::map<std::string, uint32_t> had;
    const auto add = [&](const Pool& pool, uint32_t device) {
      for (const std::string& code : judge_.values_of(pool, device, attribute)) ++had[code];
    };
    if (everywhere) {
      const std::shared_ptr<DeviceCounts> kept = counts_by_filter_.of(alternative.filter, alternative.admin);
      DeviceCounts& device_counts = *kept;
      device_counts.update(device_index_, judge_, meter_);
      for (PoolId id = 0; id < device_counts.pools().size(); ++id) {
        const Words& mask = device_counts.pools()[id].usable_mask;
        for (size_t w = 0; w < mask.size(); ++w)
          for (uint64_t bits = mask[w]; bits != 0 && !out_of_time(); bits &= bits - 1)
            add(*device_index_.pool(id), static_cast<uint32_t>(64 * w) + std::countr_zero(bits));
      }
      return had;
    }
    for (const PoolInScope& one : pools_)
      for (uint32_t device = 0; device < one.pool->size() && !out_of_time(); ++device)
        if (one.is_here(device) &&
            judge_.alone(alternative.filter, alternative.admin, *one.pool, device).cause == Cause::kCombination)
          add(*one.pool, device);
    return had;
  }

  DeviceCause judge(const PlanAlternative& alternative, const PoolInScope& one, uint32_t device) {
    if (!one.is_here(device)) return {Cause::kWrongNode, -1, ""};
    const DeviceCause found = judge_.alone(alternative.filter, alternative.admin, *one.pool, device);
    return found.cause == Cause::kCombination ? constrained(alternative, one, device) : found;
  }

  // For a device that is usable alone.
  DeviceCause constrained(const PlanAlternative& alternative, const PoolInScope& one, uint32_t device) const {
    for (uint32_t c : alternative.constraints) {
      const PlanConstraint& spec = plan_.constraints[c];
      if (!spec.derived.empty()) continue;  // what an expression makes of a device, the search says
      const std::vector<std::string> codes = judge_.values_of(*one.pool, device, spec.attribute);
      if (codes.empty()) return {Cause::kConstraint, -1, spec.attribute};
      const auto common = common_.find(c);
      if (common == common_.end()) continue;
      if (std::none_of(codes.begin(), codes.end(),
                       [&](const std::string& code) { return common->second.contains(code); }))
        return {Cause::kConstraint, -1, spec.attribute};
    }
    return {one.is_reached(device) ? Cause::kCombination : Cause::kNodeRefused, -1, ""};
  }

  const Plan& plan_;
  inventory::DeviceIndex& device_index_;
  Meter& meter_;
  DeviceCountsByFilter& counts_by_filter_;
  DeviceJudge judge_;
  static constexpr uint32_t kMostJudgedLate = 8;
  uint64_t examined_ = 0;
  uint32_t judged_late_ = 0;    // after the time was up
  PoolId last_examined_ = 0;    // for holders
  std::vector<bool> passes_;    // by node; see passes()
  std::vector<uint32_t> able_;  // by node: this many leading requests have enough devices there
  std::vector<PoolInScope> pools_;
  ClassNodes of_class_;
  std::set<std::string, std::less<>> drivers_;
  std::map<uint32_t, std::set<std::string>> common_;
};

}  // namespace

Reasons explain_plan(const Plan& plan, const ExplainScope& scope, inventory::DeviceIndex& device_index,
                     Selectors& selectors, Filters& filters, DeviceCountsByFilter& counts_by_filter, Meter& meter) {
  return Explainer(plan, device_index, selectors, filters, counts_by_filter, meter).run(scope);
}

}  // namespace dra::allocator
