// explain's answer about one pod or one claim: the first broken link to its devices, or why it waits. Pure over a State.
#pragma once

#include <vector>

#include "pkg/inspect/verbs/explain.h"

namespace dra::inspect {

Answer explain_pod(State& state, const api::Pod& pod, const ExplainOptions& options);
Answer explain_claim(State& state, const Claim& claim, const ExplainOptions& options);
// Explain's table of devices, for all these pods.
Table devices_of(const State& state, const std::vector<const api::Pod*>& pods);

}  // namespace dra::inspect
