// What a snapshot keeps of an object: the fields that decisions and answers read. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace dra::inspect {

// Of a pod: metadata, the part of the spec that placement reads, the status. Of other kinds: everything. In all
// metadata: only annotations of this project and of resource.k8s.io, and managedFields without their fields (except
// that of status.nominatedNodeName, which decisions read).
void prune(std::string_view plural, nlohmann::json& object);

}  // namespace dra::inspect
