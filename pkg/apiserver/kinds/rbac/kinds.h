// Role, ClusterRole, RoleBinding and ClusterRoleBinding. Aggregated cluster roles are stored as sent: a controller's
// work would be to fill their rules.
#pragma once

#include "pkg/apiserver/kinds/folders.h"

namespace dra::apiserver {

std::vector<SchemaTable> rbac_tables();
void add_rbac_kinds(KindRegistry& registry);

}  // namespace dra::apiserver
