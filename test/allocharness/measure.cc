#include "test/allocharness/measure.h"

#include <algorithm>
#include <chrono>

namespace dra::allocharness {
namespace {

using Time = std::chrono::steady_clock;

int64_t nanos_since(Time::time_point start) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Time::now() - start).count();
}

}  // namespace

Measurement measure(Contest& contest, int repeat) {
  Measurement out;
  Time::time_point start = Time::now();
  out.decision = contest.decide();
  out.cold_nanos = out.nanos = nanos_since(start);
  const bool feasible = out.decision.outcome == allocator::Outcome::kFeasible;
  if (feasible) out.node = contest.inventory().node_name(out.decision.node);
  std::vector<int64_t> times;
  for (int i = 0; i < repeat; ++i) {
    contest.disturb(feasible ? out.decision.node : inventory::kNone);
    start = Time::now();
    const allocator::Decision again = contest.decide();
    times.push_back(nanos_since(start));
    out.stable = out.stable && again.outcome == out.decision.outcome;
  }
  if (!times.empty()) {
    std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end());
    out.nanos = times[times.size() / 2];
  }
  return out;
}

}  // namespace dra::allocharness
