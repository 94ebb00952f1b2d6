#include "pkg/apiserver/model/field_error.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "pkg/base/strings.h"

namespace dra::apiserver {

namespace {

FieldError make_field_error(std::string_view reason, const FieldPath& path, std::string message,
                            std::string_view detail) {
  if (!detail.empty()) message += ": " + std::string(detail);
  return {std::string(reason), path.text(), std::move(message)};
}

std::string rendered_value(const Json& value) {
  if (value.is_string()) return quote(value.get_ref<const std::string&>());
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

FieldError required(const FieldPath& path, std::string_view detail) {
  return make_field_error("FieldValueRequired", path, "Required value", detail);
}

FieldError invalid(const FieldPath& path, std::string_view value, std::string_view detail) {
  return make_field_error("FieldValueInvalid", path, "Invalid value: " + quote(value), detail);
}

FieldError invalid_value(const FieldPath& path, const Json& value, std::string_view detail) {
  return make_field_error("FieldValueInvalid", path, "Invalid value: " + rendered_value(value), detail);
}

FieldError invalid_raw(const FieldPath& path, std::string_view rendered, std::string_view detail) {
  return make_field_error("FieldValueInvalid", path, "Invalid value: " + std::string(rendered), detail);
}

FieldError not_supported(const FieldPath& path, std::string_view value, const std::vector<std::string>& supported) {
  std::string detail;
  if (!supported.empty()) {
    std::vector<std::string> quoted;
    for (const auto& s : supported) quoted.push_back(quote(s));
    detail = "supported values: " + join(quoted, ", ");
  }
  return make_field_error("FieldValueNotSupported", path, "Unsupported value: " + quote(value), detail);
}

FieldError duplicate(const FieldPath& path, std::string_view value) {
  return make_field_error("FieldValueDuplicate", path, "Duplicate value: " + quote(value), "");
}

FieldError duplicate_raw(const FieldPath& path, std::string_view rendered) {
  return make_field_error("FieldValueDuplicate", path, "Duplicate value: " + std::string(rendered), "");
}

FieldError forbidden(const FieldPath& path, std::string_view detail) {
  return make_field_error("FieldValueForbidden", path, "Forbidden", detail);
}

FieldError too_long(const FieldPath& path, int64_t max_bytes) {
  return make_field_error("FieldValueTooLong", path, "Too long",
                          "may not be more than " + std::to_string(max_bytes) + " bytes");
}

FieldError too_many(const FieldPath& path, int64_t actual, int64_t max_items) {
  return make_field_error("FieldValueTooMany", path, "Too many: " + std::to_string(actual),
                          "must have at most " + std::to_string(max_items) + (max_items == 1 ? " item" : " items"));
}

FieldError field_not_found(const FieldPath& path, std::string_view value) {
  return make_field_error("FieldValueNotFound", path, "Not found: " + quote(value), "");
}

FieldError internal_error(const FieldPath& path, std::string_view detail) {
  return make_field_error("InternalError", path, "Internal error", detail);
}

std::string to_text(const FieldError& error) {
  return error.field.empty() ? error.message : error.field + ": " + error.message;
}

std::string aggregate_text(const FieldErrors& errors) {
  std::vector<std::string> texts;
  for (const auto& e : errors) {
    std::string text = to_text(e);
    if (std::find(texts.begin(), texts.end(), text) == texts.end()) texts.push_back(std::move(text));
  }
  if (texts.size() == 1) return texts[0];
  return "[" + join(texts, ", ") + "]";
}

}  // namespace dra::apiserver
