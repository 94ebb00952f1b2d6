#include "pkg/apiserver/kinds/workload/kinds.h"

#include "pkg/apiserver/kinds/kind_info.h"
#include "pkg/apiserver/kinds/workload/tables.h"

namespace dra::apiserver {

std::vector<SchemaTable> workload_tables() {
  return {{"apps/v1", apps_table()},
          {"batch/v1", batch_table()},
          {"core/v1", replication_controller_table()},
          {"autoscaling/v1", scale_table()}};
}

void add_workload_kinds(KindRegistry& registry) {
  for (auto make : {make_deployment_kind, make_replica_set_kind, make_stateful_set_kind, make_daemon_set_kind,
                    make_replication_controller_kind, make_job_kind})
    registry.add(make());
}

KindInfo pod_set_info(KindInfo info, const std::string& short_name, bool scales) {
  info.short_names = {short_name};
  info.categories = {"all"};
  info.has_generation = true;
  if (scales) info.subresources = {{"scale", {"autoscaling", "v1"}, "Scale", {"get", "patch", "update"}}};
  with_status(info);
  return info;
}

}  // namespace dra::apiserver
