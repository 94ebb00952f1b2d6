// Pods that ask for pairs or rails and are placed by somebody else: nobody looks at these annotations then, and the
// tenant believes that the devices are on one root. The pod gets one event that says so. Pure.
#pragma once

#include <optional>
#include <string>

#include "controllers/allocation/options.h"
#include "pkg/reconcile/effect.h"
#include "pkg/reconcile/view.h"

namespace dra::allocation {

// What bears an annotation that nobody honours: "annotation dra-controller-manager/pairs of claim \"ml/x\"". Nothing:
// the pod is placed here (or was), has ended, or neither it nor a claim of it bears one.
std::optional<std::string> not_honoured(const reconcile::View& view, const api::Pod& pod, const Options& options);

// Adds the event, unless it was recorded before.
void warn_not_honoured(const reconcile::View& view, const api::Pod& pod, const Options& options,
                       reconcile::ReconcileResult& out);

}  // namespace dra::allocation
