// wipe(): deletes everything that tests of this folder leave in a cluster that outlives them.
#pragma once

#include "test/integration/api.h"

namespace dra::integration {

// No component that would recreate objects may run. Finalizers are removed; pods are deleted without grace period.
// Namespaces stay, without our labels. Throws std::runtime_error with the server's message.
void wipe(Api& api);

}  // namespace dra::integration
