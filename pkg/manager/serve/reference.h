// What this program exposes, for its reference page and the chart's roles and policies: every controller, permission,
// metric, event, condition and annotation with its meaning.
//
//   scripts/render-reference build/release/bin/dra-controller-manager > docs/user/reference.md
//   scripts/render-roles build/release/bin/dra-controller-manager > charts/dra-controller-manager/files/roles.yaml
//   scripts/render-annotations build/release/bin/dra-controller-manager >
//       charts/dra-controller-manager/files/annotations.yaml
#pragma once

#include <string>

#include "pkg/metrics/metrics.h"

namespace dra::manager {

// Registers every metric that a manager serves, without a manager.
void register_metrics(metrics::Registry& registry);

// {"controllers": [{name, aliases, does, flags}], "roles": [{name, controller, without, namespace, rules: [{group,
// resource, verbs, name}], when: [{path, in}], readsOnlyWhen}], "metrics": [{name, type, labels, help}], "events":
// [{reason, type, on, meaning, whatToDo}], "conditions": [{type, on, status, reason, meaning}], "annotations": [{name,
// on, value, since, page}]}, in a fixed order.
std::string reference_json();

}  // namespace dra::manager
