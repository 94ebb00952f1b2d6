// replay: makes a decision again from what was read, and shows where it differs from the original. Pure.
#pragma once

#include <string>

#include "pkg/inspect/answer/answer.h"
#include "pkg/inspect/state/state.h"

namespace dra::inspect {

// The pod (by name in `ns`) is removed from its node and its claims lose their devices, unless other pods also use
// them; everything else stays. Later changes influence the result: a difference is a hint, not a proof. Status: kNo if
// it differs.
Result<Answer> replay(const Objects& objects, const std::string& target, const std::string& ns,
                      const StateOptions& options);

}  // namespace dra::inspect
