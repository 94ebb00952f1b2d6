#include "controllers/allocation/pod/topology.h"

#include <algorithm>
#include <set>

#include "controllers/allocation/bind/bind_conditions.h"
#include "controllers/allocation/group/group_members.h"
#include "controllers/allocation/group/group_nodes.h"
#include "controllers/allocation/group/required_domain.h"
#include "controllers/allocation/pod/pod_reconcile.h"
#include "pkg/protocol/pod_claims.h"

namespace dra::allocation {

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

void PodReconcile::keep_at_home(NodeChoice& choice) {
  // Nobody of an open group has started: without home_ no domain is chosen yet.
  if (role_ != Role::kToBind || choice.nodes.empty() || only_node() || (same_choice_ && !home_)) return;
  const Membership membership = membership_of(view_, pod_);
  if (membership.topology.required.empty()) return;
  RequiredDomain domain(view_, inventory_, topology_for(membership.topology, options_));
  const std::optional<std::string> home = home_ ? home_ : domain.of_most(neighbours_of(view_, pod_, options_).nodes);
  if (!home) return;
  choice.drop_nodes([&](const std::string_view node) { return domain.of(std::string(node)) != home; });
  if (!choice.nodes.empty()) return;
  choice.why_none = "no node in the domain of " + membership.topology.required + " that its group is in takes this pod";
  choice.why_is_whole = true;
}

const std::string* PodReconcile::only_node() const {
  for (const ClaimState& claim : state_.claims)
    if (const std::string* node = claim.allocated() ? api::only_node(*claim.claim->status.allocation) : nullptr)
      return node;
  return nullptr;
}

// True: the pod got its devices, or waits for a reason that only the domain has.
bool PodReconcile::allocate_near(const Neighbours& near, allocator::Request& request) {
  gang::GangRequest asked;
  asked.uid = "pod:" + pod_.metadata.uid;
  asked.name = "pod " + pod_.metadata.key();
  asked.ns = pod_.metadata.ns;
  asked.min_count = 1;
  asked.topology = topology_for(near.wish, options_);
  for (const std::string& node : near.nodes)
    if (view_.node(node) != nullptr) asked.placed.push_back(inventory_.node_id(node));
  gang::Member member;
  member.name = pod_.metadata.key();
  member.uid = pod_.metadata.uid;
  member.cpu_milli = request.cpu_milli;
  for (const ClaimState& claim : state_.claims) member.claims.push_back(claim.claim);
  asked.members.push_back(std::move(member));
  const std::vector<PodReconcile*> self{this};
  GroupNodes nodes(self, view_, inventory_, nodes_);
  const allocator::Allocator::Bill bill(allocator_, pod_.metadata.ns);
  gang::Decision decision = gangs_.decide(asked, nodes);
  if (nodes.watch_lags()) return outcome_.requeue_in(std::chrono::seconds(1)), true;
  switch (decision.outcome) {
    case allocator::Outcome::kFeasible: {
      allocator::Decision found;
      found.node = decision.members.at(0).node;
      if (!decision.domain.empty()) found.reason = "is in the smallest domain with room, " + decision.domain;
      if (!near.nodes.empty() && !decision.domain.empty()) found.reason = "is near its group, in " + decision.domain;
      found.results.resize(request.claims.size());
      for (gang::ClaimResult& claim : decision.claims)
        for (size_t i = 0; i < request.claims.size(); ++i)
          if (request.claims[i]->metadata.uid == claim.claim->metadata.uid) found.results[i] = std::move(claim.result);
      if (role_ != Role::kExplain) write_decision(request, found);
      return true;
    }
    case allocator::Outcome::kUnfinished:
      outcome_.requeue_in(decision.ask_again);
      outcome_.goes_on = true;
      return true;
    case allocator::Outcome::kInfeasible:
      // Only a preference was requested, so no node has capacity: the usual code reports why.
      if (near.wish.required.empty()) return false;
      if (withdraw_all()) return true;
      park(causes_of(request));
      waits("FailedScheduling", "in one domain of " + near.wish.required + ": " + decision.reason,
            "domain of " + near.wish.required, Fit::kNowhere);
      count_failure("NoNode");
      return true;
    case allocator::Outcome::kBudgetSpent:
      // Without the domain the question is simpler, but it is another one when the domain is required.
      if (near.wish.required.empty()) return false;
      outcome_.retry = "the search for a domain for the pod took more than its budget of steps";
      if (decision.ask_again > Duration::zero()) outcome_.requeue_in(decision.ask_again);
      count_failure("BudgetSpent");
      waits("AllocationUndecided",
            "in one domain of " + near.wish.required +
                ": neither found nor refuted within the budget of steps: " + decision.reason,
            "domain of " + near.wish.required);
      return true;
    case allocator::Outcome::kError:
      // Errors in the claims are reported in the usual words.
      return false;
  }
  return false;
}

}  // namespace dra::allocation
