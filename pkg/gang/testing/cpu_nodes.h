// A plain model of nodes for tests of pkg/gang: only CPU and labels.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "pkg/base/check.h"
#include "pkg/gang/gang.h"

namespace dra::gang {

class CpuNodes : public Nodes {
 public:
  struct Node {
    NodeId id = inventory::kNone;
    int64_t cpu = 0;  // free
    std::map<std::string, std::string> labels;
  };

  CpuNodes(std::vector<Node> nodes, std::vector<int64_t> wants) : nodes_(std::move(nodes)), wants_(std::move(wants)) {
    for (size_t i = 0; i < nodes_.size(); ++i) at_[nodes_[i].id] = i;
  }

  Influence influence() const override { return influence_; }
  uint64_t version() const override { return version_; }
  std::vector<Candidate> candidates(size_t member) override {
    std::vector<Candidate> out;
    for (const Node& node : nodes_)
      if (node.cpu >= wants_[member]) out.push_back({node.id, {node.cpu, 0}});
    return out;
  }
  std::optional<NodeFacts> look(size_t member, NodeId node) override {
    const Node& one = nodes_[at_.at(node)];
    if (one.cpu < wants_[member]) return std::nullopt;
    return NodeFacts{one.cpu, 0};
  }
  bool still_takes(size_t, NodeId node, uint64_t version) const override {
    const auto changed = changed_.find(node);
    return changed == changed_.end() || changed->second <= version;
  }
  // Somebody else takes so much of the node, or gives it back.
  void take(size_t node, int64_t cpu) {
    nodes_[node].cpu -= cpu;
    changed_[nodes_[node].id] = ++version_;
  }
  const std::vector<Node>& nodes() const { return nodes_; }
  void place(size_t member, NodeId node) override {
    DRA_CHECK(look(member, node).has_value());
    nodes_[at_.at(node)].cpu -= wants_[member];
    placed_.emplace_back(member, node);
  }
  void take_back(size_t member) override {
    DRA_CHECK(!placed_.empty() && placed_.back().first == member);
    nodes_[at_.at(placed_.back().second)].cpu += wants_[member];
    placed_.pop_back();
  }
  std::optional<Resources> takes(size_t member) override {
    if (!counted_) return std::nullopt;
    return Resources{wants_[member], 0, 0};
  }
  std::vector<Resources> left(const std::vector<NodeId>& nodes) override {
    std::vector<Resources> all;
    for (const NodeId node : nodes) all.push_back({at_.contains(node) ? nodes_[at_.at(node)].cpu : 0, 0, 0});
    return all;
  }
  const std::string* label(NodeId node, const std::string& key) const override {
    const auto& labels = nodes_[at_.at(node)].labels;
    const auto found = labels.find(key);
    return found == labels.end() ? nullptr : &found->second;
  }

  size_t placed() const { return placed_.size(); }
  // Off: CPU is not counted, as other rules are not.
  void set_counted(bool counted) { counted_ = counted; }
  void set_influence(Influence influence) { influence_ = influence; }

 private:
  std::vector<Node> nodes_;
  std::vector<int64_t> wants_;  // by member
  std::map<NodeId, size_t> at_;
  std::vector<std::pair<size_t, NodeId>> placed_;
  Influence influence_ = Influence::kNode;
  uint64_t version_ = 1;
  std::map<NodeId, uint64_t> changed_;  // the version of its latest change
  bool counted_ = true;
};

}  // namespace dra::gang
