// Turns: after a question that takes the reactor's thread, others have ten times as long before the next one.
#pragma once

#include <algorithm>
#include <chrono>

#include "pkg/base/clock.h"
#include "pkg/reconcile/effect.h"
#include "pkg/reconcile/view.h"

namespace dra::preemption {

// False: others come first, and the key runs again at `next`.
inline bool in_turn(const reconcile::View& view, WallTime next, reconcile::ReconcileResult& out) {
  const Duration left = std::chrono::duration_cast<Duration>(next - view.now());
  // A clock that was set back does not stop it.
  if (left <= Duration::zero() || left > std::chrono::minutes(1)) return true;
  out.requeue_in(left);
  return false;
}

// When the next question may come, after one that took so long.
inline WallTime turn_after(const reconcile::View& view, Duration took) {
  const Duration rest = std::max<Duration>(10 * took, std::chrono::milliseconds(10));
  return view.now() + std::chrono::duration_cast<WallTime::duration>(rest);
}

}  // namespace dra::preemption
