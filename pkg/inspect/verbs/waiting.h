// Waiting: decides all waiting pods one after the other, like the manager on an otherwise idle cluster: by priority,
// then age; each group whole, in one search, at the turn of its oldest pod. Pure.
#pragma once

#include <map>
#include <string>

#include "pkg/inspect/state/state.h"

namespace dra::inspect {

// By key of the pod: where it goes, or why nowhere. The first `explained` refusals are put into words: each of those
// examines all nodes.
std::map<std::string, Placed> decide_waiting(const Objects& objects, StateOptions options, size_t explained);

}  // namespace dra::inspect
