// top pairs: how many groups of devices of some classes that share a value of an attribute are free on each node, and
// the most that one claim can have now. Pure over a State.
#pragma once

#include <string>

#include "pkg/inspect/answer/answer.h"
#include "pkg/inspect/state/state.h"
#include "pkg/inspect/verbs/top.h"

namespace dra::inspect {

// `text`: "CLASS+CLASS*NUMBER by DOMAIN/ATTRIBUTE", the grammar of dra-controller-manager/pairs with device classes in
// place of requests. Errors (kInvalidArgument, kNotFound) quote the part. Nodes that match the scope's labels.
Result<Answer> top_pairs(State& state, const std::string& text, const Scope& scope);

}  // namespace dra::inspect
