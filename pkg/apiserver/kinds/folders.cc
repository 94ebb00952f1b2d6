#include "pkg/apiserver/kinds/folders.h"

#include "pkg/apiserver/admissionapi/kinds.h"
#include "pkg/apiserver/coordinationapi/kinds.h"
#include "pkg/apiserver/coreapi/kinds.h"
#include "pkg/apiserver/extensionapi/kinds.h"
#include "pkg/apiserver/networkapi/kinds.h"
#include "pkg/apiserver/policyapi/kinds.h"
#include "pkg/apiserver/quota/kinds.h"
#include "pkg/apiserver/rbacapi/kinds.h"
#include "pkg/apiserver/resourceapi/kinds.h"
#include "pkg/apiserver/reviewapi/kinds.h"
#include "pkg/apiserver/schedulingapi/kinds.h"
#include "pkg/apiserver/storageapi/kinds.h"
#include "pkg/apiserver/workloadapi/kinds.h"

namespace dra::apiserver {

namespace {

const KindFolder kFolders[] = {
    {core_tables, add_core_kinds},
    {workload_tables, add_workload_kinds},
    {quota_tables, add_quota_kinds},
    {policy_tables, add_policy_kinds},
    {rbac_tables, add_rbac_kinds},
    {coordination_tables, add_coordination_kinds},
    {scheduling_tables, add_scheduling_kinds},
    {resource_tables, add_resource_kinds},
    {review_tables, nullptr},
    {admission_tables, add_admission_kinds},
    {extension_tables, add_extension_kinds},
    {network_tables, add_network_kinds},
    {storage_tables, add_storage_kinds},
};

}  // namespace

void register_all_kinds(KindRegistry& registry) {
  for (const KindFolder& folder : kFolders)
    if (folder.add_kinds != nullptr) folder.add_kinds(registry);
}

const SchemaSet& builtin_schemas() {
  static const SchemaSet* set = [] {
    std::vector<SchemaTable> all = api::schema::tables_in_use();
    for (const KindFolder& folder : kFolders)
      for (const SchemaTable& table : folder.tables()) all.push_back(table);
    return new SchemaSet(api::schema::link_tables(all));
  }();
  return *set;
}

}  // namespace dra::apiserver
