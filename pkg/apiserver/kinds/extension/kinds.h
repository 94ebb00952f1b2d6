// CustomResourceDefinitions: none can be created, and the list is always empty. kubectl asks for it before it reports a
// kind as unknown.
#pragma once

#include "pkg/apiserver/kinds/folders.h"

namespace dra::apiserver {

std::vector<SchemaTable> extension_tables();
void add_extension_kinds(KindRegistry& registry);

}  // namespace dra::apiserver
