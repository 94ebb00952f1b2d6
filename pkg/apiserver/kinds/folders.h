// KindFolder: everything about some kinds of a group, in one folder of this package: their schema tables, beside those
// of pkg/api/schema, and the kinds. A new folder is one more line in list.inc; a new kind in a folder needs no change
// outside of it.
#pragma once

#include <vector>

#include "pkg/apiserver/model/kind.h"
#include "pkg/apiserver/model/schema.h"

namespace dra::apiserver {

struct KindFolder {
  std::vector<SchemaTable> (*tables)();
  void (*add_kinds)(KindRegistry& registry);
};

}  // namespace dra::apiserver
