// Runs work outside of request handling: timers, posted steps and listeners.
#pragma once

#include <functional>
#include <string_view>

namespace dra::apiserver {

// Runs `work`. An exception (a bug, or a failed write to disk) is logged as a failure of `what` and stopped here, so
// that other listeners still get their event and the process lives on. True if none was thrown.
bool run_guarded(std::string_view what, const std::function<void()>& work);

}  // namespace dra::apiserver
