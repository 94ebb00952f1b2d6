// PinnedPods: pods that were let go here (their claims are proven, our gate is lifted) and that nobody has bound yet,
// and since when. A scheduler that is absent or refuses such a pod makes it wait with its devices; nothing else does.
//
// Kept in step with changes of pods. Not thread-safe: belongs to the reactor's thread.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "pkg/api/core.h"
#include "pkg/base/clock.h"
#include "pkg/reconcile/view.h"

namespace dra::manager {

class PinnedPods {
 public:
  struct Figures {
    size_t pods = 0;
    // The oldest one's devices were handed out then, which is right before its gate was lifted; it survives a restart.
    std::optional<WallTime> since;
  };

  // After each change of a pod; before is null for a new one, after for one that is gone.
  void changed(const api::Pod* before, const api::Pod* after);
  // Looks at the claims of the pods that are unbound and ungated.
  Figures count(const reconcile::View& view) const;

 private:
  std::set<std::string> unbound_;  // store keys of pods with claims and without gates
};

}  // namespace dra::manager
