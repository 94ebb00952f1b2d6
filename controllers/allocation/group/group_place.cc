// Finds nodes and devices for the members of a group in one search.
#include <algorithm>
#include <unordered_map>
#include <utility>

#include "controllers/allocation/bind/bind_conditions.h"
#include "controllers/allocation/group/group_reconcile.h"
#include "controllers/allocation/pod/topology.h"
#include "pkg/gang/levels.h"
#include "pkg/nodes/shape.h"
#include "pkg/protocol/pod_claims.h"
#include "pkg/protocol/writes.h"

namespace dra::allocation {

using namespace reconcile;

void GroupReconcile::decide(uint32_t needed) {
  // Takes no more devices beside some that cannot be used.
  if (const Conflicts found = conflicts(); !found.empty()) return withdraw_for(found);
  // Others use the claims of such a member, and its node does not take it: no place for the others helps.
  for (const Member& member : pods_) {
    if (committed_ || !member.settled || !member.pinned) continue;
    const NodeChoice choice = member.steps->candidate_nodes();
    if (choice.nodes.empty() && !choice.watch_lags) return withdraw() ? void() : member.steps->no_node(choice);
  }
  const Duration wait = tools_.allocator.share_wait(members_.group.ns);
  if (wait > Duration::zero() && !tools_.gangs.has_found(members_.group.key())) {
    first_->outcome_.requeue_in(wait);
    first_->outcome_.goes_on = true;
    return;
  }
  gang::GangRequest request;
  request.uid = members_.group.key();
  request.name = members_.group.shown();
  request.ns = members_.group.ns;
  request.min_count = needed;
  request.topology = topology_for(members_.topology, tools_.options);
  std::vector<Member*> asked;
  std::vector<size_t> numbers;  // of `asked`
  std::vector<PodReconcile*> pods;
  std::vector<AvoidedDevice> avoided;
  for (size_t i = 0; i < pods_.size(); ++i) {
    Member& member = pods_[i];
    PodReconcile& steps = *member.steps;
    if (member.placed) {
      for (const ClaimState& claim : steps.state_.claims)
        if (const std::string* node = api::only_node(*claim.claim->status.allocation))
          request.placed.push_back(tools_.inventory.node_id(*node));
      continue;
    }
    if (!member.ready) continue;
    const std::vector<AvoidedDevice> own = avoided_devices(steps.pod_, view_.now());
    avoided.insert(avoided.end(), own.begin(), own.end());
    asked.push_back(&member);
    numbers.push_back(i);
    pods.push_back(&steps);
  }
  request.members = questions_about(numbers);
  const DevicesHeldBack held_back(tools_.inventory, avoided);
  const KeptFromDecision kept(tools_.inventory, first_->leave_kept_devices(lowest_priority()).devices);
  GroupNodes nodes(pods, view_, tools_.inventory, tools_.nodes);
  gang::Decision decision = tools_.gangs.decide(request, nodes, spent_);
  made_->questions = std::move(request.members);
  same_choice_.forget_all();  // the search has placed members and taken them back
  say_ignored(decision);
  if (decision.outcome == allocator::Outcome::kFeasible) return write_decision(asked, decision);
  if (nodes.watch_lags()) return void(first_->outcome_.requeue_in(std::chrono::seconds(1)));
  not_found(decision, asked, nodes);
}

std::vector<gang::Member> GroupReconcile::questions_about(const std::vector<size_t>& asked) {
  const uint64_t version = tools_.nodes.shapes_version();
  if (made_->asked == asked && made_->shapes_version == version) return std::move(made_->questions);
  std::vector<gang::Member> questions;
  questions.reserve(asked.size());
  MemberShapes shapes(tools_.nodes);
  for (const size_t i : asked) {
    const PodReconcile& steps = *pods_[i].steps;
    gang::Member& one = questions.emplace_back();
    one.name = steps.pod_.metadata.key();
    one.uid = steps.pod_.metadata.uid;
    for (const ClaimState& claim : steps.state_.claims) one.claims.push_back(claim.claim);
    if (steps.extended_.empty()) one.shape = shapes.of(steps.pod_, steps.state_.claims);
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
  if (!text.empty()) first_->complain("TopologyIgnored", members_.group.shown() + ": " + text, text);
}

void GroupReconcile::write_decision(const std::vector<Member*>& asked, gang::Decision& decision) {
  tools_.kept.drop(members_.group.key());
  std::unordered_map<std::string_view, std::vector<const gang::Placed*>> users;  // by the claim's uid
  for (const gang::Placed& placed : decision.members)
    for (const ClaimState& claim : asked[placed.member]->steps->state_.claims)
      users[claim.claim->metadata.uid].push_back(&placed);
  bool first = true;  // one line in the log for all
  for (gang::ClaimResult& decided : decision.claims) {
    const api::ResourceClaim& claim = *decided.claim;
    const auto found = users.find(claim.metadata.uid);
    if (found == users.end()) continue;  // its member is not placed
    PodReconcile* writer = asked[found->second.front()->member]->steps;
    const std::string node = tools_.inventory.node_name(found->second.front()->node);
    std::vector<api::ResourceClaimConsumerReference> consumers;
    for (const gang::Placed* placed : found->second) {
      const PodReconcile& user = *asked[placed->member]->steps;
      if (consumers.size() < api::kMaxReservedFor && user.is_reserved_at_once(claim))
        consumers.push_back(pod_reference(user.pod_));
    }
    const std::string why = decision.domain.empty() ? "" : "is with its group in " + decision.domain;
    if (std::exchange(first, false)) writer->outcome_.decided = Decided{true, node, devices_of({decided.result}), why};
    writer->outcome_.add(
        writer->allocation_write(decided.claim, std::move(decided.result), std::move(consumers), node));
    tools_.why_here.note(writer->pod_.metadata.uid, why);
  }
  for (const gang::Placed& placed : decision.members) asked[placed.member]->placed = asked[placed.member]->held;
  // Nothing to allocate, only nodes to find: the group is as good as decided.
  if (!decision.claims.empty()) return;
  std::vector<std::string> nodes;
  for (const gang::Placed& placed : decision.members) nodes.emplace_back(tools_.inventory.node_name(placed.node));
  find_homes(std::move(nodes));
  commit();
}

void GroupReconcile::not_found(const gang::Decision& decision, const std::vector<Member*>& asked, GroupNodes& nodes) {
  using allocator::Outcome;
  Outcome outcome = decision.outcome;
  if (outcome == Outcome::kUnfinished) {
    constexpr uint32_t kWorthAnEvent = 16;  // slices: about 100 ms
    first_->outcome_.requeue_in(decision.ask_again);
    first_->outcome_.goes_on = true;
    unfinished_ = true;
    if (decision.slices >= kWorthAnEvent) say("where its members fit takes long to find: it is decided in slices");
    return;
  }
  if (committed_) return stuck();
  // What members hold already may be in the way of the others.
  if (outcome != Outcome::kBudgetSpent && withdraw()) return;
  const std::string needs = std::to_string(members_.min_count) + " members must be placed together";
  if (outcome == Outcome::kBudgetSpent) {
    first_->outcome_.retry = "the search for a place for the group took more than its budget of steps";
    if (decision.ask_again > Duration::zero()) first_->outcome_.requeue_in(decision.ask_again);
    return say(needs + "; neither found nor refuted within the budget of steps: " + decision.reason);
  }
  if (outcome == Outcome::kError) {
    park(asked);
    return say(needs + "; " + (decision.error ? decision.error->message() : "their claims cannot be allocated"),
               Fit::kNowhere);
  }
  park(asked);
  bool refused = false;
  const std::string alone = why_not_alone(*asked[decision.guilty.value_or(0)]->steps, &refused);
  // More devices would not help: a class does not exist, or an expression does not compile.
  if (refused) return say(needs + "; " + alone, Fit::kNowhere);
  std::string kept = first_->kept_from_;
  const std::string nodes_kept = first_->kept_nodes_clause();
  if (!nodes_kept.empty() && alone.find(verdict::kWhyKept) == std::string::npos)
    kept += "; more nodes are kept" + nodes_kept;
  for (const Member* member : asked)
    if (const std::string avoided = member->steps->avoided_clause(); !avoided.empty()) {
      kept += "; member " + member->steps->pod_.metadata.name + ":" + avoided.substr(1);
      break;
    }
  if (decision.never) {
    tools_.kept.drop(members_.group.key());
  } else if (const Duration left = until_starving(); left > Duration::zero()) {
    first_->outcome_.requeue_in(left);
  } else if (const size_t count = keep_nodes(asked, nodes); count > 0) {
    kept += "; since it waits for so long, " + std::to_string(count) + " nodes are kept for it";
  }
  say(needs + (decision.never ? ", which this cluster never can: " : ": ") + decision.reason +
          (alone.empty() ? "" : "; one member alone does not fit either: " + alone) + kept,
      Fit::kNowhere);
}

// The cause that a pod of no group would get. Empty: the member fits alone, or finding out takes more than a slice.
std::string GroupReconcile::why_not_alone(PodReconcile& steps, bool* refused) {
  const NodeChoice choice = steps.candidate_nodes();
  if (choice.watch_lags) return "";
  const std::vector<allocator::NodeId> order = numbers_of(choice, tools_.inventory);
  allocator::Request request;
  for (const ClaimState& claim : steps.state_.claims)
    if (!claim.allocated()) request.claims.push_back(claim.claim);
  std::optional<allocator::FoundNodes> found;
  if (!request.claims.empty()) {
    // Without nodes, too: what is wrong with a claim comes first.
    found = tools_.allocator.find_nodes(request, order, 1);
    *refused = found->error.has_value();
    if (*refused) return found->error->message();
  }
  if (choice.nodes.empty()) {
    const verdict::Verdict verdict = steps.verdict_of({}, nullptr);
    return verdict.nodes > 0 && !verdict.node_groups.empty() ? verdict::sentence(verdict) : choice.why_none;
  }
  if (!found || found->outcome != allocator::Outcome::kInfeasible) return "";
  return verdict::sentence(steps.verdict_of(order, &*found, &request));
}

}  // namespace dra::allocation
