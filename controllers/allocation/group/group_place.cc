// Finds nodes and devices for the members of a group in one search.
#include <algorithm>
#include <unordered_map>
#include <utility>

#include "controllers/allocation/group/group_reconcile.h"
#include "controllers/allocation/kept/kept_nodes.h"
#include "controllers/allocation/members/rails.h"
#include "controllers/allocation/pod/allocation_writes.h"
#include "controllers/allocation/pod/candidates.h"
#include "controllers/allocation/pod/kept_from.h"
#include "controllers/allocation/pod/not_found.h"
#include "controllers/allocation/pod/report.h"
#include "controllers/allocation/pod/topology.h"
#include "controllers/allocation/pod/why_here.h"
#include "pkg/gang/levels.h"
#include "pkg/nodes/shape.h"
#include "pkg/protocol/avoided.h"
#include "pkg/protocol/pod_claims.h"
#include "pkg/protocol/pod_pairs.h"
#include "pkg/protocol/writes.h"

namespace dra::allocation {

using namespace protocol;
using namespace reconcile;

void GroupReconcile::decide(uint32_t needed) {
  // Takes no more devices beside some that cannot be used.
  if (const Conflicts found = conflicts(); !found.empty()) return withdraw_for(found);
  // Others use the claims of such a member, and its node does not take it: no place for the others helps.
  for (Member& member : pods_) {
    if (committed_ || !member.settled || !member.pinned) continue;
    const Candidates candidates = candidate_nodes(member.context, member.out);
    if (candidates.choice.nodes.empty() && !candidates.choice.watch_lags)
      return withdraw() ? void() : report_no_node(member.context, candidates, member.out);
  }
  const Duration wait = tools_.allocator.share_wait(members_.group.ns);
  if (wait > Duration::zero() && !tools_.gangs.has_found(members_.group.key())) {
    first_.out.requeue_in(wait);
    first_.out.goes_on = true;
    return;
  }
  const PodRails rails = hints_.no_rails ? PodRails() : rails_of(view_, *asks_for_rails_);
  if (!pairs_are_read() || (rails.any && !rails_are_read(rails))) return;
  if (members_.whole && rails.any)
    return say(
        "its groups are placed together, and the annotations same-across-members of one of them cannot be "
        "combined with that; take them away, or the group above");
  if (const std::string why = why_no_inner_domain(); !why.empty()) return say(why, Fit::kNowhere);
  gang::GangRequest request;
  request.uid = members_.group.key();
  request.name = members_.group.shown();
  request.ns = members_.group.ns;
  request.min_count = needed;
  request.topology = topology_for(members_.topology, tools_.options);
  std::vector<Member*> asked;
  std::vector<size_t> numbers;  // of `asked`
  std::vector<SearchedPod> pods;
  std::vector<AvoidedDevice> avoided;
  for (size_t i = 0; i < pods_.size(); ++i) {
    Member& member = pods_[i];
    if (member.placed) {
      for (const protocol::ClaimState& claim : member.context.state.claims)
        if (const std::string* node = api::only_node(*claim.claim->status.allocation))
          request.placed.push_back(tools_.inventory.node_id(*node));
      continue;
    }
    if (!member.ready) continue;
    const std::vector<AvoidedDevice> own = avoided_devices(view_, member.context.pod);
    avoided.insert(avoided.end(), own.begin(), own.end());
    asked.push_back(&member);
    numbers.push_back(i);
    pods.push_back({&member.context, &member.obstacles, &member.out});
  }
  request.members = questions_about(numbers);
  if (rails.any) request.rails = rail_rules(rails, tools_.inventory, request.members);
  add_parts(request, numbers, needed);
  const DevicesHeldBack held_back(tools_.inventory, avoided);
  const KeptDevices::Kept kept = kept_devices_of(first_.context, lowest_priority());
  const KeptFromDecision kept_from(tools_.inventory, kept);
  GroupNodes nodes(pods, view_, tools_.inventory, tools_.nodes);
  gang::Decision decision = tools_.gangs.decide(request, nodes, spent_);
  made_->questions = std::move(request.members);
  hints_.same_choice.forget_all();  // the search has placed members and taken them back
  say_ignored(decision);
  if (decision.outcome == allocator::Outcome::kFeasible) return write_decision(asked, decision);
  if (nodes.watch_lags()) return void(first_.out.requeue_in(std::chrono::seconds(1)));
  not_found({decision, asked, nodes, kept_devices_clause(kept)});
}

std::vector<gang::Member> GroupReconcile::questions_about(const std::vector<size_t>& asked) {
  const uint64_t version = tools_.nodes.shapes_version();
  if (made_->asked == asked && made_->shapes_version == version) return std::move(made_->questions);
  std::vector<gang::Member> questions;
  questions.reserve(asked.size());
  nodes::MemberShapes shapes(tools_.nodes);
  for (const size_t i : asked) {
    const PodContext& context = pods_[i].context;
    gang::Member& one = questions.emplace_back();
    one.name = context.pod.metadata.key();
    one.uid = context.pod.metadata.uid;
    for (const protocol::ClaimState& claim : context.state.claims) one.claims.push_back(claim.claim);
    one.pairs = pairs_of_pod(context.pod, one.claims).entries;
    if (context.extended.empty()) one.shape = shapes.of(context.pod, context.state.claims);
  }
  made_->asked = asked;
  made_->shapes_version = version;
  return questions;
}

// Reports what part of the requested topology is ignored.
void GroupReconcile::say_ignored(const gang::Decision& decision) {
  std::string text = members_.topology.ignored;
  for (const std::string& level : decision.unknown_levels)
    if (level == members_.topology.preferred)
      text += (text.empty() ? "" : "; ") + ("no node that the members may go to has " + gang::words_of_level(level));
  if (!text.empty())
    complain(first_.context, {"TopologyIgnored", members_.group.shown() + ": " + text, text}, first_.out);
}

void GroupReconcile::write_decision(const std::vector<Member*>& asked, gang::Decision& decision) {
  tools_.kept.drop(members_.group.key());
  std::unordered_map<std::string_view, std::vector<const gang::Placed*>> users;  // by the claim's uid
  for (const gang::Placed& placed : decision.members)
    for (const protocol::ClaimState& claim : asked[placed.member]->context.state.claims)
      users[claim.claim->metadata.uid].push_back(&placed);
  bool first = true;  // one line in the log for all
  for (gang::ClaimResult& decided : decision.claims) {
    const api::ResourceClaim& claim = *decided.claim;
    const auto found = users.find(claim.metadata.uid);
    if (found == users.end()) continue;  // its member is not placed
    Member& writer = *asked[found->second.front()->member];
    const std::string node = tools_.inventory.node_name(found->second.front()->node);
    std::vector<api::ResourceClaimConsumerReference> consumers;
    for (const gang::Placed* placed : found->second) {
      const PodContext& user = asked[placed->member]->context;
      const size_t most = is_of_group(user, claim) ? 1 : api::kMaxReservedFor;
      if (consumers.size() < most && is_reserved_at_once(user, claim)) consumers.push_back(pod_reference(user.pod));
    }
    keep_with(writer.context, claim, consumers);
    const std::string why = decision.domain.empty() ? "" : "is with its group in " + decision.domain;
    if (std::exchange(first, false)) writer.out.decided = Decided{true, node, devices_of({decided.result}), why};
    writer.out.add(
        allocation_write(writer.context, decided.claim, std::move(decided.result), std::move(consumers), node));
    tools_.why_here.note(writer.context.pod.metadata.uid, why);
  }
  for (const gang::Placed& placed : decision.members) asked[placed.member]->placed = asked[placed.member]->held;
  // Nothing to allocate, only nodes to find: the group is as good as decided.
  if (!decision.claims.empty()) return;
  std::vector<std::string> nodes;
  for (const gang::Placed& placed : decision.members) nodes.emplace_back(tools_.inventory.node_name(placed.node));
  find_homes(std::move(nodes));
  commit();
}

void GroupReconcile::not_found(const Searched& search) {
  using allocator::Outcome;
  const auto& [decision, asked, nodes, kept_devices] = search;
  Outcome outcome = decision.outcome;
  if (outcome == Outcome::kUnfinished) {
    first_.out.requeue_in(decision.ask_again);
    first_.out.goes_on = true;
    unfinished_ = true;
    if (decision.slices >= kSlicesWorthAnEvent)
      say("where its members fit takes long to find: it is decided in slices");
    return;
  }
  if (committed_) return stuck();
  // What members hold already may be in the way of the others.
  if (outcome != Outcome::kBudgetSpent && withdraw()) return;
  const std::string needs =
      members_.whole ? std::to_string(members_.whole->parts.front().need) + " of its groups must be placed together"
                     : std::to_string(members_.min_count) + " members must be placed together";
  if (outcome == Outcome::kBudgetSpent) {
    first_.out.retry = "the search for a place for the group took more than its budget of steps";
    if (decision.ask_again > Duration::zero()) first_.out.requeue_in(decision.ask_again);
    return say(needs + "; neither found nor refuted within the budget of steps: " + decision.reason);
  }
  if (outcome == Outcome::kError) {
    park(asked);
    return say(needs + "; " + (decision.error ? decision.error->message() : "their claims cannot be allocated"),
               Fit::kNowhere);
  }
  park(asked);
  bool refused = false;
  const std::string alone = why_not_alone(*asked[decision.guilty.value_or(0)], &refused);
  // More devices would not help: a class does not exist, or an expression does not compile.
  if (refused) return say(needs + "; " + alone, Fit::kNowhere);
  std::string kept = kept_devices;
  const std::string nodes_kept = kept_nodes_clause(first_.obstacles);
  if (!nodes_kept.empty() && alone.find(verdict::kWhyKept) == std::string::npos)
    kept += "; more nodes are kept" + nodes_kept;
  for (const Member* member : asked)
    if (const std::string avoided = avoided_clause(member->context); !avoided.empty()) {
      kept += "; member " + member->context.pod.metadata.name + ":" + avoided.substr(1);
      break;
    }
  // Groups of groups keep no nodes: their parts would keep them from each other.
  if (decision.never || members_.whole) {
    tools_.kept.drop(members_.group.key());
  } else if (const Duration left = until_starving(); left > Duration::zero()) {
    first_.out.requeue_in(left);
  } else if (const size_t count = keep_nodes(asked, nodes); count > 0) {
    kept += "; since it waits for so long, " + std::to_string(count) + " nodes are kept for it";
  }
  say(needs + (decision.never ? ", which this cluster never can: " : ": ") + decision.reason +
          (alone.empty() ? "" : "; one member alone does not fit either: " + alone) + kept,
      Fit::kNowhere);
}

// The cause that a pod of no group would get. Empty: the member fits alone, or finding out takes more than a slice.
std::string GroupReconcile::why_not_alone(Member& member, bool* refused) {
  const PodContext& context = member.context;
  Candidates candidates = candidate_nodes(context, member.out);
  member.obstacles = std::move(candidates.obstacles);
  const nodes::NodeChoice& choice = candidates.choice;
  if (choice.watch_lags) return "";
  const std::vector<allocator::NodeId> order = numbers_of(choice, tools_.inventory);
  allocator::Request request;
  for (const protocol::ClaimState& claim : context.state.claims)
    if (!claim.allocated()) request.claims.push_back(claim.claim);
  std::optional<allocator::FoundNodes> found;
  if (!request.claims.empty()) {
    // Without nodes, too: what is wrong with a claim comes first.
    found = tools_.allocator.find_nodes(request, order, 1);
    *refused = found->error.has_value();
    if (*refused) return found->error->message();
  }
  if (choice.nodes.empty()) {
    const verdict::Verdict verdict = verdict_of(context, member.obstacles, {});
    return verdict.nodes > 0 && !verdict.node_groups.empty() ? verdict::sentence(verdict) : choice.why_none;
  }
  if (!found || found->outcome != allocator::Outcome::kInfeasible) return "";
  return verdict::sentence(verdict_of(context, member.obstacles, order, &*found, &request));
}

}  // namespace dra::allocation
