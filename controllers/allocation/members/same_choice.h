// SameChoice: the NodeChooser's answer for one member of a group, used for others that are alike and hold devices of
// the same node.
//
// The check that a node still takes its pod costs several microseconds, and a group of 1,000 asks it for each of them.
// Two pods get the same answer if they have one shape, priority, nomination and set of labels, and both count on that
// node already: each is judged beside all others. Only acceptances that do not depend on other pods' rules are shared.
// Lives as long as nothing is placed or taken back. Not thread-safe.
#pragma once

#include <string>
#include <unordered_map>

#include "pkg/nodes/node_chooser.h"

namespace dra::allocation {

class SameChoice {
 public:
  // Null: ask the chooser. Valid until the next note().
  const nodes::NodeChoice* find(const nodes::NodeChooser& nodes, const api::Pod& pod, const std::string& node) const;
  void note(const nodes::NodeChooser& nodes, const api::Pod& pod, const std::string& node,
            const nodes::NodeChoice& choice);
  void forget_all() { by_node_.clear(); }

 private:
  struct Known {
    const api::Pod* pod;
    nodes::NodeChoice choice;
  };
  std::unordered_map<std::string, Known> by_node_;
};

}  // namespace dra::allocation
