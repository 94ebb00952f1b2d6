// PinnedPods: pods that we ungated (their claims are proven, our gate is lifted) and that nobody has bound yet, and
// since when. Such a pod waits, with its devices, only for a scheduler that is absent or refuses it.
//
// Kept up to date with changes of pods. Not thread-safe: belongs to the reactor's thread.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "pkg/api/core.h"
#include "pkg/base/timestamp.h"
#include "pkg/reconcile/view.h"

namespace dra::manager {

class PinnedPods {
 public:
  struct Figures {
    size_t pods = 0;
    // When the oldest pod's devices were allocated, right before its gate was lifted; this survives a restart.
    std::optional<Timestamp> since;
  };

  // Call after each change of a pod; before is null for a new pod, after for one that is gone.
  void changed(const api::Pod* before, const api::Pod* after);
  // Reads the claims of pods that are unbound and ungated.
  Figures count(const reconcile::View& view) const;

 private:
  std::set<std::string> unbound_;  // store keys of pods with claims and without gates
};

}  // namespace dra::manager
