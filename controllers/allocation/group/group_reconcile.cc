#include "controllers/allocation/group/group_reconcile.h"

#include <algorithm>
#include <optional>
#include <set>
#include <unordered_set>
#include <utility>

#include "controllers/allocation/causes.h"
#include "controllers/allocation/group/note.h"
#include "controllers/allocation/group/whole.h"
#include "controllers/allocation/kept/kept_nodes.h"
#include "controllers/allocation/pod/leave.h"
#include "controllers/allocation/pod/missing_claim.h"
#include "controllers/allocation/pod/report.h"
#include "controllers/allocation/pod/steps.h"
#include "controllers/allocation/pod/withdraw.h"
#include "pkg/api/topology_level.h"
#include "pkg/base/timestamp.h"
#include "pkg/protocol/keep.h"
#include "pkg/protocol/pod_claims.h"
#include "pkg/protocol/proof.h"
#include "pkg/protocol/writes.h"

namespace dra::allocation {

using namespace protocol;
using namespace reconcile;

namespace {

// An incomplete group is reported once no member has come for this long.
constexpr Duration kSettles = std::chrono::seconds(10);
// A group of many (kManyMembers) is reconciled again no earlier than after this time for each of its members while it
// only waits for them or for the stream.
constexpr Duration kPauseOfMember = std::chrono::microseconds(100);

bool has_unmarked(const PodState& state) {
  return std::any_of(state.claims.begin(), state.claims.end(), [](const protocol::ClaimState& claim) {
    return claim.allocated() && claim.ours && !claim.proven;
  });
}

// Not of pods alone: the answer to a write of a pod makes void what is kept about its group.
bool writes_claims(const ReconcileResult& outcome) {
  return std::any_of(outcome.effects.begin(), outcome.effects.end(), [](const Effect& effect) {
    const Write* write = std::get_if<Write>(&effect);
    return write && write->object.kind == Kind::kClaim;
  });
}

}  // namespace

GroupReconcile::GroupReconcile(const View& view, const Tools& tools, std::shared_ptr<MemberFacts> made, Duration spent)
    : view_(view),
      tools_(tools),
      made_(std::move(made)),
      members_(made_->members),
      spent_(spent),
      pods_(members_with_contexts()),
      first_(pods_.front()) {
  if (members_.whole) hints_.topology = &members_.topology;
  if (asks_for_rails(view_, first_.context.pod)) asks_for_rails_ = &first_.context.pod;
  for (const Member& member : pods_)
    if (asks_for_rails_ == nullptr && alignment::has_rails(member.context.pod.metadata.annotations))
      asks_for_rails_ = &member.context.pod;
  hints_.no_rails = asks_for_rails_ == nullptr;
}

std::vector<GroupReconcile::Member> GroupReconcile::members_with_contexts() {
  std::vector<Member> members;
  members.reserve(made_->facts.size());
  for (size_t i = 0; i < made_->facts.size(); ++i) {
    members.emplace_back(context_of(view_, *members_.waiting[i], made_->facts[i], tools_, &hints_));
    if (members_.whole) members.back().part = members_.part_of[i];
  }
  return members;
}

ReconcileResult GroupReconcile::run() {
  if (step_back()) return merged();
  judge();
  const size_t placed = count(&Member::placed);
  if (committed_) {
    forward();
  } else if (!enough(&Member::ready)) {
    wait_for_members();
  } else if (!enough(&Member::placed)) {
    decide(static_cast<uint32_t>(members_.min_count - std::min<size_t>(placed, members_.min_count)));
  } else if (!withdraw_incomplete()) {
    commit();
  }
  watch_holds();
  ReconcileResult outcome = merged();
  // What is kept about a group is dropped when its own pods change.
  if (!members_.whole && (unfinished_ || (pods_.size() > kManyMembers && writes_claims(outcome))))
    tools_.kept_members.keep(view_, made_);
  return outcome;
}

bool GroupReconcile::step_back() {
  bool busy = false;
  for (Member& member : pods_)
    busy = leave_announced(member.context, member.out) || drop_abandoned(member.context, member.out) || busy;
  return busy;
}

void GroupReconcile::judge() {
  for (Member& member : pods_) {
    const PodContext& context = member.context;
    const PodState& state = context.state;
    member.marked = is_marked(context.pod, state);
    committed_ = committed_ || member.marked;
    if (!state.waits_for.empty()) continue;
    // As for a single pod: makes what its extended resources need, or the pod waits.
    if (!serve_extended(context, member.obstacles, member.out)) continue;
    member.ready = true;
    member.held = state.all_allocated();
    member.settled = member.held && state.all_settled();
    // A pod without devices of one node gets its node in the search, and is bound to a node with capacity.
    member.pinned = std::any_of(state.claims.begin(), state.claims.end(), [](const protocol::ClaimState& claim) {
      return claim.allocated() && api::only_node(*claim.claim->status.allocation) != nullptr;
    });
    member.placed = member.held && (member.pinned || context.role == Role::kGated);
  }
}

size_t GroupReconcile::count(bool Member::*what) const {
  return static_cast<size_t>(std::count_if(pods_.begin(), pods_.end(), [what](const Member& m) { return m.*what; }));
}

// Negative when clocks differ.
Duration GroupReconcile::since_last_member() const {
  Duration least = std::chrono::hours(1);
  for (const api::Pod* pod : members_.waiting) {
    Timestamp created;
    if (parse_rfc3339(pod->metadata.creation_timestamp, created)) least = std::min(least, view_.now() - created);
  }
  return least;
}

void GroupReconcile::wait_for_members() {
  tools_.kept.drop(members_.group.key());
  const size_t ready = count(&Member::ready);
  for (Member& member : pods_)
    if (!member.ready) watch_missing_claim(member.context, member.out);
  std::string text = members_.whole
                         ? how_many_are(&Member::ready, "ready")
                         : std::to_string(ready) + " of " + std::to_string(members_.min_count) + " members are ready";
  if (const size_t waiting = pods_.size() - ready; waiting > 0) {
    text += "; " + std::to_string(waiting) + " more wait for their claims or resources";
    for (const Member& member : pods_)
      if (!member.ready && !member.context.state.ordinary_wait && !member.context.state.waits_for.empty()) {
        text += ": " + member.context.pod.metadata.name + ": " + member.context.state.waits_for;
        break;
      }
  }
  // Members ended meanwhile, or the count was raised: hold nothing for members that may never come.
  if (withdraw()) return;
  pause();
  // While members are still being created, each new one is not news.
  if (const Duration left = kSettles - since_last_member(); left > Duration::zero() && left <= kSettles)
    return void(first_.out.requeue_in(left));
  say(text);
}

void GroupReconcile::pause() {
  if (pods_.size() > kManyMembers) first_.out.min_interval = kPauseOfMember * static_cast<int64_t>(pods_.size());
}

// ---- held devices

Conflicts GroupReconcile::conflicts() const {
  std::vector<std::string> uids;
  for (const Member& member : pods_)
    for (const protocol::ClaimState& claim : member.context.state.claims)
      if (claim.allocated()) uids.push_back(claim.claim->metadata.uid);
  std::sort(uids.begin(), uids.end());
  uids.erase(std::unique(uids.begin(), uids.end()), uids.end());
  return uids.empty() ? Conflicts{} : tools_.inventory.over_commitments(uids, inventory::Layer::kObserved);
}

bool GroupReconcile::others_give_way(const Conflicts& conflicts) const {
  const GroupRank rank = rank_of(members_.waiting);
  std::set<std::string, std::less<>> own;
  for (const Member& member : pods_)
    for (const protocol::ClaimState& claim : member.context.state.claims) own.insert(claim.claim->metadata.uid);
  const auto gives_way = [&](const api::ResourceClaim& claim) {
    if (!is_allocated_by_us(claim) || is_proven(claim)) return false;
    return std::all_of(claim.status.reserved_for.begin(), claim.status.reserved_for.end(), [&](const auto& consumer) {
      if (is_keep_reference(consumer)) return true;
      const api::Pod* pod = view_.pod(claim.metadata.ns + "/" + consumer.name);
      if (pod == nullptr || pod->metadata.uid != consumer.uid) return false;
      const Membership membership = membership_of(view_, *pod);
      if (membership.state != Membership::State::kMember) return true;  // a single pod withdraws when it sees this
      std::optional<Whole> whole = open_whole(view_, tools_, membership);
      const GroupMembers rival = whole ? members_of_whole(view_, membership, std::move(*whole), tools_.options)
                                       : members_of(view_, membership, tools_.options);
      return !rival.launched && rank < rank_of(rival.waiting);
    });
  };
  for (const inventory::AuditFinding& conflict : conflicts)
    for (const std::string& uid : conflict.claims) {
      if (own.contains(uid)) continue;
      if (const api::ResourceClaim* claim = view_.allocated_claim(uid); claim != nullptr && !gives_way(*claim))
        return false;
    }
  return true;
}

void GroupReconcile::withdraw_for(const Conflicts& found) {
  if (!timed_out() && others_give_way(found)) return void(first_.out.requeue_in(std::chrono::seconds(1)));
  if (withdraw()) return count_failure(first_.context, "LostRace", first_.out);
  const std::string& why = found.front().message;
  say_waiting(first_.context, {"DeviceConflict", "waits: " + why, why}, Fit::kUndecided, first_.out);
  first_.out.requeue_in(std::chrono::seconds(30));
}

bool GroupReconcile::withdraw() {
  bool any = false;
  for (Member& member : pods_) any = withdraw_claims(member.context, member.out) || any;
  return any;
}

bool GroupReconcile::holds_something() const {
  return std::any_of(pods_.begin(), pods_.end(), [](const Member& m) { return has_unmarked(m.context.state); });
}

Duration GroupReconcile::held_for(bool newest) const {
  std::optional<Duration> longest;
  for (const Member& member : pods_)
    for (const protocol::ClaimState& claim : member.context.state.claims) {
      if (!claim.allocated() || !claim.ours || (!newest && claim.proven)) continue;
      const std::optional<Timestamp> at = allocated_at(*claim.claim);
      // If the server drops the allocation time: the claim is allocated for at least this long.
      const Duration age = at ? view_.now() - *at : view_.unchanged_for(Kind::kClaim, claim.claim->metadata.key());
      longest = longest ? (newest ? std::min(*longest, age) : std::max(*longest, age)) : age;
    }
  return longest.value_or(Duration::zero());
}

void GroupReconcile::watch_holds() {
  if (committed_ || !holds_something()) return;
  for (const Member& member : pods_)
    if (member.out.has_writes()) return;  // the answers requeue the group
  if (timed_out() && withdraw())
    return say("the devices of the members are given back, since the group could not be completed within " +
               std::to_string(std::chrono::duration_cast<std::chrono::seconds>(members_.hold_timeout).count()) + " s");
  first_.out.requeue_in(std::max<Duration>(members_.hold_timeout - held_for(false), std::chrono::milliseconds(100)));
}

// ---- messages

void GroupReconcile::say(const std::string& sentence, Fit fit) {
  const std::string text = members_.group.shown() + ": " + sentence;
  const std::string kind = without_numbers(text);  // a change in numbers alone is not news
  const std::string& uid = first_.context.pod.metadata.uid;
  say_waiting(first_.context, {"GroupWaits", text, kind}, fit, first_.out);
  const std::string note = group_note(text, fit);
  const std::optional<View::Noted> before = view_.note(uid, kGroupNote);
  first_.out.add(Note{uid, std::string(kGroupNote), note});
  if (fit == Fit::kNowhere && (!before || without_numbers(before->text) != without_numbers(note)))
    run_others_to_be_bound();
  count_failure(first_.context, "GroupWaits", first_.out);
}

void GroupReconcile::run_others_to_be_bound() {
  for (const Member& member : pods_)
    if (&member != &first_ && member.context.role == Role::kToBind)
      first_.out.enqueue.push_back(pod_key(member.context.pod.metadata.key()));
}

void GroupReconcile::park(const std::vector<Member*>& asked) {
  std::set<Cause> causes;
  Obstacles obstacles;
  obstacles.on_capacity = false;
  for (const Member* member : asked) {
    allocator::Request request;
    for (const protocol::ClaimState& claim : member->context.state.claims)
      if (!claim.allocated()) request.claims.push_back(claim.claim);
    causes.merge(causes_of(member->context, request));
    obstacles.on_pods = obstacles.on_pods || member->obstacles.on_pods;
    obstacles.on_capacity = obstacles.on_capacity || member->obstacles.on_capacity;
  }
  // Devices of other drivers may decide which nodes belong together.
  for (const std::string& level : {members_.topology.required, members_.topology.preferred})
    if (level.starts_with(api::kAttributeLevel)) causes.insert(std::string(kSlicesCause));
  park_pod(first_.context, causes, obstacles, first_.out);
  first_.out.park->shape.clear();  // unlike any other: single pods of its shape may fit
}

// One reconcile writes an object once: for a claim that members share, the first member's write counts.
ReconcileResult GroupReconcile::merged() {
  ReconcileResult all = std::move(first_.out);
  std::unordered_set<std::string> written;
  size_t effects = all.effects.size();
  for (const Member& member : pods_) effects += member.out.effects.size();
  all.effects.reserve(effects);
  written.reserve(effects);
  const auto is_new = [&](const Effect& effect) {
    const Write* write = std::get_if<Write>(&effect);
    return write == nullptr || write->resource_version.empty() || written.insert(write->object.uid).second;
  };
  std::erase_if(all.effects, [&](const Effect& effect) { return !is_new(effect); });
  for (Member& member : pods_) {
    if (&member == &first_) continue;
    ReconcileResult& one = member.out;
    for (Effect& effect : one.effects)
      if (is_new(effect)) all.effects.push_back(std::move(effect));
    if (one.requeue_after) all.requeue_in(*one.requeue_after);
    if (one.min_interval && (!all.min_interval || *all.min_interval < *one.min_interval))
      all.min_interval = one.min_interval;
    if (one.park && !all.park) {
      all.park = std::move(one.park);
      all.park->shape.clear();
    } else if (one.park) {
      all.park->causes.insert(all.park->causes.end(), one.park->causes.begin(), one.park->causes.end());
    }
    if (all.retry.empty()) all.retry = std::move(one.retry);
    if (!all.decided) all.decided = std::move(one.decided);
    all.goes_on = all.goes_on || one.goes_on;
  }
  // The answers requeue the group; a parked group would miss what unparks it meanwhile.
  if (all.has_writes()) all.park.reset();
  return all;
}

}  // namespace dra::allocation
