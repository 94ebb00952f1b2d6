// Exclusivity: by driver, whether this manager alone hands out its devices (docs/install.md, "Exclusivity"): no claim
// that another allocator wrote holds one of them, or every device bears a taint and there is one that only we ignore.
//
// It says what was seen. Whether a policy keeps claims from tolerating the taint is not looked at: that takes
// permissions that nothing else here needs.
//
// Kept in step with changes of claims. Not thread-safe: belongs to the reactor's thread.
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
    std::string why;  // a sentence for people
  };

  // After each change of a claim; before is null for a new one, after for one that is gone.
  void changed(const api::ResourceClaim* before, const api::ResourceClaim* after);
  // Of the drivers that publish these devices. `ignores_taints`: --ignore-taints names at least one.
  std::map<std::string, Driver> drivers(const std::map<std::string, inventory::Usage>& devices,
                                        bool ignores_taints) const;

 private:
  std::map<std::string, size_t> foreign_;  // driver -> claims
};

}  // namespace dra::manager
