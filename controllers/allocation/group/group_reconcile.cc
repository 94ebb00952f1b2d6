#include "controllers/allocation/group/group_reconcile.h"

#include <algorithm>
#include <set>
#include <unordered_set>

#include "controllers/allocation/causes.h"
#include "controllers/allocation/pod/condition.h"
#include "pkg/api/topology_level.h"
#include "pkg/base/timestamp.h"
#include "pkg/protocol/pod_claims.h"
#include "pkg/protocol/proof.h"
#include "pkg/protocol/writes.h"

namespace dra::allocation {

using namespace reconcile;

namespace {

// The topic of the note in which the first pod leaves the others the reason why the group waits.
constexpr std::string_view kGroupNote = "group";
constexpr size_t kMaxNote = 512;
// What the note begins with.
const std::string kFitsNowhere = "nowhere: ", kMayFit = "waits: ";
// An incomplete group is reported once no member has come for this long.
constexpr Duration kSettles = std::chrono::seconds(10);
// Of a group with more members than this, each event would cost a visit of all of them: it is reconciled again no
// earlier than after kPauseOfMember for each of its members while it only waits for them or for the stream.
constexpr size_t kMany = 64;
constexpr Duration kPauseOfMember = std::chrono::microseconds(100);

bool has_unmarked(const PodState& state) {
  return std::any_of(state.claims.begin(), state.claims.end(),
                     [](const ClaimState& claim) { return claim.allocated() && claim.ours && !claim.proven; });
}

// Not of pods alone: the answer to a write of a pod makes void what is kept about its group.
bool writes_claims(const Outcome& outcome) {
  return std::any_of(outcome.effects.begin(), outcome.effects.end(), [](const Effect& effect) {
    const Write* write = std::get_if<Write>(&effect);
    return write && write->object.kind == Kind::kClaim;
  });
}

}  // namespace

GroupReconcile::GroupReconcile(const View& view, const Tools& tools, std::shared_ptr<MemberSteps> made, Duration spent)
    : view_(view), tools_(tools), made_(std::move(made)), members_(made_->members), spent_(spent) {
  pods_.reserve(made_->steps.size());
  for (const auto& steps : made_->steps) {
    steps->same_choice_ = &same_choice_;
    pods_.push_back({steps.get()});
  }
  first_ = made_->steps.front().get();
}

Outcome GroupReconcile::run() {
  if (step_back()) return merged();
  judge();
  const size_t placed = count(&Member::placed);
  if (committed_) {
    forward();
  } else if (count(&Member::ready) < members_.min_count) {
    wait_for_members();
  } else if (placed < members_.min_count) {
    decide(static_cast<uint32_t>(members_.min_count - placed));
  } else {
    commit();
  }
  watch_holds();
  Outcome outcome = merged();
  if (unfinished_ || (pods_.size() > kMany && writes_claims(outcome))) tools_.kept_members.keep(view_, made_);
  return outcome;
}

bool GroupReconcile::step_back() {
  bool busy = false;
  for (Member& member : pods_) busy = member.steps->leave() || member.steps->drop_abandoned() || busy;
  return busy;
}

void GroupReconcile::judge() {
  for (Member& member : pods_) {
    PodReconcile& steps = *member.steps;
    const PodState& state = steps.state_;
    member.marked = is_marked(steps.pod_, state);
    committed_ = committed_ || member.marked;
    if (!state.waits_for.empty()) continue;
    // As for a single pod: makes what its extended resources need, or the pod waits.
    if (steps.serves_by_claim() ? steps.role_ == Role::kToBind && !steps.make_extended() : !steps.serves_extended())
      continue;
    member.ready = true;
    member.held = state.all_allocated();
    member.settled = member.held && state.all_settled();
    // A pod without devices of one node gets its node in the search, and is bound to a node with capacity.
    member.pinned = std::any_of(state.claims.begin(), state.claims.end(), [](const ClaimState& claim) {
      return claim.allocated() && api::only_node(*claim.claim->status.allocation) != nullptr;
    });
    member.placed = member.held && (member.pinned || steps.role_ == Role::kGated);
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
  for (const Member& member : pods_)
    if (!member.ready) member.steps->watch_missing();
  std::string text = std::to_string(ready) + " of " + std::to_string(members_.min_count) + " members are ready";
  if (const size_t waiting = pods_.size() - ready; waiting > 0) {
    text += "; " + std::to_string(waiting) + " more wait for their claims or resources";
    for (const Member& member : pods_)
      if (!member.ready && !member.steps->state_.ordinary_wait && !member.steps->state_.waits_for.empty()) {
        text += ": " + member.steps->pod_.metadata.name + ": " + member.steps->state_.waits_for;
        break;
      }
  }
  // Members ended meanwhile, or the count was raised: hold nothing for members that may never come.
  if (withdraw()) return;
  pause();
  // While members are still being created, each new one is not news.
  if (const Duration left = kSettles - since_last_member(); left > Duration::zero() && left <= kSettles)
    return void(first_->outcome_.requeue_in(left));
  say(text);
}

void GroupReconcile::pause() {
  if (pods_.size() > kMany) first_->outcome_.min_interval = kPauseOfMember * static_cast<int64_t>(pods_.size());
}

// ---- held devices

GroupReconcile::Conflicts GroupReconcile::conflicts() const {
  std::vector<std::string> uids;
  for (const Member& member : pods_)
    for (const ClaimState& claim : member.steps->state_.claims)
      if (claim.allocated()) uids.push_back(claim.claim->metadata.uid);
  std::sort(uids.begin(), uids.end());
  uids.erase(std::unique(uids.begin(), uids.end()), uids.end());
  return uids.empty() ? Conflicts{} : tools_.inventory.over_commitments(uids, inventory::Layer::kObserved);
}

bool GroupReconcile::others_give_way(const Conflicts& conflicts) const {
  const GroupRank rank = rank_of(members_.waiting);
  std::set<std::string, std::less<>> own;
  for (const Member& member : pods_)
    for (const ClaimState& claim : member.steps->state_.claims) own.insert(claim.claim->metadata.uid);
  const auto gives_way = [&](const api::ResourceClaim& claim) {
    if (!is_allocated_by_us(claim) || is_proven(claim)) return false;
    return std::all_of(claim.status.reserved_for.begin(), claim.status.reserved_for.end(), [&](const auto& consumer) {
      const api::Pod* pod = view_.pod(claim.metadata.ns + "/" + consumer.name);
      if (pod == nullptr || pod->metadata.uid != consumer.uid) return false;
      const Membership membership = membership_of(view_, *pod);
      if (membership.state != Membership::State::kMember) return true;  // a single pod withdraws when it sees this
      const GroupMembers rival = members_of(view_, membership, tools_.options);
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
  if (!timed_out() && others_give_way(found)) return void(first_->outcome_.requeue_in(std::chrono::seconds(1)));
  if (withdraw()) return first_->count_failure("LostRace");
  first_->waits("DeviceConflict", "waits: " + found.front().message, found.front().message);
  first_->outcome_.requeue_in(std::chrono::seconds(30));
}

bool GroupReconcile::withdraw() {
  bool any = false;
  for (Member& member : pods_) any = member.steps->withdraw() || any;
  return any;
}

bool GroupReconcile::holds_something() const {
  return std::any_of(pods_.begin(), pods_.end(), [](const Member& m) { return has_unmarked(m.steps->state_); });
}

Duration GroupReconcile::held_for(bool newest) const {
  std::optional<Duration> longest;
  for (const Member& member : pods_)
    for (const ClaimState& claim : member.steps->state_.claims) {
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
    if (member.steps->outcome_.has_writes()) return;  // the answers requeue the group
  if (timed_out() && withdraw())
    return say("the devices of the members are given back, since the group could not be completed within " +
               std::to_string(std::chrono::duration_cast<std::chrono::seconds>(members_.hold_timeout).count()) + " s");
  first_->outcome_.requeue_in(
      std::max<Duration>(members_.hold_timeout - held_for(false), std::chrono::milliseconds(100)));
}

// ---- messages

void GroupReconcile::say(const std::string& sentence, Fit fit) {
  const std::string text = members_.group.shown() + ": " + sentence;
  const std::string kind = without_numbers(text);  // a change in numbers alone is not news
  first_->waits("GroupWaits", text, kind, fit);
  const std::string note = (fit == Fit::kNowhere ? kFitsNowhere : kMayFit) + text.substr(0, kMaxNote);
  const std::optional<View::Noted> before = view_.note(first_->pod_.metadata.uid, kGroupNote);
  first_->outcome_.add(Note{first_->pod_.metadata.uid, std::string(kGroupNote), note});
  if (fit == Fit::kNowhere && (!before || without_numbers(before->text) != without_numbers(note)))
    run_others_to_be_bound();
  first_->count_failure("GroupWaits");
}

void GroupReconcile::run_others_to_be_bound() {
  for (const auto& steps : made_->steps)
    if (steps.get() != first_ && steps->role_ == Role::kToBind)
      first_->outcome_.enqueue.push_back(pod_key(steps->pod_.metadata.key()));
}

void GroupReconcile::park(const std::vector<Member*>& asked) {
  std::set<Cause> causes;
  bool waits_for_pods = false, waits_for_capacity = false;
  for (const Member* member : asked) {
    allocator::Request request;
    for (const ClaimState& claim : member->steps->state_.claims)
      if (!claim.allocated()) request.claims.push_back(claim.claim);
    causes.merge(member->steps->causes_of(request));
    waits_for_pods = waits_for_pods || member->steps->waits_for_pods_;
    waits_for_capacity = waits_for_capacity || member->steps->waits_for_capacity_;
  }
  // Devices of other drivers may decide which nodes belong together.
  for (const std::string& level : {members_.topology.required, members_.topology.preferred})
    if (level.starts_with(api::kAttributeLevel)) causes.insert(std::string(kSlicesCause));
  first_->waits_for_pods_ = waits_for_pods;
  first_->waits_for_capacity_ = waits_for_capacity;
  first_->park(causes);
  first_->outcome_.park->shape.clear();  // unlike any other: single pods of its shape may fit
}

// One reconcile writes an object once: for a claim that members share, the first member's write counts.
Outcome GroupReconcile::merged() {
  Outcome all = std::move(first_->outcome_);
  std::unordered_set<std::string> written;
  size_t effects = all.effects.size();
  for (const auto& steps : made_->steps) effects += steps->outcome_.effects.size();
  all.effects.reserve(effects);
  written.reserve(effects);
  const auto is_new = [&](const Effect& effect) {
    const Write* write = std::get_if<Write>(&effect);
    return write == nullptr || write->resource_version.empty() || written.insert(write->object.uid).second;
  };
  std::erase_if(all.effects, [&](const Effect& effect) { return !is_new(effect); });
  for (const auto& steps : made_->steps) {
    if (steps.get() == first_) continue;
    Outcome& one = steps->outcome_;
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

// ---- one pod

namespace {

Outcome follow(const View& view, PodReconcile& steps, const api::Pod& leader) {
  const std::optional<View::Noted> why = view.note(leader.metadata.uid, kGroupNote);
  if (!why) return steps.wait_with_group("", false);
  const bool nowhere = why->text.starts_with(kFitsNowhere);
  return steps.wait_with_group(why->text.substr((nowhere ? kFitsNowhere : kMayFit).size()), nowhere);
}

}  // namespace

Outcome reconcile_member(const View& view, const api::Pod& pod, Role role, const Tools& tools,
                         const Membership& membership) {
  PodReconcile alone(view, pod, role, tools);
  if (membership.state == Membership::State::kWaits) return alone.wait_for_group(membership);
  // Before anything is built from so many pods: each of them is reconciled.
  const std::string group = membership.group.key();
  if (is_too_large(view, group)) {
    if (let_go_of(view, group, 1, tools.options) > 0) return alone.run();
    Membership refused = membership;
    refused.why = "it has " + std::to_string(view.size_of_group(group)) + " pods, and at most " +
                  std::to_string(kMaxGroupMembers) + " are placed together";
    return alone.wait_for_group(refused);
  }
  if (surely_launched(view, group, tools.options)) return alone.run();
  const bool launched = tools.leaders.has_launched(view, group, tools.options);
  // Most of the pods of a large group are followers, at every event of theirs: these do not visit the others.
  const api::Pod* leader = tools.leaders.leader_of(view, group, &pod, tools.options);
  if (leader != nullptr && leader->metadata.uid != pod.metadata.uid && !launched) return follow(view, alone, *leader);
  // Looking at so many members is charged to the namespace. If it were charged for finding that it must wait, several
  // groups would use up its share with that alone. A decision that is only to be written becomes void with each change
  // meanwhile.
  if (const Duration wait = tools.allocator.share_wait(membership.group.ns);
      !launched && wait > Duration::zero() && view.size_of_group(group) > kMany && !tools.gangs.has_found(group)) {
    Outcome later;
    later.requeue_in(wait);
    later.goes_on = true;
    return later;
  }
  const allocator::SliceLimit& slice = tools.allocator.options().slice;
  const MonoTime began = slice.clock ? slice.clock->mono_now() : MonoTime{};
  std::shared_ptr<MemberSteps> made = tools.kept_members.take(view, tools, membership);
  if (!made || made->members.waiting.front()->metadata.uid != pod.metadata.uid) {
    GroupMembers members = members_of(view, membership, tools.options);
    if (members.launched) return alone.run();
    if (members.waiting.empty() || members.waiting.front()->metadata.uid != pod.metadata.uid) {
      if (members.waiting.empty()) return {};
      return follow(view, alone, *members.waiting.front());
    }
    made = std::make_shared<MemberSteps>(view, tools, membership, std::move(members));
  }
  const allocator::Allocator::Bill bill(tools.allocator, membership.group.ns);
  const Duration spent = slice.clock ? slice.clock->mono_now() - began : Duration::zero();
  return GroupReconcile(view, tools, std::move(made), spent).run();
}

}  // namespace dra::allocation
