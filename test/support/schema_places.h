// Objects with every field of their schema, and every place in an object where a newer server could have put another
// one: for tests of what this build does not know (pkg/api/unknown_fields.h).
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "pkg/api/schema/schema.h"

namespace dra::test {

using nlohmann::json;

inline const api::schema::SchemaSet& all_schemas() {
  static const api::schema::SchemaSet all = api::schema::link_tables(api::schema::tables_in_use());
  return all;
}

inline json full_object(const api::schema::ObjectType& type);

inline json full_text(const std::string& owner, const std::string& name) {
  if (name == "allocationMode") return "ExactCount";
  if (name == "operator") return owner == "DeviceToleration" ? "Equal" : "In";
  if (name == "effect") return "NoSchedule";
  if (name == "source") return "FromClass";
  if (name == "resourceVersion") return "7";
  return "text";
}

inline json full_value(const std::string& owner, const std::string& name, const api::schema::ValueType& type) {
  using api::schema::FieldType;
  switch (type.type) {
    case FieldType::kString:
      return full_text(owner, name);
    case FieldType::kInt32:
    case FieldType::kInt64:
      return 1;
    case FieldType::kBool:
      return true;
    case FieldType::kTime:
    case FieldType::kMicroTime:
      return "2026-01-02T03:04:05Z";
    case FieldType::kQuantity:
      return "1";
    case FieldType::kRaw:
    case FieldType::kFields:
      return {{"anything", {{"deep", 1}}}};
    case FieldType::kObject:
      return full_object(*type.object);
    case FieldType::kList:
      return json::array({full_value(owner, name, *type.element)});
    case FieldType::kMap:
      return {{"key", full_value(owner, name, *type.element)}};
    default:
      return nullptr;
  }
}

inline json full_object(const api::schema::ObjectType& type) {
  json out = json::object();
  for (const auto& [name, field] : type.visible) out[name] = full_value(type.name, name, field->value);
  return out;
}

// Where one more member fits: `at` leads from the object to the JSON object there, `place` is the same without indices
// and keys ("spec.devices.capacity"), `type` is what the tables say of it.
struct Place {
  json::json_pointer at{""};
  std::string place;
  const api::schema::ObjectType* type = nullptr;
};

inline void each_place(const json& value, const api::schema::ObjectType& type, const Place& here,
                       const std::function<void(const Place&)>& visit);

inline void each_place_in(const json& value, const api::schema::ValueType& type, const Place& here,
                          const std::function<void(const Place&)>& visit) {
  using api::schema::FieldType;
  if (type.type == FieldType::kObject && value.is_object()) each_place(value, *type.object, here, visit);
  if (type.type == FieldType::kList && value.is_array())
    for (size_t i = 0; i < value.size(); ++i)
      each_place_in(value[i], *type.element, {here.at / i, here.place, nullptr}, visit);
  if (type.type == FieldType::kMap && value.is_object())
    for (const auto& [key, one] : value.items())
      each_place_in(one, *type.element, {here.at / key, here.place, nullptr}, visit);
}

inline void each_place(const json& value, const api::schema::ObjectType& type, const Place& here,
                       const std::function<void(const Place&)>& visit) {
  visit({here.at, here.place, &type});
  for (const auto& [name, member] : value.items())
    if (const api::schema::Field* field = type.find(name))
      each_place_in(member, field->value,
                    {here.at / name, here.place + (here.place.empty() ? "" : ".") + name, nullptr}, visit);
}

}  // namespace dra::test
