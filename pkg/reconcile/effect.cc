#include "pkg/reconcile/effect.h"

#include <algorithm>

namespace dra::reconcile {

bool Outcome::has_writes() const {
  return std::any_of(effects.begin(), effects.end(), [](const Effect& e) { return std::holds_alternative<Write>(e); });
}

bool Outcome::has_live_gets() const {
  return std::any_of(effects.begin(), effects.end(),
                     [](const Effect& e) { return std::holds_alternative<LiveGet>(e); });
}

}  // namespace dra::reconcile
