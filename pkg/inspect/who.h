// who: the devices of a node and their holders, partitions under the device that they are cut from. Pure over a State.
#pragma once

#include <string>

#include "pkg/inspect/answer.h"
#include "pkg/inspect/state.h"

namespace dra::inspect {

// `target`: "NODE" or "NODE/DEVICE". Errors: the node or device is not known; names that are near are suggested.
Result<Answer> who(State& state, const std::string& target);

}  // namespace dra::inspect
