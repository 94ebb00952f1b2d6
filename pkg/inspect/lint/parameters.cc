#include "pkg/inspect/lint/parameters.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "pkg/api/quantity.h"
#include "pkg/base/strings.h"
#include "pkg/inspect/answer/answer.h"

namespace dra::inspect {
namespace {

using nlohmann::json;

constexpr const char* kAtPrepare = "the API server takes it, and the driver refuses the claim when the pod starts";

std::string string_of(const json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::vector<std::string> values_of(const ParameterField& field) {
  std::vector<std::string> values;
  for (const ParameterChoice& choice : field.choices) values.push_back(choice.value);
  return values;
}

class ParameterLinter {
 public:
  ParameterLinter(const std::string& driver, FindingList& findings) : driver_(driver), findings_(findings) {}

  void whole(const json& parameters, const Place& place, const DriverParameters& table) {
    const std::string version = string_of(parameters, "apiVersion"), kind = string_of(parameters, "kind");
    const auto known = std::find_if(table.kinds.begin(), table.kinds.end(),
                                    [&](const ParameterKind& one) { return one.kind == kind; });
    std::vector<std::string> kinds;
    for (const ParameterKind& one : table.kinds) kinds.push_back(one.kind);
    if (version != table.api_version)
      refuse(place.child("apiVersion"), "apiVersion is " + (version.empty() ? "missing" : quote(version)) +
                                            "; write apiVersion: " + table.api_version);
    if (known == table.kinds.end()) {
      const std::string near = nearest(kind, kinds);
      return refuse(place.child("kind"),
                    "kind is " +
                        (kind.empty() ? "missing" : quote(kind) + ", which driver " + driver_ + " does not know") +
                        "; " + (near.empty() ? "it has " + join(kinds, ", ") : "did you mean " + quote(near) + "?"));
    }
    if (!known->gate.empty()) needs_gate(place.child("kind"), "kind " + kind, known->gate);
    object(parameters, place, known->fields, true);
  }

 private:
  void refuse(const Place& place, const std::string& text) { findings_.error(place, text + "; " + kAtPrepare); }

  void needs_gate(const Place& place, const std::string& what, const std::string& gate) {
    findings_.warn(place,
                   what + " needs the feature gate " + gate + " of driver " + driver_ +
                       ", which is off by default: switch it on in the driver's installation, or leave this out; "
                       "while it is off " +
                       kAtPrepare);
  }

  void object(const json& value, const Place& place, const ParameterFields& fields, bool top) {
    std::vector<std::string> names;
    for (const ParameterField& field : fields.fields) names.push_back(field.name);
    for (const auto& [key, element] : value.items()) {
      if (top && (key == "apiVersion" || key == "kind")) continue;
      const auto field = std::find_if(fields.fields.begin(), fields.fields.end(),
                                      [&, name = key](const ParameterField& one) { return one.name == name; });
      if (field != fields.fields.end()) {
        if (!element.is_null()) member(element, place.child(key), *field);
        continue;
      }
      const std::string near = nearest(key, names);
      refuse(place.child(key), "unknown field " + quote(key) +
                                   (!near.empty()   ? "; did you mean " + quote(near) + "?"
                                    : names.empty() ? "; there are no fields here"
                                                    : "; the fields here are " + join(names, ", ")));
    }
    for (const ParameterField& field : fields.fields)
      if (field.required && (!value.contains(field.name) || value[field.name] == ""))
        refuse(place.child(field.name),
               "field " + field.name + " is missing" +
                   (field.choices.empty() ? "" : "; it is one of " + join(values_of(field), ", ")));
    for (const auto& [strategy, excluded] : fields.excluded)
      if (string_of(value, "strategy") == strategy && value.contains(excluded))
        refuse(place.child(excluded), excluded + " does not go with strategy " + strategy + "; leave it out");
  }

  void member(const json& value, const Place& place, const ParameterField& field) {
    switch (field.type) {
      case ParameterType::kText:
        return text(value, place, field);
      case ParameterType::kBool:
        if (!value.is_boolean()) refuse(place, field.name + " must be true or false");
        return;
      case ParameterType::kNumber:
        if (!value.is_number_integer() || value.get<int64_t>() < field.least || value.get<int64_t>() > field.most)
          refuse(place, field.name + " must be a whole number from " + std::to_string(field.least) + " to " +
                            std::to_string(field.most));
        return;
      case ParameterType::kQuantity:
        return quantity(value, place, field);
      case ParameterType::kQuantities:
        if (!value.is_object()) return refuse(place, field.name + " must be an object of amounts by device");
        for (const auto& [key, element] : value.items()) quantity(element, place.child(key), field);
        return;
      case ParameterType::kObject:
        if (!value.is_object()) return refuse(place, field.name + " must be an object");
        return object(value, place, *field.fields, false);
    }
  }

  void text(const json& value, const Place& place, const ParameterField& field) {
    if (!value.is_string()) return refuse(place, field.name + " must be a text");
    if (field.choices.empty()) return;
    const std::string& chosen = value.get_ref<const std::string&>();
    for (const ParameterChoice& choice : field.choices) {
      if (choice.value != chosen) continue;
      if (!choice.gate.empty()) needs_gate(place, field.name + " " + chosen, choice.gate);
      return;
    }
    if (!chosen.empty() || !field.required)
      refuse(place, field.name + " is " + quote(chosen) + "; it is one of " + join(values_of(field), ", "));
  }

  void quantity(const json& value, const Place& place, const ParameterField& field) {
    const bool amount = value.is_number() || value.is_string();
    if (!amount || !api::Quantity::parse(value.is_string() ? value.get<std::string>() : value.dump()))
      refuse(place, field.name + " must be an amount like 4Gi");
  }

  const std::string& driver_;
  FindingList& findings_;
};

void lint_configs(const json& holder, const Place& place, FindingList& findings) {
  const auto configs = holder.is_object() ? holder.find("config") : holder.end();
  if (!holder.is_object() || configs == holder.end() || !configs->is_array()) return;
  for (size_t i = 0; i < configs->size(); ++i) {
    const json& config = (*configs)[i];
    if (!config.is_object() || !config.contains("opaque") || !config["opaque"].is_object()) continue;
    const json& opaque = config["opaque"];
    const std::string driver = string_of(opaque, "driver");
    if (!opaque.contains("parameters") || !opaque["parameters"].is_object()) continue;
    for (const DriverParameters& table : parameter_tables())
      if (std::find(table.drivers.begin(), table.drivers.end(), driver) != table.drivers.end())
        ParameterLinter(driver, findings)
            .whole(opaque["parameters"], place.child("config").index(i).child("opaque").child("parameters"), table);
  }
}

}  // namespace

void lint_parameters(const json& object, const Place& place, FindingList& findings) {
  const std::string kind = string_of(object, "kind");
  const auto spec = object.find("spec");
  if (spec == object.end() || !spec->is_object()) return;
  const Place at = place.child("spec");
  if (kind == "DeviceClass") return lint_configs(*spec, at, findings);
  if (kind == "ResourceClaim" && spec->contains("devices"))
    return lint_configs((*spec)["devices"], at.child("devices"), findings);
  if (kind != "ResourceClaimTemplate" || !spec->contains("spec") || !(*spec)["spec"].is_object()) return;
  const json& inner = (*spec)["spec"];
  if (inner.contains("devices")) lint_configs(inner["devices"], at.child("spec").child("devices"), findings);
}

}  // namespace dra::inspect
