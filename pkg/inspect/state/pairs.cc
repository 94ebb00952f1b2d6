#include "pkg/inspect/state/pairs.h"

#include <algorithm>

#include "pkg/allocator/held_pairs.h"
#include "pkg/inventory/device_values.h"
#include "pkg/protocol/pod_pairs.h"
#include "pkg/protocol/users.h"

namespace dra::inspect {
namespace {

// As the manager before it lists the pod as a user of claims that others allocated.
std::string why_not_held(const api::Pod& pod, const std::vector<Claim>& claims,
                         const std::vector<allocator::PairRule>& rules, const inventory::Inventory& inventory) {
  if (rules.empty() || !std::all_of(claims.begin(), claims.end(),
                                    [](const Claim& claim) { return claim->status.allocation.has_value(); }))
    return "";
  if (std::any_of(claims.begin(), claims.end(),
                  [&](const Claim& claim) { return protocol::is_user(*claim, pod.metadata.uid); }))
    return "";
  const inventory::NodeId node = inventory::node_of(inventory.device_index(), *claims.front()->status.allocation);
  const std::string unmet = allocator::held_sentence(allocator::held_pairs(rules, inventory.device_index(), node));
  return unmet.empty() ? "" : "its claims are allocated already, and " + unmet;
}

}  // namespace

std::vector<allocator::PairRule> pairs_asked(const api::Pod* pod, const std::vector<Claim>& claims,
                                             const inventory::Inventory& inventory, std::string& why) {
  static const api::Pod kNoPod;
  const api::Pod& of = pod != nullptr ? *pod : kNoPod;
  const alignment::PodPairs read = protocol::pairs_of_pod(of, claims);
  if (read.refusal) {
    why = read.refusal->message;
    return {};
  }
  std::vector<allocator::PairRule> rules = allocator::pair_rules(read.entries, claims);
  why = why_not_held(of, claims, rules, inventory);
  return rules;
}

}  // namespace dra::inspect
