// The pods that are asked about, and the promises that are there: of a pod alone, or of a group as a whole.
#include <algorithm>
#include <set>
#include <tuple>

#include "controllers/preemption/world.h"
#include "pkg/nodes/shape.h"
#include "pkg/preempt/candidates.h"
#include "pkg/preempt/fit.h"
#include "pkg/preempt/promises.h"
#include "pkg/preempt/stage.h"
#include "pkg/protocol/extended.h"
#include "pkg/protocol/groups.h"
#include "pkg/protocol/pod_claims.h"
#include "pkg/protocol/pod_pairs.h"
#include "pkg/protocol/rails.h"

namespace dra::preemption {

using protocol::Membership;
using reconcile::View;

namespace {

// The instance is the one that is known now.
template <typename Known>
bool is_same(const Known* known, const protocol::Instance& instance) {
  return known != nullptr && known->metadata.uid == instance.uid;
}

bool waits(const api::Pod& pod, const Options& options) {
  return pod.node_name.empty() && !pod.done() && pod.scheduling_gates.empty() && is_ours(pod, options);
}

}  // namespace

std::vector<const api::Pod*> waiting_members(const View& view, const std::string& group, const Options& options) {
  std::vector<const api::Pod*> waiting;
  if (protocol::is_too_large(view, group)) return waiting;
  for (const api::Pod* pod : view.pods_of_group(group))
    if (waits(*pod, options)) waiting.push_back(pod);
  return waiting;
}

LiveWorld::~LiveWorld() {
  if (holds_places_) engines_.inventory.forget(kPlacesOfMoved);
  for (const auto& [pod, node] : aside_) world_->cluster.set_pod(*pod, node, true);
}

// ---- promises

// All its places are those of pods of the group whose record it is, or of that pod itself. Members that are gone, or
// were made anew, have none; whether enough are left is judged with the rest (preempt::judge_promises).
bool LiveWorld::is_of_one_group(const api::Pod& owner, const protocol::Promise& promise) const {
  const uint32_t group = world_->pods[*pods_.find(owner.metadata.key())].group;
  for (const protocol::Promise::Place& place : protocol::places_of(promise, owner)) {
    const uint32_t* known = pods_.find(place.pod.key);
    if (place.pod.uid == owner.metadata.uid || known == nullptr) continue;
    if (group == preempt::kNobody || world_->pods[*known].group != group) return false;
  }
  return true;
}

// Proven ones before others, then the older ones, then by uid: so two managers have the same order. Of a group only the
// first one counts.
void LiveWorld::add_promises() {
  struct One {
    protocol::Promise promise;
    const api::Pod* owner;
  };
  std::vector<One> all;
  for (const preempt::Pod& pod : world_->pods) {
    if (pod.object->metadata.deleting() || !is_ours(*pod.object, options_)) continue;
    auto written = protocol::promise_of(*pod.object);
    if (written && *written && (pod.object->node_name.empty() || (*written)->outlasts_binding()))
      all.push_back({std::move(**written), pod.object.get()});
  }
  std::sort(all.begin(), all.end(), [](const One& a, const One& b) {
    return std::tuple(!a.promise.proven, std::cref(a.promise.since).get(), std::cref(a.owner->metadata.uid).get()) <
           std::tuple(!b.promise.proven, std::cref(b.promise.since).get(), std::cref(b.owner->metadata.uid).get());
  });
  std::set<uint32_t> groups;
  for (One& one : all) {
    const std::string& owner = one.owner->metadata.key();
    const uint32_t group = world_->pods[*pods_.find(owner)].group;
    const bool possible = is_of_one_group(*one.owner, one.promise);
    if (possible && one.promise.of_group() && group != preempt::kNobody && !groups.insert(group).second) {
      seconds_.insert(owner);
      second_groups_.insert(group);
      continue;
    }
    preempt::Promise& promise = world_->promises.emplace_back();
    owners_.push_back(owner);
    if (!possible) continue;
    for (const protocol::Promise::Place& place : protocol::places_of(one.promise, *one.owner)) {
      const uint32_t* known = pods_.find(place.pod.key);
      const api::Pod* pod = known == nullptr ? nullptr : world_->pods[*known].object.get();
      if (is_same(pod, place.pod)) promise.placements[place.pod.key] = place.node;
    }
    promise.allocations = std::move(one.promise.allocations);
    add_moves(one.promise, owner, promise);
    for (const protocol::Instance& victim : one.promise.victims) {
      const uint32_t* known = pods_.find(victim.key);
      const api::Pod* pod = known == nullptr ? nullptr : world_->pods[*known].object.get();
      // A pod that was made anew under this name is another one: the victim is gone.
      promise.victims.push_back(is_same(pod, victim) ? victim.key : victim.key + "/" + victim.uid);
    }
    for (const protocol::Instance& claim : one.promise.victim_claims) {
      const uint32_t* known = claims_.find(claim.key);
      if (known != nullptr && is_same(world_->claims[*known].get(), claim)) promise.victim_claims.push_back(claim.key);
    }
  }
}

// Those that have not left yet get their places with the promise. Of the others the places are held for the next pods.
void LiveWorld::add_moves(const protocol::Promise& record, const std::string& owner, preempt::Promise& promise) {
  promise.moves = record.has_moves();
  for (const protocol::Promise::Move& move : record.moves) {
    const uint32_t* known = pods_.find(move.pod.key);
    if (!protocol::has_left(move, known == nullptr ? nullptr : world_->pods[*known].object.get())) {
      promise.placements[move.pod.key] = move.node;
      continue;
    }
    if (move.settled()) continue;
    MovedAway& away = moved_away_.emplace_back();
    away.move = move;
    away.whose = owner;
    for (const std::string& claim : move.claims)
      if (auto given = promise.allocations.extract(claim); !given.empty())
        away.devices.results.insert(away.devices.results.end(), given.mapped().results.begin(),
                                    given.mapped().results.end());
  }
}

LiveWorld::Count LiveWorld::promises(const std::string& ns) const {
  Count count{owners_.size(), 0};
  for (const std::string& owner : owners_)
    if (owner.starts_with(ns + "/")) ++count.of_namespace;
  return count;
}

bool LiveWorld::has_rival() {
  if (second_groups_.contains(world_->pods[world_->pending.front()].group)) return true;
  preempt::Stage stage(*world_);
  preempt::Fit fit(*world_, stage, preempt::Options{}.check_steps);
  const std::vector<preempt::Judged> judged = preempt::judge_promises(*world_, stage, fit);
  const int64_t priority = preempt::priority_of(*world_, world_->pending);
  for (size_t i = 0; i < judged.size(); ++i)
    if (owners_[i] != asked_ && !judged[i].stands && judged[i].priority == priority) return true;
  return false;
}

std::optional<uint32_t> LiveWorld::number_of(const protocol::Instance& pod) const {
  const uint32_t* known = pods_.find(pod.key);
  if (known == nullptr || !is_same(world_->pods[*known].object.get(), pod)) return std::nullopt;
  return *known;
}

std::vector<uint32_t> LiveWorld::planned_moves() const {
  std::set<uint32_t> all;
  for (const preempt::Promise& promise : world_->promises)
    if (promise.moves)
      for (const std::string& pod : promise.victims)
        if (const uint32_t* known = pods_.find(pod); known != nullptr && world_->pods[*known].runs() &&
                                                     world_->pods[*known].object->metadata.controller() != nullptr)
          all.insert(*known);
  return {all.begin(), all.end()};
}

protocol::Promise LiveWorld::promise_of(const preempt::Answer& answer) const {
  protocol::Promise promise;
  if (!of_group_) {
    promise.node = answer.placements.at(asked_);
  } else {
    for (const auto& [pod, node] : answer.placements)
      promise.places.push_back({{pod, world_->pods[*pods_.find(pod)].object->metadata.uid}, node});
  }
  promise.allocations = answer.allocations;
  for (auto& [claim, allocation] : promise.allocations) {
    allocation.config.clear();
    allocation.node_selector.reset();
  }
  std::set<std::string> gone;
  for (const uint32_t pod : answer.pods) {
    const api::ObjectMeta& victim = world_->pods[pod].object->metadata;
    promise.victims.push_back({victim.key(), victim.uid});
    gone.insert(victim.uid);
    if (options_.kind != preempt::Kind::kMoves) continue;
    protocol::Promise::Move& move = promise.moves.emplace_back();
    move = {promise.victims.back(), victim.controller()->uid, answer.placements.at(victim.key()), {}};
    for (const uint32_t claim : world_->pods[pod].claims)
      if (const std::string key = world_->claims[claim]->metadata.key(); promise.allocations.contains(key))
        move.claims.push_back(key);
  }
  for (const auto& claim : world_->claims) {
    const auto& consumers = claim->status.reserved_for;
    if (claim->status.allocation && !consumers.empty() &&
        std::all_of(consumers.begin(), consumers.end(), [&](const auto& one) { return gone.contains(one.uid); }))
      promise.victim_claims.push_back({claim->metadata.key(), claim->metadata.uid});
  }
  return promise;
}

// ---- the question

// The place of a pod with a promise is kept by the promise; a nomination by somebody else keeps a place for a pod of
// its own priority and above.
void LiveWorld::set_nominations_aside() {
  std::set<std::string> nominated;
  for (std::string& uid : engines_.nodes.nominated()) nominated.insert(std::move(uid));
  if (nominated.empty()) return;
  std::set<std::string> aside;  // keys
  for (const preempt::Promise& promise : world_->promises)
    for (const auto& [pod, node] : promise.placements) aside.insert(pod);
  for (const uint32_t pod : world_->pending) aside.insert(world_->pods[pod].object->metadata.key());
  const int64_t priority = preempt::priority_of(*world_, world_->pending);
  for (const preempt::Pod& pod : world_->pods) {
    if (!nominated.contains(pod.object->metadata.uid)) continue;
    if (pod.object->priority >= priority && !aside.contains(pod.object->metadata.key())) continue;
    aside_.emplace_back(pod.object, std::string(engines_.nodes.counts_on(*pod.object)));
    world_->cluster.remove_pod(pod.object->metadata.uid);
  }
}

// A promise to another pod on a device in quarantine falls, since its owner will not get it. A device that only these
// pods avoid is left to the promise that names it: held back it would look as if the promise could not stand.
void LiveWorld::hold_avoided_devices_back() {
  std::vector<protocol::AvoidedDevice> all = protocol::quarantined_devices(view_);
  for (const uint32_t pod : world_->pending) {
    std::vector<protocol::AvoidedDevice> own = protocol::own_avoided_devices(view_, *world_->pods[pod].object);
    std::erase_if(own, [&](const protocol::AvoidedDevice& one) { return is_promised(one.name); });
    protocol::add_avoided(std::move(own), all);
  }
  held_back_.emplace(engines_.inventory, all);
}

// What was given to a next pod already is held by it.
void LiveWorld::hold_places_of_moved() {
  api::AllocationResult held;
  for (const MovedAway& away : moved_away_)
    if (!is_next_of(away)) protocol::add_unheld(away.devices, engines_.inventory, held);
  if (held.results.empty()) return;
  engines_.inventory.assume(kPlacesOfMoved, held);
  holds_places_ = true;
}

// A pod that is asked about gets the place, and it is not the one that the others moved for.
bool LiveWorld::is_next_of(const MovedAway& away) const {
  return std::any_of(world_->pending.begin(), world_->pending.end(), [&](uint32_t pod) {
    const api::Pod& asking = *world_->pods[pod].object;
    return asking.metadata.key() != away.whose && protocol::is_next_of(away.move, asking);
  });
}

bool LiveWorld::has_kept_place() const {
  return std::any_of(moved_away_.begin(), moved_away_.end(), [this](const MovedAway& one) { return is_next_of(one); });
}

bool LiveWorld::is_promised(const inventory::DeviceName& device) const {
  for (size_t i = 0; i < owners_.size(); ++i)
    if (owners_[i] != asked_)
      for (const auto& [claim, allocation] : world_->promises[i].allocations)
        for (const api::DeviceRequestAllocationResult& result : allocation.results)
          if (inventory::DeviceName{result.driver, result.pool, result.device} == device) return true;
  return false;
}

LiveWorld::Refusal LiveWorld::ask_for(const api::Pod& pod) {
  const uint32_t* number = pods_.find(pod.metadata.key());
  if (number == nullptr || world_->pods[*number].object->metadata.uid != pod.metadata.uid)
    return {"the pod is not known any more", true};
  if (!budgets_known_)
    return {"PodDisruptionBudgets cannot be read here: the manager's role " +
                std::string(options_.kind == preempt::Kind::kMoves ? "defragment" : "preemption") + " permits it",
            false};
  asked_ = pod.metadata.key();
  std::vector<uint32_t> pending{*number};
  if (Refusal refusal = find_members(pod, pending); !refusal.why.empty()) return refusal;
  for (const uint32_t one : pending)
    if (Refusal refusal = judge(one); !refusal.why.empty()) {
      if (of_group_) refusal.why = "its member " + world_->pods[one].object->metadata.name + ": " + refusal.why;
      return refusal;
    }
  if (of_group_) find_equal(pending);
  world_->pending = std::move(pending);
  set_nominations_aside();
  hold_avoided_devices_back();
  hold_places_of_moved();
  return {};
}

std::string LiveWorld::searches_more() const {
  return options_.kind == preempt::Kind::kMoves ? "kubectl dra whatif make-room -f FILE" : "kubectl dra whatif preempt";
}

// The waiting members of its group, in place of the pod.
LiveWorld::Refusal LiveWorld::find_members(const api::Pod& pod, std::vector<uint32_t>& pending) {
  const preempt::Pod& asking = world_->pods[pending.front()];
  const bool grouped = asking.group != preempt::kNobody || asking.group_missing;
  if (options_.kind == preempt::Kind::kMoves) {
    if (!grouped) return {};
    return {"it belongs to a group, and groups only get advice: " + searches_more() + " names the pods", false};
  }
  const Membership membership = protocol::membership_of(view_, pod);
  if (membership.state == Membership::State::kWaits)
    return {membership.group.shown() + ": " + membership.why, membership.ordinary};
  if (membership.state == Membership::State::kAlone) {
    if (asking.group == preempt::kNobody || world_->groups[asking.group].min_count < 2) return {};
    return {"its group is not understood" + (membership.why.empty() ? "" : ": " + membership.why), false};
  }
  const auto advised = [&](const std::string& why) {
    return Refusal{membership.group.shown() + " " + why + ", and such groups only get advice: " + searches_more() +
                       " names the pods",
                   false};
  };
  of_group_ = true;
  const std::string group = membership.group.key();
  if (!membership.above.empty()) return advised("is placed together with others");
  if (!membership.topology.required.empty()) return advised("must be in one domain of " + membership.topology.required);
  if (protocol::is_too_large(view_, group)) return advised("has too many pods");
  pending.clear();
  size_t running = 0;
  bool ended = false;
  for (const api::Pod* member : view_.pods_of_group(group)) {
    ended = ended || member->phase == "Succeeded";
    if (!member->terminal() && !member->metadata.deleting() && !member->node_name.empty()) ++running;
    if (!waits(*member, options_)) continue;
    if (protocol::asks_for_rails(view_, *member)) return advised("must be on the same rails");
    const uint32_t* number = pods_.find(member->metadata.key());
    if (number == nullptr) return {"its members are being read", true};
    pending.push_back(*number);
  }
  if (pending.size() > protocol::kMostPlaces)
    return advised("has more than " + std::to_string(protocol::kMostPlaces) + " waiting members");
  // Of a group that has started members join one by one.
  const bool too_few = running + pending.size() < membership.min_count && running == 0 && !ended;
  if (pending.empty() || too_few) return {"its group has too few members that wait", true, true};
  std::sort(pending.begin(), pending.end());
  return {};
}

// One of the pods that are asked about. Sets its pairs.
LiveWorld::Refusal LiveWorld::judge(uint32_t number) {
  preempt::Pod& asking = world_->pods[number];
  const api::Pod& pod = *asking.object;
  if (pod.scheduling_parts_dropped > 0) return {"it has more rules than are read", false};
  if (!protocol::volume_claim_keys_of(pod).empty())
    return {"it has PersistentVolumeClaims, whose place is not judged here: " + searches_more() + " names the pods",
            false};
  if (!protocol::extended_resources_of(view_, pod).empty())
    return {"it asks for extended resources that claims provide: " + searches_more() + " names the pods", false};
  const auto needs = placement::PodNeeds::of(pod);
  if (!needs) return {needs.error().message(), false};
  if (needs->reads_namespaces())
    return {"its affinity selects namespaces by label: " + searches_more() + " names the pods", false};
  std::vector<std::shared_ptr<const api::ResourceClaim>> claims;
  for (const std::string& key : protocol::claim_keys_of(pod)) {
    const uint32_t* claim = claims_.find(key);
    const api::ResourceClaim* newest = view_.claim(key);
    if (claim == nullptr || newest == nullptr ||
        newest->metadata.resource_version != world_->claims[*claim]->metadata.resource_version)
      return {"its claims are being written", true};
    if (newest->metadata.deleting()) return {"a claim of it is being deleted", true};
    claims.push_back(world_->claims[*claim]);
  }
  if (claims.size() < protocol::claim_keys_of(pod).size()) return {"its claims are being made", true};
  const alignment::PodPairs pairs = protocol::pairs_of_pod(pod, claims);
  if (pairs.refusal) return {pairs.refusal->message, false};
  asking.pairs = pairs.entries;
  return {};
}

// Members of one template are counted together.
void LiveWorld::find_equal(const std::vector<uint32_t>& pending) {
  std::vector<std::vector<protocol::ClaimState>> claims(pending.size());
  nodes::MemberShapes shapes(engines_.nodes);
  for (size_t i = 0; i < pending.size(); ++i) {
    preempt::Pod& pod = world_->pods[pending[i]];
    for (const uint32_t claim : pod.claims) claims[i].emplace_back().claim = world_->claims[claim];
    pod.shape = shapes.of(*pod.object, claims[i]);
    if (pod.shape.empty()) continue;
    for (const alignment::PairEntry& pair : pod.pairs) pod.shape += "\n" + pair.text;
  }
}

}  // namespace dra::preemption
