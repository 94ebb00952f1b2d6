// explain: which devices a pod or claim has, since when and from whom; or the first broken link on the way there; or,
// for a waiting pod, why it waits. Pure over a State.
#pragma once

#include <string>

#include "pkg/inspect/answer/answer.h"
#include "pkg/inspect/state/state.h"

namespace dra::inspect {

struct ExplainOptions {
  std::string ns = "default";
  std::string node;   // only this one
  size_t width = 80;  // of the terminal
  bool wide = false;
};

// `target`: "pod/X", "claim/X" or "resourceclaim/X", "deployment/X", "replicaset/X", "statefulset/X", "daemonset/X",
// "job/X", "podgroup/X"; "X" is a pod. Errors: the object is unknown (similar names are suggested), or the kind is.
Result<Answer> explain(State& state, const std::string& target, const ExplainOptions& options);

// The name of a claim's allocator for users: "dra-controller-manager", "kube-scheduler", "unknown".
std::string decided_by(const api::ResourceClaim& claim);

}  // namespace dra::inspect
