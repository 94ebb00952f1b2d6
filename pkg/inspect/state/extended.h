// Extended resources that a DeviceClass provides, as a question: the pod without them, and the claim that is created
// for them if no device plugin offers them (pkg/protocol/extended.h). Pure over a State.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/inspect/state/state.h"
#include "pkg/protocol/extended.h"

namespace dra::inspect {

struct ByClass {
  std::vector<protocol::ExtendedResource> resources;
  api::Pod rest;  // the pod without them
  Claim claim;    // the claim that serves them; on no server
  // The nodes on which all of them come from the claim, and whether there are others, on which device plugins offer
  // some. Empty with `others` false if there are no nodes.
  std::vector<std::string> nodes;
  bool others = false;
};
// Nothing if no class provides what the pod asks for, if a claim for it exists already, or if the server's gate is
// known to be off.
std::optional<ByClass> asked_by_class(const Objects& objects, const api::Pod& pod);

// Whether the name is that of a resource which a device plugin or a DeviceClass offers: "nvidia.com/gpu".
bool is_extended_resource(std::string_view name);
// What nodes have, their device plugins' resources among it.
std::set<std::string> resources_of_nodes(const Objects& objects);
// Extended resources of the pod's containers that nobody offers, each once: until somebody does, the pod waits. Empty
// if nodes or classes are not visible.
std::vector<std::string> unoffered_resources(const Objects& objects, const api::Pod& pod);

// The uid of the claim that is assumed for the pod.
std::string supposed_uid(const std::string& pod_uid);

}  // namespace dra::inspect
