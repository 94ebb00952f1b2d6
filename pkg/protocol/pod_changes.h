// What a change of a pod is about. Pure.
#pragma once

#include "pkg/api/core.h"

namespace dra::protocol {

// Somebody wrote conditions, and nothing else changed but the history written along with them (history.h). Who applied
// them is in managedFields, which does not count; nor does the version.
bool is_only_of_conditions(const api::Pod& before, const api::Pod& after);

}  // namespace dra::protocol
