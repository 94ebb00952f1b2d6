#include "controllers/allocation/kept/kept_members.h"

#include <algorithm>
#include <utility>

#include "pkg/protocol/pod_claims.h"

namespace dra::allocation {

using namespace protocol;
using namespace reconcile;

namespace {

// Nothing: handlers are not notified of every change of the view.
std::optional<Sources> sources_of(const View& view, const GroupMembers& members) {
  Sources sources;
  for (size_t i = 0; i < members.waiting.size(); ++i)
    sources.waiting.emplace(members.waiting[i]->metadata.uid, static_cast<uint32_t>(i));
  for (const api::Pod* pod : view.pods_of_group(members.group.key())) {
    sources.pods.push_back(view.watched_pod(pod->metadata.key()));
    if (sources.pods.back().get() != pod) return std::nullopt;
    const auto member = sources.waiting.find(pod->metadata.uid);
    if (member == sources.waiting.end()) sources.other_uids.insert(pod->metadata.uid);
    for (std::string& key : claim_keys_of(*pod))
      if (member != sources.waiting.end())
        sources.claims[std::move(key)].push_back(member->second);
      else
        sources.other_claims.insert(std::move(key));
  }
  return sources;
}

}  // namespace

// A pod's state is derived from the claims that it names, those that it controls, and those reserved for it.
bool Sources::note_change(const api::ResourceClaim& claim) {
  const std::string key = claim.metadata.key();
  if (other_claims.contains(key)) return false;
  if (const auto named = claims.find(key); named != claims.end())
    changed.insert(named->second.begin(), named->second.end());
  bool others = false;
  const auto note_pod = [&](const std::string& uid) {
    if (const auto member = waiting.find(uid); member != waiting.end()) changed.insert(member->second);
    others = others || other_uids.contains(uid);
  };
  if (const api::OwnerReference* owner = claim.metadata.controller()) note_pod(owner->uid);
  for (const api::ResourceClaimConsumerReference& consumer : claim.status.reserved_for) note_pod(consumer.uid);
  return !others;
}

MemberFacts::MemberFacts(const View& view, const Options& options, Membership of, GroupMembers all)
    : membership(std::move(of)), members(std::move(all)) {
  facts.reserve(members.waiting.size());
  for (const api::Pod* pod : members.waiting) facts.push_back(derive_facts(view, *pod, options));
}

void MemberFacts::derive_changed(const View& view, const Options& options) {
  if (sources.changed.empty()) return;
  for (const uint32_t i : sources.changed) facts[i] = derive_facts(view, *members.waiting[i], options);
  sources.changed.clear();
  asked.clear();
  questions.clear();
}

std::shared_ptr<MemberFacts> KeptMembers::take(const View& view, const Options& options, const Membership& membership) {
  const auto known = std::find_if(kept_.begin(), kept_.end(),
                                  [&](const Kept& one) { return one.made->membership.group == membership.group; });
  if (known == kept_.end()) return nullptr;
  const Kept kept = std::move(*known);
  kept_.erase(known);
  if (kept.view != &view || kept.rewinds != view.rewinds() || kept.made->membership != membership) return nullptr;
  kept.made->derive_changed(view, options);
  return kept.made;
}

void KeptMembers::keep(const View& view, std::shared_ptr<MemberFacts> made) {
  // Nodes and device plugins decide about extended resources too.
  if (std::any_of(made->facts.begin(), made->facts.end(), [](const PodFacts& one) { return !one.extended.empty(); }))
    return;
  if (made->sources.pods.empty()) {
    std::optional<Sources> sources = sources_of(view, made->members);
    if (!sources) return;
    made->sources = std::move(*sources);
  }
  if (kept_.size() >= kMost) kept_.pop_front();
  kept_.push_back({&view, view.rewinds(), std::move(made)});
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
    Sources& sources = kept.made->sources;
    return (before && !sources.note_change(*before)) || (after && !sources.note_change(*after));
  });
}

}  // namespace dra::allocation
