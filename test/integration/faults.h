// Faults: what several tests let go wrong between a client and the server.
#pragma once

#include "client/testing/fault.h"
#include "pkg/base/random.h"

namespace dra::integration {

// What a server answers while an admission webhook is down.
client::Response refused_by_webhook();
// Random delays for every request, and watches that each lag independently by up to `lag`. `random` must outlive it.
client::FaultPlan lagging(Random& random, Duration lag);

}  // namespace dra::integration
