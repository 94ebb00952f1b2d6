// NodeUnschedulable, NodeName, and our own rule for nodes that are being deleted.
#include "pkg/api/selectors.h"
#include "pkg/placement/plugins.h"

namespace dra::placement {

void filter_node_deletion(Attempt& attempt) {
  attempt.filter([&](NodeIndex node) {
    return attempt.cluster.row(node).deleting ? refuse(Plugin::kNodeDeletion, true) : NodeRefusal{};
  });
}

void filter_node_unschedulable(Attempt& attempt) {
  const api::Taint cordon{"node.kubernetes.io/unschedulable", "", "NoSchedule", ""};
  if (api::tolerates(attempt.pod().tolerations, cordon)) return;
  attempt.filter([&](NodeIndex node) {
    return attempt.cluster.row(node).unschedulable ? refuse(Plugin::kNodeUnschedulable, true) : NodeRefusal{};
  });
}

void filter_node_name(Attempt& attempt) {
  const std::string& wanted = attempt.pod().node_name;
  if (wanted.empty()) return;
  attempt.filter([&](NodeIndex node) {
    return attempt.cluster.rest(node).name == wanted ? NodeRefusal{} : refuse(Plugin::kNodeName, true);
  });
}

}  // namespace dra::placement
