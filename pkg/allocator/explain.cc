#include "pkg/allocator/explain.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "pkg/base/strings.h"
#include "pkg/inventory/value_code.h"

namespace dra::allocator {
namespace {

using inventory::NodeId;
using inventory::Pool;
using inventory::PoolId;
using inventory::PoolState;

struct Verdict {
  Cause cause = Cause::kCombination;
  int index = -1;
  std::string detail;
};

class Explainer {
 public:
  Explainer(const Plan& plan, inventory::Core& core, Selectors& selectors, Filters& filters, Meter& meter)
      : plan_(plan), core_(core), selectors_(selectors), filters_(filters), meter_(meter) {}

  Reasons run(std::span<const NodeId> nodes) {
    Reasons reasons;
    reasons.nodes_asked = static_cast<uint32_t>(nodes.size());
    reasons.nodes_examined = collect(nodes);
    std::set<std::string> drivers;
    for (const auto& [id, here] : here_) drivers.insert(core_.pool(id)->driver_text);
    reasons.drivers.assign(drivers.begin(), drivers.end());
    for (uint32_t r = 0; r < plan_.requests.size(); ++r)
      for (const PlanAlternative& alternative : plan_.requests[r].alternatives) {
        RequestReason reason = explain_alternative(r, alternative);
        if (reason.devices_examined > 0 || reason.devices_asked == 0) reasons.requests.push_back(std::move(reason));
      }
    return reasons;
  }

 private:
  // Pools of which a slice is usable on one of the nodes, and the devices usable on any of them.
  uint32_t collect(std::span<const NodeId> nodes) {
    uint32_t examined = 0;
    size_t devices = 0;
    for (NodeId node : nodes) {
      if (devices > kMaxExplainedDevices) break;
      ++examined;
      if (node >= core_.node_count()) continue;
      for (const inventory::Segment& segment : core_.view(node).segments) {
        const Pool& pool = *core_.pool(segment.pool);
        auto [known, fresh] = here_.try_emplace(segment.pool);
        inventory::Words& here = known->second;
        if (fresh) devices += pool.size();
        here.resize(pool.words(), 0);
        for (size_t w = 0; w < here.size(); ++w) here[w] |= segment.mask.empty() ? ~uint64_t{0} : segment.mask[w];
      }
    }
    return examined;
  }

  RequestReason explain_alternative(uint32_t r, const PlanAlternative& alternative) {
    RequestReason reason;
    reason.claim = plan_.claims[plan_.requests[r].claim]->metadata.key();
    reason.request = alternative.name;
    reason.devices_wanted = alternative.all ? 0 : alternative.count;
    std::map<std::tuple<Cause, int, std::string>, CauseCount> counts;
    find_common_values(alternative);
    bool too_many = !alternative.all && alternative.count > api::kMaxAllocationResults;
    for (const auto& [id, here] : here_) {
      const Pool& pool = *core_.pool(id);
      reason.devices_asked += pool.size();
      // The first device is judged in any case, but not for hundreds of alternatives.
      for (uint32_t device = 0; device < pool.size(); ++device) {
        if (out_of_time() && (reason.devices_examined > 0 || judged_late_++ >= kMostJudgedLate)) break;
        Verdict verdict = judge(alternative, pool, device, here);
        if (too_many && verdict.cause == Cause::kCombination)
          verdict = {Cause::kLimit, -1, "at most 32 results a claim"};
        CauseCount& count = counts[{verdict.cause, verdict.index, verdict.detail}];
        if (count.devices == 0) {
          count.cause = verdict.cause;
          count.index = verdict.index;
          count.detail = verdict.detail;
          count.device = device_text(pool, device);
        }
        ++count.devices;
        ++reason.devices_examined;
      }
    }
    for (auto& [key, count] : counts) reason.counts.push_back(std::move(count));
    return reason;
  }

  std::string device_text(const Pool& pool, uint32_t device) const {
    return pool.driver_text + "/" + pool.name_text + "/" + std::string(core_.strings().text(pool.device_name(device)));
  }

  // Every so often a device has to be looked at, or time would not be counted where selectors are cheap.
  bool out_of_time() {
    if (++looked_at_ % 8 == 0) meter_.charge(1);
    return meter_.stopped();
  }

  // What speaks against one device by itself, constraints aside.
  Verdict judge_alone(const PlanAlternative& alternative, const Pool& pool, uint32_t device,
                      const inventory::Words& here) {
    if (pool.state_of(device) == PoolState::kIncomplete) return {Cause::kPoolIncomplete, -1, ""};
    if (pool.state_of(device) == PoolState::kInvalid) return {Cause::kPoolInvalid, -1, ""};
    if (!inventory::test_bit(here.data(), device)) return {Cause::kWrongNode, -1, ""};
    if (std::string gate = filters_.disabled_feature(pool, device); !gate.empty())
      return {Cause::kFeatureDisabled, -1, gate};
    Filter& filter = filters_.get(alternative.filter);
    Verdict verdict;
    if (judge_selectors(filter.class_selectors, Cause::kClassSelector, pool, device, verdict)) return verdict;
    if (judge_selectors(filter.request_selectors, Cause::kRequestSelector, pool, device, verdict)) return verdict;
    if (core_.features().device_taints)
      if (const api::DeviceTaint* taint = filters_.untolerated(filter, pool, device))
        return {Cause::kTaint, -1, taint->key + (taint->value.empty() ? "" : "=" + taint->value) + ":" + taint->effect};
    if (core_.features().consumable && judge_capacity(filter, pool, device, verdict)) return verdict;
    if (alternative.admin) return verdict;
    if (inventory::test_bit(pool.in_use(), device)) return {Cause::kInUse, -1, ""};
    if (!inventory::test_bit(pool.available(), device)) return {Cause::kCounterShort, -1, short_counter(pool, device)};
    return verdict;
  }

  bool judge_selectors(const std::vector<SelectorId>& list, Cause cause, const Pool& pool, uint32_t device,
                       Verdict& verdict) {
    for (size_t i = 0; i < list.size(); ++i) {
      const Truth truth = selectors_.evaluate(list[i], pool, device, Selectors::Keep::kNo);
      if (truth == Truth::kTrue) continue;
      verdict = {cause, static_cast<int>(i), ""};
      if (truth == Truth::kError)
        verdict = {Cause::kEvaluationError, static_cast<int>(i),
                   std::string(cause == Cause::kClassSelector ? "class" : "request") +
                       " selector: " + selectors_.error_text(list[i], pool, device)};
      return true;
    }
    return false;
  }

  bool judge_capacity(Filter& filter, const Pool& pool, uint32_t device, Verdict& verdict) {
    const inventory::CapacityShape& shape = pool.shape(device);
    const CapacityFit& fit = filters_.fit(filter, shape);
    if (!fit.fits) {
      verdict = {Cause::kCapacityShort, -1, fit.short_of};
      return true;
    }
    const std::vector<inventory::Amount>* held = pool.shared(device);
    for (size_t i = 0; held != nullptr && i < held->size(); ++i)
      if ((*held)[i] + fit.amounts[i] > shape.entries[i].amount) {
        verdict = {Cause::kCapacityShort, -1, shape.entries[i].name};
        return true;
      }
    return false;
  }

  std::string short_counter(const Pool& pool, uint32_t device) const {
    for (const inventory::CounterUse* use = pool.uses_begin(device); use != pool.uses_end(device); ++use) {
      const inventory::Counter& counter = pool.counters()[use->counter];
      if (counter.total - counter.consumed < use->amount)
        return std::string(core_.strings().text(counter.set)) + "/" + std::string(core_.strings().text(counter.name));
    }
    return "";
  }

  std::vector<std::string> codes_of(std::string_view code) const {
    std::vector<std::string> codes;
    if (!core_.features().list_attributes && !code.empty() && code[0] == 'l') return codes;
    for (std::string_view element : inventory::value_elements(code)) codes.emplace_back(element);
    return codes;
  }

  // Codes of an attribute's values, for constraints across pools.
  std::vector<std::string> values_of(const Pool& pool, uint32_t device, const std::string& attribute) const {
    inventory::StrId key =
        core_.strings().find(attribute.find('/') == std::string::npos ? pool.driver_text + "/" + attribute : attribute);
    inventory::StrId value = key == inventory::kNoStr ? key : pool.attribute(device, key);
    if (value == inventory::kNoStr) return {};
    return codes_of(core_.strings().text(value));
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
        std::map<std::string, uint32_t> had;
        for (const auto& [id, here] : here_) {
          const Pool& pool = *core_.pool(id);
          for (uint32_t device = 0; device < pool.size() && !out_of_time(); ++device)
            if (judge_alone(request.alternatives[0], pool, device, here).cause == Cause::kCombination)
              for (const std::string& code : values_of(pool, device, spec.attribute)) ++had[code];
        }
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

  Verdict judge(const PlanAlternative& alternative, const Pool& pool, uint32_t device, const inventory::Words& here) {
    Verdict verdict = judge_alone(alternative, pool, device, here);
    if (verdict.cause != Cause::kCombination) return verdict;
    for (uint32_t c : alternative.constraints) {
      const PlanConstraint& spec = plan_.constraints[c];
      std::vector<std::string> codes = values_of(pool, device, spec.attribute);
      if (codes.empty()) return {Cause::kConstraint, -1, spec.attribute};
      auto common = common_.find(c);
      if (common == common_.end()) continue;
      if (std::none_of(codes.begin(), codes.end(),
                       [&](const std::string& code) { return common->second.contains(code); }))
        return {Cause::kConstraint, -1, spec.attribute};
    }
    return verdict;
  }

  const Plan& plan_;
  inventory::Core& core_;
  Selectors& selectors_;
  Filters& filters_;
  Meter& meter_;
  static constexpr uint32_t kMostJudgedLate = 8;
  uint64_t looked_at_ = 0;
  uint32_t judged_late_ = 0;  // after the time was over
  std::map<PoolId, inventory::Words> here_;
  std::map<uint32_t, std::set<std::string>> common_;
};

}  // namespace

Reasons explain_plan(const Plan& plan, std::span<const NodeId> nodes, inventory::Core& core, Selectors& selectors,
                     Filters& filters, Meter& meter) {
  return Explainer(plan, core, selectors, filters, meter).run(nodes);
}

}  // namespace dra::allocator
