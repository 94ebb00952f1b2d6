// Kinds with pod templates: apps/v1, Jobs, ReplicationControllers; and the Scale of those that have one.
#pragma once

#include "pkg/apiserver/kinds/folders.h"

namespace dra::apiserver {

std::vector<SchemaTable> workload_tables();
void add_workload_kinds(KindRegistry& registry);

std::unique_ptr<Kind> make_deployment_kind();
std::unique_ptr<Kind> make_replica_set_kind();
std::unique_ptr<Kind> make_stateful_set_kind();
std::unique_ptr<Kind> make_daemon_set_kind();
std::unique_ptr<Kind> make_replication_controller_kind();
std::unique_ptr<Kind> make_job_kind();

// Adds what these kinds share: the short name, a status, generations, and the scale subresource if it `scales`.
KindInfo pod_set_info(KindInfo info, const std::string& short_name, bool scales);

}  // namespace dra::apiserver
