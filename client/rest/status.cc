#include "client/rest/status.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "pkg/api/decode/decode_protobuf.h"
#include "pkg/base/strings.h"

namespace dra::client {
namespace {

using nlohmann::json;

constexpr size_t kMaxStatusBytes = 1 << 20;
constexpr size_t kMaxExcerpt = 200;

Code code_of(int status, std::string_view reason) {
  switch (status) {
    case 400:
    case 413:
    case 422:
      return Code::kInvalidArgument;
    case 401:
      return Code::kUnauthenticated;
    case 403:
      return Code::kPermissionDenied;
    case 404:
      return Code::kNotFound;
    case 405:
    case 406:
    case 415:
      return Code::kUnsupported;
    case 409:
      return reason == "AlreadyExists" ? Code::kAlreadyExists : Code::kConflict;
    case 410:
      return Code::kGone;
    case 429:
      return Code::kTooManyRequests;
    case 408:
    case 504:
      return Code::kDeadlineExceeded;
    default:
      return status >= 500 ? Code::kUnavailable : Code::kInternal;
  }
}

std::string text_at(const json& object, const char* key) {
  auto it = object.find(key);
  return it != object.end() && it->is_string() ? it->get<std::string>() : std::string();
}

int int_at(const json& object, const char* key) {
  auto it = object.find(key);
  if (it == object.end() || !it->is_number_integer()) return 0;
  auto value = it->get<int64_t>();
  return value < 0 || value > 1'000'000 ? 0 : static_cast<int>(value);
}

// Deeply nested JSON would make the parser's tree deep; a valid Status is shallow.
json parse_shallow(std::string_view text) {
  if (text.size() > kMaxStatusBytes) return json();
  int depth = 0;
  int deepest = 0;
  for (char c : text) {
    if (c == '{' || c == '[') deepest = std::max(deepest, ++depth);
    if (c == '}' || c == ']') --depth;
  }
  return deepest > 200 ? json() : json::parse(text.begin(), text.end(), nullptr, false);
}

// Answers may contain any bytes; the excerpt for messages is one line of valid text.
std::string excerpt(std::string_view body) {
  std::string out;
  for (char c : body.substr(0, kMaxExcerpt)) {
    auto byte = static_cast<unsigned char>(c);
    out += byte < 0x20 || byte >= 0x7f ? ' ' : c;
  }
  std::string trimmed(trim(out));
  return body.size() > kMaxExcerpt ? trimmed + "..." : trimmed;
}

Error make_error(const json& status, std::string_view text, int http, int retry_after, std::string_view what) {
  std::string reason = text_at(status, "reason");
  std::string message = text_at(status, "message");
  auto details = status.find("details");
  if (retry_after == 0 && details != status.end() && details->is_object()) {
    retry_after = int_at(*details, "retryAfterSeconds");
  }
  if (message.empty()) message = reason.empty() ? "HTTP status " + std::to_string(http) : reason;
  Error error(code_of(http, reason), http, reason, std::string(what) + ": " + message);
  error.with_status_json(std::string(text)).with_retry_after(retry_after);
  return error;
}

}  // namespace

Error error_from_response(const Response& response, std::string_view what) {
  const bool protobuf = response.body.starts_with(api::kProtobufMagic) && response.body.size() <= kMaxStatusBytes;
  const std::string text = protobuf ? api::protobuf_status(response.body).value_or("") : response.body;
  json status = parse_shallow(text);
  if (status.is_object() && text_at(status, "kind") == "Status") {
    return make_error(status, text, response.status, response.retry_after_seconds, what);
  }
  std::string message = std::string(what) + ": HTTP status " + std::to_string(response.status);
  std::string begin = excerpt(response.body);
  if (!begin.empty()) message += ": " + begin;
  Error error(code_of(response.status, {}), response.status, "", std::move(message));
  return error.with_retry_after(response.retry_after_seconds);
}

Error error_from_status(std::string_view status_json, int retry_after_seconds, std::string_view what) {
  json status = parse_shallow(status_json);
  if (!status.is_object()) return Error(Code::kInternal, std::string(what) + ": an ERROR event without a Status");
  int http = int_at(status, "code");
  return make_error(status, status_json, http == 0 ? 500 : http, retry_after_seconds, what);
}

bool names_field(const Error& error, std::string_view field) {
  json status = parse_shallow(error.status_json());
  if (!status.is_object()) return false;
  auto details = status.find("details");
  if (details == status.end() || !details->is_object()) return false;
  auto causes = details->find("causes");
  if (causes == details->end() || !causes->is_array()) return false;
  return std::any_of(causes->begin(), causes->end(),
                     [&](const json& cause) { return cause.is_object() && text_at(cause, "field") == field; });
}

bool mentions(const Error& error, std::string_view text) {
  return error.message().find(text) != std::string::npos || error.status_json().find(text) != std::string::npos;
}

bool is_too_large_resource_version(const Error& error) {
  if (error.http_status() == 0) return false;
  json status = parse_shallow(error.status_json());
  if (!status.is_object()) return false;
  return error.message().find("Too large resource version") != std::string::npos ||
         mentions(error, "ResourceVersionTooLarge");
}

}  // namespace dra::client
