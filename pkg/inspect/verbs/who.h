// who: the devices of a node and their holders, with partitions below their parent device. Pure over a State.
#pragma once

#include <string>

#include "pkg/inspect/answer/answer.h"
#include "pkg/inspect/state/state.h"

namespace dra::inspect {

// `target`: "NODE" or "NODE/DEVICE". Errors: the node or device is not known; similar names are suggested.
Result<Answer> who(State& state, const std::string& target);

}  // namespace dra::inspect
