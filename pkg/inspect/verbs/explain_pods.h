// explain's answer about several pods: those of one owner. Pure over a State.
#pragma once

#include <string>
#include <vector>

#include "pkg/inspect/verbs/explain.h"

namespace dra::inspect {

// The causes of waiting, without what would help: that takes long for many pods.
AskCause pod_cause(State& state, const ExplainOptions& options);

// The causes of those that wait, or, of those that run, the one that has most to say. `owner`: "job ml/train". At least
// one pod.
Answer explain_pods(State& state, const std::string& owner, const std::vector<const api::Pod*>& pods,
                    const ExplainOptions& options);

// explain's table, of the devices of all these pods. In explain.cc.
Table devices_of(const State& state, const std::vector<const api::Pod*>& pods);

}  // namespace dra::inspect
