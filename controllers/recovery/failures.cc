#include "controllers/recovery/failures.h"

#include <algorithm>

#include "pkg/protocol/device_health.h"
#include "pkg/protocol/pod_claims.h"

namespace dra::recovery {

using namespace protocol;

namespace {

void add_claim(const api::Pod& pod, const api::ResourceClaim& claim, Failures& found,
               std::vector<inventory::DeviceName>& all) {
  std::vector<DeviceTrouble> troubles = troubles_of(claim, nullptr);
  for (DeviceTrouble& trouble : troubles_of(pod, claim)) troubles.push_back(std::move(trouble));
  for (const DeviceTrouble& trouble : troubles)
    found.troubles +=
        (found.troubles.empty() ? "" : "; ") + std::string("device ") + trouble.device + ": " + trouble.why;
  for (const api::DeviceRequestAllocationResult& result : claim.status.allocation->results) {
    const inventory::DeviceName name{result.driver, result.pool, result.device};
    all.push_back(name);
    if (std::any_of(troubles.begin(), troubles.end(),
                    [&](const DeviceTrouble& trouble) { return trouble.device == name.text(); }))
      found.devices.push_back(name);
  }
}

}  // namespace

std::string Failures::text() const {
  if (!troubles.empty()) return troubles;
  return std::to_string(times) + " times" + (note.empty() ? "" : " (" + note + ")");
}

bool may_fail(const api::Pod& pod) {
  if (pod.node_name.empty() || pod.phase != "Pending" || pod.metadata.deleting()) return false;
  if (pod.resource_claims.empty() && !pod.extended_resource_claim_status) return false;
  // Kubelet sets it once the sandbox is there, for which the devices were prepared: init containers run in this phase.
  return std::none_of(pod.conditions.begin(), pod.conditions.end(), [](const api::Condition& condition) {
    return condition.type == "PodReadyToStartContainers" && condition.status == "True";
  });
}

Failures failures_of(const reconcile::View& view, const api::Pod& pod) {
  Failures found;
  for (const api::PrepareEvent* event : view.prepare_events_of(pod.metadata.uid, kMostEvents)) {
    if (event->pod != pod.metadata.key()) continue;  // whose uid somebody wrote elsewhere
    found.times += event->times;
    if (!event->note.empty()) found.note = event->note;
  }
  std::vector<inventory::DeviceName> all;
  for (const std::string& key : claim_keys_of(pod)) {
    const api::ResourceClaim* claim = view.claim(key);
    if (claim != nullptr && claim->status.allocation && is_reserved_for(*claim, pod.metadata.uid))
      add_claim(pod, *claim, found, all);
  }
  found.named = !found.devices.empty();
  if (!found.named) found.devices = std::move(all);
  return found;
}

}  // namespace dra::recovery
