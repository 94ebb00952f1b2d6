// The kind ResourceQuota; what it counts and refuses: quota.h.
#pragma once

#include "pkg/apiserver/kinds/folders.h"

namespace dra::apiserver {

std::vector<SchemaTable> quota_tables();
void add_quota_kinds(KindRegistry& registry);

}  // namespace dra::apiserver
