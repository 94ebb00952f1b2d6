// What this program exposes, for its reference page: every metric, event and condition with its meaning.
//
//   scripts/render-reference build/release/bin/dra-controller-manager > docs/user/reference.md
#pragma once

#include <string>

#include "pkg/metrics/metrics.h"

namespace dra::manager {

// Registers every metric that a manager serves, without a manager.
void register_metrics(metrics::Registry& registry);

// {"metrics": [{name, type, labels, help}], "events": [{reason, type, on, meaning, whatToDo}], "conditions": [{type,
// on, status, reason, meaning}]}, in a fixed order.
std::string reference_json();

}  // namespace dra::manager
