// Policies of admissionregistration.k8s.io/v1: stored and checked, never executed. Their expressions are not compiled.
#pragma once

#include "pkg/apiserver/kinds/folders.h"

namespace dra::apiserver {

std::vector<SchemaTable> admission_tables();
void add_admission_kinds(KindRegistry& registry);

}  // namespace dra::apiserver
