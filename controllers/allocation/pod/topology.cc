#include "controllers/allocation/pod/topology.h"

#include <algorithm>
#include <set>

#include "controllers/allocation/members/group_hints.h"
#include "controllers/allocation/members/group_members.h"
#include "controllers/allocation/members/required_domain.h"
#include "controllers/allocation/pod/candidates.h"
#include "pkg/protocol/pod_claims.h"

namespace dra::allocation {

using namespace protocol;
using namespace reconcile;

namespace {

// The pod's current or future node; empty while unknown.
std::string node_of(const View& view, const api::Pod& pod) {
  if (!pod.node_name.empty()) return pod.node_name;
  for (const std::string& key : claim_keys_of(pod)) {
    const api::ResourceClaim* claim = view.claim(key);
    if (claim == nullptr || !claim->status.allocation) continue;
    if (const std::string* node = api::only_node(*claim->status.allocation)) return *node;
  }
  return "";
}

std::optional<uint32_t> place_in(const std::vector<std::string>& levels, const std::string& key) {
  const auto found = std::find(levels.begin(), levels.end(), key);
  if (key.empty() || found == levels.end()) return std::nullopt;
  return static_cast<uint32_t>(found - levels.begin());
}

}  // namespace

gang::Topology topology_for(const TopologyWish& wish, const Options& options) {
  gang::Topology topology;
  topology.levels = levels_for(wish, options.topology_levels);
  topology.required = place_in(topology.levels, wish.required);
  topology.preferred = place_in(topology.levels, wish.preferred);
  return topology;
}

Neighbours neighbours_of(const View& view, const api::Pod& pod, const Options& options) {
  Neighbours found;
  const std::optional<GroupRef> group = group_of(pod);
  if (!group) {
    found.wish = topology_wish(pod.metadata.annotations);
    return found;
  }
  const Membership membership = membership_of(view, pod);
  found.wish =
      membership.state == Membership::State::kMember ? membership.topology : topology_wish(pod.metadata.annotations);
  if (found.wish.empty() && options.topology_levels.empty()) return found;
  std::set<std::string> nodes;
  const std::string key = group->key();
  for (const api::Pod* other :
       is_too_large(view, key) ? view.started_of_group(key, kMaxGroupMembers) : view.pods_of_group(key))
    if (other->metadata.uid != pod.metadata.uid && is_launched(view, *other) && !other->terminal())
      if (std::string node = node_of(view, *other); !node.empty()) nodes.insert(std::move(node));
  found.nodes.assign(nodes.begin(), nodes.end());
  // The pod asked for no domain, but the others run somewhere: as near to them as there is capacity.
  if (found.wish.empty() && !found.nodes.empty()) found.wish.preferred = options.topology_levels.back();
  return found;
}

void keep_at_home(const PodContext& context, nodes::NodeChoice& choice) {
  // Nobody of an open group has started: without a home no domain is chosen yet.
  if (context.role != Role::kToBind || choice.nodes.empty() || pinned_node(context.state) ||
      (context.group && !context.group->home))
    return;
  const Membership membership = membership_of(context.view, context.pod);
  const TopologyWish& wish = context.group && context.group->topology ? *context.group->topology : membership.topology;
  if (wish.required.empty()) return;
  const Options& options = context.tools.options;
  RequiredDomain domain(context.view, context.tools.inventory, topology_for(wish, options));
  const std::optional<std::string> home =
      context.group ? context.group->home : domain.of_most(neighbours_of(context.view, context.pod, options).nodes);
  if (!home) return;
  choice.drop_nodes([&](const std::string_view node) { return domain.of(std::string(node)) != home; });
  if (!choice.nodes.empty()) return;
  choice.why_none = "no node in the domain of " + wish.required + " that its group is in takes this pod";
  choice.why_is_whole = true;
}

}  // namespace dra::allocation
