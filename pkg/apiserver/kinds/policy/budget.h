// What a PodDisruptionBudget allows: its status as the disruption controller computes it, and what it answers to an
// eviction. Pure but for what the reader returns.
//
// Source: the disruption controller and the eviction storage of kubernetes 1.36; answers compared
// with a real server of 1.36.2 (test/conformance/budgets_test.py).
#pragma once

#include <optional>
#include <string>

#include "pkg/apiserver/model/kind.h"
#include "pkg/base/timestamp.h"

namespace dra::apiserver {

// How long a pod that was evicted counts as gone while it is still there.
inline constexpr std::chrono::minutes kDisruptedFor{2};

// An empty selector matches every pod of the namespace, an absent one none.
bool budget_selects(const Json& budget, const Json& pod);
bool pod_is_ready(const Json& pod);

// `again`: when an evicted pod that is still there counts again, if there is one.
Json budget_status(const ObjectReader& reader, const KindRegistry& kinds, const Json& budget, Timestamp now,
                   std::optional<Timestamp>& again);

// The budget's status after one more eviction, or 429, or 403 where the status makes no sense.
StatusOr<Json> status_after_eviction(const Json& budget, const std::string& pod, Timestamp now);

// 429 for an eviction that raced with another change.
Status still_processed(const std::string& budget);

}  // namespace dra::apiserver
