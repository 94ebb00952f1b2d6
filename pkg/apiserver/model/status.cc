#include "pkg/apiserver/model/status.h"

#include <nlohmann/json.hpp>

#include "pkg/base/strings.h"

namespace dra::apiserver {

namespace {

Status named_status(int code, std::string_view reason, const GroupResource& resource, std::string_view name,
                    std::string message) {
  Status s;
  s.code = code;
  s.reason = reason;
  s.message = std::move(message);
  s.name = name;
  s.group = resource.group;
  s.kind = resource.resource;
  return s;
}

Status bare_status(int code, std::string_view reason, std::string_view message, bool details) {
  Status s;
  s.code = code;
  s.reason = reason;
  s.message = message;
  s.has_details = details;
  return s;
}

}  // namespace

Status not_found(const GroupResource& resource, std::string_view name) {
  return named_status(404, "NotFound", resource, name, resource.text() + " " + quote(name) + " not found");
}

Status already_exists(const GroupResource& resource, std::string_view name) {
  return named_status(409, "AlreadyExists", resource, name, resource.text() + " " + quote(name) + " already exists");
}

Status conflict(const GroupResource& resource, std::string_view name, std::string_view detail) {
  return named_status(
      409, "Conflict", resource, name,
      "Operation cannot be fulfilled on " + resource.text() + " " + quote(name) + ": " + std::string(detail));
}

Status modified(const GroupResource& resource, std::string_view name) {
  return conflict(resource, name,
                  "the object has been modified; please apply your changes to the latest version and try again");
}

Status forbidden_status(const GroupResource& resource, std::string_view name, std::string_view detail) {
  std::string subject = resource.text();
  if (!name.empty()) subject += " " + quote(name);
  return named_status(403, "Forbidden", resource, name, subject + " is forbidden: " + std::string(detail));
}

Status invalid_status(const GroupKind& kind, std::string_view name, const FieldErrors& errors) {
  std::string subject = kind.kind.empty() && !kind.group.empty() ? "." + kind.group : GroupKind(kind).text();
  Status s = named_status(422, "Invalid", {kind.group, kind.kind}, name,
                          subject + " " + quote(name) + " is invalid: " + aggregate_text(errors));
  for (const auto& e : errors) s.causes.push_back({e.reason, e.message, e.field});
  return s;
}

Status bad_request(std::string_view message) {
  return bare_status(400, "BadRequest", message, false);
}

Status method_not_allowed() {
  return bare_status(405, "MethodNotAllowed", "the server does not allow this method on the requested resource", true);
}

Status unknown_resource() {
  return bare_status(404, "NotFound", "the server could not find the requested resource", true);
}

Status unauthorized() {
  return bare_status(401, "Unauthorized", "Unauthorized", false);
}

Status request_timeout() {
  return bare_status(504, "Timeout", "Timeout: request did not complete within the allotted timeout", true);
}

Status too_many_requests(std::string_view message) {
  Status s = bare_status(429, "TooManyRequests", message, true);
  s.retry_after_seconds = 1;
  return s;
}

Status gone(std::string_view message) {
  return bare_status(410, "Expired", message, false);
}

Status too_large(std::string_view message) {
  return bare_status(413, "RequestEntityTooLarge", message, false);
}

Status unsupported_media_type(std::string_view message) {
  return bare_status(415, "UnsupportedMediaType", message, false);
}

Status not_acceptable(std::string_view message) {
  return bare_status(406, "NotAcceptable", message, false);
}

Status plain_error(std::string_view message) {
  return bare_status(500, "", message, false);
}

Status internal_error(std::string_view what) {
  return bare_status(500, "InternalError", "internal error: " + std::string(what), false);
}

Json to_json(const Status& s) {
  Json out = {{"kind", "Status"}, {"apiVersion", "v1"}, {"metadata", Json::object()}, {"status", "Failure"}};
  if (!s.continue_token.empty()) out["metadata"]["continue"] = s.continue_token;
  if (!s.message.empty()) out["message"] = s.message;
  if (!s.reason.empty()) out["reason"] = s.reason;
  if (s.has_details) {
    Json d = Json::object();
    if (!s.name.empty()) d["name"] = s.name;
    if (!s.group.empty()) d["group"] = s.group;
    if (!s.kind.empty()) d["kind"] = s.kind;
    if (!s.uid.empty()) d["uid"] = s.uid;
    for (const auto& c : s.causes) {
      Json cause = Json::object();
      if (!c.reason.empty()) cause["reason"] = c.reason;
      if (!c.message.empty()) cause["message"] = c.message;
      if (!c.field.empty()) cause["field"] = c.field;
      d["causes"].push_back(std::move(cause));
    }
    if (s.retry_after_seconds > 0) d["retryAfterSeconds"] = s.retry_after_seconds;
    out["details"] = std::move(d);
  }
  out["code"] = s.code;
  return out;
}

}  // namespace dra::apiserver
