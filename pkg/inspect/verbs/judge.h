// explain's statement about a pod or claims that wait: whether they fit, and if not, why. Pure over a State.
#pragma once

#include <string>
#include <vector>

#include "pkg/inspect/state/state.h"
#include "pkg/verdict/verdict.h"

namespace dra::inspect {

struct JudgedPod {
  verdict::Answer outcome = verdict::Answer::kDoesNotFit;
  std::vector<std::string> lines;
};

// `pod` null: claims alone. `entries`: names of the claims in the pod. `nodes`: only these; empty: all.
JudgedPod judge_pod(State& state, const api::Pod* pod, const std::vector<Claim>& claims,
                    const std::vector<std::string>& entries, const std::vector<std::string>& nodes, size_t width,
                    bool wide);

}  // namespace dra::inspect
