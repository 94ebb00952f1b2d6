#include "pkg/parameters/effective.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "pkg/parameters/tables.h"

namespace dra::parameters {
namespace {

using nlohmann::json;

// Deeper than any table: the text counts as it is.
constexpr int kMaxDepth = 32;

bool is_deep(std::string_view text) {
  int depth = 0, most = 0;
  for (const char c : text) {
    if (c == '{' || c == '[') most = std::max(most, ++depth);
    if (c == '}' || c == ']') --depth;
  }
  return most > kMaxDepth;
}

json parsed(std::string_view text) {
  return is_deep(text) ? json(json::value_t::discarded) : json::parse(text, nullptr, false);
}

std::string text_of(const json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

const ParameterKind* kind_of(const DriverParameters& table, const json& object) {
  const std::string name = text_of(object, "kind");
  for (const ParameterKind& kind : table.kinds)
    if (kind.kind == name) return &kind;
  return nullptr;
}

void fill(json& object, const ParameterFields& fields) {
  for (const ParameterField& field : fields.fields) {
    if (object.contains(field.name) && object[field.name].is_null()) object.erase(field.name);
    const std::string strategy = text_of(object, "strategy");
    const bool excluded = std::any_of(fields.excluded.begin(), fields.excluded.end(), [&](const auto& one) {
      return one.first == strategy && one.second == field.name;
    });
    if (!object.contains(field.name)) {
      if (excluded || (!field.made && field.fallback.empty())) continue;
      object[field.name] = field.made ? json(json::object()) : json(field.fallback);
    }
    if (field.fields != nullptr && object[field.name].is_object()) fill(object[field.name], *field.fields);
  }
}

// Empty: what the driver does without parameters of this kind.
std::string in_one_form(const DriverParameters& table, std::string_view text) {
  json object = parsed(text);
  const ParameterKind* kind = kind_of(table, object);
  if (kind == nullptr) return object.is_discarded() ? std::string(text) : object.dump(-1, ' ', true);
  object.erase("apiVersion");
  object.erase("kind");
  json plain = json::object();
  fill(plain, kind->fields);
  fill(object, kind->fields);
  return object == plain ? std::string() : kind->kind + " " + object.dump(-1, ' ', true);
}

bool passes_by(const DriverParameters& table, const AppliedParameters& one, std::string_view device_type) {
  if (!one.for_all || device_type.empty()) return false;
  const ParameterKind* kind = kind_of(table, parsed(one.json));
  return kind != nullptr && kind->type != device_type;
}

}  // namespace

std::string effective_parameters(std::string_view driver, std::string_view device_type,
                                 std::span<const AppliedParameters> applied, std::string_view stranger) {
  const auto unknown = [&] { return "? " + std::string(stranger); };
  if (const DriverParameters* table = applied.empty() ? nullptr : parameters_of(std::string(driver))) {
    for (size_t i = applied.size(); i-- > 0;) {
      if (applied[i].json.empty()) return unknown();
      if (!passes_by(*table, applied[i], device_type)) return in_one_form(*table, applied[i].json);
    }
    return "";
  }
  std::string all;
  for (const AppliedParameters& one : applied) {
    if (one.json.empty()) return unknown();
    const json object = parsed(one.json);
    all += (object.is_discarded() ? std::string(one.json) : object.dump(-1, ' ', true)) + "\n";
  }
  return all;
}

}  // namespace dra::parameters
