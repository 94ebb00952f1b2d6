#include "controllers/allocation/kept_members.h"

#include <algorithm>
#include <utility>

#include "pkg/reconcile/pod_claims.h"

namespace dra::allocation {

using namespace reconcile;

namespace {

// Nothing: not every change of the view is told.
std::optional<Sources> sources_of(const View& view, const GroupMembers& members) {
  Sources sources;
  for (const api::Pod* pod : view.pods_of_group(members.group.key())) {
    sources.pods.push_back(view.watched_pod(pod->metadata.key()));
    if (sources.pods.back().get() != pod) return std::nullopt;
    sources.uids.insert(pod->metadata.uid);
    for (std::string& key : claim_keys_of(*pod)) sources.claims.insert(std::move(key));
  }
  return sources;
}

}  // namespace

// A pod's state is derived from the claims that it names, those that it controls, and those reserved for it.
bool Sources::include(const api::ResourceClaim& claim) const {
  if (claims.contains(claim.metadata.key())) return true;
  if (const api::OwnerReference* owner = claim.metadata.controller(); owner && uids.contains(owner->uid)) return true;
  return std::any_of(claim.status.reserved_for.begin(), claim.status.reserved_for.end(),
                     [&](const auto& consumer) { return uids.contains(consumer.uid); });
}

MemberSteps::MemberSteps(const View& view, const Tools& tools, Membership of, GroupMembers all)
    : membership(std::move(of)), members(std::move(all)) {
  for (const api::Pod* pod : members.waiting) steps.emplace_back(view, *pod, role_of(*pod, tools.options), tools);
}

std::shared_ptr<MemberSteps> KeptMembers::take(const View& view, const Membership& membership) {
  const auto known = std::find_if(kept_.begin(), kept_.end(),
                                  [&](const Kept& one) { return one.made->membership.group == membership.group; });
  if (known == kept_.end()) return nullptr;
  const Kept kept = std::move(*known);
  kept_.erase(known);
  return kept.view == &view && kept.made->membership == membership ? kept.made : nullptr;
}

void KeptMembers::keep(const View& view, std::shared_ptr<MemberSteps> made) {
  // Nodes and device plugins decide about extended resources too.
  if (std::any_of(made->steps.begin(), made->steps.end(),
                  [](const PodReconcile& steps) { return steps.asks_for_extended(); }))
    return;
  if (made->sources.pods.empty()) {
    std::optional<Sources> sources = sources_of(view, made->members);
    if (!sources) return;
    made->sources = std::move(*sources);
  }
  for (PodReconcile& steps : made->steps) steps.begin_again();
  if (kept_.size() >= kMost) kept_.pop_front();
  kept_.push_back({&view, std::move(made)});
}

void KeptMembers::pod_changed(const api::Pod& pod) {
  if (kept_.empty()) return;
  const std::optional<GroupRef> group = group_of(pod);
  if (!group) return;
  // By key: pods may state different names of one Job.
  const std::string key = group->key();
  std::erase_if(kept_, [&](const Kept& kept) { return kept.made->membership.group.key() == key; });
}

void KeptMembers::claim_changed(const api::ResourceClaim* before, const api::ResourceClaim* after) {
  std::erase_if(kept_, [&](const Kept& kept) {
    const Sources& sources = kept.made->sources;
    return (before && sources.include(*before)) || (after && sources.include(*after));
  });
}

}  // namespace dra::allocation
