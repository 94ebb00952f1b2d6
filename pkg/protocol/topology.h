// Topology: the domain of nodes within which pods should be placed, from their annotations or their PodGroup.
//
//   dra-controller-manager/topology-required: example.com/spine   all in one domain of this label, or not at all
//   dra-controller-manager/topology-preferred: example.com/rack   in one domain of this label if there is capacity
//
// On a PodGroup, or on pods: those of a Job that is a group, or single ones. A domain is the set of nodes with equal
// values of the label and of all wider levels (--topology-levels, from wide to narrow). A label that is not among the
// levels is a level of its own. "attribute:gpu.example.com/clique" is a level as well: the nodes whose devices have one
// value of that attribute (pkg/gang/levels.h). spec.schedulingConstraints.topology of a PodGroup of scheduling.k8s.io
// counts as required.
//
// Tenants write this: what is not a label key is ignored and reported. Pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pkg/api/meta.h"

namespace dra::protocol {

inline constexpr std::string_view kTopologyRequiredAnnotation = "dra-controller-manager/topology-required";
inline constexpr std::string_view kTopologyPreferredAnnotation = "dra-controller-manager/topology-preferred";

// Label keys, or attributes; empty: nothing is requested.
struct TopologyWish {
  std::string required, preferred;
  std::string ignored;  // a clause for people: what was not understood
  bool empty() const { return required.empty() && preferred.empty(); }
  bool operator==(const TopologyWish&) const = default;
};
TopologyWish topology_wish(const api::StringMap& annotations);

// The levels of a search that serves the wish, wide to narrow: the given ones if they contain every label in the wish,
// else the wish's labels themselves.
std::vector<std::string> levels_for(const TopologyWish& wish, const std::vector<std::string>& levels);

}  // namespace dra::protocol
