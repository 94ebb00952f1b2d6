// NodeTracker: nodes and the pods on them, kept up to date for pkg/placement: which nodes can take a pod.
//
// A pod counts on the node it is bound to, and, from the decision on until the stream shows it bound or gone, on the
// node that was chosen for it. Volumes are not looked at, but for disks that pods name themselves. Not thread-safe: the
// reactor's thread owns it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "controllers/allocation/node_chooser.h"
#include "controllers/allocation/shape.h"
#include "pkg/api/core.h"
#include "pkg/placement/decision.h"

namespace dra::manager {

class NodeTracker : public allocation::NodeChooser {
 public:
  // Whether the labels of namespaces are known. Pods whose affinity needs them wait until they are.
  enum class Namespaces { kUnknown, kKnown };

  void set_node(std::shared_ptr<const api::Node> node) { cluster_.set_node(std::move(node)); }
  void remove_node(const std::string& name) { cluster_.remove_node(name); }
  // What the stream says of the pod: bound and not ended, it counts.
  void set_pod(const api::Pod& pod);
  void remove_pod(const std::string& uid) { cluster_.remove_pod(uid); }
  void assume(const api::Pod& pod, const std::string& node);
  void forget(const std::string& uid);
  void forget_all();

  void set_namespace(const api::Namespace& ns) { cluster_.set_namespace(ns.metadata.name, ns.metadata.labels); }
  void remove_namespace(const std::string& name) { cluster_.remove_namespace(name); }
  // `why`: what a pod that needs labels of namespaces is told while they are unknown.
  void set_namespaces(Namespaces state, std::string why);
  // Called, possibly often, when a pod needs labels of namespaces that are unknown.
  void on_namespaces_needed(std::function<void()> callback) { namespaces_needed_ = std::move(callback); }

  allocation::NodeChoice choose(const api::Pod& pod, const std::vector<std::string>& only) override;
  verdict::NodeFindings findings(const api::Pod& pod) override;
  bool matches(const api::NodeSelector& selector, const std::string& node) override;
  std::vector<std::string> all_nodes() override;
  std::string shape(const api::Pod& pod) const override { return allocation::node_shape(pod); }

 private:
  bool needs_namespaces(const placement::PodNeeds& needs) const;

  placement::Cluster cluster_;
  // Of the last choose().
  struct Chosen {
    std::string uid;
    bool pinned = false;  // not of all nodes
    placement::Decision decision;
  };
  Chosen last_;
  Namespaces namespaces_ = Namespaces::kUnknown;
  std::string why_no_namespaces_ = "waiting for the list of namespaces, which the pod affinity of this pod needs";
  std::function<void()> namespaces_needed_;
};

}  // namespace dra::manager
