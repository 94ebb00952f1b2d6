// Checks of doctor: hardware that is published under several names, and nodes on which a device plugin serves what a
// driver publishes. Pure.
#pragma once

#include <string>
#include <vector>

#include "pkg/inspect/state/state.h"

namespace dra::inspect {

struct SiliconFinding {
  bool ill = false;     // one device may be in use twice; else: a warning
  std::string finding;  // one sentence
  std::string to_do;
};
// Where device plugins serve the same: by node, driver and resource.
std::vector<SiliconFinding> plugin_findings(const State& state);
// Where drivers publish the same, by node and drivers; then values that are malformed, holders that are other hardware
// than when they were allocated, and holders of which nothing is known.
std::vector<SiliconFinding> silicon_findings(const State& state);

}  // namespace dra::inspect
