// Converts HTTP answers to typed errors: metav1.Status and its meaning for the caller.
#pragma once

#include <string>
#include <string_view>

#include "client/transport/transport.h"
#include "pkg/base/error.h"

namespace dra::client {

// The error for a refused request. `what` names the request ("GET /api/v1/pods/x"). The message is the server's own if
// it sent a Status (in JSON or protobuf), otherwise the beginning of the body. Any bytes are accepted.
Error error_from_response(const Response& response, std::string_view what);

// The error for a Status object's JSON text, as in the ERROR event of a watch.
Error error_from_status(std::string_view status_json, int retry_after_seconds, std::string_view what);

// True if the Status in the error names this field ("metadata.uid", "status.allocation"). Safe on any
// error.
bool names_field(const Error& error, std::string_view field);
// True if a cause or the message contains the text, whatever the field: for "resourceclaims/binding".
bool mentions(const Error& error, std::string_view text);
// "Timeout: Too large resource version: 12, current: 10": the server has not reached the requested version.
bool is_too_large_resource_version(const Error& error);

}  // namespace dra::client
