#include "controllers/tainteviction/reaches.h"

#include <algorithm>

#include "controllers/tainteviction/verdict.h"
#include "pkg/inventory/taint_rules.h"

namespace dra::tainteviction {

using namespace protocol;
using namespace reconcile;

void Reaches::judge_pod(const View& view, const inventory::Inventory& inventory, const api::DeviceTaintRule& rule,
                        const std::string& key, Known& known) {
  RuleReading reading;
  if (rule.taint.effect == "None") reading.as_no_execute = rule.metadata.uid;
  const api::Pod* pod = view.pod(key);
  const std::optional<DueEviction> verdict = pod ? judge(view, inventory, *pod, reading) : std::nullopt;
  if (verdict && verdict->rules.contains(rule.metadata.uid)) {
    if (known.pods.emplace(key, pod->metadata.ns).second) ++known.namespaces[pod->metadata.ns];
  } else if (const auto was = known.pods.find(key); was != known.pods.end()) {
    const auto ns = known.namespaces.find(was->second);
    if (--ns->second == 0) known.namespaces.erase(ns);
    known.pods.erase(was);
  }
}

std::optional<Reach> Reaches::of(const View& view, const inventory::Inventory& inventory,
                                 const api::DeviceTaintRule& rule) {
  auto [at, made] = known_.try_emplace(rule.metadata.uid);
  Known& known = at->second;
  if (made || known.generation != rule.metadata.generation) {
    known = {};
    known.generation = rule.metadata.generation;
    known.published_devices = inventory.count_selected(rule);
  }
  for (size_t i = 0; i < kClaimPortions && !known.claims.done(); ++i)
    for (const api::ResourceClaim* claim : known.claims.next(view, rule)) {
      for (const api::DeviceRequestAllocationResult& result : claim->status.allocation->results)
        if (inventory::selects(rule, result.driver, result.pool, result.device))
          known.allocated_devices.emplace(result.driver, result.pool, result.device);
      for (const api::Pod* pod : view.pods_of_claim(claim->metadata.key())) known.stale.insert(pod->metadata.key());
    }
  for (size_t i = 0; i < kPodsAtOnce && !known.stale.empty(); ++i) {
    const std::string key = *known.stale.begin();
    known.stale.erase(known.stale.begin());
    judge_pod(view, inventory, rule, key, known);
  }
  if (!known.claims.done() || !known.stale.empty()) return std::nullopt;
  const Reach reach{known.published_devices, known.allocated_devices.size(), known.pods.size(),
                    known.namespaces.size()};
  // The devices are counted for the simulation alone, which happens once.
  if (rule.taint.effect == "None") known_.erase(at);
  return reach;
}

void Reaches::changed(const std::string& pod) {
  for (auto next = known_.begin(); next != known_.end();) {
    const auto known = next++;
    known->second.stale.insert(pod);
    if (known->second.stale.size() > kMostStale) known_.erase(known);
  }
}

void Reaches::changed(const View& view, const api::ResourceClaim& claim) {
  if (known_.empty()) return;
  for (const api::Pod* pod : view.pods_of_claim(claim.metadata.key())) changed(*pod);
}

}  // namespace dra::tainteviction
