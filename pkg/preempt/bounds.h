// Bounds: what must leave a node at least so that one pod fits there, by counting CPU, memory, pods and devices. They
// keep the search away from nodes that cannot be better than what was found, or where nothing helps.
//
// A bound is never a guess: no set of pods that makes room is better. Devices are counted where a pod that leaves frees
// those that it holds and no others, so not in pools in which counters block devices.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "pkg/preempt/fit.h"
#include "pkg/preempt/harm.h"
#include "pkg/preempt/stage.h"
#include "pkg/preempt/world.h"

namespace dra::preempt {

class Bounds {
 public:
  // Of the scene as arranged now; later scenes in which more pods have left are fine. `pod` does not fit in it.
  Bounds(World& world, const Stage& stage, Fit& fit, uint32_t pod, std::span<const inventory::NodeId> nodes);

  // No set of these pods that makes room on nodes[at] has less harm; nothing: none makes room.
  std::optional<Harm> least(size_t at, const std::vector<uint32_t>& pods) const;

 private:
  enum Dimension : uint8_t { kCpu, kMemory, kPods, kDevices };
  static constexpr size_t kDimensions = 4;

  // What the pod frees at most.
  int64_t frees(uint32_t pod, Dimension dimension) const;
  int64_t guarded_needed(size_t at, Dimension dimension, const std::vector<uint32_t>& pods) const;

  World& world_;
  const Stage& stage_;
  struct Charge {
    int64_t cpu = 0, memory = 0;
  };
  std::vector<Charge> charges_;                            // by pod; none where no node lacks CPU or memory
  std::vector<bool> guarded_;                              // by pod: a budget allows no eviction of it
  std::vector<std::array<int64_t, kDimensions>> missing_;  // by node of the list; 0 or less: nothing is
};

}  // namespace dra::preempt
