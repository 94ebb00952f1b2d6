// Clock: the only source of time in the project. Nothing else reads a system clock.
#pragma once

#include <chrono>
#include <string>

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

// metav1.Time: "2026-11-21T10:00:00Z", to the second.
std::string format_rfc3339(WallTime t);
// metav1.MicroTime: "2026-11-21T10:00:00.000000Z".
std::string format_rfc3339_micro(WallTime t);
// Texts that somebody else wrote are read as Timestamp (timestamp.h), which has their whole range.

}  // namespace dra
