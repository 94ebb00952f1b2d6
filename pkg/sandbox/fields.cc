#include "pkg/sandbox/fields.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "pkg/base/closest.h"
#include "pkg/base/strings.h"

namespace dra::sandbox {
namespace {

std::string escape_pointer(std::string_view key) {
  std::string text;
  for (const char c : key) text += c == '~' ? std::string("~0") : c == '/' ? std::string("~1") : std::string(1, c);
  return text;
}

}  // namespace

void Field::refuse(const std::string& what) const {
  std::string where(source_);
  const auto position = positions_->find(pointer_);
  if (position != positions_->end())
    where += ":" + std::to_string(position->second.line) + ":" + std::to_string(position->second.column);
  throw FleetError{where + ": " + (path_.empty() ? "" : path_ + ": ") + what};
}

void Field::allow(std::initializer_list<std::string_view> keys) const {
  if (!value_->is_object()) refuse("a map is expected here");
  for (const auto& [key, value] : value_->items()) {
    if (std::find(keys.begin(), keys.end(), key) != keys.end()) continue;
    const std::vector<std::string> known(keys.begin(), keys.end());
    const std::optional<std::string> meant = closest(key, known);
    at(key).refuse(meant ? "unknown field; did you mean " + quote(*meant) + "?"
                         : "unknown field; known here: " + join(known, ", "));
  }
}

bool Field::has(std::string_view key) const {
  return value_->is_object() && value_->contains(std::string(key));
}

Field Field::at(std::string_view key) const {
  if (!has(key)) refuse("field " + quote(key) + " is required");
  return {(*value_)[std::string(key)], pointer_ + "/" + escape_pointer(key),
          path_.empty() ? std::string(key) : path_ + "." + std::string(key), *positions_, source_};
}

std::vector<Field> Field::items() const {
  if (!value_->is_array()) refuse("a list is expected here");
  std::vector<Field> fields;
  for (size_t i = 0; i < value_->size(); ++i)
    fields.emplace_back((*value_)[i], pointer_ + "/" + std::to_string(i), path_ + "[" + std::to_string(i) + "]",
                        *positions_, source_);
  return fields;
}

std::vector<std::pair<std::string, Field>> Field::entries() const {
  if (!value_->is_object()) refuse("a map is expected here");
  std::vector<std::pair<std::string, Field>> fields;
  for (const auto& [key, value] : value_->items()) fields.emplace_back(key, at(key));
  return fields;
}

std::string Field::text() const {
  if (value_->is_string()) return value_->get<std::string>();
  if (value_->is_number() || value_->is_boolean()) return value_->dump();
  refuse("a text is expected here");
}

std::string Field::text(std::string_view key, std::string_view fallback) const {
  return has(key) ? at(key).text() : std::string(fallback);
}

int64_t Field::integer(int64_t min, int64_t max) const {
  if (!value_->is_number_integer() || value_->get<int64_t>() < min || value_->get<int64_t>() > max)
    refuse("a whole number from " + std::to_string(min) + " to " + std::to_string(max) + " is expected here");
  return value_->get<int64_t>();
}

int64_t Field::integer(std::string_view key, int64_t fallback, int64_t min, int64_t max) const {
  return has(key) ? at(key).integer(min, max) : fallback;
}

bool Field::boolean(std::string_view key, bool fallback) const {
  if (!has(key)) return fallback;
  const Field field = at(key);
  if (!field.value().is_boolean()) field.refuse("true or false is expected here");
  return field.value().get<bool>();
}

}  // namespace dra::sandbox
