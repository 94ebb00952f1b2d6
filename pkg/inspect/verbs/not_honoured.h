// Pods that ask for pairs or rails and are not placed by a manager, so that nobody looks at the annotation: the rule
// of the manager's event PairsNotHonoured, read from a cluster's objects. Pure.
#pragma once

#include <string>
#include <vector>

#include "pkg/inspect/state/objects.h"

namespace dra::inspect {

struct NotHonoured {
  std::string pod;         // "ml/train-0"
  std::string annotation;  // its name
  std::string bearer;      // "ResourceClaim ml/x"; empty: the pod itself
  std::string scheduler;
};
// In the order of keys. Pods that ended are left out.
std::vector<NotHonoured> pairs_not_honoured(const Objects& objects);

}  // namespace dra::inspect
