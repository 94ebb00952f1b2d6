#include "pkg/inspect/verbs/replay.h"

#include <algorithm>
#include <optional>
#include <set>

#include "pkg/inspect/state/groups.h"
#include "pkg/inspect/state/successor.h"
#include "pkg/inspect/state/unseen.h"
#include "pkg/inspect/verbs/pod_owners.h"
#include "pkg/protocol/keep.h"
#include "pkg/protocol/pin.h"
#include "pkg/protocol/pod_claims.h"

namespace dra::inspect {
namespace {

constexpr size_t kMostNamed = 5;

using PodPtr = std::shared_ptr<const api::Pod>;

std::vector<std::string> sorted_devices(const api::AllocationResult& allocation, bool with_requests) {
  std::vector<std::string> names;
  for (const auto& result : allocation.results)
    names.push_back((with_requests ? result.request + "=" : "") + result.driver + "/" + result.pool + "/" +
                    result.device);
  std::sort(names.begin(), names.end());
  return names;
}

// The pods that were decided together with this one: the members of its group, or it alone.
std::vector<PodPtr> decided_with(const Objects& objects, const reconcile::View& view, const PodPtr& pod,
                                 const protocol::Membership& member) {
  if (member.state != protocol::Membership::State::kMember) return {pod};
  std::vector<PodPtr> pods;
  for (const auto& [key, other] : objects.pods) {
    if (other->terminal() || other->metadata.deleting()) continue;
    const protocol::Membership of_other = protocol::membership_of(view, *other);
    if (of_other.state == protocol::Membership::State::kMember && of_other.group == member.group) pods.push_back(other);
  }
  return pods;
}

// The claim that serves a pod's extended resources, if it has one.
Claim extended_claim_of(const Objects& objects, const api::Pod& pod) {
  if (!pod.extended_resource_claim_status) return nullptr;
  const auto claim =
      objects.claims.find(pod.metadata.ns + "/" + pod.extended_resource_claim_status->resource_claim_name);
  return claim == objects.claims.end() ? nullptr : claim->second;
}

// The name of the pod that the target names. Errors: it is of another kind.
Result<std::string> pod_named(const Objects& objects, const std::string& target, const std::string& ns) {
  const size_t slash = target.find('/');
  if (slash == std::string::npos) return std::string(target);
  const std::string kind = owner_kind(target.substr(0, slash)), name = target.substr(slash + 1);
  if (kind == "pod") return std::string(name);
  std::string instead = "name one of its pods: replay pod/NAME";
  if (const auto claim = objects.claims.find(ns + "/" + name); kind == "claim" && claim != objects.claims.end()) {
    std::vector<std::string> pods;
    for (const auto& consumer : claim->second->status.reserved_for)
      if (pods.size() < kMostNamed && protocol::is_pod_reference(consumer)) pods.push_back("pod/" + consumer.name);
    instead = pods.empty() ? "no pod uses this claim" : "this claim is used by " + join(pods, ", ");
  }
  return fail(Code::kInvalidArgument,
              "replay makes the decision about a pod again, and " + quote(target) + " is no pod; " + instead);
}

// Decides the group anew; the answer is that of the pod with this key.
Placed place_with_group(State& state, const std::vector<PodPtr>& pods, const protocol::Membership& member,
                        const std::string& key) {
  Placed none;
  GroupQuestion group{member.group.shown(),
                      member.min_count,
                      {},
                      member.topology,
                      annotations_of(groups_in(state.objects, state.options), member.group)};
  std::optional<size_t> asked;
  for (const PodPtr& was : pods) {
    const PodPtr& pod = state.objects.pods.at(was->metadata.key());
    auto claims = claims_of(state.objects, *pod);
    if (!claims) continue;  // not ready
    if (pod->metadata.key() == key) asked = group.members.size();
    group.members.push_back({pod.get(), std::move(*claims), ""});
    group.members.back().shape = shape_of(group.members.back());
  }
  const std::string needs = counted(group.min_count, "pod") + " of " + group.name + " must be placed together";
  if (group.members.size() < group.min_count || !asked) {
    none.why = needs + ", and " + std::to_string(group.members.size()) + " are ready";
    return none;
  }
  auto placed = place_group(state, group);
  if (placed && placed->outcome == allocator::Outcome::kFeasible) return std::move(placed->members[*asked]);
  none.outcome = placed ? placed->outcome : allocator::Outcome::kError;
  none.why = needs + ": " + (placed ? placed->why : placed.error().message());
  if (!placed) return none;
  const GroupQuestion::Member& guilty = group.members[placed->guilty.value_or(*asked)];
  const Placed alone = state.place(guilty.pod, guilty.claims);
  if (alone.outcome != allocator::Outcome::kFeasible)
    none.why += "; pod " + guilty.pod->metadata.name + " does not even fit alone: " + alone.why;
  return none;
}

// Adds a line about a claim; true if the devices differ.
bool compare(Answer& answer, const std::string& claim, const std::optional<api::AllocationResult>& was,
             const api::AllocationResult& is, bool with_requests) {
  const auto now = sorted_devices(is, with_requests);
  const auto then = was ? sorted_devices(*was, with_requests) : std::vector<std::string>();
  if (was && then != now) {
    answer.say({"ClaimDiffers",
                "Claim " + claim + " then: " + join(then, ", ") + ". Now: " + join(now, ", ") + ".",
                {},
                "",
                {},
                {{"claims", {claim}}, {"then", then}, {"now", now}}});
    return true;
  }
  answer.say({was ? "ClaimSame" : "ClaimNew",
              "Claim " + claim + (was ? ": the same, " : " (not allocated then): ") + join(now, ", ") + ".",
              {},
              "",
              {},
              {{"claims", {claim}}, {"now", now}}});
  return false;
}

}  // namespace

Objects before_decision(const Objects& objects, const std::vector<PodPtr>& pods) {
  Objects before = objects;
  std::set<std::string> uids;
  for (const PodPtr& pod : pods) uids.insert(pod->metadata.uid);
  for (const PodPtr& pod : pods) {
    std::vector<Claim> claims = claims_of(objects, *pod).value_or(std::vector<Claim>());
    if (Claim extended = extended_claim_of(objects, *pod)) claims.push_back(std::move(extended));
    for (const Claim& claim : claims) {
      const auto& reserved = claim->status.reserved_for;
      if (!std::all_of(reserved.begin(), reserved.end(),
                       [&](const auto& one) { return uids.contains(one.uid) || protocol::is_keep_reference(one); }))
        continue;
      auto copy = std::make_shared<api::ResourceClaim>(*claim);
      copy->status = {};
      before.claims[claim->metadata.key()] = before.claim_by_uid[claim->metadata.uid] = std::move(copy);
    }
    auto copy = std::make_shared<api::Pod>(*pod);
    copy->node_name.clear();
    copy->extended_resource_claim_status.reset();
    copy->claims_take.reset();
    protocol::remove_pin(*copy, claims);
    before.pods[pod->metadata.key()] = std::move(copy);
  }
  return before;
}

Result<Answer> replay(const Objects& objects, const std::string& target, const std::string& ns,
                      const StateOptions& options) {
  const auto name = pod_named(objects, target, ns);
  if (!name) return fail(name.error());
  const auto known = objects.pods.find(ns + "/" + *name);
  if (known == objects.pods.end()) {
    std::vector<std::string> names;
    for (const auto& [key, pod] : objects.pods)
      if (pod->metadata.ns == ns) names.push_back(pod->metadata.name);
    const std::string near = nearest(*name, names);
    return fail(not_known(objects, "pods", ns, "pod " + quote(*name),
                          near.empty() ? "" : "; did you mean " + quote(near) + "?"));
  }
  const PodPtr was = known->second;
  const std::string key = was->metadata.key();
  const auto claims = claims_of(objects, *was);
  if (!claims) return fail(claims.error());
  const protocol::MemoryView view = groups_in(objects, options);
  const protocol::Membership member = protocol::membership_of(view, *was);
  const std::vector<PodPtr> together = decided_with(objects, view, was, member);
  const Objects before = before_decision(objects, together);
  State state(before, options);
  const std::vector<Claim> asked = *claims_of(before, *was);
  Placed placed;
  if (member.state == protocol::Membership::State::kWaits)
    placed.why = member.group.shown() + ": " + member.why;
  else if (member.state == protocol::Membership::State::kMember)
    placed = place_with_group(state, together, member, key);
  else
    placed = place_member(state, joining(before, view, member, *before.pods.at(key), asked));
  Answer answer{"DRAReplay"};
  if (placed.outcome != allocator::Outcome::kFeasible) {
    if (const std::string unseen = why_undecidable(objects); !unseen.empty()) {
      answer.status = Status::kUnknown;
      answer.say("NotVisible", "Pod " + key + ": " + unseen + ".");
      return answer;
    }
    const bool waits = was->node_name.empty();
    if (!waits) answer.status = Status::kNo;
    answer.say(placed.cause.empty() ? "DoesNotFit" : placed.cause,
               waits ? "The same: pod " + key + " does not fit: " + placed.why
                     : "Decided then: " + was->node_name + ". Decided now: it does not fit: " + placed.why);
    return answer;
  }
  bool differs = !was->node_name.empty() && was->node_name != placed.node;
  if (differs)
    answer.say({"NodeDiffers",
                "Node then: " + was->node_name + ". Node now: " + placed.node + ".",
                {},
                "",
                {},
                {{"then", {was->node_name}}, {"now", {placed.node}}}});
  size_t next = 0;
  for (size_t i = 0; i < asked.size(); ++i)
    if (!asked[i]->status.allocation)  // shared with others: kept
      differs |=
          compare(answer, asked[i]->metadata.name, (*claims)[i]->status.allocation, placed.results[next++], true);
  // Schedulers name the requests of this claim as they like.
  if (const Claim extended = extended_claim_of(objects, *was); extended && next < placed.results.size())
    differs |= compare(answer, extended->metadata.name, extended->status.allocation, placed.results[next], false);
  if (differs) answer.status = Status::kNo;
  answer.lines.insert(answer.lines.begin(),
                      differs ? "Pod " + key + ": the decision differs."
                              : "Pod " + key + ": " +
                                    (was->node_name.empty() ? "fits now, on " : "the same decision, on ") +
                                    placed.node + ".");
  answer.statements.insert(answer.statements.begin(),
                           {differs ? "DecisionDiffers" : "SameDecision", answer.lines.front()});
  return answer;
}

}  // namespace dra::inspect
