// CustomResourceDefinitions: none can be made here, and the list is empty. kubectl asks for it before it says that a
// kind is unknown.
#pragma once

#include "pkg/apiserver/kinds/folders.h"

namespace dra::apiserver {

std::vector<SchemaTable> extension_tables();
void add_extension_kinds(KindRegistry& registry);

}  // namespace dra::apiserver
