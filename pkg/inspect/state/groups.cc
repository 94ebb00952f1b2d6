#include "pkg/inspect/state/groups.h"

#include <algorithm>
#include <deque>
#include <map>

#include "pkg/alignment/alignment.h"
#include "pkg/alignment/group_rails.h"
#include "pkg/api/encode.h"
#include "pkg/gang/gang.h"
#include "pkg/gang/influence.h"
#include "pkg/inspect/state/extended.h"
#include "pkg/inspect/state/rails.h"
#include "pkg/inspect/state/successor.h"
#include "pkg/protocol/groups.h"

namespace dra::inspect {
namespace {

using allocator::Outcome;

// The group as it is searched: members whose extended resources a claim serves ask for that claim instead.
struct AsClaims {
  GroupQuestion group;
  std::deque<ByClass> by_class;                 // what such members point to
  std::vector<std::vector<std::string>> nodes;  // by member: those where the claim serves it, sorted; empty: all nodes
};

// As the manager: a member gets a claim unless it fits where device plugins offer what it asks for. Members of one
// shape are decided alike.
AsClaims as_claims(State& state, const GroupQuestion& group) {
  AsClaims as{group, {}, std::vector<std::vector<std::string>>(group.members.size())};
  std::map<std::string, bool> plugins_serve;  // by shape
  for (size_t i = 0; i < group.members.size(); ++i) {
    GroupQuestion::Member& member = as.group.members[i];
    if (!member.only.empty()) as.nodes[i] = {member.only};
    std::optional<ByClass> asked = asked_by_class(state.objects, *member.pod);
    if (!asked || asked->nodes.empty()) continue;
    if (asked->others) {
      const auto known = plugins_serve.find(member.shape);
      const bool served = known != plugins_serve.end() && !member.shape.empty()
                              ? known->second
                              : state.fits_as_is(*member.pod, member.claims);
      plugins_serve[member.shape] = served;
      if (served) continue;
      if (member.only.empty()) as.nodes[i] = asked->nodes;
    }
    as.by_class.push_back(std::move(*asked));
    member.pod = &as.by_class.back().rest;
    member.claims.push_back(as.by_class.back().claim);
  }
  return as;
}

// Answers the search's questions about nodes from State.
class StateNodes : public gang::Nodes {
 public:
  StateNodes(State& state, const AsClaims& as) : state_(state), group_(as.group), nodes_(as.nodes) {
    for (const GroupQuestion::Member& member : as.group.members)
      influence_ = std::max(influence_, gang::influence_of(*member.pod));
  }

  Influence influence() const override { return influence_; }
  uint64_t version() const override { return 1; }
  std::vector<gang::Candidate> candidates(size_t member) override { return ask(member, nodes_[member], false); }
  std::optional<gang::NodeFacts> look(size_t member, gang::NodeId node) override {
    const std::string name(state_.inventory.node_name(node));
    const std::vector<std::string>& among = nodes_[member];
    if (!among.empty() && !std::binary_search(among.begin(), among.end(), name)) return std::nullopt;
    const std::vector<gang::Candidate> found = ask(member, {name}, true);
    if (found.empty()) return std::nullopt;
    return found.front().facts;
  }
  std::optional<gang::Resources> takes(size_t member) override {
    const auto needs = placement::PodNeeds::of(*group_.members[member].pod);
    if (!needs) return std::nullopt;
    return gang::Resources{needs->charge().cpu, needs->charge().memory, 1};
  }
  std::vector<gang::Resources> left(const std::vector<gang::NodeId>& nodes) override {
    std::vector<gang::Resources> all;
    for (const gang::NodeId id : nodes) {
      gang::Resources& here = all.emplace_back();
      const auto node = state_.cluster.find_node(state_.inventory.node_name(id));
      if (!node) continue;
      const placement::NodeRow& row = state_.cluster.row(*node);
      here = {row.cpu - row.used_cpu, row.memory - row.used_memory, row.max_pods - row.pods};
    }
    return all;
  }
  void place(size_t member, gang::NodeId node) override {
    Placed there;
    there.node = state_.inventory.node_name(node);
    state_.take(group_.members[member].pod, {}, there);
  }
  void take_back(size_t member) override { state_.leave_node(group_.members[member].pod->metadata.uid); }
  const std::string* label(gang::NodeId node, const std::string& key) const override {
    const auto known = state_.objects.nodes.find(state_.inventory.node_name(node));
    if (known == state_.objects.nodes.end()) return nullptr;
    const auto found = known->second->metadata.labels.find(key);
    return found == known->second->metadata.labels.end() ? nullptr : &found->second;
  }

 private:
  std::vector<gang::Candidate> ask(size_t member, const std::vector<std::string>& among, bool quickly) {
    const GroupQuestion::Member& one = group_.members[member];
    std::vector<Claim> allocated;
    for (const Claim& claim : one.claims)
      if (claim->status.allocation) allocated.push_back(claim);
    Placed refused;
    const State::Nodes nodes = state_.nodes_for(one.pod, allocated, among, refused, quickly);
    std::vector<gang::Candidate> found;
    for (size_t i = 0; i < nodes.ids.size(); ++i)
      found.push_back({nodes.ids[i], nodes.facts.empty() ? gang::NodeFacts{} : nodes.facts[i]});
    return found;
  }

  State& state_;
  const GroupQuestion& group_;
  const std::vector<std::vector<std::string>>& nodes_;
  Influence influence_ = Influence::kNode;
};

gang::GangRequest request_of(const GroupQuestion& group, GroupAlignment alignment, const StateOptions& options) {
  gang::GangRequest request;
  request.uid = request.name = group.name;
  request.min_count = group.min_count;
  gang::Topology& topology = request.topology;
  topology.levels = protocol::levels_for(group.topology, options.topology_levels);
  const auto place_of = [&](const std::string& key) -> std::optional<uint32_t> {
    const auto found = std::find(topology.levels.begin(), topology.levels.end(), key);
    if (key.empty() || found == topology.levels.end()) return std::nullopt;
    return static_cast<uint32_t>(found - topology.levels.begin());
  };
  topology.required = place_of(group.topology.required);
  topology.preferred = place_of(group.topology.preferred);
  request.rails = std::move(alignment.rails);
  for (const GroupQuestion::Member& one : group.members) {
    gang::Member& member = request.members.emplace_back();
    member.pairs = std::move(alignment.pairs[request.members.size() - 1]);
    member.name = one.pod->metadata.key();
    member.uid = one.pod->metadata.uid;
    member.claims = one.claims;
    member.shape = one.shape;
  }
  return request;
}

GroupPlaced answer_of(State& state, const GroupQuestion& group, gang::Decision decision) {
  GroupPlaced placed;
  placed.why = decision.error ? decision.error->message() : decision.reason;
  placed.guilty = decision.guilty;
  if (decision.outcome == allocator::Outcome::kBudgetSpent) placed.outcome = Outcome::kBudgetSpent;
  if (decision.outcome == allocator::Outcome::kError) placed.outcome = Outcome::kError;
  if (decision.outcome != allocator::Outcome::kFeasible) return placed;
  placed.outcome = Outcome::kFeasible;
  placed.members.resize(group.members.size());
  for (Placed& one : placed.members) one.why = "nothing is left for it beside the others of its group";
  std::map<std::string, const api::AllocationResult*> results;  // by uid of the claim
  for (const gang::ClaimResult& claim : decision.claims) results[claim.claim->metadata.uid] = &claim.result;
  for (const gang::Placed& found : decision.members) {
    Placed& one = placed.members[found.member];
    one.outcome = Outcome::kFeasible;
    one.why.clear();
    one.node = state.inventory.node_name(found.node);
    for (const Claim& claim : group.members[found.member].claims)
      if (const auto result = results.find(claim->metadata.uid); result != results.end() && !claim->status.allocation)
        one.results.push_back(*result->second);
  }
  return placed;
}

}  // namespace

protocol::MemoryView groups_in(const Objects& objects, const StateOptions& options) {
  protocol::MemoryView view;
  view.ignored = options.features.on(objects.server_version).ignored_fields;
  for (const auto& [key, pod] : objects.pods)
    if (protocol::group_of(*pod)) view.put(*pod);
  for (const auto api : {reconcile::GroupApi::kCore, reconcile::GroupApi::kPlugins}) {
    const auto known = objects.pod_groups.find(api);
    if (known == objects.pod_groups.end()) {
      view.known_groups[api] = {reconcile::GroupsKnown::State::kCannot, "they were not read"};
      continue;
    }
    for (const auto& [key, group] : known->second) view.groups[api].emplace(key, *group);
  }
  return view;
}

api::StringMap annotations_of(const reconcile::View& view, const protocol::GroupRef& group) {
  if (group.source == protocol::GroupRef::Source::kJob) return {};
  const auto api =
      group.source == protocol::GroupRef::Source::kCore ? reconcile::GroupApi::kCore : reconcile::GroupApi::kPlugins;
  const api::PodGroup* known = view.pod_group(api, group.ns + "/" + group.name);
  return known == nullptr ? api::StringMap() : known->metadata.annotations;
}

bool can_be_decided(const api::Pod& pod) {
  return pod.node_name.empty() && !pod.terminal() && !pod.metadata.deleting() &&
         std::all_of(pod.scheduling_gates.begin(), pod.scheduling_gates.end(),
                     [&](const std::string& gate) { return gate == kOurGate; });
}

bool is_started(const reconcile::View& view, const protocol::Membership& member) {
  const std::vector<const api::Pod*> pods = view.pods_of_group(member.group.key());
  return std::any_of(pods.begin(), pods.end(), [](const api::Pod* pod) { return protocol::has_started(*pod); });
}

std::string shape_of(const GroupQuestion::Member& member) {
  const api::OwnerReference* owner = member.pod->metadata.controller();
  if (owner == nullptr) return "";
  std::string shape = owner->uid;
  const auto add_alignment = [&](const api::StringMap& annotations) {
    for (const std::string_view key :
         {alignment::kPairsAnnotation, alignment::kRailsAnnotation, alignment::kPreferredRailsAnnotation})
      if (const auto text = annotations.find(key); text != annotations.end())
        shape += "\n" + std::string(key) + "=" + text->second;
  };
  add_alignment(member.pod->metadata.annotations);
  for (const Claim& claim : member.claims) {
    shape += "\n" + api::encode(claim->spec);
    add_alignment(claim->metadata.annotations);
  }
  return shape;
}

std::vector<GroupQuestion::Member> holders_beside(const Objects& objects, const reconcile::View& view,
                                                  const protocol::GroupRef& group,
                                                  const std::vector<GroupQuestion::Member>& asked,
                                                  const ChangedClaims& changed) {
  std::vector<GroupQuestion::Member> found;
  for (const api::Pod* pod : view.pods_of_group(group.key())) {
    if (pod->done() || std::any_of(asked.begin(), asked.end(), [&](const GroupQuestion::Member& one) {
          return one.pod->metadata.key() == pod->metadata.key();
        }))
      continue;
    GroupQuestion::Member holder{pod, claims_used_by(objects, *pod), ""};
    for (Claim& claim : holder.claims)
      if (const auto known = changed.find(claim->metadata.key()); known != changed.end()) claim = known->second;
    if (std::any_of(holder.claims.begin(), holder.claims.end(),
                    [](const Claim& claim) { return claim->status.allocation.has_value(); }))
      found.push_back(std::move(holder));
  }
  return found;
}

GroupQuestion joining(const Objects& objects, const reconcile::View& view, const protocol::Membership& member,
                      const api::Pod& pod, std::vector<Claim> claims, const ChangedClaims& changed) {
  GroupQuestion question;
  question.name = "pod " + pod.metadata.key();
  question.members.push_back({&pod, std::move(claims), ""});
  if (member.state != protocol::Membership::State::kMember) return question;
  question.annotations = annotations_of(view, member.group);
  question.running = holders_beside(objects, view, member.group, question.members, changed);
  return question;
}

Result<GroupPlaced> place_group(State& state, const GroupQuestion& group) {
  if (group.members.size() > protocol::kMaxGroupMembers)
    return fail(Code::kResourceExhausted, group.name + " has " + std::to_string(group.members.size()) +
                                              " pods, and at most " + std::to_string(protocol::kMaxGroupMembers) +
                                              " are placed together");
  for (const GroupQuestion::Member& member : group.members)
    if (auto needs = placement::PodNeeds::of(*member.pod); !needs) return fail(needs.error());
  std::vector<const api::Pod*> pods;
  for (const GroupQuestion::Member& member : group.members) pods.push_back(member.pod);
  const KeptPromises kept(state, pods);
  state.learn();
  const AsClaims as = as_claims(state, group);
  GroupAlignment alignment = alignment_of(as.group, state.inventory);
  if (!alignment.refused.empty()) {
    GroupPlaced refused;
    refused.outcome = Outcome::kError;
    refused.why = alignment.refused;
    return refused;
  }
  gang::Gangs gangs(state.inventory, state.allocator(), {});
  StateNodes nodes(state, as);
  return answer_of(state, as.group, gangs.decide(request_of(as.group, std::move(alignment), state.options), nodes));
}

bool asks_for_rails(const GroupQuestion& group) {
  const auto asks = [](const GroupQuestion::Member& member) {
    return alignment::has_rails(member.pod->metadata.annotations);
  };
  return alignment::has_rails(group.annotations) || std::any_of(group.members.begin(), group.members.end(), asks) ||
         std::any_of(group.running.begin(), group.running.end(), asks);
}

Placed place_member(State& state, const GroupQuestion& group) {
  const GroupQuestion::Member& pod = group.members.front();
  Placed alone = state.place(pod.pod, pod.claims, pod.only);
  if (alone.outcome != Outcome::kFeasible || !asks_for_rails(group)) return alone;
  auto placed = place_group(state, group);
  if (placed && placed->outcome == Outcome::kFeasible) return std::move(placed->members.front());
  Placed waits;
  waits.outcome = placed ? placed->outcome : Outcome::kError;
  waits.why = placed ? placed->why : placed.error().message();
  return waits;
}

}  // namespace dra::inspect
