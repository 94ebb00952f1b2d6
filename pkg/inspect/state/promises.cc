#include "pkg/inspect/state/promises.h"

#include <algorithm>

#include "pkg/inspect/state/state.h"
#include "pkg/protocol/groups.h"
#include "pkg/protocol/moves.h"

namespace dra::inspect {
namespace {

bool may_preempt(const Objects& objects, const std::string& ns) {
  const auto known = objects.namespaces.find(ns);
  if (known == objects.namespaces.end()) return true;
  const auto label = known->second->metadata.labels.find(protocol::kPreemptionAnnotation);
  return label != known->second->metadata.labels.end() && label->second == "true";
}

bool binds(const Promised& one, std::span<const api::Pod* const> pods) {
  int64_t lowest = INT64_MAX;
  for (const api::Pod* pod : pods) {
    if (pod == nullptr) return true;
    if (one.is_for(*pod)) return false;
    lowest = std::min<int64_t>(lowest, pod->priority);
  }
  return pods.empty() || one.pod->priority >= lowest;
}

}  // namespace

bool Promised::is_for(const api::Pod& other) const {
  if (other.metadata.uid == pod->metadata.uid) return true;
  const std::optional<protocol::GroupRef> group = promise.of_group() ? protocol::group_of(*pod) : std::nullopt;
  return group && protocol::group_of(other) == group;
}

namespace {

std::optional<protocol::GroupRef> group_with(const Promised& one) {
  return one.promise.of_group() ? protocol::group_of(*one.pod) : std::nullopt;
}

}  // namespace

std::string owner_name(const Promised& one) {
  const std::optional<protocol::GroupRef> group = group_with(one);
  return group ? group->shown() : one.pod->metadata.key();
}

std::string owner_of(const Promised& one) {
  return (group_with(one) ? "" : "pod ") + owner_name(one);
}

std::vector<Promised> promised_pods(const Objects& objects) {
  std::vector<Promised> all;
  for (const auto& [key, pod] : objects.pods) {
    if (pod->done() || pod->metadata.deleting()) continue;
    auto written = protocol::promise_of(*pod);
    // That of a group outlasts the binding of the pod that has it.
    if (!written || !*written || (!pod->node_name.empty() && !(*written)->of_group())) continue;
    if (all.size() < protocol::kMostPromises && may_preempt(objects, pod->metadata.ns))
      all.push_back({pod.get(), std::move(**written)});
  }
  return all;
}

std::vector<Promised> proven_promises(const Objects& objects) {
  std::vector<Promised> all = promised_pods(objects);
  std::erase_if(all, [](const Promised& one) { return !one.promise.proven; });
  return all;
}

KeptPromises::KeptPromises(State& state, std::span<const api::Pod* const> pods) : state_(state) {
  if (state.promises.empty() || state.keeps_promises) return;
  outermost_ = state.keeps_promises = true;
  api::AllocationResult kept;
  for (const Promised& one : state.promises) {
    if (!binds(one, pods)) continue;
    std::vector<protocol::Promise::Place> places = protocol::places_of(one.promise, *one.pod);
    // Those that were placed by an earlier decision have their devices.
    std::erase_if(places, [&](const auto& place) { return state.cluster.pod(place.pod.uid) != nullptr; });
    if (places.empty()) continue;
    for (const auto& [claim, allocation] : one.promise.allocations)
      for (const api::DeviceRequestAllocationResult& result : allocation.results)
        if (!result.admin_access &&
            (result.share_id || state.inventory.holders({result.driver, result.pool, result.device}).empty()))
          kept.results.push_back(result);
    for (const protocol::Promise::Place& place : places) {
      const auto known = state.objects.pods.find(place.pod.key);
      if (known == state.objects.pods.end() || known->second->metadata.uid != place.pod.uid) continue;
      if (!state.cluster.find_node(place.node)) continue;
      api::Pod promised = *known->second;
      promised.metadata.uid = "promised/" + place.pod.uid;
      state.cluster.set_pod(promised, place.node, true);
      placed_.push_back(std::move(promised.metadata.uid));
    }
  }
  devices_ = !kept.results.empty();
  if (devices_) state.inventory.assume(kPromisedToPods, kept);
}

KeptPromises::~KeptPromises() {
  if (!outermost_) return;
  state_.keeps_promises = false;
  if (devices_) state_.inventory.forget(kPromisedToPods);
  for (const std::string& uid : placed_) state_.cluster.remove_pod(uid);
}

}  // namespace dra::inspect
