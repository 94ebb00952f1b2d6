// Error and Result<T>: how a function in this project reports failure.
//
// A fallible function returns Result<T>; exceptions are for bugs only. An Error carries what a caller can act on: a
// code, the HTTP status (received from an API server, or to be sent as the answer), a message that names the object,
// the field, the fault and the remedy, and whether a retry can help. Values of both types share no state and may be
// used from any thread.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

namespace dra {

// The closed set of failure kinds. Each represents one way of reacting, not one place in the code.
enum class Code {
  kInvalidArgument,    // the input is wrong and stays wrong until somebody changes it (HTTP 400, 422)
  kUnauthenticated,    // 401
  kPermissionDenied,   // 403
  kNotFound,           // 404
  kAlreadyExists,      // 409 with reason AlreadyExists
  kConflict,           // 409 with reason Conflict: a precondition on uid or resourceVersion failed
  kGone,               // 410: the resourceVersion or continue token has expired
  kTooManyRequests,    // 429
  kUnsupported,        // the other side, or this build, lacks the feature (404 on an API, 405, 406, 415)
  kUnavailable,        // no answer: connection refused, reset, 5xx
  kDeadlineExceeded,   // no answer in time; whether a write took effect is unknown
  kCancelled,          // the caller gave up
  kResourceExhausted,  // a bound of this project was reached (size, depth, budget)
  kInternal,           // a bug in this project
};

// The upper-camel name of a code ("NotFound"), for logs and metrics labels.
std::string_view code_name(Code code);

class Error {
 public:
  Error(Code code, std::string message) : code_(code), message_(std::move(message)) {}
  Error(Code code, int http_status, std::string reason, std::string message)
      : code_(code), http_status_(http_status), reason_(std::move(reason)), message_(std::move(message)) {}

  Code code() const { return code_; }
  // The HTTP status received, or 0 if there was none.
  int http_status() const { return http_status_; }
  // metav1.StatusReason if the answer contained a Status object ("AlreadyExists"), else empty.
  const std::string& reason() const { return reason_; }
  const std::string& message() const { return message_; }
  // The JSON text of the Status object if the answer contained one, else empty. For callers that need its
  // details.
  const std::string& status_json() const { return status_json_; }
  // Seconds from the Retry-After header; 0 without one.
  int retry_after_seconds() const { return retry_after_seconds_; }
  // True if a write that ended with this error may or may not have taken effect.
  bool outcome_unknown() const {
    return code_ == Code::kDeadlineExceeded || (code_ == Code::kUnavailable && http_status_ == 0);
  }

  Error& with_status_json(std::string json) {
    status_json_ = std::move(json);
    return *this;
  }
  Error& with_retry_after(int seconds) {
    retry_after_seconds_ = seconds;
    return *this;
  }
  // The same error with "context: " in front of its message.
  Error wrap(std::string_view context) const;

 private:
  Code code_;
  int http_status_ = 0;
  std::string reason_;
  std::string message_;
  std::string status_json_;
  int retry_after_seconds_ = 0;
};

// "NotFound: the message" (with the HTTP status if there is one), one line, for logs.
std::string to_string(const Error& error);

template <typename T>
using Result = tl::expected<T, Error>;
using Unexpected = tl::unexpected<Error>;

// Shorthand for returning a failure: return fail(Code::kNotFound, "node \"a\" not found");
inline Unexpected fail(Code code, std::string message) {
  return Unexpected(Error(code, std::move(message)));
}
inline Unexpected fail(Error error) {
  return Unexpected(std::move(error));
}

}  // namespace dra
