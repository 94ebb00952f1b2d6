// All that waits, by cause: a row a cause, with how many wait for it. Pure.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "pkg/api/meta.h"
#include "pkg/inspect/answer/answer.h"
#include "pkg/inspect/state/state.h"

namespace dra::inspect {

// Which objects count.
struct WaitingScope {
  std::string ns;             // empty: all namespaces
  api::LabelSelector labels;  // of pods, and of claims that no pod waits for; empty: all
};

// Pods that ask for devices and have no node, or do not start there because a link to their devices is broken. Oldest
// first.
std::vector<const api::Pod*> waiting_pods(const State& state, const WaitingScope& scope);
// Claims without an allocation that no pod waits for. Oldest first.
std::vector<Claim> waiting_claims(const Objects& objects, const WaitingScope& scope);

// How explain() answers about one of them.
struct AskCause {
  std::function<Answer(const api::Pod&)> pod;
  std::function<Answer(const Claim&)> claim;
};

// At most so many pods and claims are asked about; the others are counted under "NotLookedAt". Pods that one owner made
// from one template, with claims that ask for the same, count as one.
inline constexpr size_t kMostAskedAbout = 200;

// Table "causes", most pods first. The status is the worst of the answers, kYes if nothing waits.
// `nothing`: where, if nothing waits: " in namespace ml".
Answer explain_causes(const State& state, const std::vector<const api::Pod*>& pods, const std::vector<Claim>& claims,
                      const AskCause& ask, const std::string& nothing = "");

}  // namespace dra::inspect
