#include "pkg/protocol/rails.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "pkg/api/scheduling.h"
#include "pkg/protocol/groups.h"
#include "pkg/protocol/pod_claims.h"

namespace dra::protocol {

using reconcile::View;

namespace {

// The group of the pod; nothing: it is alone.
std::optional<GroupRef> own_group(const View& view, const api::Pod& pod) {
  std::optional<GroupRef> group = group_of(pod);
  if (group && membership_of(view, pod).state == Membership::State::kAlone) group.reset();
  return group;
}

// Null: there is no PodGroup.
const api::StringMap* annotations_of(const View& view, const GroupRef& group) {
  if (group.source == GroupRef::Source::kJob) return nullptr;
  const auto api = group.source == GroupRef::Source::kCore ? reconcile::GroupApi::kCore : reconcile::GroupApi::kPlugins;
  const api::PodGroup* known = view.pod_group(api, group.ns + "/" + group.name);
  return known == nullptr ? nullptr : &known->metadata.annotations;
}

// The pods that count.
std::vector<const api::Pod*> members_of_group(const View& view, const api::Pod& pod, const GroupRef& group) {
  const std::string key = group.key();
  std::vector<const api::Pod*> pods =
      is_too_large(view, key) ? view.started_of_group(key, kMaxGroupMembers) : view.pods_of_group(key);
  std::erase_if(pods, [&](const api::Pod* one) { return one->done() || one->metadata.uid == pod.metadata.uid; });
  pods.push_back(&pod);
  return pods;
}

// Some of its claims are not made yet, so that its annotation cannot be judged, and nothing is allocated for it.
bool is_being_made(const RailPod& pod) {
  size_t needed = 0;
  for (const api::PodResourceClaim& entry : pod.pod->resource_claims)
    needed += resolve_claim(*pod.pod, entry).state != ResolvedClaim::State::kNotNeeded;
  return pod.names.size() < needed && std::none_of(pod.claims.begin(), pod.claims.end(), [](const auto* claim) {
           return claim->status.allocation.has_value();
         });
}

}  // namespace

RailPod named_claims(const View& view, const api::Pod& pod) {
  RailPod out;
  out.pod = &pod;
  for (const api::PodResourceClaim& entry : pod.resource_claims) {
    const ResolvedClaim resolved = resolve_claim(pod, entry);
    if (resolved.state != ResolvedClaim::State::kNamed) continue;
    const api::ResourceClaim* claim = view.claim(pod.metadata.ns + "/" + resolved.name);
    if (claim == nullptr) continue;
    const auto at = std::find(out.claims.begin(), out.claims.end(), claim);
    out.names.push_back({entry.name, static_cast<uint32_t>(at - out.claims.begin())});
    if (at == out.claims.end()) out.claims.push_back(claim);
  }
  return out;
}

bool asks_for_rails(const View& view, const api::Pod& pod) {
  if (alignment::has_rails(pod.metadata.annotations)) return true;
  const std::optional<GroupRef> group = group_of(pod);
  const api::StringMap* annotations = group ? annotations_of(view, *group) : nullptr;
  return annotations != nullptr && alignment::has_rails(*annotations) && own_group(view, pod).has_value();
}

PodRails rails_of(const View& view, const api::Pod& pod) {
  PodRails out;
  out.any = asks_for_rails(view, pod);
  if (!out.any) return out;
  const std::optional<GroupRef> group = own_group(view, pod);
  const api::StringMap* pod_group = group ? annotations_of(view, *group) : nullptr;
  std::vector<const api::Pod*> pods = group ? members_of_group(view, pod, *group) : std::vector{&pod};
  std::sort(pods.begin(), pods.end(), [](const api::Pod* a, const api::Pod* b) {
    return std::tie(a->metadata.creation_timestamp, a->metadata.uid) <
           std::tie(b->metadata.creation_timestamp, b->metadata.uid);
  });
  std::vector<alignment::RailMember> members;
  for (const api::Pod* one : pods) {
    RailPod read = named_claims(view, *one);
    if (one != &pod && is_being_made(read)) continue;
    const RailPod& made = out.pods.emplace_back(std::move(read));
    members.push_back({&one->metadata.annotations, made.claims, made.names});
  }
  out.read = alignment::read_group_rails(pod_group, members);
  return out;
}

}  // namespace dra::protocol
