// Backoff: doubling delays with jitter, as in upstream's reflector.
#pragma once

#include "pkg/base/clock.h"
#include "pkg/base/random.h"

namespace dra::client {

class Backoff {
 public:
  struct Limits {
    Duration first = std::chrono::milliseconds(800);
    Duration most = std::chrono::seconds(30);
    // Starts over after this much time without use.
    Duration reset_after = std::chrono::minutes(2);
  };
  Backoff(const Clock& clock, Random& random, Limits limits)
      : clock_(clock), random_(random), limits_(limits), next_(limits.first) {}
  Backoff(const Clock& clock, Random& random) : Backoff(clock, random, Limits{}) {}

  // Uniform in [d, 2d) for d = first, 2*first, ... most.
  Duration next() {
    MonoTime now = clock_.mono_now();
    if (used_ && now - last_ > limits_.reset_after) next_ = limits_.first;
    used_ = true;
    last_ = now;
    Duration d = next_;
    next_ = std::min(next_ * 2, limits_.most);
    return d + Duration(static_cast<int64_t>(static_cast<double>(d.count()) * random_.unit()));
  }
  void reset() { next_ = limits_.first; }

 private:
  const Clock& clock_;
  Random& random_;
  Limits limits_;
  Duration next_;
  MonoTime last_{};
  bool used_ = false;
};

}  // namespace dra::client
