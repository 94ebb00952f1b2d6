#include "pkg/apiserver/schema/tables.h"

#include "pkg/apiserver/kinds/folders.h"
#include "pkg/apiserver/schema.h"

namespace dra::apiserver {

const std::vector<SchemaTable>& builtin_schema_tables() {
  static const std::vector<SchemaTable> tables = [] {
    std::vector<SchemaTable> all = api::schema::tables_in_use();
    const SchemaTable own[] = {
        {"core/v1", schema_tables::core_v1_quota()},
        {"apps/v1", schema_tables::apps_v1()},
        {"batch/v1", schema_tables::batch_v1()},
        {"authentication/v1", schema_tables::authentication_v1()},
        {"authorization/v1", schema_tables::authorization_v1()},
        {"autoscaling/v1", schema_tables::autoscaling_v1()},
        {"coordination/v1", schema_tables::coordination_v1()},
        {"events/v1", schema_tables::events_v1()},
        {"policy/v1", schema_tables::policy_v1()},
        {"rbac/v1", schema_tables::rbac_v1()},
        {"resource/v1beta2", schema_tables::resource_taint_rules()},
        {"resource/v1alpha3", schema_tables::resource_taint_rules()},
        {"scheduling/v1", schema_tables::scheduling_v1()},
    };
    all.insert(all.end(), std::begin(own), std::end(own));
    for (const KindFolder& folder : kind_folders())
      for (const SchemaTable& table : folder.tables()) all.push_back(table);
    return all;
  }();
  return tables;
}

const SchemaSet& builtin_schemas() {
  static const SchemaSet* set = new SchemaSet(api::schema::link_tables(builtin_schema_tables()));
  return *set;
}

}  // namespace dra::apiserver
