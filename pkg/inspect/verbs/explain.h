// explain: which devices a pod or claim has, since when and from whom; or the first broken link on the way there; or,
// for a waiting pod, why it waits. Pure over a State.
#pragma once

#include <string>

#include "pkg/inspect/answer/answer.h"
#include "pkg/inspect/state/state.h"
#include "pkg/inspect/verbs/explain_causes.h"

namespace dra::inspect {

struct ExplainOptions {
  std::string ns = "default";
  std::string node;   // only this one
  size_t width = 80;  // of the terminal; 0: lines are not wrapped
  bool wide = false;
  bool suggest = true;  // what would make a waiting pod fit
};

// `target`: "pod/X", "claim/X", "podgroup/X", or "KIND/X" for whatever owns pods, by its kind, plural or short name
// (pod_owners.h); "X" is a pod. Errors: the object is unknown (similar names are suggested), or the kind is.
Result<Answer> explain(State& state, const std::string& target, const ExplainOptions& options);

// All pods and claims of the scope that wait, a row a cause. kNo if one of them does not fit or is broken, kUnknown if
// that is not known of one.
Answer explain_waiting(State& state, const WaitingScope& scope, const ExplainOptions& options);

// About one pod, and about one claim.
Answer explain_pod(State& state, const api::Pod& pod, const ExplainOptions& options);
Answer explain_claim(State& state, const Claim& claim, const ExplainOptions& options);

// The name of a claim's allocator for users: "dra-controller-manager", "kube-scheduler", "unknown".
std::string decided_by(const api::ResourceClaim& claim);

}  // namespace dra::inspect
