// ChartRoles: the roles of the chart, made from permission_roles(): which of the chart's values bring a role, and which
// of them leave its holder only the verbs that read. The conditions are found by trying every combination of the values
// that choose a mode, so a controller states them once, as the functions of its description.
//
//   scripts/render-roles build/release/bin/dra-controller-manager > charts/dra-controller-manager/files/roles.yaml
//
// Pure.
#pragma once

#include <string>
#include <vector>

#include "pkg/base/error.h"
#include "pkg/manager/options.h"
#include "pkg/manager/permit/permissions.h"

namespace dra::manager {

// The value at this path of the chart is one of these.
struct ChartCondition {
  std::string path;
  std::vector<std::string> in;
};

struct ChartRole {
  const PermissionRole* role = nullptr;
  std::vector<ChartCondition> when;        // all must hold; empty: always
  bool can_be_limited = false;             // some values leave only the verbs that read
  std::vector<ChartCondition> reads_only;  // then: all hold
};

// In the order of permission_roles(). Fails, with the name of the role, if no list of conditions expresses it.
Result<std::vector<ChartRole>> chart_roles();

// What the chart runs without any value changed.
ManagerOptions chart_defaults();

}  // namespace dra::manager
