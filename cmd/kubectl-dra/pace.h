// How often -w reads a cluster.
#pragma once

#include <algorithm>

#include "pkg/base/clock.h"

namespace dra::kubectl {

constexpr Duration kWatchEvery = std::chrono::seconds(2);
constexpr Duration kRetryAtMost = std::chrono::seconds(30);  // after failures
constexpr int kReadingShare = 9;                             // pause after a round, in multiples of its reading time

inline Duration pause_after(Duration reading) {
  return std::max(kWatchEvery, reading * kReadingShare);
}

}  // namespace dra::kubectl
