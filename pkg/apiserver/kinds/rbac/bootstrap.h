// The roles and bindings that an RBAC server starts with, from upstream's bootstrap policy: cluster-admin,
// system:basic-user, system:discovery, system:public-info-viewer, and admin, edit and view for the served kinds.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "pkg/apiserver/model/json.h"

namespace dra::apiserver {

// ("rbac.authorization.k8s.io/clusterroles" or ".../clusterrolebindings", document without uid and timestamps)
std::vector<std::pair<std::string, Json>> bootstrap_policy();

}  // namespace dra::apiserver
