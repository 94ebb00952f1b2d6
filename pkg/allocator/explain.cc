#include "pkg/allocator/explain.h"

#include <algorithm>
#include <bit>
#include <map>
#include <set>
#include <tuple>

#include "pkg/allocator/device_cause.h"
#include "pkg/allocator/holders.h"
#include "pkg/allocator/nearest_miss.h"

namespace dra::allocator {
namespace {

using inventory::NodeId;
using inventory::Pool;
using inventory::PoolId;
using inventory::test_bit;
using inventory::Words;

// A pool as the scope sees it. Empty masks mean: all.
struct PoolInScope {
  const Pool* pool = nullptr;
  NodeId node = inventory::kNone;  // where all its devices are; kNone: there is no such node
  bool reached = false;            // some device is usable on a node that the pod can go to
  Words here, reach;               // asked about; usable on a node that the pod can go to

  bool is_here(uint32_t device) const { return here.empty() || test_bit(here.data(), device); }
  bool is_reached(uint32_t device) const { return reached && (reach.empty() || test_bit(reach.data(), device)); }
};

// Usable devices by node.
struct UsableOnNodes {
  std::vector<uint32_t> passed, refused;        // of pools with one node, by node
  uint32_t wide = 0;                            // of pools that every node can use
  std::vector<std::pair<PoolId, Words>> other;  // of pools that some nodes can use
};

class Explainer {
 public:
  Explainer(const Plan& plan, inventory::Core& core, Selectors& selectors, Filters& filters, Meter& meter)
      : plan_(plan), core_(core), meter_(meter), judge_(core, selectors, filters) {}

  Reasons run(const ExplainScope& scope) {
    Reasons reasons;
    reasons.nodes_asked = static_cast<uint32_t>(scope.passed.size());
    passes_.assign(core_.node_count(), false);
    for (const NodeId node : scope.passed)
      if (node < passes_.size()) passes_[node] = true;
    reasons.nodes_examined = scope.everywhere ? reasons.nodes_asked : 0;
    scope.everywhere ? collect_all(scope) : collect(scope, reasons.nodes_examined);
    std::set<std::string> drivers;
    for (const PoolInScope& one : pools_) drivers.insert(one.pool->driver_text);
    reasons.drivers.assign(drivers.begin(), drivers.end());
    for (uint32_t r = 0; r < plan_.requests.size(); ++r)
      for (const PlanAlternative& alternative : plan_.requests[r].alternatives) {
        RequestReason reason = explain_alternative(r, alternative, scope);
        if (reason.devices_examined > 0 || reason.devices_asked == 0) reasons.requests.push_back(std::move(reason));
      }
    for (NodeId node = 0; node < able_.size() && reasons.able_though_refused.size() < kMaxAble; ++node)
      if (able_[node] == plan_.requests.size() && !plan_.requests.empty() && !passes_[node])
        reasons.able_though_refused.push_back(node);
    return reasons;
  }

 private:
  // Pools of which a slice is usable on one of the nodes, and the devices usable on any of them.
  void collect(const ExplainScope& scope, uint32_t& examined) {
    size_t devices = 0;
    std::map<PoolId, PoolInScope> found;
    const auto add = [&](NodeId node, bool passed) {
      if (node >= core_.node_count()) return;
      for (const inventory::Segment& segment : core_.view(node).segments) {
        const Pool& pool = *core_.pool(segment.pool);
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

  void collect_all(const ExplainScope& scope) {
    bool masks = false;
    for (PoolId id = 0; id < core_.pool_slots(); ++id) {
      const Pool* pool = core_.pool(id);
      if (pool == nullptr || pool->size() == 0) continue;
      PoolInScope one;
      one.pool = pool;
      one.node = local_node(*pool);
      if (pool->everywhere()) {
        one.reached = !scope.passed.empty();
      } else if (is_local(*pool)) {
        one.reached = one.node != inventory::kNone && passes_[one.node];
      } else {
        one.reach.resize(pool->words(), 0);
        masks = true;
      }
      pools_.push_back(std::move(one));
    }
    if (!masks) return;
    std::map<PoolId, PoolInScope*> partial;
    for (PoolInScope& one : pools_)
      if (!one.reach.empty()) partial[one.pool->id] = &one;
    for (const NodeId node : scope.passed) {
      if (node >= core_.node_count() || out_of_time()) continue;
      for (const inventory::Segment& segment : core_.view(node).segments) {
        const auto found = partial.find(segment.pool);
        if (found == partial.end()) continue;
        found->second->reached = true;
        for (size_t w = 0; w < found->second->reach.size(); ++w)
          found->second->reach[w] |= segment.mask.empty() ? ~uint64_t{0} : segment.mask[w];
      }
    }
  }

  static bool is_local(const Pool& pool) { return pool.local_node != inventory::kNoStr && !pool.wide; }
  NodeId local_node(const Pool& pool) const {
    return is_local(pool) ? core_.find_node(pool.local_node_text) : inventory::kNone;
  }

  RequestReason explain_alternative(uint32_t r, const PlanAlternative& alternative, const ExplainScope& scope) {
    RequestReason reason;
    reason.claim = plan_.claims[plan_.requests[r].claim]->metadata.key();
    reason.request = alternative.name;
    reason.device_class = alternative.spec->device_class_name;
    reason.devices_wanted = alternative.all ? 0 : alternative.count;
    std::map<std::tuple<Cause, int, std::string>, CauseCount> counts;
    HolderCounts holders(core_);
    UsableOnNodes usable;
    usable.passed.assign(core_.node_count(), 0);
    usable.refused.assign(core_.node_count(), 0);
    find_common_values(alternative);
    const bool too_many = !alternative.all && alternative.count > api::kMaxAllocationResults;
    bool any_selected = false;
    for (const PoolInScope& one : pools_) {
      const Pool& pool = *one.pool;
      reason.devices_asked += pool.size();
      Words of_several;
      // The first device is judged in any case, but not for hundreds of alternatives.
      for (uint32_t device = 0; device < pool.size(); ++device) {
        if (out_of_time() && (reason.devices_examined > 0 || judged_late_++ >= kMostJudgedLate)) break;
        DeviceCause found = judge(alternative, one, device);
        if (too_many && found.cause == Cause::kCombination) found = {Cause::kLimit, -1, "at most 32 results a claim"};
        note_usable(one, device, found, usable, of_several);
        any_selected = any_selected || (found.cause != Cause::kClassSelector && found.cause != Cause::kWrongNode);
        auto [entry, fresh] = counts.try_emplace({found.cause, found.index, found.detail});
        CauseCount& count = entry->second;
        if (fresh) {
          count.cause = found.cause;
          count.index = found.index;
          count.detail = found.detail;
          count.device = device_text(pool, device);
          count.example = judge_.example(alternative, pool, device, found);
        }
        if (found.cause == Cause::kInUse || found.cause == Cause::kCounterShort)
          holders.add(&count, found.cause, pool, device);
        ++count.devices;
        ++reason.devices_examined;
      }
      if (!of_several.empty()) usable.other.emplace_back(pool.id, std::move(of_several));
    }
    holders.finish();
    for (auto& [key, count] : counts) reason.counts.push_back(std::move(count));
    reason.most_on_one_node = count_on_nodes(r, alternative, usable, scope);
    if (!any_selected && reason.devices_examined == reason.devices_asked)
      reason.nearest_miss = nearest_miss(core_, alternative.device_class->selectors);
    return reason;
  }

  static void note_usable(const PoolInScope& one, uint32_t device, const DeviceCause& found, UsableOnNodes& usable,
                          Words& of_several) {
    const bool passed = found.cause == Cause::kCombination;
    if (!passed && found.cause != Cause::kNodeRefused) return;
    if (one.node != inventory::kNone) {
      ++(passed ? usable.passed : usable.refused)[one.node];
    } else if (one.pool->everywhere()) {
      ++usable.wide;
    } else {
      if (of_several.empty()) of_several.resize(one.pool->words(), 0);
      inventory::set_bit(of_several.data(), device);
    }
  }

  // The most on a node that the pod can go to; notes the others that have enough.
  uint32_t count_on_nodes(uint32_t r, const PlanAlternative& alternative, UsableOnNodes& usable,
                          const ExplainScope& scope) {
    const auto of_several = [&](NodeId node) {
      uint32_t count = 0;
      if (usable.other.empty()) return count;
      for (const inventory::Segment& segment : core_.view(node).segments)
        for (const auto& [pool, words] : usable.other)
          for (size_t w = 0; pool == segment.pool && w < words.size(); ++w)
            count += static_cast<uint32_t>(
                std::popcount(words[w] & (segment.mask.empty() ? ~uint64_t{0} : segment.mask[w])));
      return count;
    };
    uint32_t most = 0;
    for (const NodeId node : scope.passed)
      if (node < usable.passed.size() && !out_of_time())
        most = std::max(most, usable.passed[node] + usable.wide + of_several(node));
    able_.resize(core_.node_count(), 0);
    const uint32_t wanted = alternative.all ? 1 : alternative.count;
    for (NodeId node = 0; node < able_.size(); ++node)
      if (able_[node] == r && !passes_[node] && usable.refused[node] > 0 &&
          usable.refused[node] + usable.wide >= wanted)
        able_[node] = r + 1;
    return most;
  }

  std::string device_text(const Pool& pool, uint32_t device) const {
    return pool.driver_text + "/" + pool.name_text + "/" + std::string(core_.strings().text(pool.device_name(device)));
  }

  // Every so often a device has to be looked at, or time would not be counted where selectors are cheap.
  bool out_of_time() {
    if (++looked_at_ % 8 == 0) meter_.charge(1);
    return meter_.stopped();
  }

  // For each match constraint of the alternative: the values of which the usable devices have enough for it.
  void find_common_values(const PlanAlternative& alternative) {
    common_.clear();
    for (uint32_t c : alternative.constraints) {
      const PlanConstraint& spec = plan_.constraints[c];
      if (spec.distinct || alternative.all) continue;
      std::set<std::string> common;
      bool first = true;
      for (uint32_t other : spec.requests) {
        const PlanRequest& request = plan_.requests[other];
        if (request.alternatives.size() != 1 || request.alternatives[0].all) continue;
        std::map<std::string, uint32_t> had = values_had(request.alternatives[0], spec.attribute);
        std::set<std::string> enough;
        for (const auto& [code, count] : had)
          if (count >= request.alternatives[0].count && (first || common.contains(code))) enough.insert(code);
        common = std::move(enough);
        first = false;
      }
      if (meter_.stopped()) return;  // what is common to all is not known
      if (!first) common_.emplace(c, std::move(common));
    }
  }

  // The values of an attribute over devices that are usable alone, and how many have each.
  std::map<std::string, uint32_t> values_had(const PlanAlternative& alternative, const std::string& attribute) {
    std::map<std::string, uint32_t> had;
    for (const PoolInScope& one : pools_)
      for (uint32_t device = 0; device < one.pool->size() && !out_of_time(); ++device)
        if (one.is_here(device) && judge_.alone(alternative, *one.pool, device).cause == Cause::kCombination)
          for (const std::string& code : judge_.values_of(*one.pool, device, attribute)) ++had[code];
    return had;
  }

  DeviceCause judge(const PlanAlternative& alternative, const PoolInScope& one, uint32_t device) {
    if (!one.is_here(device)) return {Cause::kWrongNode, -1, ""};
    DeviceCause found = judge_.alone(alternative, *one.pool, device);
    if (found.cause != Cause::kCombination) return found;
    for (uint32_t c : alternative.constraints) {
      const PlanConstraint& spec = plan_.constraints[c];
      const std::vector<std::string> codes = judge_.values_of(*one.pool, device, spec.attribute);
      if (codes.empty()) return {Cause::kConstraint, -1, spec.attribute};
      const auto common = common_.find(c);
      if (common == common_.end()) continue;
      if (std::none_of(codes.begin(), codes.end(),
                       [&](const std::string& code) { return common->second.contains(code); }))
        return {Cause::kConstraint, -1, spec.attribute};
    }
    if (!one.is_reached(device)) found.cause = Cause::kNodeRefused;
    return found;
  }

  const Plan& plan_;
  inventory::Core& core_;
  Meter& meter_;
  DeviceJudge judge_;
  static constexpr uint32_t kMostJudgedLate = 8;
  uint64_t looked_at_ = 0;
  uint32_t judged_late_ = 0;    // after the time was over
  std::vector<bool> passes_;    // by node
  std::vector<uint32_t> able_;  // by node: the first so many requests have enough devices there
  std::vector<PoolInScope> pools_;
  std::map<uint32_t, std::set<std::string>> common_;
};

}  // namespace

Reasons explain_plan(const Plan& plan, const ExplainScope& scope, inventory::Core& core, Selectors& selectors,
                     Filters& filters, Meter& meter) {
  return Explainer(plan, core, selectors, filters, meter).run(scope);
}

}  // namespace dra::allocator
