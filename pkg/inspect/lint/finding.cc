#include "pkg/inspect/lint/finding.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>

namespace dra::inspect {
namespace {

using nlohmann::json;

// "a.b[0].c[key.with.dots]" as a, b, 0, c, key.with.dots. `in_brackets`: it stood between brackets.
struct PathStep {
  std::string name;
  bool in_brackets = false;
};

std::vector<PathStep> steps_of(std::string_view field) {
  std::vector<PathStep> steps;
  for (size_t at = 0; at < field.size();) {
    if (field[at] == '.') {
      ++at;
      continue;
    }
    const bool bracket = field[at] == '[';
    const size_t begin = bracket ? at + 1 : at;
    const size_t end = std::min(bracket ? field.find(']', begin) : field.find_first_of(".[", begin), field.size());
    steps.push_back({std::string(field.substr(begin, end - begin)), bracket});
    at = bracket ? std::min(end + 1, field.size()) : end;
  }
  return steps;
}

std::optional<size_t> index_of(const std::string& text) {
  size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// One step down; null: there is nothing.
const json* step_down(const json& value, const PathStep& step, Place& place) {
  if (value.is_array()) {
    const std::optional<size_t> i = index_of(step.name);
    if (!i || *i >= value.size()) return nullptr;
    place = place.index(*i);
    return &value[*i];
  }
  if (!value.is_object()) return nullptr;
  if (const auto found = value.find(step.name); found != value.end()) {
    place = place.child(step.name);
    return &*found;
  }
  // v1beta1 has the fields of a device one level deeper than v1.
  if (const auto basic = value.find("basic"); basic != value.end() && basic->contains(step.name)) {
    place = place.child("basic").child(step.name);
    return &(*basic)[step.name];
  }
  return nullptr;
}

}  // namespace

Place Place::child(std::string_view key) const {
  Place below{pointer + "/", path.empty() ? std::string(key) : path + "." + std::string(key)};
  for (const char c : key) {
    if (c == '~')
      below.pointer += "~0";
    else if (c == '/')
      below.pointer += "~1";
    else
      below.pointer += c;
  }
  return below;
}

Place Place::index(size_t i) const {
  return {pointer + "/" + std::to_string(i), path + "[" + std::to_string(i) + "]"};
}

Place place_of(const json& object, const Place& base, std::string_view field) {
  Place place = base;
  std::string path = base.path;
  const auto say = [&path](const PathStep& step) {
    path += step.in_brackets ? "[" + step.name + "]" : (path.empty() ? "" : ".") + step.name;
  };
  const json* value = &object;  // null: the rest of the way does not exist
  for (const PathStep& step : steps_of(field)) {
    const bool has_basic = value != nullptr && value->is_object() && !value->contains(step.name);
    const json* below = value == nullptr ? nullptr : step_down(*value, step, place);
    if (below == nullptr && value != nullptr && step.name == "exactly") continue;  // requests of v1beta1 are flat
    if (below != nullptr && has_basic) say({"basic"});
    say(step);
    value = below;
  }
  place.path = path;
  return place;
}

Place place_at(const json& object, const Place& base, const std::string& pointer) {
  std::vector<std::string> steps;
  for (json::json_pointer rest(pointer); !rest.empty(); rest.pop_back()) steps.push_back(rest.back());
  std::reverse(steps.begin(), steps.end());
  Place place = base;
  json::json_pointer here;
  for (const std::string& step : steps) {
    place = object[here].is_array() ? place.index(std::stoul(step)) : place.child(step);
    here.push_back(step);
  }
  return place;
}

void FindingList::begin(const yaml::Positions& positions, size_t lines_before) {
  positions_ = &positions;
  lines_before_ = lines_before;
}

std::string_view lint_code_name(LintCode code) {
  static constexpr std::array<std::string_view, kLintCodes> kNames = {
      "Unreadable",    "TooManyDocuments", "NoObject",       "NotAnObject",    "NotLookedAt",   "OldVersion",
      "UnknownKind",   "UnknownField",     "FieldNeedsGate", "OldForm",        "ServerRefuses", "DoesNotCompile",
      "BadVersion",    "UnknownName",      "SelectorFails",  "SelectsNothing", "ClassMissing",  "HasNoEffect",
      "AlignsNothing", "BadParameters",    "ClaimNotNamed",  "RequestMissing", "ClaimUnused",   "ResourceNotOffered",
      "HalfTaint",     "ReferenceMissing", "NeverFits",      "BadAnnotation"};
  return kNames.at(static_cast<size_t>(code));
}

void FindingList::add(Severity severity, const Place& place, LintCode code, std::string text) {
  Finding finding{0, 0, severity, code, place.path, std::move(text)};
  if (positions_ != nullptr) {
    if (const auto found = positions_->find(place.pointer); found != positions_->end()) {
      finding.line = found->second.line + lines_before_;
      finding.column = found->second.column;
    }
  }
  add(std::move(finding));
}

void FindingList::add(Finding finding) {
  if (!full()) all_.push_back(std::move(finding));
}

size_t FindingList::errors() const {
  return static_cast<size_t>(
      std::count_if(all_.begin(), all_.end(), [](const Finding& one) { return one.severity == Severity::kError; }));
}

}  // namespace dra::inspect
