// NodePorts.
#include <algorithm>

#include "pkg/placement/plugins.h"

namespace dra::placement {

void filter_ports(Attempt& attempt) {
  const std::vector<api::HostPort>& wanted = attempt.needs.charge().ports;
  if (wanted.empty()) return;
  attempt.filter([&](NodeIndex node) {
    for (const api::HostPort& taken : attempt.cluster.rest(node).ports)
      if (std::any_of(wanted.begin(), wanted.end(), [&](const auto& port) { return ports_conflict(port, taken); }))
        return refuse(Plugin::kNodePorts, false);
    return NodeRefusal{};
  });
}

}  // namespace dra::placement
