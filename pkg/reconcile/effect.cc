#include "pkg/reconcile/effect.h"

#include <algorithm>

namespace dra::reconcile {

bool Outcome::has_writes() const {
  return std::any_of(effects.begin(), effects.end(), [](const Effect& e) { return std::holds_alternative<Write>(e); });
}

bool Outcome::has_confirms() const {
  return std::any_of(effects.begin(), effects.end(),
                     [](const Effect& e) { return std::holds_alternative<Confirm>(e); });
}

}  // namespace dra::reconcile
