// top fragmentation: by device class, the most devices that one node can give now, and what it could give if all that
// is held were packed (pkg/usage/fragmentation.h, as the metric dra_class_fragmentation). Pure over a State.
#pragma once

#include <string>
#include <vector>

#include "pkg/inspect/answer/answer.h"
#include "pkg/inspect/state/state.h"
#include "pkg/usage/fragmentation.h"

namespace dra::inspect {

struct ClassFragmentation : usage::ClassFragmentation {
  std::string device_class;
  bool known = true;  // false: a selector of the class cannot be evaluated
};
std::vector<ClassFragmentation> fragmentation_of(State& state);

Answer top_fragmentation(State& state);

}  // namespace dra::inspect
