// What a pod requires of nodes and devices, as a text: two waiting pods of one namespace with equal shapes fit or fail
// together (pkg/reconcile/parking.h tries one of them first). Pure.
#pragma once

#include <string>
#include <vector>

#include "pkg/api/core.h"
#include "pkg/nodes/node_chooser.h"
#include "pkg/protocol/claim_state.h"

namespace dra::nodes {

// The node that a pod may run on depends on other pods or on volumes.
bool reads_beyond_node(const api::Pod& pod);
// The namespace, requests, ports, selectors, node affinity and tolerations of a pod: what NodeChooser::shape() returns
// for a pod of which placement reads nothing else. Empty for other pods.
std::string node_shape(const api::Pod& pod);
// True only if node_shape() of both is the same. Comparing costs a tenth of making the text.
bool has_same_node_shape(const api::Pod& a, const api::Pod& b);

// `on_nodes`: NodeChooser::shape(). Empty when no other pod is like it: `on_nodes` is empty, the pod is bound, or one
// of its claims is allocated or may be used by other pods too. Otherwise 16 hexadecimal digits.
//
// `depends_on_pods`: the choice of nodes depended on other pods (NodeChoice), whose terms match this one by its labels.
// Only then are the labels included: each pod of an indexed Job or a StatefulSet has some of its own.
std::string shape_of(const api::Pod& pod, const std::string& on_nodes, const std::vector<protocol::ClaimState>& claims,
                     bool depends_on_pods);

// The same for a member of a group (gang::Member::shape), whose search itself distinguishes members by their allocated
// claims and by those that members share: only the text of the others counts, whoever made them. Includes the priority,
// by which nodes may be kept from a pod (controllers/allocation/kept/kept_nodes.h).
std::string shape_of_member(const api::Pod& pod, const std::string& on_nodes,
                            const std::vector<protocol::ClaimState>& claims);

// The same for the members of one group, one after the other: most are like the one before, and comparing costs a
// fraction of making the text. What it was given last must outlive the next call.
class MemberShapes {
 public:
  explicit MemberShapes(const NodeChooser& nodes) : nodes_(nodes) {}
  std::string of(const api::Pod& pod, const std::vector<protocol::ClaimState>& claims);

 private:
  const NodeChooser& nodes_;
  const api::Pod* pod_ = nullptr;
  const std::vector<protocol::ClaimState>* claims_ = nullptr;
  std::string on_nodes_;
  std::string shape_;
};

}  // namespace dra::nodes
