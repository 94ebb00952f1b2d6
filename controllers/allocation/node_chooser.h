// NodeChooser: the nodes a pod could run on, devices aside. pkg/placement's knowledge behind the one question that the
// allocation controller asks.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pkg/api/core.h"
#include "pkg/verdict/nodes.h"

namespace dra::allocation {

struct NodeChoice {
  std::vector<std::string_view> nodes;  // best first; valid until the chooser learns something new
  // Where there are none: why, as kube-scheduler counts it ("0/3 nodes are available: 2 Insufficient cpu, ...").
  std::string why_none;
  // Some node was refused because of where other pods are, or are not (affinity, spreading).
  bool depends_on_pods = false;
};

class NodeChooser {
 public:
  virtual ~NodeChooser() = default;
  // `only` restricts the choice to nodes of these names; empty means all.
  virtual NodeChoice choose(const api::Pod& pod, const std::vector<std::string>& only) = 0;
  // What is wrong with the nodes that the last choose() for this pod refused; no groups where nobody can say. Valid as
  // long as its choice.
  virtual verdict::NodeFindings findings(const api::Pod&) { return {}; }
  // The node (by name) satisfies the selector of an allocation.
  virtual bool matches(const api::NodeSelector& selector, const std::string& node) = 0;
  virtual std::vector<std::string> all_nodes() = 0;
  // All that choose() reads of the pod, as a text: at any time pods with equal texts have the same choice. Empty:
  // nobody can say, so the pod is like no other.
  virtual std::string shape(const api::Pod&) const { return ""; }
};

}  // namespace dra::allocation
