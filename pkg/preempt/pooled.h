// Pooled: whether moves could make room at all, by counting devices over all nodes. Who moves leaves devices and asks
// for as many again: where the waiting pods want more of a kind than all moves together can leave, nobody moves.
//
// A bound is never a guess. Without it a full cluster, the usual one in which pods wait, would be searched set by set.
#pragma once

#include "pkg/preempt/candidates.h"
#include "pkg/preempt/fit.h"
#include "pkg/preempt/stage.h"
#include "pkg/preempt/world.h"

namespace dra::preempt {

// Of the scene as arranged, in which nobody has moved. False: no set of moves makes room for the pending pods. True:
// perhaps one does; also where devices are shared, or blocked by counters or by other names of the same hardware.
bool moves_may_suffice(const World& world, const Stage& stage, const Fit& fit, const Candidates& candidates);

}  // namespace dra::preempt
