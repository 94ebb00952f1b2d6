#include "pkg/protocol/recreations.h"

#include <algorithm>
#include <iterator>

#include "pkg/protocol/pod_claims.h"

namespace dra::protocol {

using reconcile::View;

namespace {

const api::Pod* same_pod(const View& view, const std::string& key, const std::string& uid) {
  const api::Pod* pod = view.pod(key);
  return pod != nullptr && pod->metadata.uid == uid ? pod : nullptr;
}

bool runs(const api::Pod& pod) {
  return pod.phase == "Running" || pod.phase == "Succeeded";
}

}  // namespace

bool Recreations::settle(const View& view, Round& round) {
  std::erase_if(round.evicted, [&](const One& one) {
    const api::Pod* pod = same_pod(view, one.key, one.uid);
    return pod != nullptr && !pod->metadata.deleting() && view.now() - one.at > kRefused;
  });
  std::erase_if(round.made, [&](const One& one) {
    const api::Pod* pod = same_pod(view, one.key, one.uid);
    return pod == nullptr || pod->phase == "Failed";
  });
  if (round.evicted.empty()) return true;
  const bool all_gone = std::none_of(round.evicted.begin(), round.evicted.end(),
                                     [&](const One& one) { return same_pod(view, one.key, one.uid) != nullptr; });
  const bool all_made = round.made.size() >= round.evicted.size() || view.now() - round.last > kNoneComes;
  return all_gone && all_made && std::all_of(round.made.begin(), round.made.end(), [&](const One& one) {
           return runs(*same_pod(view, one.key, one.uid));
         });
}

std::string Recreations::why_later(const View& view, const api::Pod& pod) {
  const api::OwnerReference* owner = pod.metadata.controller();
  if (owner == nullptr || rounds_.empty()) return "";
  const auto known = rounds_.find(owner_key(pod));
  if (known == rounds_.end()) {
    if (rounds_.size() < kMostOwners) return "";
    for (auto next = rounds_.begin(); next != rounds_.end();)
      next = settle(view, next->second) ? rounds_.erase(next) : std::next(next);
    return rounds_.size() < kMostOwners
               ? ""
               : "pods of " + std::to_string(kMostOwners) + " other owners are evicted for this and made anew first";
  }
  Round& round = known->second;
  if (settle(view, round)) {
    rounds_.erase(known);
    return "";
  }
  const bool again = std::any_of(round.evicted.begin(), round.evicted.end(),
                                 [&](const One& one) { return one.uid == pod.metadata.uid; });
  if (again || round.evicted.size() < kAtOnce) return "";
  const std::string text = std::to_string(kAtOnce) + " pods of " + owner->kind + "/" + owner->name +
                           " are evicted for this at a time, and those made in their place do not all run yet";
  constexpr size_t kShown = 3;
  std::string names;
  size_t shown = 0;
  for (const One& one : round.made)
    if (const api::Pod* made = same_pod(view, one.key, one.uid); made && !runs(*made) && shown++ < kShown)
      names += (names.empty() ? ": " : ", ") + made->metadata.name;
  return text + names;
}

void Recreations::begin(const api::Pod& pod, WallTime now) {
  if (pod.metadata.controller() == nullptr) return;
  Round& round = rounds_.try_emplace(owner_key(pod), Round{{}, {}, now, now}).first->second;
  round.last = now;
  std::erase_if(round.evicted, [&](const One& one) { return one.uid == pod.metadata.uid; });
  round.evicted.push_back({pod.metadata.key(), pod.metadata.uid, now});
}

void Recreations::pod_came(const api::Pod& pod) {
  const auto known = rounds_.find(owner_key(pod));
  if (known == rounds_.end()) return;
  Round& round = known->second;
  Timestamp created;
  // Creation times are whole seconds.
  if (!parse_rfc3339(pod.metadata.creation_timestamp, created) || created + std::chrono::seconds(1) < round.began)
    return;
  const auto is_it = [&](const One& one) { return one.uid == pod.metadata.uid; };
  if (round.made.size() >= kMostMade || std::any_of(round.evicted.begin(), round.evicted.end(), is_it) ||
      std::any_of(round.made.begin(), round.made.end(), is_it))
    return;
  round.made.push_back({pod.metadata.key(), pod.metadata.uid, created});
}

}  // namespace dra::protocol
