// What a pod wants of nodes and devices, as a text: two waiting pods of one namespace with equal shapes fit or fail
// together (pkg/reconcile/parking.h tries one of them first). Pure.
#pragma once

#include <string>
#include <vector>

#include "controllers/allocation/protocol.h"
#include "pkg/api/core.h"

namespace dra::allocation {

// The namespace, requests, ports, selectors, node affinity and tolerations of a pod: what NodeChooser::shape() is where
// placement looks at nothing else.
std::string node_shape(const api::Pod& pod);

// `on_nodes`: NodeChooser::shape(). Empty where the pod is like no other: that is empty, it is bound already, or one of
// its claims is allocated or may be used by other pods, too. 16 hexadecimal digits otherwise.
//
// `depends_on_pods`: the choice of nodes depended on other pods (NodeChoice), whose terms mean this one by its labels.
// Only then are the labels part of it: each pod of an indexed Job or a StatefulSet has some of its own.
std::string shape_of(const api::Pod& pod, const std::string& on_nodes, const std::vector<ClaimState>& claims,
                     bool depends_on_pods);

}  // namespace dra::allocation
