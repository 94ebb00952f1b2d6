// SomeNodes: the questions about nodes, asked for some members of a request only, each on the nodes that it may go to.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pkg/gang/parts/part_choices.h"
#include "pkg/gang/request.h"

namespace dra::gang {

class SomeNodes : public Nodes {
 public:
  // Both must outlive it. Member i here is chosen[i].member there.
  SomeNodes(Nodes& all, const std::vector<ChosenMember>& chosen) : all_(all), chosen_(chosen) {}

  Influence influence() const override { return all_.influence(); }
  uint64_t version() const override { return all_.version(); }
  std::vector<Candidate> candidates(size_t member) override {
    std::vector<Candidate> found = all_.candidates(number(member));
    std::erase_if(found, [&](const Candidate& one) { return !may_go(member, one.node); });
    return found;
  }
  std::optional<NodeFacts> look(size_t member, NodeId node) override {
    if (!may_go(member, node)) return std::nullopt;
    return all_.look(number(member), node);
  }
  bool still_takes(size_t member, NodeId node, uint64_t version) const override {
    return may_go(member, node) && all_.still_takes(number(member), node, version);
  }
  void place(size_t member, NodeId node) override { all_.place(number(member), node); }
  std::optional<Resources> takes(size_t member) override { return all_.takes(number(member)); }
  std::vector<Resources> left(const std::vector<NodeId>& nodes) override { return all_.left(nodes); }
  void take_back(size_t member) override { all_.take_back(number(member)); }
  const std::string* label(NodeId node, const std::string& key) const override { return all_.label(node, key); }

 private:
  size_t number(size_t member) const { return chosen_[member].member; }
  bool may_go(size_t member, NodeId node) const {
    const NodeBits& allowed = chosen_[member].allowed;
    return allowed == nullptr || (node < allowed->size() && (*allowed)[node]);
  }

  Nodes& all_;
  const std::vector<ChosenMember>& chosen_;
};

}  // namespace dra::gang
