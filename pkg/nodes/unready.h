// A node that is not Ready, before it bears the taint that says so.
//
// kube-scheduler reads taints only. kube-controller-manager (nodelifecycle, TaintNodesByCondition) adds
// node.kubernetes.io/not-ready:NoSchedule to a node whose condition Ready is False, and node.kubernetes.io/unreachable
// if it is Unknown, some time after the condition. A pod that is given devices in between waits for a kubelet that
// cannot prepare them. So here such a node counts as tainted from the condition on. Pods that tolerate the taint are
// placed there, as later. A node without the condition counts as ready. Pure.
#pragma once

#include <string_view>
#include <vector>

#include "pkg/api/core.h"

namespace dra::nodes {

// "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"; empty: the node is ready.
std::string_view unready_taint(const api::Node& node);

// The node's taints, and the one above with the effect NoSchedule if the node lacks it.
std::vector<api::Taint> taints_in_force(const api::Node& node);

}  // namespace dra::nodes
