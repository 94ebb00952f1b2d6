// Clock: the only source of time in the project. Nothing else reads a system clock.
#pragma once

#include <chrono>

namespace dra {

// Wall time (for timestamps in objects) and monotonic time (for delays), both with nanosecond resolution.
using WallTime = std::chrono::time_point<std::chrono::system_clock, std::chrono::nanoseconds>;
using MonoTime = std::chrono::time_point<std::chrono::steady_clock, std::chrono::nanoseconds>;
using Duration = std::chrono::nanoseconds;

class Clock {
 public:
  virtual ~Clock() = default;
  virtual WallTime wall_now() const = 0;
  virtual MonoTime mono_now() const = 0;
};

// The machine's clocks. Safe from any thread.
class SystemClock : public Clock {
 public:
  WallTime wall_now() const override;
  MonoTime mono_now() const override;
};

// Processor time that the calling thread has used: waiting for a core does not count. For measuring, not for delays.
Duration thread_processor_time();

// A clock that moves only when advance() is called. Not thread-safe: one thread owns it.
class ManualClock : public Clock {
 public:
  explicit ManualClock(WallTime start = WallTime{std::chrono::seconds{1'700'000'000}}) : wall_(start) {}
  WallTime wall_now() const override { return wall_; }
  MonoTime mono_now() const override { return mono_; }
  void advance(Duration d) {
    wall_ += d;
    mono_ += d;
  }

 private:
  WallTime wall_;
  MonoTime mono_{};
};

// Texts of times are in timestamp.h.

}  // namespace dra
