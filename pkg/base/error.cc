#include "pkg/base/error.h"

namespace dra {

std::string_view code_name(Code code) {
  switch (code) {
    case Code::kInvalidArgument:
      return "InvalidArgument";
    case Code::kUnauthenticated:
      return "Unauthenticated";
    case Code::kPermissionDenied:
      return "PermissionDenied";
    case Code::kNotFound:
      return "NotFound";
    case Code::kAlreadyExists:
      return "AlreadyExists";
    case Code::kConflict:
      return "Conflict";
    case Code::kGone:
      return "Gone";
    case Code::kTooManyRequests:
      return "TooManyRequests";
    case Code::kUnsupported:
      return "Unsupported";
    case Code::kUnavailable:
      return "Unavailable";
    case Code::kDeadlineExceeded:
      return "DeadlineExceeded";
    case Code::kCancelled:
      return "Cancelled";
    case Code::kResourceExhausted:
      return "ResourceExhausted";
    case Code::kInternal:
      return "Internal";
  }
  return "Unknown";
}

Error Error::wrap(std::string_view context) const {
  Error wrapped = *this;
  wrapped.message_ = std::string(context) + ": " + message_;
  return wrapped;
}

std::string to_string(const Error& error) {
  std::string text(code_name(error.code()));
  if (error.http_status() != 0) text += " (HTTP " + std::to_string(error.http_status()) + ")";
  return text + ": " + error.message();
}

}  // namespace dra
