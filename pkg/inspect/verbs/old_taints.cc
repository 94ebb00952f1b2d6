#include "pkg/inspect/verbs/old_taints.h"

#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "pkg/base/timestamp.h"
#include "pkg/inspect/state/shapes.h"
#include "pkg/inspect/verbs/half_taints.h"
#include "pkg/inventory/taint_rules.h"

namespace dra::inspect {
namespace {

bool keeps_pods_away(const api::DeviceTaint& taint) {
  return taint.effect == "NoSchedule" || taint.effect == "NoExecute";
}

// When the node was made, if that was after the taint was added.
std::optional<std::string> made_after(const Objects& objects, const std::string& node, const std::string& added) {
  const auto known = objects.nodes.find(node);
  Timestamp taint, made;
  if (known == objects.nodes.end() || !parse_rfc3339(added, taint)) return std::nullopt;
  const std::string& created = known->second->metadata.creation_timestamp;
  return parse_rfc3339(created, made) && made > taint ? std::optional(created) : std::nullopt;
}

std::string only_node_of(const api::ResourceSlice& slice, const api::Device& device) {
  return slice.per_device_node_selection ? device.node_name : slice.node_name;
}

// What a rule taints now.
struct Reach {
  size_t devices = 0;
  std::set<std::string> nodes;  // "" among them: some device has several nodes
};

Reach reach_of(const std::map<std::pair<std::string, std::string>, std::vector<const api::ResourceSlice*>>& pools,
               const api::DeviceTaintRule& rule) {
  Reach reach;
  for (const auto& [pool, slices] : pools) {
    if (!inventory::selects_pool(rule, pool.first, pool.second)) continue;
    for (const api::ResourceSlice* slice : slices)
      for (const api::Device& device : slice->devices) {
        if (!inventory::selects(rule, pool.first, pool.second, device.name)) continue;
        ++reach.devices;
        reach.nodes.insert(only_node_of(*slice, device));
      }
  }
  return reach;
}

std::string selector_text(const api::DeviceTaintRule& rule) {
  const std::string device = rule.device ? "device " + *rule.device + " of " : "";
  return device + (rule.pool ? "pool " + *rule.pool + " of " : "") + "driver " + rule.driver.value_or("(any)");
}

}  // namespace

std::vector<OldTaint> old_taints(const Objects& objects) {
  std::vector<OldTaint> found;
  if (objects.hides("resourceslices")) return found;
  const auto pools = slices_by_pool(objects);
  for (const auto& [name, rule] : objects.taint_rules) {
    // A rule that names neither pool nor device is for whatever its driver will publish.
    if (!rule->has_selector || (!rule->pool && !rule->device) || !keeps_pods_away(rule->taint)) continue;
    const std::string rule_text = "DeviceTaintRule " + name + " (" + taint_text(rule->taint) + ")";
    const std::string remove = "if it is not needed any more: kubectl delete devicetaintrule " + name;
    const Reach reach = reach_of(pools, *rule);
    if (reach.devices == 0) {
      found.push_back({rule_text + " taints nothing: " + selector_text(*rule) + " is not published", remove});
      continue;
    }
    if (objects.hides("nodes") || reach.nodes.size() != 1) continue;
    const std::string& added =
        rule->taint.time_added.empty() ? rule->metadata.creation_timestamp : rule->taint.time_added;
    if (const auto made = made_after(objects, *reach.nodes.begin(), added))
      found.push_back({rule_text + " is older than node " + *reach.nodes.begin() + ", whose devices it taints: added " +
                           added + ", and the node was made " + *made,
                       "see whether it was for the machine before; " + remove});
  }
  if (objects.hides("nodes")) return found;
  std::set<std::tuple<std::string, std::string, std::string>> said;
  for (const auto& [pool, slices] : pools)
    for (const api::ResourceSlice* slice : slices)
      for (const api::Device& device : slice->devices) {
        const std::string node = only_node_of(*slice, device);
        for (const api::DeviceTaint& taint : device.taints) {
          if (!keeps_pods_away(taint)) continue;
          const auto made = made_after(objects, node, taint.time_added);
          if (!made || !said.emplace(pool.first, node, taint_text(taint)).second) continue;
          found.push_back({"driver " + pool.first + " publishes the taint " + taint_text(taint) + " of device " +
                               device.name + " since " + taint.time_added + ", and its node " + node + " was made " +
                               *made,
                           "see what the log of driver " + pool.first + " on node " + node +
                               " says about the device: only the driver removes the taint"});
        }
      }
  return found;
}

}  // namespace dra::inspect
