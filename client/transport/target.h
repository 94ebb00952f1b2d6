// What may stand in a request's target. Pure.
#pragma once

#include <string>
#include <string_view>

namespace dra::client {

// Why no request must be sent to this target (path and query), "" when one may be: a name that is empty, "." or "..",
// or that holds a slash or a control byte, percent-encoded or not, would make the path that of another object, or of a
// whole collection. Names come from objects that tenants write.
std::string target_problem(std::string_view target);

}  // namespace dra::client
