// DeviceCounts: how many devices of each request are free on each node, as far as counting them says something about
// pods that leave: where counters block devices, or devices are shared, one that leaves may free many.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "pkg/preempt/world.h"

namespace dra::preempt {

class DeviceCounts {
 public:
  // One request that needs a known number of devices.
  struct Wanted {
    int64_t devices = 0;
    std::vector<std::optional<int64_t>> free;     // by node of the list, at most; nothing: counting says nothing
    std::optional<int64_t> total;                 // on all of them together
    const api::DeviceRequest* request = nullptr;  // of one of the claims
  };
  // In the scene as arranged. `claims` have no allocation.
  DeviceCounts(const World& world, const std::vector<std::shared_ptr<const api::ResourceClaim>>& claims,
               std::span<const inventory::NodeId> nodes);

  const std::vector<Wanted>& wanted() const { return wanted_; }

 private:
  std::vector<Wanted> wanted_;
};

}  // namespace dra::preempt
