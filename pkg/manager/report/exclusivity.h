// Exclusivity: per driver, whether only this manager allocates its devices (docs/install.md, "Exclusivity"): no claim
// allocated by others holds one, or every device has a taint and --ignore-taints names one.
//
// It reports what it saw. It does not check whether a policy keeps claims from tolerating the taint: that would take
// permissions that nothing else here needs.
//
// Kept up to date with changes of claims. Not thread-safe: belongs to the reactor's thread.
#pragma once

#include <map>
#include <string>

#include "pkg/api/resource.h"
#include "pkg/inventory/inventory.h"

namespace dra::manager {

class Exclusivity {
 public:
  struct Driver {
    size_t foreign_claims = 0;  // hold its devices, and were allocated by others; those with admin access hold nothing
    bool tainted = false;       // every device bears a NoSchedule or NoExecute taint
    bool exclusive = false;
    std::string why;  // a sentence for messages
  };

  // Call after each change of a claim; before is null for a new claim, after for one that is gone.
  void changed(const api::ResourceClaim* before, const api::ResourceClaim* after);
  // For the drivers that publish these devices. `ignores_taints`: --ignore-taints names at least one taint.
  std::map<std::string, Driver> drivers(const std::map<std::string, inventory::Usage>& devices,
                                        bool ignores_taints) const;

 private:
  std::map<std::string, size_t> foreign_;  // driver -> claims
};

}  // namespace dra::manager
