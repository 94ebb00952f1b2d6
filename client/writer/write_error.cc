// The meaning of write errors: the only place where the server's answers become codes to react to.
#include "client/rest/status.h"
#include "client/writer/writer.h"

namespace dra::client {

namespace {

Code code_of_422(const Error& error) {
  // The permission to write allocations is checked in validation, so its absence is not a 403.
  if (mentions(error, "resourceclaims/binding")) return Code::kPermissionDenied;
  if (names_field(error, "metadata.uid")) return Code::kNotFound;
  if (names_field(error, "status.allocation") && mentions(error, "immutable")) return Code::kConflict;
  return Code::kInvalidArgument;
}

// Admission plugins answer 403 like the authorizer, but with other texts.
Code code_of_403(const Error& error) {
  if (mentions(error, "exceeded quota")) return Code::kResourceExhausted;
  if (mentions(error, "because it is being terminated")) return Code::kNotFound;
  const bool by_webhook = mentions(error, "denied the request"), by_policy = mentions(error, "denied request");
  return by_webhook || by_policy ? Code::kInvalidArgument : Code::kPermissionDenied;
}

Error with_code(const Error& error, Code code) {
  Error meant(code, error.http_status(), error.reason(), error.message());
  meant.with_status_json(error.status_json()).with_retry_after(error.retry_after_seconds());
  return meant;
}

}  // namespace

Error write_error(const Error& error, WriteVerb verb) {
  if (error.http_status() == 422) return with_code(error, code_of_422(error));
  if (error.http_status() == 403) return with_code(error, code_of_403(error));
  // A deletion whose uid precondition fails refers to an instance that no longer exists.
  if (verb == WriteVerb::kDelete && error.code() == Code::kConflict && mentions(error, "UID in precondition"))
    return with_code(error, Code::kNotFound);
  if (error.http_status() != 0 && error.code() == Code::kUnsupported) return with_code(error, Code::kInvalidArgument);
  return error;
}

bool outcome_unknown(const Error& error) {
  return error.outcome_unknown() || error.http_status() >= 500;
}

}  // namespace dra::client
