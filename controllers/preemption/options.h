// Options of the preemption controller, made from reconcile::Settings (controller.cc). Plain values.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "pkg/api/core.h"
#include "pkg/base/clock.h"
#include "pkg/preempt/candidates.h"

namespace dra::preemption {

struct Options {
  // The values of spec.schedulerName whose pods are ours to bind, and ours to evict. Without one (gate mode) those are
  // ours that have a claim which this manager allocated.
  std::vector<std::string> scheduler_names;
  // Who must go, or who must move; then at most so many, and only pods that have run for so long.
  preempt::Kind kind = preempt::Kind::kVictims;
  uint32_t max_moves = 4;
  Duration move_after{};
  // Off only in models, to show what it is for: evictions begin when the promise is written (T2).
  bool prove = true;
  // --defragment=on runs, too: promises with moves are its own.
  bool moves_are_made = false;
  // Of one question (preempt::Options).
  uint64_t max_checks = 2'000;
  Duration longest_question = std::chrono::milliseconds(200);
};

// One of our scheduler names places the pod.
inline bool is_ours(const api::Pod& pod, const Options& options) {
  const std::string name = pod.scheduler_name.empty() ? "default-scheduler" : pod.scheduler_name;
  return std::find(options.scheduler_names.begin(), options.scheduler_names.end(), name) !=
         options.scheduler_names.end();
}

}  // namespace dra::preemption
