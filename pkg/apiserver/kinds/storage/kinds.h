// Volumes: PersistentVolumes and PersistentVolumeClaims of the core group, and the kinds of storage.k8s.io/v1.
#pragma once

#include "pkg/apiserver/kinds/folders.h"

namespace dra::apiserver {

std::vector<SchemaTable> storage_tables();
void add_storage_kinds(KindRegistry& registry);

}  // namespace dra::apiserver
