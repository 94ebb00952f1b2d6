// PodDisruptionBudgets; and the schema of Eviction, a subresource of pods.
#pragma once

#include "pkg/apiserver/kinds/folders.h"

namespace dra::apiserver {

std::vector<SchemaTable> policy_tables();
void add_policy_kinds(KindRegistry& registry);

}  // namespace dra::apiserver
