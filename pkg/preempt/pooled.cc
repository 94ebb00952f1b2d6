#include "pkg/preempt/pooled.h"

#include <algorithm>
#include <unordered_set>

#include "pkg/preempt/device_counts.h"

namespace dra::preempt {
namespace {

// The same devices can serve both: they differ in nothing but name and count.
bool same_devices(const api::DeviceRequest& a, const api::DeviceRequest& b) {
  if (!a.exactly || !b.exactly) return false;
  api::DeviceSubRequest one = *a.exactly, other = *b.exactly;
  for (api::DeviceSubRequest* request : {&one, &other}) {
    request->count = 1;
    if (request->allocation_mode.empty()) request->allocation_mode = "ExactCount";
  }
  return one == other && one.allocation_mode == "ExactCount" && !one.admin_access;
}

// How many more devices that could serve the request are free if the claim is allocated anew.
int64_t left_by(const api::ResourceClaim& claim, const api::DeviceRequest& request) {
  const auto& results = claim.status.allocation->results;
  auto left = static_cast<int64_t>(
      std::count_if(results.begin(), results.end(), [](const auto& one) { return !one.admin_access; }));
  for (const api::DeviceRequest& own : claim.spec.requests)
    if (same_devices(own, request)) left -= std::max<int64_t>(1, own.exactly->count);
  return std::max<int64_t>(0, left);
}

}  // namespace

bool moves_may_suffice(const World& world, const Stage& stage, const Fit& fit, const Candidates& candidates) {
  if (fit.needed() < world.pending.size()) return true;  // some of them may wait
  std::vector<std::shared_ptr<const api::ResourceClaim>> claims;
  for (const uint32_t pod : world.pending)
    for (auto& claim : fit.claims_to_allocate(pod))
      if (std::find(claims.begin(), claims.end(), claim) == claims.end()) claims.push_back(std::move(claim));
  const DeviceCounts counts(world, claims, world.devices.nodes());
  for (const DeviceCounts::Wanted& wanted : counts.wanted()) {
    if (!wanted.total) continue;
    int64_t missing = -*wanted.total;
    for (const DeviceCounts::Wanted& one : counts.wanted())
      if (same_devices(*one.request, *wanted.request)) missing += one.devices;
    std::unordered_set<uint32_t> seen;
    for (const uint32_t pod : candidates.all()) {
      if (missing <= 0) break;
      for (const uint32_t claim : stage.held_by(pod))
        if (seen.insert(claim).second) missing -= left_by(*world.claims[claim], *wanted.request);
    }
    if (missing > 0) return false;
  }
  return true;
}

}  // namespace dra::preempt
