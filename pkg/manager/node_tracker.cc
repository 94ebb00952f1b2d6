#include "pkg/manager/node_tracker.h"

#include <set>
#include <string_view>

#include "pkg/placement/node_selector.h"

namespace dra::manager {

void NodeTracker::set_node(std::shared_ptr<const api::Node> node) {
  Known& known = nodes_[node->metadata.name];
  known.facts = std::make_unique<placement::NodeFacts>(*node);
  known.facts->load = loads_[node->metadata.name];
  known.node = std::move(node);
}

void NodeTracker::remove_node(const std::string& name) {
  nodes_.erase(name);
}

void NodeTracker::set_pod(const api::Pod& pod) {
  const auto counted = pods_.find(pod.metadata.uid);
  if (pod.terminal()) return uncount(pod.metadata.uid);
  if (pod.node_name.empty()) return;  // an assumption about it stays
  if (counted != pods_.end() && !counted->second.assumed && counted->second.node == pod.node_name) return;
  count(pod.metadata.uid, pod, pod.node_name, false);
}

void NodeTracker::remove_pod(const std::string& uid) {
  uncount(uid);
}

void NodeTracker::assume(const api::Pod& pod, const std::string& node) {
  if (pod.node_name.empty() && !pod.terminal()) count(pod.metadata.uid, pod, node, true);
}

void NodeTracker::forget(const std::string& uid) {
  const auto counted = pods_.find(uid);
  if (counted != pods_.end() && counted->second.assumed) uncount(uid);
}

void NodeTracker::forget_all() {
  std::vector<std::string> assumed;
  for (const auto& [uid, share] : pods_)
    if (share.assumed) assumed.push_back(uid);
  for (const std::string& uid : assumed) uncount(uid);
}

void NodeTracker::count(const std::string& uid, const api::Pod& pod, const std::string& node, bool assumed) {
  uncount(uid);
  Share share{node, {}, placement::host_ports_of(pod), assumed};
  // Requests that cannot be read count as nothing: the API server does not let such pods in.
  if (Result<placement::Amounts> requests = placement::pod_requests(pod)) share.requests = std::move(*requests);
  loads_[node].add(share.requests, share.ports);
  if (auto known = nodes_.find(node); known != nodes_.end()) known->second.facts->load.add(share.requests, share.ports);
  pods_.emplace(uid, std::move(share));
}

void NodeTracker::uncount(const std::string& uid) {
  const auto counted = pods_.find(uid);
  if (counted == pods_.end()) return;
  const Share& share = counted->second;
  loads_[share.node].remove(share.requests, share.ports);
  if (auto known = nodes_.find(share.node); known != nodes_.end())
    known->second.facts->load.remove(share.requests, share.ports);
  pods_.erase(counted);
}

allocation::NodeChoice NodeTracker::choose(const api::Pod& pod, const std::vector<std::string>& only) {
  Result<placement::PodNeeds> needs = placement::PodNeeds::of(pod);
  if (!needs) return {{}, needs.error().message()};
  std::vector<const placement::NodeFacts*> facts;
  if (only.empty()) {
    for (const auto& [name, known] : nodes_) facts.push_back(known.facts.get());
  } else {
    const std::set<std::string_view> names(only.begin(), only.end());  // each once, in the order of nodes_
    for (const std::string_view name : names)
      if (auto known = nodes_.find(name); known != nodes_.end()) facts.push_back(known->second.facts.get());
  }
  if (facts.empty()) return {{}, "0/" + std::to_string(nodes_.size()) + " nodes are available"};
  // The pod's own share is no obstacle to itself.
  const auto own = pods_.find(pod.metadata.uid);
  placement::NodeLoad* own_load = nullptr;
  if (own != pods_.end())
    if (auto known = nodes_.find(own->second.node); known != nodes_.end()) own_load = &known->second.facts->load;
  if (own_load) own_load->remove(own->second.requests, own->second.ports);
  const placement::Ranking ranking = placement::rank(*needs, facts);
  if (own_load) own_load->add(own->second.requests, own->second.ports);
  allocation::NodeChoice choice;
  for (const placement::RankedNode& node : ranking.nodes)
    choice.nodes.push_back(facts[node.index]->node().metadata.name);
  if (choice.nodes.empty()) choice.why_none = ranking.summary();
  return choice;
}

bool NodeTracker::matches(const api::NodeSelector& selector, const std::string& node) {
  const auto known = nodes_.find(node);
  return known != nodes_.end() && placement::matches(selector, node, known->second.node->metadata.labels);
}

std::vector<std::string> NodeTracker::all_nodes() {
  std::vector<std::string> names;
  for (const auto& [name, known] : nodes_) names.push_back(name);
  return names;
}

}  // namespace dra::manager
