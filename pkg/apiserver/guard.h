// Work outside of a request's handling: timers, posted steps and listeners.
#pragma once

#include <functional>
#include <string_view>

namespace dra::apiserver {

// Runs `work`. An exception (a bug, or a disk that refuses a write) is logged as a failure of `what` and goes no
// further, so that it costs neither other listeners their event nor the process its life. True when none was thrown.
bool run_guarded(std::string_view what, const std::function<void()>& work);

}  // namespace dra::apiserver
