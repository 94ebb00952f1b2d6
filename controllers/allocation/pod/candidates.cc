#include "controllers/allocation/pod/candidates.h"

#include <algorithm>
#include <utility>

#include "controllers/allocation/members/group_hints.h"
#include "controllers/allocation/pod/extended_use.h"
#include "controllers/allocation/pod/kept_from.h"
#include "controllers/allocation/pod/node_takes.h"
#include "controllers/allocation/pod/topology.h"
#include "pkg/api/claim_bounds.h"
#include "pkg/protocol/extended_claim.h"

namespace dra::allocation {

using namespace protocol;
using namespace reconcile;

namespace {

std::string unread_selector(const api::ResourceClaim& claim, size_t bytes) {
  return "claim \"" + claim.metadata.key() + "\": status.allocation.nodeSelector takes " + std::to_string(bytes >> 10) +
         " KiB, and at most " + std::to_string(api::kMaxAllocationSelectorBytes >> 10) +
         " KiB are checked, so no node is known to reach its devices: whoever allocated it has to name their nodes by "
         "fewer labels, or take it back";
}

// choose_among() for the one node of the pod's devices, by the answer for another member if that is the same.
nodes::NodeChoice choose_node(const PodContext& context, const std::string& node) {
  if (context.group == nullptr || !context.extended.empty() || context.tools.inventory.any_takes())
    return choose_among(context, {node}, true);
  SameChoice& same = context.group->same_choice;
  if (const nodes::NodeChoice* known = same.find(context.tools.nodes, context.pod, node)) return *known;
  nodes::NodeChoice choice = choose_among(context, {node}, true);
  same.note(context.tools.nodes, context.pod, node, choice);
  return choice;
}

}  // namespace

Candidates candidate_nodes(const PodContext& context, ReconcileResult& out) {
  if (context.role == Role::kBoundBare) return {{{context.pod.node_name}, "", false}, {}};
  nodes::NodeChooser& nodes = context.tools.nodes;
  std::vector<std::string> only;
  bool restricted = false;
  for (const protocol::ClaimState& claim : context.state.claims) {
    if (!claim.allocated() || !claim.claim->status.allocation->node_selector) continue;
    const api::NodeSelector& selector = *claim.claim->status.allocation->node_selector;
    if (const size_t bytes = claim.claim->status.allocation->selector_bytes_dropped; bytes > 0)
      return {{{}, unread_selector(*claim.claim, bytes), false}, {}};
    if (!restricted) {
      const std::vector<std::string>* named = api::named_nodes(selector);
      only = named ? *named : nodes.all_nodes();
    }
    restricted = true;
    std::erase_if(only, [&](const std::string& node) { return !nodes.matches(selector, node); });
  }
  if (restricted && only.empty())
    return {{{}, "no node satisfies the node selectors of the allocated claims of this pod", false}, {}};
  const bool is_one = restricted && only.size() == 1;
  Candidates found{is_one ? choose_node(context, only.front()) : choose_among(context, std::move(only), restricted),
                   {}};
  found.obstacles.on_pods = found.choice.depends_on_pods;
  found.obstacles.on_capacity = found.choice.depends_on_capacity;
  if (is_one) return found;
  // A pod that has devices already stays where it is.
  if (!restricted) found.obstacles.kept_nodes = leave_kept_nodes(context, found.choice, out);
  if (context.state.all_allocated()) keep_at_home(context, found.choice);
  return found;
}

nodes::NodeChoice choose_among(const PodContext& context, std::vector<std::string> only, bool restricted) {
  nodes::NodeChooser& nodes = context.tools.nodes;
  nodes::NodeChoice choice;
  if (context.claimed)
    choice = choose_beside_plugins(context, restricted ? std::move(only) : nodes.all_nodes());
  else if (is_served_by_claim(context))
    choice = nodes.choose(without_resources(context.pod, context.extended), only);
  else if (const std::optional<api::Pod> counted = pod_with_takes(context))
    choice = nodes.choose(*counted, only);
  else
    choice = nodes.choose(context.pod, only);
  keep_advertising(context, choice);
  return choice;
}

const std::string* pinned_node(const PodState& state) {
  for (const protocol::ClaimState& claim : state.claims)
    if (const std::string* node = claim.allocated() ? api::only_node(*claim.claim->status.allocation) : nullptr)
      return node;
  return nullptr;
}

}  // namespace dra::allocation
