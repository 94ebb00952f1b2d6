#include "pkg/apiserver/schema/tables.h"

#include "pkg/apiserver/schema.h"

namespace dra::apiserver {

const std::vector<SchemaTable>& builtin_schema_tables() {
  static const std::vector<SchemaTable> tables = {
      {"meta/v1", schema_tables::meta_v1()},
  };
  return tables;
}

}  // namespace dra::apiserver
