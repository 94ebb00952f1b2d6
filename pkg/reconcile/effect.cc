#include "pkg/reconcile/effect.h"

#include <algorithm>

namespace dra::reconcile {

bool ReconcileResult::has_writes() const {
  return std::any_of(effects.begin(), effects.end(), [](const Effect& e) { return std::holds_alternative<Write>(e); });
}

bool ReconcileResult::has_live_gets() const {
  return std::any_of(effects.begin(), effects.end(),
                     [](const Effect& e) { return std::holds_alternative<LiveGet>(e); });
}

}  // namespace dra::reconcile
