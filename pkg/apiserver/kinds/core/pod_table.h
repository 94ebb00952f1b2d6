// The cells of a pod's row in `kubectl get pods` (printers/internalversion of Kubernetes 1.36). Pure.
#pragma once

#include <string>

#include "pkg/apiserver/model/kind.h"

namespace dra::apiserver {

std::vector<TableColumn> pod_columns();
Json pod_cells(const Json& pod, WallTime now);
Json pod_row_conditions(const Json& pod);

}  // namespace dra::apiserver
