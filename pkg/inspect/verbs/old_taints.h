// Old taints: taints that outlived what they were for. They are reported and never removed: only who set them knows
// whether the hardware is well. Pure.
//
// A taint counts as old if what it names is not published, or if the node that has the devices was made after it: that
// is another machine, or one that was set up anew. Taints of devices that several nodes use are not judged by age.
#pragma once

#include <string>
#include <vector>

#include "pkg/inspect/state/objects.h"

namespace dra::inspect {

struct OldTaint {
  std::string finding;  // one sentence that names the rule or the driver, and why it counts as old
  std::string to_do;
};

// Of DeviceTaintRules first, by name; then those that drivers publish, once for each driver, node and taint. Only
// effects that keep pods away. None while slices (for rules without devices) or nodes (for ages) cannot be listed.
std::vector<OldTaint> old_taints(const Objects& objects);

}  // namespace dra::inspect
