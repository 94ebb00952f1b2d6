#include "pkg/inspect/verbs/half_taints.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>

#include "pkg/inspect/state/shapes.h"
#include "pkg/inspect/state/silicon.h"
#include "pkg/inspect/verbs/taint.h"
#include "pkg/inventory/taint_rules.h"

namespace dra::inspect {
namespace {

using PoolName = std::pair<std::string, std::string>;  // driver, pool

// Which devices the rules taint.
class ReachOfRules {
 public:
  explicit ReachOfRules(const Objects& objects) {
    for (const auto& [name, rule] : objects.taint_rules) {
      if (!rule->has_selector) continue;
      if (rule->driver && rule->pool && rule->device)
        exact_.emplace(*rule->driver, *rule->pool, *rule->device, rule->taint.key, rule->taint.effect);
      else
        wide_.push_back(rule.get());
    }
  }
  // Whether a rule gives the device this taint, or one with its key and the stronger effect NoExecute.
  bool reaches(const PoolName& pool, const std::string& device, const api::DeviceTaint& taint) const {
    const std::string strongest = "NoExecute";
    for (const std::string* effect : {&taint.effect, &strongest})
      if (exact_.contains({pool.first, pool.second, device, taint.key, *effect})) return true;
    return std::any_of(wide_.begin(), wide_.end(), [&](const api::DeviceTaintRule* rule) {
      return inventory::selects(*rule, pool.first, pool.second, device) && rule->taint.key == taint.key &&
             (rule->taint.effect == taint.effect || rule->taint.effect == strongest);
    });
  }

 private:
  std::set<std::tuple<std::string, std::string, std::string, std::string, std::string>> exact_;
  std::vector<const api::DeviceTaintRule*> wide_;
};

// The rules that name a device, by its name. Those that were written with the rule of another device are left out: what
// that one does not reach is named once.
using RulesByDevice = std::map<std::string_view, std::vector<const api::DeviceTaintRule*>>;

RulesByDevice rules_by_device(const Objects& objects) {
  RulesByDevice rules;
  for (const auto& [name, rule] : objects.taint_rules)
    if (rule->has_selector && rule->device && !rule->metadata.labels.contains(std::string(kTaintedWith)) &&
        (rule->taint.effect == "NoSchedule" || rule->taint.effect == "NoExecute"))
      rules[*rule->device].push_back(rule.get());
  return rules;
}

}  // namespace

std::string taint_text(const api::DeviceTaint& taint) {
  return taint.key + (taint.value.empty() ? "" : "=" + taint.value) + ":" + taint.effect;
}

std::vector<HalfTaint> half_taints(const Objects& objects) {
  std::vector<HalfTaint> found;
  const RulesByDevice by_device = rules_by_device(objects);
  if (by_device.empty()) return found;
  const ReachOfRules reach(objects);
  for (const auto& [pool, slices] : slices_by_pool(objects)) {
    std::optional<Silicon> silicon;
    std::set<std::string_view> seen;  // namesakes of several nodes are judged once, as rules do
    for (const api::ResourceSlice* slice : slices)
      for (const api::Device& device : slice->devices) {
        const auto rules = by_device.find(device.name);
        if (device.consumes_counters.empty() || rules == by_device.end() || !seen.insert(device.name).second) continue;
        if (!silicon) silicon.emplace(slices);
        const std::vector<std::string> parts = silicon->parts_of(device.name);
        for (const api::DeviceTaintRule* rule : rules->second) {
          if (!inventory::selects_pool(*rule, pool.first, pool.second)) continue;
          HalfTaint half{rule->metadata.name,
                         {pool.first, pool.second, device.name},
                         slice->per_device_node_selection ? device.node_name : slice->node_name,
                         taint_text(rule->taint),
                         {}};
          for (const std::string& part : parts)
            if (!reach.reaches(pool, part, rule->taint)) half.usable.push_back(part);
          if (!half.usable.empty()) found.push_back(std::move(half));
        }
      }
  }
  return found;
}

}  // namespace dra::inspect
