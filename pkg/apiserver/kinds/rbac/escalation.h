// Nobody grants more than they hold (k8s.io/kubernetes/pkg/registry/rbac): writers of roles need every permission in
// them, or the verb escalate on the role; writers of bindings need those of the role, or the verb bind on it.
#pragma once

#include "pkg/apiserver/model/kind.h"

namespace dra::apiserver {

StatusOr<void> check_role_escalation(const WriteContext& ctx, const GroupResource& resource, const Json& role);
StatusOr<void> check_binding_escalation(const WriteContext& ctx, const GroupResource& resource, const Json& binding);

}  // namespace dra::apiserver
