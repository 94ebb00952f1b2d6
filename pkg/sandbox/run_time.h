// How long the containers of a pod would run, derived from their commands. Internal to this package. Pure.
#pragma once

#include <optional>

#include "pkg/sandbox/step.h"

namespace dra::sandbox {

// Seconds until the last container of the pod ends; nullopt: never by itself. A command ends after the sum of the
// arguments of each `sleep` in it (`sleep 9999`, `sleep 2m; sleep 5`), at least one second; never with `sleep
// infinity`, `tail -f` or an endless loop (`while true`, `while :`). A container without a command runs its image's,
// which is unknown: one second, except for pause images and servers, recognised by an open port or a probe. Sidecars
// and init containers do not count.
std::optional<int64_t> run_seconds(const Json& pod);

// The same for one text, read as a shell would. Bounded: at most ten years.
std::optional<int64_t> command_seconds(std::string_view command);

}  // namespace dra::sandbox
