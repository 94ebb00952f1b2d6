// Flags that contradict each other: each is right alone, together they ask for what cannot be.
#pragma once

#include <functional>
#include <string>

#include "cmd/dra-controller-manager/flags.h"

namespace dra::cmd {

// The first contradiction as one sentence that names the flags and what to do; empty when there is none. `given` says
// whether a flag was on the command line, since a default contradicts nothing.
std::string contradiction(const Flags& flags, const std::function<bool(const char* flag)>& given);

}  // namespace dra::cmd
