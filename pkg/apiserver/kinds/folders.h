// KindFolder: everything about some kinds of a group, in one folder of this package: their schema tables, beside those
// of pkg/api/schema, and the kinds. A new folder is one more line in list.inc; a new kind in a folder needs no change
// outside of it. The functions below give what all folders have.
#pragma once

#include <vector>

#include "pkg/apiserver/model/kind.h"
#include "pkg/apiserver/model/schema.h"

namespace dra::apiserver {

struct KindFolder {
  std::vector<SchemaTable> (*tables)();
  void (*add_kinds)(KindRegistry& registry);
};

// The kinds that this build serves.
void register_all_kinds(KindRegistry& registry);

// The linked tables of all kinds, as the served release has them (model/release.h). Made at the first call, which any
// thread may make.
const SchemaSet& builtin_schemas();

}  // namespace dra::apiserver
