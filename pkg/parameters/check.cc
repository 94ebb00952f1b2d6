#include "pkg/parameters/check.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "pkg/api/quantity.h"
#include "pkg/base/closest.h"
#include "pkg/base/strings.h"
#include "pkg/parameters/tables.h"

namespace dra::parameters {
namespace {

using nlohmann::json;

std::string string_of(const json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::vector<std::string> values_of(const ParameterField& field) {
  std::vector<std::string> values;
  for (const ParameterChoice& choice : field.choices) values.push_back(choice.value);
  return values;
}

// A text of a user, quoted, and cut at a letter where no reader needs more.
std::string shown(const std::string& text) {
  constexpr size_t kMaxShown = 64;
  if (text.size() <= kMaxShown) return quote(text);
  size_t end = kMaxShown;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return quote(text.substr(0, end)) + "...";
}

std::string did_you_mean(const std::string& word, const std::vector<std::string>& known, const std::string& otherwise) {
  const std::optional<std::string> near = closest(word, known);
  return near ? "did you mean " + quote(*near) + "?" : otherwise;
}

using Path = std::vector<std::string>;

Path below(Path path, const std::string& key) {
  path.push_back(key);
  return path;
}

class ParameterChecker {
 public:
  explicit ParameterChecker(const std::string& driver) : driver_(driver) {}

  std::vector<ParameterProblem> take() { return std::move(problems_); }

  void whole(const json& parameters, const DriverParameters& table) {
    const std::string version = string_of(parameters, "apiVersion"), kind = string_of(parameters, "kind");
    if (version != table.api_version)
      add({"apiVersion"}, "apiVersion is " + (version.empty() ? "missing" : shown(version)) +
                              "; write apiVersion: " + table.api_version);
    std::vector<std::string> kinds;
    for (const ParameterKind& one : table.kinds) kinds.push_back(one.kind);
    const auto known = std::find(kinds.begin(), kinds.end(), kind);
    if (known == kinds.end())
      return add({"kind"},
                 "kind is " +
                     (kind.empty() ? "missing" : shown(kind) + ", which driver " + driver_ + " does not know") + "; " +
                     did_you_mean(kind, kinds, "it has " + join(kinds, ", ")));
    const ParameterKind& meant = table.kinds[static_cast<size_t>(known - kinds.begin())];
    if (!meant.gate.empty()) needs_gate({"kind"}, "kind " + kind, meant.gate);
    object(parameters, {}, meant.fields);
  }

 private:
  void add(Path path, std::string text, std::string gate = "") {
    if (problems_.size() < kMaxProblems) problems_.push_back({std::move(path), std::move(text), std::move(gate)});
  }

  void needs_gate(const Path& path, const std::string& what, const std::string& gate) {
    add(path,
        what + " needs the feature gate " + gate + " of driver " + driver_ +
            ", which is off by default: switch it on in the driver's installation, or leave this out",
        gate);
  }

  void object(const json& value, const Path& path, const ParameterFields& fields) {
    std::vector<std::string> names;
    for (const ParameterField& field : fields.fields) names.push_back(field.name);
    for (const auto& [key, element] : value.items()) {
      if (path.empty() && (key == "apiVersion" || key == "kind")) continue;
      const auto found = std::find(names.begin(), names.end(), key);
      if (found == names.end())
        add(below(path, key),
            "unknown field " + shown(key) + "; " +
                did_you_mean(key, names,
                             names.empty() ? "there are no fields here" : "the fields here are " + join(names, ", ")));
      else if (!element.is_null())
        member(element, below(path, key), fields.fields[static_cast<size_t>(found - names.begin())]);
    }
    for (const ParameterField& field : fields.fields)
      if (field.required && (!value.contains(field.name) || value[field.name] == ""))
        add(below(path, field.name),
            "field " + field.name + " is missing" +
                (field.choices.empty() ? "" : "; it is one of " + join(values_of(field), ", ")));
    for (const auto& [strategy, excluded] : fields.excluded)
      if (string_of(value, "strategy") == strategy && value.contains(excluded))
        add(below(path, excluded), excluded + " does not go with strategy " + strategy + "; leave it out");
  }

  void member(const json& value, const Path& path, const ParameterField& field) {
    switch (field.type) {
      case ParameterType::kText:
        return text(value, path, field);
      case ParameterType::kBool:
        if (!value.is_boolean()) add(path, field.name + " must be true or false");
        return;
      case ParameterType::kNumber:
        if (!value.is_number_integer() || value.get<int64_t>() < field.least || value.get<int64_t>() > field.most)
          add(path, field.name + " must be a whole number from " + std::to_string(field.least) + " to " +
                        std::to_string(field.most));
        return;
      case ParameterType::kQuantity:
        return quantity(value, path, field);
      case ParameterType::kQuantities:
        if (!value.is_object()) return add(path, field.name + " must be an object of amounts by device");
        for (const auto& [key, element] : value.items()) quantity(element, below(path, key), field);
        return;
      case ParameterType::kObject:
        if (!value.is_object()) return add(path, field.name + " must be an object");
        return object(value, path, *field.fields);
    }
  }

  void text(const json& value, const Path& path, const ParameterField& field) {
    if (!value.is_string()) return add(path, field.name + " must be a text");
    if (field.choices.empty()) return;
    const std::string& chosen = value.get_ref<const std::string&>();
    for (const ParameterChoice& choice : field.choices) {
      if (choice.value != chosen) continue;
      if (!choice.gate.empty()) needs_gate(path, field.name + " " + chosen, choice.gate);
      return;
    }
    if (!chosen.empty() || !field.required)
      add(path, field.name + " is " + shown(chosen) + "; it is one of " + join(values_of(field), ", "));
  }

  void quantity(const json& value, const Path& path, const ParameterField& field) {
    const bool amount = value.is_number() || value.is_string();
    if (!amount || !api::Quantity::parse(value.is_string() ? value.get<std::string>() : value.dump()))
      add(path, field.name + " must be an amount like 4Gi");
  }

  const std::string& driver_;
  std::vector<ParameterProblem> problems_;
};

}  // namespace

std::string path_text(const ParameterProblem& problem) {
  return join(problem.path, ".");
}

std::vector<ParameterProblem> check_parameters(const std::string& driver, const json& parameters) {
  const DriverParameters* table = parameters_of(driver);
  if (table == nullptr || !parameters.is_object()) return {};
  ParameterChecker checker(driver);
  checker.whole(parameters, *table);
  return checker.take();
}

std::vector<ParameterProblem> check_parameters_text(const std::string& driver, std::string_view json_text) {
  if (parameters_of(driver) == nullptr) return {};
  return check_parameters(driver, json::parse(json_text, nullptr, false));
}

}  // namespace dra::parameters
