#include "pkg/apiserver/kinds/folders.h"

namespace dra::apiserver {

#define FOLDER(name)                        \
  std::vector<SchemaTable> name##_tables(); \
  void add_##name##_kinds(KindRegistry& registry);
#include "pkg/apiserver/kinds/list.inc"
#undef FOLDER

namespace {

#define FOLDER(name) {name##_tables, add_##name##_kinds},
const KindFolder kFolders[] = {
#include "pkg/apiserver/kinds/list.inc"
};
#undef FOLDER

}  // namespace

void register_all_kinds(KindRegistry& registry) {
  for (const KindFolder& folder : kFolders) folder.add_kinds(registry);
}

const SchemaSet& builtin_schemas() {
  static const SchemaSet* set = [] {
    std::vector<SchemaTable> all = api::schema::tables_in_use();
    std::erase_if(all, [](const SchemaTable& table) { return table.since > 36; });  // serves 1.36
    for (const KindFolder& folder : kFolders)
      for (const SchemaTable& table : folder.tables()) all.push_back(table);
    return new SchemaSet(api::schema::link_tables(all));
  }();
  return *set;
}

}  // namespace dra::apiserver
