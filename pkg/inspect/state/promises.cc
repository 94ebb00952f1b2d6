#include "pkg/inspect/state/promises.h"

#include <algorithm>

#include "pkg/inspect/state/state.h"
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
    if (pod->metadata.uid == one.pod->metadata.uid) return false;
    lowest = std::min<int64_t>(lowest, pod->priority);
  }
  return pods.empty() || one.pod->priority >= lowest;
}

}  // namespace

std::vector<Promised> promised_pods(const Objects& objects) {
  std::vector<Promised> all;
  for (const auto& [key, pod] : objects.pods) {
    if (!pod->node_name.empty() || pod->done() || pod->metadata.deleting()) continue;
    auto written = protocol::promise_of(*pod);
    if (all.size() < protocol::kMostPromises && written && *written && may_preempt(objects, pod->metadata.ns))
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
    // One that was placed by an earlier decision has its devices.
    if (state.cluster.pod(one.pod->metadata.uid) != nullptr || !binds(one, pods)) continue;
    for (const auto& [claim, allocation] : one.promise.allocations)
      for (const api::DeviceRequestAllocationResult& result : allocation.results)
        if (!result.admin_access &&
            (result.share_id || state.inventory.holders({result.driver, result.pool, result.device}).empty()))
          kept.results.push_back(result);
    if (!state.cluster.find_node(one.promise.node)) continue;
    api::Pod promised = *one.pod;
    promised.metadata.uid = "promised/" + one.pod->metadata.uid;
    state.cluster.set_pod(promised, one.promise.node, true);
    placed_.push_back(std::move(promised.metadata.uid));
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
