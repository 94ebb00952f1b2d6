// explain's statement about a pod or claims that wait: whether they fit, and if not, why. Pure over a State.
#pragma once

#include <string>
#include <vector>

#include "pkg/inspect/answer/answer.h"
#include "pkg/inspect/state/state.h"
#include "pkg/verdict/verdict.h"

namespace dra::inspect {

struct JudgedPod {
  verdict::Answer outcome = verdict::Answer::kDoesNotFit;
  std::vector<std::string> lines;
  // The same as data: "Fits", "DoesNotFit" (with what would help as remedies) or "Undecided", then the causes.
  std::vector<Statement> statements{};
};

struct JudgeOptions {
  std::vector<std::string> nodes;  // only these; empty: all
  size_t width = 80;               // where lines are wrapped; 0: nowhere
  bool wide = false;               // all known names
  bool suggest = true;             // try what would help: up to a thousand decisions
};

// `pod` null: claims alone. `entries`: names of the claims in the pod.
JudgedPod judge_pod(State& state, const api::Pod* pod, const std::vector<Claim>& claims,
                    const std::vector<std::string>& entries, const JudgeOptions& options);

ObjectRef ref_of(const api::Pod& pod);
ObjectRef ref_of(const api::ResourceClaim& claim);

// Adds a line and its statement in front, or behind.
void say_first(JudgedPod& judged, Statement statement);
void say(JudgedPod& judged, Statement statement);

}  // namespace dra::inspect
