// Meter: counts the cost of deciding, in steps of about half a microsecond, and reports when the current slice is over.
//
//   meter.begin_slice({20'000, std::chrono::milliseconds(6), &clock});
//   while (there is work) { if (meter.stopped()) return not_done_yet; do a little; meter.charge(steps); }
//
// A slice ends by steps or, with a clock, by time, whichever comes first. On a simulated clock no time passes within a
// slice, so only steps end it and runs are reproducible. The worker keeps its state, so that it can continue in the
// next slice. One thread.
#pragma once

#include <algorithm>
#include <cstdint>

#include "pkg/base/clock.h"

namespace dra::allocator {

inline constexpr Duration kStepTime = std::chrono::nanoseconds(500);

struct SliceLimit {
  uint64_t steps = 0;  // 0: no limit
  Duration time{};     // 0: only steps count
  const Clock* clock = nullptr;
};

class Meter {
 public:
  void begin_slice(const SliceLimit& limit) {
    limit_ = limit;
    begun_ = used_;
    stopped_ = false;
    if (has_clock()) {
      began_ = limit.clock->mono_now();
      until_ = began_ + limit.time;
    }
    next_look_ = limit.steps == 0 ? UINT64_MAX : used_ + kLookEvery;
  }
  // The slice's time ends no earlier than after this; its steps end it as before.
  void grant(Duration time) {
    if (!has_clock()) return;
    until_ = std::max(until_, limit_.clock->mono_now() + time);
    stopped_ = limit_.steps != 0 && used_ - begun_ >= limit_.steps;
  }
  void charge(uint64_t steps) {
    used_ += steps;
    if (used_ >= next_look_) look();
  }
  bool stopped() const { return stopped_; }
  // Its time is over; its steps do not count.
  bool is_late() const { return has_clock() && limit_.clock->mono_now() >= until_; }
  // Whether work of this many steps should begin in this slice. Work that fits no slice may begin in the first eighth
  // of one.
  bool affords(uint64_t steps) const {
    const uint64_t used = used_ - begun_;
    return !stopped_ && (limit_.steps == 0 || used + steps <= limit_.steps || used <= limit_.steps / 8);
  }
  // Steps since the meter was created.
  uint64_t used() const { return used_; }
  // The cost of the slice so far: by the clock or, if the clock stands still, by steps.
  Duration slice_time() const {
    const Duration by_steps = kStepTime * static_cast<int64_t>(used_ - begun_);
    if (!has_clock()) return by_steps;
    const Duration by_clock = limit_.clock->mono_now() - began_;
    return by_clock > Duration::zero() ? by_clock : by_steps;
  }

 private:
  static constexpr uint64_t kLookEvery = 128;

  bool has_clock() const { return limit_.clock != nullptr && limit_.time > Duration::zero(); }
  void look() {
    next_look_ = used_ + kLookEvery;
    stopped_ = stopped_ || used_ - begun_ >= limit_.steps || (has_clock() && limit_.clock->mono_now() >= until_);
  }

  SliceLimit limit_;
  uint64_t used_ = 0;
  uint64_t begun_ = 0;
  uint64_t next_look_ = UINT64_MAX;
  bool stopped_ = false;
  MonoTime began_{}, until_{};
};

}  // namespace dra::allocator
