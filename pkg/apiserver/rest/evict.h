// POST pods/X/eviction: takes a disruption from the pod's budget, marks the pod and deletes it; 429 where the budget
// allows none, 500 for a pod under two budgets (registry/core/pod/storage/eviction.go).
#pragma once

#include "pkg/apiserver/rest/call.h"

namespace dra::apiserver {

void evict_pod(const Env& env, const CallPtr& call);

}  // namespace dra::apiserver
