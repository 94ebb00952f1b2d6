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

// Whether the priority of the pods allows them to look through it; null: no priority.
bool binds(const Promised& one, std::span<const api::Pod* const> pods) {
  int64_t lowest = INT64_MAX;
  for (const api::Pod* pod : pods) {
    if (pod == nullptr) return true;
    lowest = std::min<int64_t>(lowest, pod->priority);
  }
  return pods.empty() || one.pod->priority >= lowest;
}

bool is_for_one_of(const Promised& one, std::span<const api::Pod* const> pods) {
  return std::any_of(pods.begin(), pods.end(), [&](const api::Pod* pod) { return pod != nullptr && one.is_for(*pod); });
}

}  // namespace

bool Promised::is_of_a_move(const std::string& claim) const {
  return std::any_of(promise.moves.begin(), promise.moves.end(), [&](const protocol::Promise::Move& move) {
    return std::find(move.claims.begin(), move.claims.end(), claim) != move.claims.end();
  });
}

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
    if (!written || !*written || (!pod->node_name.empty() && !(*written)->outlasts_binding())) continue;
    if (all.size() < protocol::kMostPromises && ((*written)->has_moves() || may_preempt(objects, pod->metadata.ns)))
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
  const auto keep = [&](const api::AllocationResult& promised) {
    protocol::add_unheld(promised, state.inventory, kept);
  };
  for (const Promised& one : state.promises) {
    if (!binds(one, pods)) continue;
    const bool own = is_for_one_of(one, pods);
    for (const protocol::Promise::Move& move : one.promise.moves) {
      const bool next = std::any_of(pods.begin(), pods.end(), [&](const api::Pod* pod) {
        return pod != nullptr && protocol::is_next_of(move, *pod);
      });
      const auto known = state.objects.pods.find(move.pod.key);
      if (own ? protocol::has_left(move, known == state.objects.pods.end() ? nullptr : known->second.get()) : !next)
        for (const std::string& claim : move.claims) keep(one.promise.allocations.at(claim));
    }
    if (own) continue;
    std::vector<protocol::Promise::Place> places = protocol::places_of(one.promise, *one.pod);
    // Those that were placed by an earlier decision have their devices.
    std::erase_if(places, [&](const auto& place) { return state.cluster.pod(place.pod.uid) != nullptr; });
    if (places.empty()) continue;
    for (const auto& [claim, allocation] : one.promise.allocations)
      if (!one.is_of_a_move(claim)) keep(allocation);
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
