// Meter: what deciding costs, in steps of about half a microsecond, and whether the slice at hand is used up.
//
//   meter.begin_slice({20'000, std::chrono::milliseconds(6), &clock});
//   while (there is work) { if (meter.stopped()) return not_done_yet; do a little; meter.charge(steps); }
//
// A slice ends by steps or, where a clock is given, by time, whichever comes first. On a simulated clock no time passes
// within a slice, so there steps alone end it and a run stays the same from one time to the next. What does the work
// keeps its state, so that the next slice goes on from there. One thread.
#pragma once

#include <cstdint>

#include "pkg/base/clock.h"

namespace dra::allocator {

inline constexpr Duration kStepTime = std::chrono::nanoseconds(500);

struct SliceLimit {
  uint64_t steps = 0;  // 0: no end
  Duration time{};     // 0: steps alone
  const Clock* clock = nullptr;
};

class Meter {
 public:
  void begin_slice(const SliceLimit& limit) {
    limit_ = limit;
    begun_ = used_;
    stopped_ = false;
    if (limit.clock != nullptr && limit.time > Duration::zero()) until_ = limit.clock->mono_now() + limit.time;
    next_look_ = limit.steps == 0 ? UINT64_MAX : used_ + kLookEvery;
  }
  void charge(uint64_t steps) {
    used_ += steps;
    if (used_ >= next_look_) look();
  }
  bool stopped() const { return stopped_; }
  // Whether something that may take so many steps should begin in this slice. Where it would not fit into any, it may
  // begin early in one.
  bool has_room_for(uint64_t steps) const {
    const uint64_t used = used_ - begun_;
    return !stopped_ && (limit_.steps == 0 || used + steps <= limit_.steps || used <= limit_.steps / 8);
  }
  // Since the meter was made.
  uint64_t used() const { return used_; }
  // What the slice has cost so far: as the clock shows it or, on a clock that stands, as steps do.
  Duration slice_time() const {
    const Duration by_steps = kStepTime * static_cast<int64_t>(used_ - begun_);
    if (limit_.clock == nullptr || limit_.time <= Duration::zero()) return by_steps;
    const Duration by_clock = limit_.clock->mono_now() - (until_ - limit_.time);
    return by_clock > Duration::zero() ? by_clock : by_steps;
  }

 private:
  static constexpr uint64_t kLookEvery = 128;

  void look() {
    next_look_ = used_ + kLookEvery;
    stopped_ = stopped_ || used_ - begun_ >= limit_.steps ||
               (limit_.clock != nullptr && limit_.time > Duration::zero() && limit_.clock->mono_now() >= until_);
  }

  SliceLimit limit_;
  uint64_t used_ = 0;
  uint64_t begun_ = 0;
  uint64_t next_look_ = UINT64_MAX;
  bool stopped_ = false;
  MonoTime until_{};
};

}  // namespace dra::allocator
