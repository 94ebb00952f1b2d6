// whatif preempt: of which pods a waiting pod would take the place, with the least harm, and where it would go; and
// explain's statement about it. Nobody is evicted. Pure over a State.
#pragma once

#include <string>

#include "pkg/inspect/verbs/eviction_words.h"

namespace dra::inspect {

// `target`: "pod/X" or "X". Errors: the pod is not known, or does not wait. Status: kYes if it fits, or would if the
// named pods went; kNo if it never does; kUnknown if that could not be decided, or depends on what is hidden.
Result<Answer> whatif_preempt(State& state, const std::string& target, const std::string& ns,
                              const EvictionLimits& limits = {});

// For a waiting pod that does not fit: who would have to go. Says nothing where nobody of a lower priority runs, or
// where what decides about evictions was not read.
void say_who_must_go(Answer& answer, State& state, const api::Pod& pod);

}  // namespace dra::inspect
