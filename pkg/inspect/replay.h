// replay: a decision made again from what was read, and where it differs from what was decided. Pure.
#pragma once

#include <string>

#include "pkg/inspect/answer.h"
#include "pkg/inspect/state.h"

namespace dra::inspect {

// The pod (by name in `ns`) is taken from its node and its claims lose their devices, unless other pods use them, too;
// all else stays. What came after the decision then weighs in: a difference is a hint, no proof. Status: kNo when it
// differs.
Result<Answer> replay(const Objects& objects, const std::string& target, const std::string& ns,
                      const StateOptions& options);

}  // namespace dra::inspect
