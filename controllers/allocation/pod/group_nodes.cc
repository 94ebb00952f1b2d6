#include "controllers/allocation/pod/group_nodes.h"

#include <algorithm>
#include <utility>

#include "controllers/allocation/pod/candidates.h"
#include "pkg/gang/influence.h"

namespace dra::allocation {

GroupNodes::GroupNodes(const std::vector<SearchedPod>& pods, const reconcile::View& view,
                       inventory::Inventory& inventory, nodes::NodeChooser& nodes)
    : pods_(pods), view_(view), inventory_(inventory), nodes_(nodes), version_(nodes.version()) {
  for (const SearchedPod& one : pods) {
    influence_ = std::max(influence_, gang::influence_of(one.context->pod));
    volumes_ = volumes_ || !one.context->pod.volumes.empty();
  }
  if (volumes_) version_ += nodes.volumes_version();
}

std::vector<gang::Candidate> GroupNodes::candidates(size_t member) {
  Candidates all = candidate_nodes(*pods_[member].context, *pods_[member].out);
  const nodes::NodeChoice& choice = all.choice;
  *pods_[member].obstacles = std::move(all.obstacles);
  watch_lags_ = watch_lags_ || choice.watch_lags;
  const std::vector<allocator::NodeId> numbers = numbers_of(choice, inventory_);
  std::vector<gang::Candidate> found;
  found.reserve(numbers.size());
  for (size_t i = 0; i < numbers.size(); ++i)
    found.push_back({numbers[i], choice.facts.empty() ? gang::NodeFacts{} : choice.facts[i]});
  return found;
}

std::optional<gang::NodeFacts> GroupNodes::look(size_t member, gang::NodeId node) {
  const nodes::NodeChoice choice =
      choose_among(*pods_[member].context, {std::string(inventory_.node_name(node))}, true);
  pods_[member].obstacles->on_pods = choice.depends_on_pods;
  pods_[member].obstacles->on_capacity = choice.depends_on_capacity;
  watch_lags_ = watch_lags_ || choice.watch_lags;
  if (choice.nodes.empty()) return std::nullopt;
  return choice.facts.empty() ? gang::NodeFacts{} : choice.facts.front();
}

std::optional<gang::Resources> GroupNodes::takes(size_t member) {
  return nodes_.takes(pod(member));
}

std::vector<gang::Resources> GroupNodes::left(const std::vector<gang::NodeId>& nodes) {
  std::vector<const api::Pod*> pods;
  for (const SearchedPod& one : pods_) pods.push_back(&one.context->pod);
  std::vector<std::string> names;
  for (const gang::NodeId node : nodes) names.push_back(inventory_.node_name(node));
  return nodes_.left_for(pods, names);
}

// Extended resources are judged by what device plugins advertise, too. With volumes the version is a sum of two.
bool GroupNodes::still_takes(size_t member, gang::NodeId node, uint64_t version) const {
  return !volumes_ && pods_[member].context->extended.empty() &&
         nodes_.still_takes(pod(member), inventory_.node_name(node), version);
}

void GroupNodes::place(size_t member, gang::NodeId node) {
  nodes_.suppose(pod(member), std::string(inventory_.node_name(node)));
}

void GroupNodes::take_back(size_t member) {
  nodes_.stop_supposing(pod(member));
}

const std::string* GroupNodes::label(gang::NodeId node, const std::string& key) const {
  const api::Node* known = view_.node(inventory_.node_name(node));
  if (known == nullptr) return nullptr;
  const auto found = known->metadata.labels.find(key);
  return found == known->metadata.labels.end() ? nullptr : &found->second;
}

}  // namespace dra::allocation
