#include "pkg/apiserver/kinds/folders.h"

#include "pkg/apiserver/model/release.h"

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

namespace {

template <int kRelease>
const SchemaSet& schemas_of() {
  static const SchemaSet* set = [] {
    std::vector<SchemaTable> all = api::schema::tables_in_use();
    for (const KindFolder& folder : kFolders)
      for (const SchemaTable& table : folder.tables()) all.push_back(table);
    std::erase_if(all, [](const SchemaTable& table) { return table.since > kRelease; });
    return new SchemaSet(api::schema::link_tables(all));
  }();
  return *set;
}

}  // namespace

const SchemaSet& builtin_schemas() {
  static_assert(kOldestServedRelease == 36 && kNewestServedRelease == 38);
  switch (served_release()) {
    case 37:
      return schemas_of<37>();
    case 38:
      return schemas_of<38>();
    default:
      return schemas_of<36>();
  }
}

}  // namespace dra::apiserver
