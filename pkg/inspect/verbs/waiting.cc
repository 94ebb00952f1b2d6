#include "pkg/inspect/verbs/waiting.h"

#include <algorithm>
#include <tuple>
#include <vector>

#include "pkg/inspect/state/groups.h"
#include "pkg/protocol/groups.h"
#include "pkg/protocol/memory_view.h"

namespace dra::inspect {
namespace {

using PodPtr = std::shared_ptr<const api::Pod>;
using allocator::Outcome;

class Waiting {
 public:
  Waiting(const Objects& objects, StateOptions options, size_t explained)
      : objects_(objects),
        view_(groups_in(objects, options)),
        state_(objects, std::move(options)),
        explained_(explained) {
    state_.options.explain_refusals = explained > 0;
  }

  std::map<std::string, Placed> run() {
    std::vector<PodPtr> waiting;
    for (const auto& [key, pod] : objects_.pods)
      if (can_be_decided(*pod)) waiting.push_back(pod);
    std::map<const api::Pod*, std::string> since;
    for (const PodPtr& pod : waiting) since[pod.get()] = protocol::waits_since(view_, *pod);
    std::stable_sort(waiting.begin(), waiting.end(), [&](const PodPtr& a, const PodPtr& b) {
      return std::forward_as_tuple(b->priority, since[a.get()], a->metadata.creation_timestamp) <
             std::forward_as_tuple(a->priority, since[b.get()], b->metadata.creation_timestamp);
    });
    for (const PodPtr& pod : waiting) {
      if (outcomes_.contains(pod->metadata.key())) continue;  // decided with its group
      const protocol::Membership member = protocol::membership_of(view_, *pod);
      if (member.state == protocol::Membership::State::kWaits)
        outcomes_[pod->metadata.key()].why = member.group.shown() + ": " + member.why;
      else if (member.state == protocol::Membership::State::kMember && !is_started(view_, member))
        decide_group(member, waiting);
      else
        decide(*pod, member);
    }
    return std::move(outcomes_);
  }

 private:
  // The claims after the earlier decisions.
  Result<std::vector<Claim>> claims_now(const api::Pod& pod) const {
    auto claims = claims_of(objects_, pod);
    if (claims)
      for (Claim& claim : *claims)
        if (const auto known = taken_.find(claim->metadata.key()); known != taken_.end()) claim = known->second;
    return claims;
  }

  void keep(const api::Pod& pod, const std::vector<Claim>& claims, const Placed& placed) {
    state_.take(&pod, claims, placed);
    size_t next = 0;
    for (const Claim& claim : claims) {
      if (claim->status.allocation) continue;
      auto copy = std::make_shared<api::ResourceClaim>(*claim);
      copy->status.allocation = placed.results[next++];
      taken_[claim->metadata.key()] = std::move(copy);
    }
  }

  void put_into_words(const std::string& why) {
    if (!why.empty() && explained_ > 0 && --explained_ == 0) state_.options.explain_refusals = false;
  }

  void decide(const api::Pod& pod, const protocol::Membership& member) {
    Placed& placed = outcomes_[pod.metadata.key()];
    const auto claims = claims_now(pod);
    if (!claims) {
      placed.why = claims.error().message();
      return;
    }
    placed = place_member(state_, joining(objects_, view_, member, pod, *claims, taken_));
    put_into_words(placed.why);
    if (placed.outcome == Outcome::kFeasible) keep(pod, *claims, placed);
  }

  void decide_group(const protocol::Membership& member, const std::vector<PodPtr>& waiting) {
    GroupQuestion group{
        member.group.shown(), member.min_count, {}, member.topology, annotations_of(view_, member.group)};
    std::vector<const api::Pod*> all;
    for (const PodPtr& pod : waiting) {
      const protocol::Membership other = protocol::membership_of(view_, *pod);
      if (other.state != protocol::Membership::State::kMember || !(other.group == member.group)) continue;
      all.push_back(pod.get());
      auto claims = claims_now(*pod);
      if (!claims) continue;  // not ready
      group.min_count = std::max(group.min_count, other.min_count);
      group.members.push_back({pod.get(), std::move(*claims), ""});
      group.members.back().shape = shape_of(group.members.back());
    }
    const std::string needs = std::to_string(group.min_count) + " members must be placed together";
    const auto all_wait = [&](const std::string& why, Outcome outcome) {
      for (const api::Pod* pod : all) {
        Placed& placed = outcomes_[pod->metadata.key()];
        placed.outcome = outcome;
        placed.why = group.name + ": " + why;
      }
    };
    if (group.members.size() < group.min_count)
      return all_wait(
          std::to_string(group.members.size()) + " of " + std::to_string(group.min_count) + " members are ready",
          Outcome::kInfeasible);
    group.running = holders_beside(objects_, view_, member.group, group.members, taken_);
    auto placed = place_group(state_, group);
    if (!placed) return all_wait(needs + "; " + placed.error().message(), Outcome::kError);
    if (placed->outcome != Outcome::kFeasible) return all_wait(needs + ": " + placed->why, placed->outcome);
    for (const api::Pod* pod : all) outcomes_[pod->metadata.key()].why = group.name + ": it is not ready";
    for (size_t i = 0; i < group.members.size(); ++i) {
      const GroupQuestion::Member& one = group.members[i];
      if (placed->members[i].outcome == Outcome::kFeasible) keep(*one.pod, one.claims, placed->members[i]);
      outcomes_[one.pod->metadata.key()] = std::move(placed->members[i]);
    }
  }

  const Objects& objects_;
  const protocol::MemoryView view_;
  State state_;
  size_t explained_;
  ChangedClaims taken_;  // claims that an earlier pod took, as allocated
  std::map<std::string, Placed> outcomes_;
};

}  // namespace

std::map<std::string, Placed> decide_waiting(const Objects& objects, StateOptions options, size_t explained) {
  return Waiting(objects, std::move(options), explained).run();
}

}  // namespace dra::inspect
