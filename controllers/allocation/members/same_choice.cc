#include "controllers/allocation/members/same_choice.h"

namespace dra::allocation {

const nodes::NodeChoice* SameChoice::find(const nodes::NodeChooser& nodes, const api::Pod& pod,
                                          const std::string& node) const {
  const auto known = by_node_.find(node);
  if (known == by_node_.end()) return nullptr;
  const api::Pod& other = *known->second.pod;
  const bool same = pod.priority == other.priority && pod.nominated_node_name == other.nominated_node_name &&
                    pod.metadata.labels == other.metadata.labels && nodes.counts_on(pod) == node &&
                    nodes.have_same_shape(other, pod);
  return same ? &known->second.choice : nullptr;
}

void SameChoice::note(const nodes::NodeChooser& nodes, const api::Pod& pod, const std::string& node,
                      const nodes::NodeChoice& choice) {
  if (choice.nodes.empty() || choice.depends_on_pods || nodes.counts_on(pod) != node || nodes.shape(pod).empty())
    return;
  by_node_.insert_or_assign(node, Known{&pod, choice});
}

}  // namespace dra::allocation
