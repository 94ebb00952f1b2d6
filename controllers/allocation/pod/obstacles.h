// Obstacles: what one choice of nodes left out, and what it depended on. Whoever words the refusal or parks the pod
// reads it. A plain value.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace dra::allocation {

struct Obstacles {
  // The nodes that would take the pod and are kept from it, by the group that they are kept for (kept_from.h).
  std::map<std::string, std::vector<std::string>> kept_nodes;
  bool on_pods = false;     // the choice depended on other pods
  bool on_capacity = true;  // or on the capacity that others use
};

}  // namespace dra::allocation
