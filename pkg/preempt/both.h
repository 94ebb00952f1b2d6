// Both: whether one placement of the pending pods is valid in two scenes, now and later.
#pragma once

#include "pkg/preempt/fit.h"
#include "pkg/preempt/stage.h"

namespace dra::preempt {

// `now` and `later` may each lack what the other has: a device that is promised, and held by a pod that terminates.
Fits fits_in_both(World& world, Stage& stage, Fit& fit, const Scene& now, const Scene& later, Found& found);

}  // namespace dra::preempt
