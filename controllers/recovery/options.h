// Options of the recovery controller.
#pragma once

#include <chrono>
#include <string_view>

#include "pkg/base/clock.h"

namespace dra::recovery {

inline constexpr std::string_view kRecoverFlag = "recover-failed-prepares";
// On a Namespace, which only administrators write: its pods may be made anew.
inline constexpr std::string_view kRecoverLabel = "dra-controller-manager/recover";

struct Options {
  // So many failed attempts, or a device that its driver calls not ready, or kubelet unhealthy, for so long: kubelet
  // tries again every ten seconds or so.
  int64_t failures = 3;
  Duration stands = std::chrono::seconds(30);
};

}  // namespace dra::recovery
