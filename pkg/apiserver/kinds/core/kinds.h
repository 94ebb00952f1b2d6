// The kinds of the core group that pods and nodes need, and Events (also events.k8s.io).
#pragma once

#include "pkg/apiserver/kinds/folders.h"

namespace dra::apiserver {

std::vector<SchemaTable> core_tables();
void add_core_kinds(KindRegistry& registry);

KindInfo pod_info();
std::unique_ptr<Kind> make_pod_kind();
std::unique_ptr<Kind> make_node_kind();
std::unique_ptr<Kind> make_namespace_kind();
std::unique_ptr<Kind> make_event_kind();
std::unique_ptr<Kind> make_config_map_kind();
std::unique_ptr<Kind> make_service_kind();
std::unique_ptr<Kind> make_secret_kind();
std::unique_ptr<Kind> make_service_account_kind();

}  // namespace dra::apiserver
