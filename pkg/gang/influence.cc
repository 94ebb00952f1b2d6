#include "pkg/gang/influence.h"

namespace dra::gang {

Nodes::Influence influence_of(const api::Pod& pod) {
  using Influence = Nodes::Influence;
  // A member in a domain opens it for others: by affinity, and by raising the minimum count of spreading.
  if (!pod.pod_affinity.required.empty() || !pod.topology_spread.empty()) return Influence::kAny;
  if (!pod.pod_anti_affinity.required.empty() || !pod.volumes.empty()) return Influence::kShrinks;
  return Influence::kNode;
}

}  // namespace dra::gang
