#include "pkg/apiserver/coreapi/kinds.h"
#include "pkg/apiserver/kind.h"
#include "pkg/apiserver/kinds/folders.h"
#include "pkg/apiserver/quota/quota.h"
#include "pkg/apiserver/rbacapi/kinds.h"
#include "pkg/apiserver/resourceapi/kinds.h"
#include "pkg/apiserver/workloadapi/kinds.h"

namespace dra::apiserver {

void register_all_kinds(KindRegistry& registry) {
  auto plain = [&](std::string_view group, std::string_view plural) {
    registry.add(std::make_unique<Kind>(catalog_info(group, plural)));
  };
  registry.add(make_config_map_kind());
  registry.add(make_event_kind());
  registry.add(make_namespace_kind());
  registry.add(make_node_kind());
  registry.add(make_pod_kind());
  registry.add(make_secret_kind());
  plain("", "serviceaccounts");
  registry.add(make_service_kind());
  registry.add(make_deployment_kind());
  registry.add(make_replica_set_kind());
  registry.add(make_stateful_set_kind());
  registry.add(make_daemon_set_kind());
  registry.add(make_replication_controller_kind());
  registry.add(make_resource_quota_kind());
  registry.add(make_job_kind());
  registry.add(make_pod_disruption_budget_kind());
  registry.add(make_cluster_role_binding_kind());
  registry.add(make_cluster_role_kind());
  registry.add(make_role_binding_kind());
  registry.add(make_role_kind());
  registry.add(make_lease_kind());
  registry.add(make_priority_class_kind());
  registry.add(make_device_class_kind());
  registry.add(make_device_taint_rule_kind());
  registry.add(make_resource_claim_kind());
  registry.add(make_resource_claim_template_kind());
  registry.add(make_resource_slice_kind());
  for (const KindFolder& folder : kind_folders()) folder.add_kinds(registry);
}

}  // namespace dra::apiserver
