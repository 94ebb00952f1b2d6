// NodeMatcher: a pod's nodeSelector and required node affinity, or any node selector, against many nodes.
//
// For many nodes the rules are evaluated once per value of each label that they read (LabelColumn); for a few nodes the
// labels are looked up. The answers are those of api::matches().
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "pkg/placement/cluster.h"

namespace dra::placement {

// One term of a node selector, by column.
class TermMatcher {
 public:
  TermMatcher(const Cluster& cluster, const api::NodeSelectorTerm& term);
  bool matches(NodeIndex node) const;

 private:
  struct Expression {
    const LabelColumn* column;
    std::vector<uint8_t> truth;  // by number of the value + 1; [0]: without the label
  };
  const Cluster* cluster_;
  const api::NodeSelectorTerm* term_;
  bool never_ = false;
  std::vector<Expression> expressions_;
};

class NodeMatcher {
 public:
  // `many`: so many nodes will be matched that making columns pays off. All arguments must outlive it.
  NodeMatcher(const Cluster& cluster, const api::StringMap& node_selector,
              const std::optional<api::NodeSelector>& required, bool many);
  NodeMatcher(const Cluster& cluster, const api::Pod& pod, bool many);

  bool matches(NodeIndex node) const;

 private:
  const Cluster& cluster_;
  const api::StringMap& node_selector_;
  const std::optional<api::NodeSelector>& required_;
  bool many_;
  // nodeSelector as columns and the numbers of the required values.
  std::vector<std::pair<const LabelColumn*, int32_t>> wanted_;
  std::vector<TermMatcher> terms_;
};

}  // namespace dra::placement
