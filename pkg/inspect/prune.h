// What a snapshot keeps of an object: the fields that decisions and answers read. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace dra::inspect {

// Of a pod: metadata, what placement reads of the spec, the status. Of other kinds: everything. Of all metadata:
// annotations of this project and of resource.k8s.io only, managedFields without their fields (but that of
// status.nominatedNodeName, which decisions read).
void prune(std::string_view plural, nlohmann::json& object);

}  // namespace dra::inspect
