#include "pkg/apiserver/validation/json_read.h"

#include <nlohmann/json.hpp>

namespace dra::apiserver {

namespace {

const Json kNullDocument = nullptr;
const Json kEmptyList = Json::array();
const Json kEmptyMap = Json::object();
const std::string kEmptyText;

// For semantic_equal nil and empty are the same.
bool empty_value(const Json& v) {
  return v.is_null() || ((v.is_array() || v.is_object()) && v.empty());
}

}  // namespace

const Json& member(const Json& object, std::string_view key) {
  if (!object.is_object()) return kNullDocument;
  auto it = object.find(key);
  return it == object.end() ? kNullDocument : *it;
}

const Json& member_at(const Json& object, std::string_view dotted_path) {
  const Json* at = &object;
  for (;;) {
    const size_t dot = dotted_path.find('.');
    at = &member(*at, dotted_path.substr(0, dot));
    if (dot == std::string_view::npos) return *at;
    dotted_path.remove_prefix(dot + 1);
  }
}

bool is_set(const Json& object, std::string_view key) {
  return !member(object, key).is_null();
}

const std::string& as_text(const Json& value) {
  return value.is_string() ? value.get_ref<const std::string&>() : kEmptyText;
}

const std::string& text_of(const Json& object, std::string_view key) {
  return as_text(member(object, key));
}

int64_t int_of(const Json& object, std::string_view key) {
  const Json& v = member(object, key);
  return v.is_number() ? v.get<int64_t>() : 0;
}

bool bool_of(const Json& object, std::string_view key) {
  const Json& v = member(object, key);
  return v.is_boolean() && v.get<bool>();
}

const Json& list_of(const Json& object, std::string_view key) {
  const Json& v = member(object, key);
  return v.is_array() ? v : kEmptyList;
}

const Json& map_of(const Json& object, std::string_view key) {
  const Json& v = member(object, key);
  return v.is_object() ? v : kEmptyMap;
}

size_t count_of(const Json& value) {
  return value.is_array() || value.is_object() ? value.size() : 0;
}

bool semantic_equal(const Json& a, const Json& b) {
  if (a.is_null() || b.is_null()) return empty_value(a) && empty_value(b);
  if (a.is_object() && b.is_object()) {
    for (const auto& [key, value] : a.items()) {
      const Json& other = member(b, key);
      if (other.is_null() ? !empty_value(value) : !semantic_equal(value, other)) return false;
    }
    for (const auto& [key, value] : b.items()) {
      if (!a.contains(key) && !empty_value(value)) return false;
    }
    return true;
  }
  if (a.is_array() && b.is_array()) {
    if (a.size() != b.size()) return false;
    for (size_t i = 0; i < a.size(); ++i) {
      if (!semantic_equal(a[i], b[i])) return false;
    }
    return true;
  }
  return a == b;
}

Json& object_member(Json& object, std::string_view key) {
  Json& v = object[std::string(key)];
  if (!v.is_object()) v = Json::object();
  return v;
}

void set_default(Json& object, std::string_view key, const Json& value) {
  if (!is_set(object, key)) object[std::string(key)] = value;
}

}  // namespace dra::apiserver
