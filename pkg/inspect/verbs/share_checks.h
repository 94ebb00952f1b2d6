// What doctor says of devices that claims share. Pure.
#pragma once

#include <string>
#include <vector>

#include "pkg/inspect/state/state.h"

namespace dra::inspect {

struct ShareFinding {
  std::string finding, to_do;
};

// Classes whose policy cannot be read, and devices that are shared by name alone: those with a capacity of which each
// claim takes everything, because the driver gives it no request policy.
std::vector<ShareFinding> share_findings(const State& state);

}  // namespace dra::inspect
