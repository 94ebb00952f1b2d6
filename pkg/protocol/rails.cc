#include "pkg/protocol/rails.h"

#include <algorithm>
#include <tuple>

#include "pkg/api/scheduling.h"
#include "pkg/protocol/groups.h"
#include "pkg/protocol/pod_claims.h"

namespace dra::protocol {

using reconcile::View;

namespace {

// The pods that count, and the annotations of their PodGroup; null: there is none.
std::vector<const api::Pod*> members_of_group(const View& view, const api::Pod& pod, const api::StringMap*& pod_group) {
  pod_group = nullptr;
  const std::optional<GroupRef> group = group_of(pod);
  if (!group || membership_of(view, pod).state == Membership::State::kAlone) return {&pod};
  if (group->source != GroupRef::Source::kJob) {
    const auto api =
        group->source == GroupRef::Source::kCore ? reconcile::GroupApi::kCore : reconcile::GroupApi::kPlugins;
    if (const api::PodGroup* known = view.pod_group(api, group->ns + "/" + group->name))
      pod_group = &known->metadata.annotations;
  }
  const std::string key = group->key();
  std::vector<const api::Pod*> pods =
      is_too_large(view, key) ? view.started_of_group(key, kMaxGroupMembers) : view.pods_of_group(key);
  std::erase_if(pods, [&](const api::Pod* one) { return one->done() || one->metadata.uid == pod.metadata.uid; });
  pods.push_back(&pod);
  return pods;
}

bool any_asks(const std::vector<const api::Pod*>& pods, const api::StringMap* pod_group) {
  return (pod_group != nullptr && alignment::has_rails(*pod_group)) ||
         std::any_of(pods.begin(), pods.end(),
                     [](const api::Pod* one) { return alignment::has_rails(one->metadata.annotations); });
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
  const api::StringMap* pod_group = nullptr;
  return any_asks(members_of_group(view, pod, pod_group), pod_group);
}

PodRails rails_of(const View& view, const api::Pod& pod) {
  PodRails out;
  const api::StringMap* pod_group = nullptr;
  std::vector<const api::Pod*> pods = members_of_group(view, pod, pod_group);
  out.any = any_asks(pods, pod_group);
  if (!out.any) return out;
  std::sort(pods.begin(), pods.end(), [](const api::Pod* a, const api::Pod* b) {
    return std::tie(a->metadata.creation_timestamp, a->metadata.uid) <
           std::tie(b->metadata.creation_timestamp, b->metadata.uid);
  });
  std::vector<alignment::RailMember> members;
  for (const api::Pod* one : pods) {
    const RailPod& made = out.pods.emplace_back(named_claims(view, *one));
    members.push_back({&one->metadata.annotations, made.claims, made.names});
  }
  out.read = alignment::read_group_rails(pod_group, members);
  return out;
}

}  // namespace dra::protocol
