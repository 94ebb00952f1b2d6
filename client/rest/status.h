// From HTTP answers to typed errors: metav1.Status and what it means for the caller.
#pragma once

#include <string>
#include <string_view>

#include "client/transport/transport.h"
#include "pkg/base/error.h"

namespace dra::client {

// The error a refused request stands for. `what` names the request ("GET /api/v1/pods/x"). The message is the server's
// own where it sent a Status (in JSON or protobuf), and the beginning of the body otherwise. Any bytes are accepted.
Error error_from_response(const Response& response, std::string_view what);

// The error of a Status object's JSON text, as it comes in the ERROR event of a watch.
Error error_from_status(std::string_view status_json, int retry_after_seconds, std::string_view what);

// True when the Status among the error's details names this field ("metadata.uid", "status.allocation"). Safe on
// any error.
bool names_field(const Error& error, std::string_view field);
// True when a cause or the message names it, whatever the field is: for "resourceclaims/binding".
bool mentions(const Error& error, std::string_view text);
// "Timeout: Too large resource version: 12, current: 10": the server is behind the version that was asked for.
bool is_too_large_resource_version(const Error& error);

}  // namespace dra::client
