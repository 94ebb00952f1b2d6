// NetworkPolicies: stored and checked. Nothing enforces them.
#pragma once

#include "pkg/apiserver/kinds/folders.h"

namespace dra::apiserver {

std::vector<SchemaTable> network_tables();
void add_network_kinds(KindRegistry& registry);

}  // namespace dra::apiserver
