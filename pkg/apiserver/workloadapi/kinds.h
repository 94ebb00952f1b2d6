// Kinds with pod templates, and PodDisruptionBudgets, for the registry.
#pragma once

#include <memory>

#include "pkg/apiserver/kind.h"

namespace dra::apiserver {

std::unique_ptr<Kind> make_deployment_kind();
std::unique_ptr<Kind> make_replica_set_kind();
std::unique_ptr<Kind> make_stateful_set_kind();
std::unique_ptr<Kind> make_daemon_set_kind();
std::unique_ptr<Kind> make_replication_controller_kind();
std::unique_ptr<Kind> make_job_kind();
std::unique_ptr<Kind> make_pod_disruption_budget_kind();

}  // namespace dra::apiserver
