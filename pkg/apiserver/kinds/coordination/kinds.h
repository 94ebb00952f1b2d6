// Leases: stored and checked, for leader election.
#pragma once

#include "pkg/apiserver/kinds/folders.h"

namespace dra::apiserver {

std::vector<SchemaTable> coordination_tables();
void add_coordination_kinds(KindRegistry& registry);

}  // namespace dra::apiserver
