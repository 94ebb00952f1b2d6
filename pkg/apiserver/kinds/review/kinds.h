// authentication.k8s.io and authorization.k8s.io: no kind of theirs is stored; reviews.h answers them.
#pragma once

#include "pkg/apiserver/kinds/folders.h"

namespace dra::apiserver {

std::vector<SchemaTable> review_tables();
void add_review_kinds(KindRegistry& registry);  // adds none

}  // namespace dra::apiserver
