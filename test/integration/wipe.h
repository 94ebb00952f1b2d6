// wipe(): takes everything away that tests of this folder leave in a cluster that outlives them.
#pragma once

#include "test/integration/api.h"

namespace dra::integration {

// Nothing that would bring objects back may run. Finalizers are removed; pods go without grace. Namespaces stay,
// without labels of ours. Throws std::runtime_error with the server's words.
void wipe(Api& api);

}  // namespace dra::integration
