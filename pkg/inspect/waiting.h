// Waiting: all pods that wait, decided one after the other as the manager does on an otherwise idle cluster: by
// priority, then age; groups whole, in one search, at the turn of their oldest pod. Pure.
#pragma once

#include <map>
#include <string>

#include "pkg/inspect/state.h"

namespace dra::inspect {

// By key of the pod: where it goes, or why nowhere. Of refusals the first `explained` are put into words: each costs a
// look at all nodes.
std::map<std::string, Placed> decide_waiting(const Objects& objects, StateOptions options, size_t explained);

}  // namespace dra::inspect
