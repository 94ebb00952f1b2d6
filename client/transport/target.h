// Checks the target of a request. Pure.
#pragma once

#include <string>
#include <string_view>

namespace dra::client {

// Why no request may be sent to this target (path and query), or "". A name that is empty, "." or "..", or contains a
// slash or a control byte, percent-encoded or not, would make the path that of another object or of a whole collection.
// Tenants choose these names.
std::string target_problem(std::string_view target);
// The namespace in the path as it is written; "" for resources of the cluster.
std::string_view target_namespace(std::string_view target);

}  // namespace dra::client
