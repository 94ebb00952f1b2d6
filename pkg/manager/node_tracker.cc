#include "pkg/manager/node_tracker.h"

#include <algorithm>

#include "pkg/api/selectors.h"

namespace dra::manager {

void NodeTracker::set_pod(const api::Pod& pod) {
  if (pod.terminal()) return cluster_.remove_pod(pod.metadata.uid);
  if (!pod.node_name.empty()) return cluster_.set_pod(pod, pod.node_name, false);
  // An assumption about the pod stays, of the pod as it is now.
  if (const placement::PlacedPod* counted = cluster_.pod(pod.metadata.uid); counted && counted->assumed)
    cluster_.set_pod(pod, std::string(cluster_.rest(counted->node).name), true);
}

void NodeTracker::assume(const api::Pod& pod, const std::string& node) {
  if (pod.node_name.empty() && !pod.terminal()) cluster_.set_pod(pod, node, true);
}

void NodeTracker::forget(const std::string& uid) {
  if (const placement::PlacedPod* counted = cluster_.pod(uid); counted && counted->assumed) cluster_.remove_pod(uid);
}

void NodeTracker::forget_all() {
  for (const std::string& uid : cluster_.assumed_pods()) cluster_.remove_pod(uid);
}

void NodeTracker::set_namespaces(Namespaces state, std::string why) {
  namespaces_ = state;
  why_no_namespaces_ = std::move(why);
}

// Its own terms select namespaces by label, or a term of a pod on some node would mean this pod if its namespace had
// certain labels.
bool NodeTracker::needs_namespaces(const placement::PodNeeds& needs) const {
  const api::ObjectMeta& pod = needs.pod().metadata;
  return needs.reads_namespaces() || cluster_.terms().depend_on_labels_of(pod.ns, pod.labels);
}

allocation::NodeChoice NodeTracker::choose(const api::Pod& pod, const std::vector<std::string>& only) {
  last_ = {};
  const Result<placement::PodNeeds> needs = placement::PodNeeds::of(pod);
  if (!needs) return {{}, needs.error().message(), false};
  if (namespaces_ == Namespaces::kUnknown && needs_namespaces(*needs)) {
    if (namespaces_needed_) namespaces_needed_();
    return {{}, why_no_namespaces_, false};
  }
  placement::DecisionOptions options;
  options.volumes = placement::Volumes::kIgnored;
  std::vector<placement::NodeIndex> nodes;
  if (!only.empty()) {
    std::vector<std::string_view> names(only.begin(), only.end());  // each once, in order
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    for (const std::string_view name : names)
      if (const auto node = cluster_.find_node(name)) nodes.push_back(*node);
    if (nodes.empty()) return {{}, "0/" + std::to_string(cluster_.nodes().size()) + " nodes are available", false};
    options.only = &nodes;
  }
  const placement::Cluster::Aside aside(cluster_, pod.metadata.uid);
  last_ = {pod.metadata.uid, options.only != nullptr, placement::decide(cluster_, *needs, options)};
  const placement::Decision& decision = last_.decision;
  allocation::NodeChoice choice;
  choice.nodes.reserve(decision.nodes.size());
  for (const placement::RankedNode& node : decision.nodes) choice.nodes.push_back(cluster_.rest(node.node).name);
  if (choice.nodes.empty()) choice.why_none = decision.summary();
  choice.depends_on_pods = decision.depends_on_pods();
  return choice;
}

verdict::NodeFindings NodeTracker::findings(const api::Pod& pod) {
  const Result<placement::PodNeeds> needs = placement::PodNeeds::of(pod);
  if (!needs || last_.uid != pod.metadata.uid) return {};
  return verdict::findings_of(cluster_, *needs, last_.decision,
                              last_.pinned ? "claims of the pod have devices elsewhere" : "");
}

bool NodeTracker::matches(const api::NodeSelector& selector, const std::string& node) {
  const auto known = cluster_.find_node(node);
  return known && api::matches(selector, node, cluster_.rest(*known).node->metadata.labels);
}

std::vector<std::string> NodeTracker::all_nodes() {
  std::vector<std::string> names;
  for (const placement::NodeIndex node : cluster_.nodes()) names.push_back(cluster_.rest(node).name);
  return names;
}

}  // namespace dra::manager
