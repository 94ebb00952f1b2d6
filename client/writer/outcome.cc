// What the answer to a write means.
#include "client/rest/status.h"
#include "client/writer/writer.h"

namespace dra::client {

std::string_view outcome_name(WriteOutcome outcome) {
  switch (outcome) {
    case WriteOutcome::kDone:
      return "Done";
    case WriteOutcome::kUnchanged:
      return "Unchanged";
    case WriteOutcome::kLostRace:
      return "LostRace";
    case WriteOutcome::kAlreadyExists:
      return "AlreadyExists";
    case WriteOutcome::kGone:
      return "Gone";
    case WriteOutcome::kForbidden:
      return "Forbidden";
    case WriteOutcome::kInvalid:
      return "Invalid";
    case WriteOutcome::kThrottled:
      return "Throttled";
    case WriteOutcome::kUnknown:
      return "Unknown";
    case WriteOutcome::kNotSent:
      return "NotSent";
    case WriteOutcome::kFailed:
      return "Failed";
  }
  return "Unknown";
}

bool surely_not_performed(WriteOutcome outcome) {
  return outcome != WriteOutcome::kDone && outcome != WriteOutcome::kUnchanged && outcome != WriteOutcome::kUnknown;
}

WriteOutcome classify_write_error(const Error& error, WriteVerb verb) {
  int status = error.http_status();
  if (status == 0) {
    if (error.code() == Code::kInvalidArgument) return WriteOutcome::kInvalid;  // no target to send it to
    bool never_sent = error.code() == Code::kUnauthenticated || error.code() == Code::kResourceExhausted;
    return never_sent ? WriteOutcome::kFailed : WriteOutcome::kUnknown;
  }
  if (status == 422) {
    // The permission to write allocations is checked in validation, so its lack is not a 403.
    if (mentions(error, "resourceclaims/binding")) return WriteOutcome::kForbidden;
    if (names_field(error, "metadata.uid")) return WriteOutcome::kGone;
    if (names_field(error, "status.allocation") && mentions(error, "immutable")) return WriteOutcome::kLostRace;
    return WriteOutcome::kInvalid;
  }
  if (status >= 500) return WriteOutcome::kUnknown;
  switch (error.code()) {
    case Code::kConflict:
      // A deletion whose uid precondition fails is about an instance that is gone.
      return verb == WriteVerb::kDelete && mentions(error, "UID in precondition") ? WriteOutcome::kGone
                                                                                  : WriteOutcome::kLostRace;
    case Code::kAlreadyExists:
      return WriteOutcome::kAlreadyExists;
    case Code::kNotFound:
      return WriteOutcome::kGone;
    case Code::kPermissionDenied:
      return WriteOutcome::kForbidden;
    case Code::kTooManyRequests:
      return WriteOutcome::kThrottled;
    case Code::kInvalidArgument:
    case Code::kUnsupported:
      return WriteOutcome::kInvalid;
    default:
      return WriteOutcome::kFailed;
  }
}

}  // namespace dra::client
