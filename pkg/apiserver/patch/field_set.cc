#include "pkg/apiserver/patch/field_set.h"

#include <nlohmann/json.hpp>

#include "pkg/apiserver/json_text.h"
#include "pkg/base/strings.h"

namespace dra::apiserver {

namespace {

std::string joined(const std::string& path, const std::string& element) {
  return path.empty() ? element : path + kPathSeparator + element;
}

}  // namespace

Json to_fields_v1(const FieldSet& set) {
  Json out = Json::object();
  for (const auto& path : set) {
    Json* at = &out;
    for (const auto& element : split(path, kPathSeparator)) {
      Json& next = (*at)[element];
      if (next.is_null()) next = Json::object();
      at = &next;
    }
    // A path with members of its own needs the mark "."; leaves do not.
    const std::string prefix = path + kPathSeparator;
    auto member = set.lower_bound(prefix);
    if (member != set.end() && member->starts_with(prefix)) (*at)["."] = Json::object();
  }
  return out;
}

namespace {

void read_fields(const Json& fields, const std::string& path, int depth, FieldSet& out) {
  if (!fields.is_object() || depth > 100) return;
  if (fields.empty() && !path.empty()) out.insert(path);
  for (const auto& [element, below] : fields.items()) {
    if (element == ".") {
      if (!path.empty()) out.insert(path);
    } else if (element.starts_with("f:") || element.starts_with("k:") || element.starts_with("v:")) {
      read_fields(below, joined(path, element), depth + 1, out);
    }
  }
}

}  // namespace

FieldSet from_fields_v1(const Json& fields) {
  FieldSet out;
  read_fields(fields, "", 0, out);
  return out;
}

std::string path_text(const std::string& path) {
  std::string out;
  for (const auto& element : split(path, kPathSeparator)) {
    const std::string text = element.substr(2);
    if (element.starts_with("f:")) {
      out += "." + text;
    } else if (element.starts_with("k:")) {
      std::vector<std::string> parts;
      const Json keys = Json::parse(text, nullptr, false);
      for (const auto& [name, value] : keys.items()) parts.push_back(name + "=" + compact_text(value));
      out += "[" + join(parts, ",") + "]";
    } else {
      out += "[=" + text + "]";
    }
  }
  return out;
}

}  // namespace dra::apiserver
