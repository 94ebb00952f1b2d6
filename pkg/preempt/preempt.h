// Preempt: which pods must go, or move, so that pending pods fit.
//
//   Answer answer = who_must_go(world, options);    // pods of lower priority, for good
//   Answer answer = who_must_move(world, options);  // pods that find another place
//   if (answer.verdict == Verdict::kEvict) for (uint32_t pod : answer.pods) ... world.pods[pod]
//
// Exact: the answer is a best one over all nodes and all sets of pods, by the criteria of harm.h, or it says that the
// budget was spent. "Never" is proven. docs/design/preemption.md has the rules and how the search works. Nothing is
// written and nobody is evicted here.
//
// The inventory and the cluster are changed during a call and restored before it returns. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pkg/base/clock.h"
#include "pkg/preempt/harm.h"
#include "pkg/preempt/world.h"

namespace dra::preempt {

enum class Verdict : uint8_t {
  kFits,       // a placement is valid now, and stays valid when terminating pods have left
  kWait,       // a placement is valid once terminating pods have left
  kEvict,      // needs the pods of Answer::pods to go or to move
  kNever,      // proven: none of these, whatever goes
  kUndecided,  // the budget was spent
};

struct Options {
  // Questions whether pods fit. Beyond it the answer is kUndecided.
  uint64_t max_checks = 20'000;
  // Of one such question, in steps of the allocator.
  uint64_t check_steps = 200'000;
  // The latest end, looked at between two questions; without a clock only questions count.
  const Clock* clock = nullptr;
  Duration time{};
};

struct Answer {
  Verdict verdict = Verdict::kUndecided;
  std::vector<uint32_t> pods;  // kEvict: who goes or moves, sorted. kUndecided: the best set found, perhaps none
  Harm harm;                   // of `pods`
  bool fixed = false;          // the answer is what the promise of these pods says
  bool own_stands = false;     // these pods have a promise, and it stands
  // Of the pending pods that get a place and, for moves, of those that move; by name.
  std::map<std::string, std::string> placements;
  std::map<std::string, api::AllocationResult> allocations;  // of every claim that is given out
  uint64_t checks = 0;
};

// World::pending must be waiting pods.
Answer who_must_go(World& world, const Options& options = {});
Answer who_must_move(World& world, const Options& options = {});

}  // namespace dra::preempt
