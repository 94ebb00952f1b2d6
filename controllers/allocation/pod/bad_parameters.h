// Opaque parameters that the driver would refuse when the pod's node prepares the claim: the API server takes them, the
// devices are allocated, and the pod never starts. An event says it before (pkg/parameters has the rules).
#pragma once

#include "controllers/allocation/pod/context.h"

namespace dra::allocation {

// Of the pod's claims and of the classes of their requests. One event for what the driver refuses, and one for what it
// takes only with a feature gate that is off by default; each names the first problem and counts the others. Reads at
// most 64 KiB of parameters; writes nothing else and stops nothing.
void warn_of_parameters(const PodContext& context, reconcile::ReconcileResult& out);

}  // namespace dra::allocation
