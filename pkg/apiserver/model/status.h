// metav1.Status: every failure the server answers, with upstream's codes, reasons and messages. Plain values.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "pkg/apiserver/model/field_error.h"

namespace dra::apiserver {

struct StatusCause {
  std::string reason;
  std::string message;
  std::string field;
};

// A failure. `kind` is what details.kind shows: the plural for 404/409/403, the Kind for 422.
struct Status {
  int code = 500;
  std::string reason;
  std::string message;
  bool has_details = true;  // false: no `details` member; true with nothing set: `details: {}`
  std::string name;
  std::string group;
  std::string kind;
  std::string uid;
  std::vector<StatusCause> causes;
  int retry_after_seconds = 0;
  std::string continue_token;  // metadata.continue of a 410 on a continue token
  bool plain_text = false;     // the answer is the message as text/plain, or (504) bare JSON under text/plain
};

template <typename T>
using StatusOr = tl::expected<T, Status>;
using StatusFailure = tl::unexpected<Status>;
inline StatusFailure fail_status(Status status) {
  return StatusFailure(std::move(status));
}

// group and plural name of a resource, for messages: "resourceclaims.resource.k8s.io".
struct GroupResource {
  std::string group;
  std::string resource;
  std::string text() const { return group.empty() ? resource : resource + "." + group; }
};
struct GroupKind {
  std::string group;
  std::string kind;
  std::string text() const { return group.empty() ? kind : kind + "." + group; }
};

Status not_found(const GroupResource& resource, std::string_view name);
Status already_exists(const GroupResource& resource, std::string_view name);
// "Operation cannot be fulfilled on Q "n": detail".
Status conflict(const GroupResource& resource, std::string_view name, std::string_view detail);
// The resourceVersion of a PUT or patch is stale.
Status modified(const GroupResource& resource, std::string_view name);
// `Q "n" is forbidden: detail` (without `"n"` if the name is empty).
Status forbidden_status(const GroupResource& resource, std::string_view name, std::string_view detail);
Status invalid_status(const GroupKind& kind, std::string_view name, const FieldErrors& errors);
Status bad_request(std::string_view message);
Status method_not_allowed();
Status unknown_resource();  // 404 "the server could not find the requested resource"
Status unauthorized();
// 504 "Timeout: request did not complete within the allotted timeout".
Status request_timeout();
Status too_many_requests(std::string_view message);
Status gone(std::string_view message);
Status too_large(std::string_view message);
Status unsupported_media_type(std::string_view message);
Status not_acceptable(std::string_view message);
// 500 without a reason: upstream's answer if a plain Go error escapes.
Status plain_error(std::string_view message);
// 500 for a bug of this package.
Status internal_error(std::string_view what = "a step of this request failed, the server's log says why");

// The document: {"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",...}.
Json to_json(const Status& status);

}  // namespace dra::apiserver
