// What whatif preempt, whatif make-room and explain say about pods that would go or move. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pkg/inspect/answer/answer.h"
#include "pkg/inspect/state/evictions.h"
#include "pkg/preempt/preempt.h"

namespace dra::inspect {

// How long a search may take before its answer is "undecided".
struct EvictionLimits {
  Duration time = std::chrono::seconds(10);
  uint64_t max_checks = 20'000;
};
preempt::Answer least_evictions(EvictionWorld& evictions, preempt::Kind kind, const EvictionLimits& limits);

// "replicaset/web"; "-": no controller, so nobody makes it again.
std::string owner_text(const api::Pod& pod);
// "ml/run (replicaset/web, priority 0)".
std::string pod_text(const EvictionWorld& evictions, uint32_t pod);
// The first of them in words, and how many more there are.
std::string pods_text(const EvictionWorld& evictions, const std::vector<uint32_t>& pods);
// Of the claims that the pod has, by name.
std::vector<std::string> devices_of_pod(const EvictionWorld& evictions, uint32_t pod);
// Where the pending pods go, a row each.
Table places_table(const EvictionWorld& evictions, const preempt::Answer& found);
// "pod ml/a", or "the 4 waiting pods of group ml/g".
std::string pending_text(const EvictionWorld& evictions);

// A statement for each budget that these pods exceed.
void say_broken_budgets(Answer& answer, const EvictionWorld& evictions, const std::vector<uint32_t>& pods);
// Notes: what is not known, who is left out, what is hidden; the status if the answer may be wrong.
void note_limits_of(Answer& answer, const EvictionWorld& evictions, const Objects& objects, std::string_view verb);

}  // namespace dra::inspect
