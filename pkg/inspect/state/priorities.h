// Priorities of pods that are on no server yet. Pure.
#pragma once

#include <string>

#include "pkg/api/core.h"
#include "pkg/inspect/state/objects.h"

namespace dra::inspect {

struct SetPriority {
  bool preempts = true;  // its PriorityClass does not say that its pods preempt nobody
  std::string unknown;   // a clause: its class is not known, and its priority is taken as 0; empty: nothing is missing
};

// Sets the pod's priority from its PriorityClass, or the default one, as admission does; a priority that the pod has
// stays. PriorityClasses are those of Objects::evictions.
SetPriority set_priority(const Objects& objects, api::Pod& pod);

}  // namespace dra::inspect
