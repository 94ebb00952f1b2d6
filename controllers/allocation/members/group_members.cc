#include "controllers/allocation/members/group_members.h"

#include <algorithm>
#include <tuple>

#include "pkg/protocol/pod_claims.h"
#include "pkg/protocol/proof.h"
#include "pkg/protocol/users.h"

namespace dra::allocation {

using namespace protocol;
using namespace reconcile;

namespace {

bool waits_for_us(const api::Pod& pod, const Options& options) {
  const Role role = role_of(pod, options);
  return role == Role::kGated || role == Role::kToBind;
}

}  // namespace

bool is_older(const api::Pod* a, const api::Pod* b) {
  return std::tie(a->metadata.creation_timestamp, a->metadata.uid) <
         std::tie(b->metadata.creation_timestamp, b->metadata.uid);
}

bool may_lead(const View& view, const api::Pod& pod, std::string_view group, const Options& options) {
  if (!waits_for_us(pod, options)) return false;
  const std::optional<GroupRef> own = group_of(pod);
  if (!own || own->key() != group) return false;
  // Each pod of a Job states whether it is a member.
  return own->source != GroupRef::Source::kJob || membership_of(view, pod).state == Membership::State::kMember;
}

bool is_launched(const View& view, const api::Pod& pod) {
  if (pod.phase == "Succeeded") return true;
  if (pod.terminal() || pod.metadata.deleting()) return false;
  if (!pod.node_name.empty()) return true;
  if (!pod.scheduling_gates.empty()) return false;
  // An ungated pod is on the list of users of its claims. Pods that never had the gate are on none.
  const std::vector<std::string> keys = claim_keys_of(pod);
  return std::any_of(keys.begin(), keys.end(), [&](const std::string& key) {
    const api::ResourceClaim* claim = view.claim(key);
    return claim && claim->status.allocation && is_user(*claim, pod.metadata.uid);
  });
}

bool is_launched(const View& view, const api::Pod& pod, const Options& options) {
  return !waits_for_us(pod, options) && is_launched(view, pod);
}

bool surely_launched(const View& view, std::string_view group, const Options& options) {
  constexpr size_t kFew = 8;
  const std::vector<const api::Pod*> started = view.started_of_group(group, kFew);
  return std::any_of(started.begin(), started.end(),
                     [&](const api::Pod* pod) { return is_launched(view, *pod, options); });
}

size_t launched_of(const View& view, std::string_view group, size_t enough, const Options& options) {
  if (is_too_large(view, group)) return view.started_of_group(group, enough).size();
  size_t launched = 0;
  for (const api::Pod* pod : view.pods_of_group(group)) {
    launched += is_launched(view, *pod, options) ? 1 : 0;
    if (launched == enough) break;
  }
  return launched;
}

GroupMembers members_of(const View& view, const Membership& membership, const Options& options) {
  GroupMembers members;
  members.group = membership.group;
  members.min_count = membership.min_count;
  members.topology = membership.topology;
  members.hold_timeout = std::min(options.gang_hold_timeout, membership.timeout.value_or(options.gang_hold_timeout));
  for (const api::Pod* pod : view.pods_of_group(membership.group.key())) {
    if (!waits_for_us(*pod, options)) {
      members.launched = members.launched || is_launched(view, *pod);
      continue;
    }
    // Each pod of a Job states the count: the highest one counts, and a pod without one is not a member.
    if (membership.group.source == GroupRef::Source::kJob) {
      const Membership own = membership_of(view, *pod);
      if (own.state != Membership::State::kMember) continue;
      members.min_count = std::max(members.min_count, own.min_count);
    }
    members.waiting.push_back(pod);
  }
  std::sort(members.waiting.begin(), members.waiting.end(), is_older);
  return members;
}

const api::Pod* leader_of(const View& view, std::string_view group, const Options& options) {
  const api::Pod* leader = nullptr;
  for (const api::Pod* pod : view.pods_of_group(group)) {
    if (leader && is_older(leader, pod)) continue;
    if (may_lead(view, *pod, group, options)) leader = pod;
  }
  return leader;
}

GroupRank rank_of(const std::vector<const api::Pod*>& waiting) {
  GroupRank rank;
  if (waiting.empty()) return rank;
  const auto lowest = [](const api::Pod* a, const api::Pod* b) { return a->priority < b->priority; };
  rank.priority = -static_cast<int64_t>((*std::max_element(waiting.begin(), waiting.end(), lowest))->priority);
  const api::Pod* first = *std::min_element(waiting.begin(), waiting.end(), is_older);
  rank.since = first->metadata.creation_timestamp;
  rank.uid = first->metadata.uid;
  return rank;
}

bool is_marked(const api::Pod& pod, const PodState& state) {
  return std::any_of(state.claims.begin(), state.claims.end(), [&](const protocol::ClaimState& claim) {
    return claim.ours && claim.proven && proven_for(*claim.claim) == pod.metadata.uid;
  });
}

std::optional<Timestamp> allocated_at(const api::ResourceClaim& claim) {
  Timestamp at;
  if (!claim.status.allocation || !parse_rfc3339(claim.status.allocation->allocation_timestamp, at))
    return std::nullopt;
  return at;
}

}  // namespace dra::allocation
