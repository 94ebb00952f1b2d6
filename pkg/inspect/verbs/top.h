// top: how much exists, how much is used, free and unusable, and what can still be allocated. Pure over a State.
#pragma once

#include <string>
#include <vector>

#include "pkg/inspect/answer/answer.h"
#include "pkg/inspect/state/state.h"

namespace dra::inspect {

// The objects that listing verbs cover.
struct Scope {
  std::string ns;  // empty: all namespaces
  api::LabelSelector labels;
  std::string node{};  // empty: all nodes
};

// By node and driver: cards by state, free shapes, shared capacity left. Nodes that match the labels, in natural order
// (tpu-2 before tpu-15), and the sum of each driver that is on several.
Answer top_nodes(State& state, const Scope& scope);
// By device class: devices, and the largest request that fits one node.
Answer top_classes(State& state);
// Claims, or namespaces, that match the labels.
Answer top_claims(const State& state, const Scope& scope);
Answer top_namespaces(const State& state, const Scope& scope);

// The largest count of the class that one node can give now; `exact` is false if the search ended at its budget.
struct LargestRequest {
  uint32_t count = 0;
  std::string node;
  bool exact = true;
};
LargestRequest largest_request(State& state, const std::string& device_class);

// The node on which the claim's devices are used: that of its allocation's selector, or "".
std::string node_of(const api::ResourceClaim& claim);

}  // namespace dra::inspect
