// Check of doctor: nodes on which a device plugin serves what a driver publishes, too. Pure.
#pragma once

#include <string>
#include <vector>

#include "pkg/inspect/state/state.h"

namespace dra::inspect {

struct PluginFinding {
  bool ill = false;     // one device may be in use both ways; else: a warning
  std::string finding;  // one sentence
  std::string to_do;
};
// By node, driver and resource.
std::vector<PluginFinding> plugin_findings(const State& state);

}  // namespace dra::inspect
