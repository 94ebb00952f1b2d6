// Changes of a node after which it does not take a pod that asks for the label "usable" and for a little CPU.
#pragma once

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "test/integration/api.h"
#include "test/integration/objects.h"

namespace dra::integration {

struct NodeChange {
  const char* name;
  std::function<void(Api&, const std::string& node)> apply;
};
inline void PrintTo(const NodeChange& change, std::ostream* out) {
  *out << change.name;
}

const std::vector<NodeChange>& node_changes();
void label_usable(Api& api, size_t nodes);
// Adds what these pods ask for.
Json asking(Json pod);

}  // namespace dra::integration
