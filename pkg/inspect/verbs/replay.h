// replay: makes a decision again from what was read, and shows where it differs from the original. Pure.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "pkg/inspect/answer/answer.h"
#include "pkg/inspect/state/state.h"

namespace dra::inspect {

// The pod (by name in `ns`) is removed from its node and its claims lose their devices, unless other pods also use
// them; everything else stays. Later changes influence the result: a difference is a hint, not a proof. Status: kNo if
// it differs. `target`: "pod/X", or "X"; the error about another kind says which pods are meant.
Result<Answer> replay(const Objects& objects, const std::string& target, const std::string& ns,
                      const StateOptions& options);

// The cluster as it was before these pods were decided: they are on no node, and claims that only they use are free.
Objects before_decision(const Objects& objects, const std::vector<std::shared_ptr<const api::Pod>>& pods);

}  // namespace dra::inspect
