// The extended resources that a pod gets from device plugins, and not by a claim (KEP-5004). Pure.
#pragma once

#include <set>
#include <string>

#include "pkg/api/core.h"

namespace dra::api {

// Of a pod on a node that has not ended: resources with a "/" that a container or init container requests more than
// zero of, and that status.extendedResourceClaimStatus.requestMappings do not name for it. Includes native ones whose
// names have a "/" (hugepages do not).
std::set<std::string> plugin_resources(const Pod& pod);
// status.allocatable has more than zero of it.
bool offers(const Node& node, const std::string& resource);

}  // namespace dra::api
