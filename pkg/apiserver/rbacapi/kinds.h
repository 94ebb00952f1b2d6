// Role, ClusterRole, RoleBinding and ClusterRoleBinding, for the registry. Aggregated cluster roles are stored as sent:
// a controller's work would be to fill their rules.
#pragma once

#include <memory>

#include "pkg/apiserver/kind.h"

namespace dra::apiserver {

std::unique_ptr<Kind> make_role_kind();
std::unique_ptr<Kind> make_cluster_role_kind();
std::unique_ptr<Kind> make_role_binding_kind();
std::unique_ptr<Kind> make_cluster_role_binding_kind();

}  // namespace dra::apiserver
