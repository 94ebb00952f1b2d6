#include "pkg/apiserver/patch/field_set.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "pkg/apiserver/model/json_text.h"
#include "pkg/base/strings.h"

namespace dra::apiserver {

namespace {

std::string joined(const std::string& path, const std::string& element) {
  return path.empty() ? element : path + kPathSeparator + element;
}

bool is_below(std::string_view path, std::string_view above) {
  return path.size() > above.size() && path.starts_with(above) && path[above.size()] == kPathSeparator;
}

// Usually the next path shows it; only names that go on with a control character come between.
bool has_below(const FieldSet& set, FieldSet::const_iterator at) {
  const auto next = std::next(at);
  if (next == set.end() || !next->starts_with(*at)) return false;
  if (is_below(*next, *at)) return true;
  const auto member = set.lower_bound(*at + kPathSeparator);
  return member != set.end() && is_below(*member, *at);
}

}  // namespace

// The paths come in order, so each differs from the one before only below a level that both share.
Json to_fields_v1(const FieldSet& set) {
  Json out = Json::object();
  std::vector<std::pair<size_t, Json*>> places;  // of the path before: where each element ends, and its object
  std::string_view before;
  for (auto it = set.begin(); it != set.end(); ++it) {
    const std::string_view path = *it;
    const size_t shared = std::mismatch(before.begin(), before.end(), path.begin(), path.end()).first - before.begin();
    const auto is_shared = [&](const auto& place) {
      return place.first <= shared && (place.first == path.size() || path[place.first] == kPathSeparator);
    };
    while (!places.empty() && !is_shared(places.back())) places.pop_back();
    size_t at = places.empty() ? 0 : places.back().first + 1;
    while (at <= path.size()) {
      const size_t end = std::min(path.find(kPathSeparator, at), path.size());
      Json& parent = places.empty() ? out : *places.back().second;
      Json& member = parent[std::string(path.substr(at, end - at))];
      if (member.is_null()) member = Json::object();
      places.emplace_back(end, &member);
      at = end + 1;
    }
    // A path with members of its own needs the mark "."; leaves do not.
    if (!places.empty() && has_below(set, it)) (*places.back().second)["."] = Json::object();
    before = path;
  }
  return out;
}

namespace {

void read_fields(const Json& fields, const std::string& path, int depth, FieldSet& out) {
  if (!fields.is_object() || depth > 100) return;
  if (fields.empty() && !path.empty()) out.insert(out.end(), path);
  for (const auto& [element, below] : fields.items()) {
    if (element == ".") {
      if (!path.empty()) out.insert(out.end(), path);
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
