#include "pkg/preempt/pooled.h"

#include <algorithm>
#include <unordered_set>

#include "pkg/preempt/device_counts.h"

namespace dra::preempt {
namespace {

// Whether the same devices can serve a request as another one: they differ in nothing but name and count.
class Alike {
 public:
  explicit Alike(const api::DeviceRequest& request) : wanted_(*request.exactly) {}
  bool operator()(const api::DeviceRequest& request) {
    if (!request.exactly || request.exactly->allocation_mode == "All" || request.exactly->admin_access) return false;
    wanted_.count = request.exactly->count;
    wanted_.allocation_mode = request.exactly->allocation_mode;
    return wanted_ == *request.exactly;
  }

 private:
  api::DeviceSubRequest wanted_;  // with count and mode of the one that it was compared with last
};

// How many more devices that could serve such a request are free if the claim is allocated anew.
int64_t left_by(const api::ResourceClaim& claim, Alike& alike) {
  const auto& results = claim.status.allocation->results;
  auto left = static_cast<int64_t>(
      std::count_if(results.begin(), results.end(), [](const auto& one) { return !one.admin_access; }));
  for (const api::DeviceRequest& own : claim.spec.requests)
    if (alike(own)) left -= std::max<int64_t>(1, own.exactly->count);
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
    Alike alike(*wanted.request);
    int64_t missing = -*wanted.total;
    for (const DeviceCounts::Wanted& one : counts.wanted())
      if (alike(*one.request)) missing += one.devices;
    std::unordered_set<uint32_t> seen;
    for (const uint32_t pod : candidates.all()) {
      if (missing <= 0) break;
      for (const uint32_t claim : stage.held_by(pod))
        if (seen.insert(claim).second) missing -= left_by(*world.claims[claim], alike);
    }
    if (missing > 0) return false;
  }
  return true;
}

}  // namespace dra::preempt
