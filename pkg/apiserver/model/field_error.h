// Field errors: what validation reports about one field, in the words of k8s.io/apimachinery's field package. They
// become `details.causes` of a 422 Status and, joined, its message. Plain values; no shared state.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/apiserver/model/json.h"

namespace dra::apiserver {

// "spec.devices.requests[0].exactly": a path that is extended downwards. Cheap to copy.
class FieldPath {
 public:
  FieldPath() = default;
  explicit FieldPath(std::string_view text) : text_(text) {}
  FieldPath child(std::string_view name) const {
    return FieldPath(text_.empty() ? std::string(name) : text_ + "." + std::string(name));
  }
  FieldPath index(size_t i) const { return FieldPath(text_ + "[" + std::to_string(i) + "]"); }
  FieldPath key(std::string_view k) const { return FieldPath(text_ + "[" + std::string(k) + "]"); }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

struct FieldError {
  std::string reason;   // "FieldValueRequired"
  std::string field;    // "metadata.name"
  std::string message;  // "Required value: name or generateName is required" (without the field)
  bool operator==(const FieldError&) const = default;
};
using FieldErrors = std::vector<FieldError>;

// The constructors below are named after field.Error types. `detail` may be empty where upstream allows it.
FieldError required(const FieldPath& path, std::string_view detail);
// A value that is a string (quoted as Go's %q does) ...
FieldError invalid(const FieldPath& path, std::string_view value, std::string_view detail);
// ... or any document: numbers and booleans bare, null as `null`, objects and arrays as compact JSON.
FieldError invalid_value(const FieldPath& path, const Json& value, std::string_view detail);
// ... or a text that is copied unchanged (Go struct dumps and the like).
FieldError invalid_raw(const FieldPath& path, std::string_view rendered, std::string_view detail);
FieldError not_supported(const FieldPath& path, std::string_view value, const std::vector<std::string>& supported);
FieldError duplicate(const FieldPath& path, std::string_view value);
// `rendered`: the value as upstream prints it.
FieldError duplicate_raw(const FieldPath& path, std::string_view rendered);
FieldError forbidden(const FieldPath& path, std::string_view detail);
FieldError too_long(const FieldPath& path, int64_t max_bytes);
FieldError too_many(const FieldPath& path, int64_t actual, int64_t max_items);
FieldError field_not_found(const FieldPath& path, std::string_view value);
FieldError internal_error(const FieldPath& path, std::string_view detail);

// "field: message", or just the message for the root.
std::string to_text(const FieldError& error);
// "a: x" or "[a: x, b: y]": the aggregate of all distinct errors, as in the message of a 422.
std::string aggregate_text(const FieldErrors& errors);

}  // namespace dra::apiserver
