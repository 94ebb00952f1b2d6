// NodeTracker: nodes and the pods on them, kept up to date for pkg/placement: which nodes can take a pod.
//
// A pod counts on the node it is bound to, and, from the decision on until the stream shows it bound or gone, on the
// node that was chosen for it. Not thread-safe: the reactor's thread owns it.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "controllers/allocation/node_chooser.h"
#include "controllers/allocation/shape.h"
#include "pkg/api/core.h"
#include "pkg/placement/placement.h"

namespace dra::manager {

class NodeTracker : public allocation::NodeChooser {
 public:
  void set_node(std::shared_ptr<const api::Node> node);
  void remove_node(const std::string& name);
  // What the stream says of the pod: bound and not ended, it counts.
  void set_pod(const api::Pod& pod);
  void remove_pod(const std::string& uid);
  void assume(const api::Pod& pod, const std::string& node);
  void forget(const std::string& uid);
  void forget_all();

  allocation::NodeChoice choose(const api::Pod& pod, const std::vector<std::string>& only) override;
  bool matches(const api::NodeSelector& selector, const std::string& node) override;
  std::vector<std::string> all_nodes() override;
  std::string shape(const api::Pod& pod) const override { return allocation::node_shape(pod); }

 private:
  struct Share {  // of a pod in a node's load
    std::string node;
    placement::Amounts requests;
    std::vector<uint16_t> ports;
    bool assumed = false;
  };
  struct Known {
    std::shared_ptr<const api::Node> node;
    std::unique_ptr<placement::NodeFacts> facts;
  };

  void count(const std::string& uid, const api::Pod& pod, const std::string& node, bool assumed);
  void uncount(const std::string& uid);

  std::map<std::string, Known, std::less<>> nodes_;
  // Loads of nodes, also of those that are not known (yet).
  std::map<std::string, placement::NodeLoad, std::less<>> loads_;
  std::unordered_map<std::string, Share> pods_;  // by uid
};

}  // namespace dra::manager
