// The kinds of the core group, events.k8s.io, coordination.k8s.io and scheduling.k8s.io, for the registry.
#pragma once

#include <memory>

#include "pkg/apiserver/kind.h"

namespace dra::apiserver {

std::unique_ptr<Kind> make_pod_kind();
std::unique_ptr<Kind> make_node_kind();
std::unique_ptr<Kind> make_namespace_kind();
std::unique_ptr<Kind> make_event_kind();
std::unique_ptr<Kind> make_config_map_kind();
std::unique_ptr<Kind> make_service_kind();
std::unique_ptr<Kind> make_secret_kind();
std::unique_ptr<Kind> make_service_account_kind();
std::unique_ptr<Kind> make_lease_kind();
std::unique_ptr<Kind> make_priority_class_kind();

}  // namespace dra::apiserver
