#include "pkg/sandbox/device_model.h"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "pkg/api/names.h"
#include "pkg/api/quantity.h"
#include "pkg/base/strings.h"

namespace dra::sandbox {
namespace {

using Json = nlohmann::json;

// "copyEngines" -> "copy-engines": counters are labels, capacities are C identifiers.
std::string counter_name(std::string_view capacity) {
  std::string name;
  for (const char c : capacity) {
    if (std::isupper(static_cast<unsigned char>(c)) != 0) {
      name += '-';
      name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else {
      name += c;
    }
  }
  return name;
}

Json attribute_value(const Field& field, const Scope& scope) {
  const Json& value = field.value();
  if (value.is_boolean()) return {{"bool", value}};
  if (value.is_number_integer()) return {{"int", value}};
  if (value.is_string()) return {{"string", fill_or_refuse(value.get<std::string>(), scope, field)}};
  if (value.is_object() && value.size() == 1) {
    field.allow({"version", "string", "int", "bool"});
    const std::string& type = value.begin().key();
    const Json& inner = value.begin().value();
    if (type == "version" || type == "string") return {{type, fill_or_refuse(field.at(type).text(), scope, field)}};
    // A number computed from a placeholder: {int: "{device/4}"}.
    if (type == "int" && inner.is_string()) {
      const std::string text = fill_or_refuse(inner.get<std::string>(), scope, field);
      if (text.empty() || text.find_first_not_of("0123456789") != std::string::npos || text.size() > 18)
        field.refuse("int: a whole number is expected, not \"" + text + "\"");
      return {{"int", std::stoll(text)}};
    }
    if ((type == "int" && inner.is_number_integer()) || (type == "bool" && inner.is_boolean())) return value;
  }
  field.refuse(
      "an attribute is a string, a whole number, a boolean, or one of {version: ...}, {string: ...}, {int: ...}, "
      "{bool: ...}");
}

Json capacity_value(const Field& field) {
  if (!field.value().is_object()) return {{"value", quantity_text(field)}};
  field.allow({"value", "requestPolicy"});
  Json capacity = {{"value", quantity_text(field.at("value"))}};
  if (field.has("requestPolicy")) capacity["requestPolicy"] = field.at("requestPolicy").value();
  return capacity;
}

Json attributes(const std::vector<std::pair<std::string, Field>>& fields, const Scope& scope) {
  Json object = Json::object();
  for (const auto& [name, field] : fields) object[name] = attribute_value(field, scope);
  return object;
}

// The counter amounts of all of a device's capacities and memory slices.
Json counters(const Json& capacity, int64_t start, int64_t size) {
  Json object = Json::object();
  for (const auto& [name, value] : capacity.items()) object[counter_name(name)] = {{"value", value["value"]}};
  for (int64_t slice = start; slice < start + size; ++slice)
    object["memory-slice-" + std::to_string(slice)] = {{"value", "1"}};
  return object;
}

// The name of a device, whose rules are those of a label of DNS.
std::string device_name(const std::string& name, const Scope& scope, const Field& name_at) {
  std::string filled = fill_or_refuse(name, scope, name_at);
  if (filled.find('.') != std::string::npos)
    name_at.refuse(quote(filled) + " has a dot, which names of devices must not have" +
                   (name.find("{profile}") == std::string::npos ? "" : "; write {profileLabel} for {profile}"));
  if (const auto problems = api::dns_label_problems(filled); !problems.empty())
    name_at.refuse(quote(filled) + " is not the name of a device: " + problems.front());
  return filled;
}

void add_partitions(const DeviceModel& model, Scope scope, const Field& where, Json parent, PoolContent& pool) {
  const Partitions& partitions = *model.partitions;
  const std::string set = fill_or_refuse(partitions.counter_set, scope, where);
  const Json whole = counters(parent["capacity"], 0, partitions.memory_slices);
  pool.counter_sets.push_back({{"name", set}, {"counters", whole}});
  parent["consumesCounters"] = Json::array({{{"counterSet", set}, {"counters", whole}}});
  pool.devices.push_back(parent);
  for (const PartitionProfile& profile : partitions.profiles) {
    for (const int64_t start : profile.starts) {
      scope.profile = profile.name;
      scope.profile_id = profile.id;
      scope.start = start;
      scope.size = profile.size;
      Json capacity = Json::object();
      for (const auto& [name, value] : profile.capacity) capacity[name] = {{"value", value}};
      Json own = parent["attributes"];
      for (const std::string& name : partitions.without) own.erase(name);
      own.update(attributes(partitions.attributes, scope));
      pool.devices.push_back(
          {{"name", device_name(partitions.name, scope, partitions.name_at.value_or(where))},
           {"attributes", own},
           {"capacity", capacity},
           {"consumesCounters",
            Json::array({{{"counterSet", set}, {"counters", counters(capacity, start, profile.size)}}})}});
    }
  }
}

// Nothing can be cut from a device that it does not have.
void refuse_more_than(const std::vector<std::pair<std::string, Field>>& whole, const std::string& name,
                      const Field& part) {
  for (const auto& [known, field] : whole) {
    if (known != name) continue;
    const std::string of_whole = field.value().is_object() ? field.at("value").text() : field.text();
    const auto all = api::Quantity::parse(of_whole), taken = api::Quantity::parse(part.text());
    if (all && taken && *taken > *all)
      part.refuse("a partition cannot have " + part.text() + " " + name + ", its device has " + of_whole);
  }
}

PartitionProfile read_profile(const Field& field, int64_t memory_slices,
                              const std::vector<std::pair<std::string, Field>>& whole) {
  field.allow({"name", "id", "size", "starts", "capacity"});
  PartitionProfile profile;
  profile.name = field.at("name").text();
  profile.id = field.integer("id", 0, 0, 1000);
  profile.size = field.at("size").integer(1, memory_slices);
  for (const Field& start : field.at("starts").items())
    profile.starts.push_back(start.integer(0, memory_slices - profile.size));
  for (const auto& [name, value] : field.at("capacity").entries()) {
    profile.capacity.emplace_back(name, quantity_text(value));
    refuse_more_than(whole, name, value);
  }
  return profile;
}

Partitions read_partitions(const Field& field, const std::vector<std::pair<std::string, Field>>& whole) {
  field.allow({"name", "counterSet", "memorySlices", "attributes", "without", "profiles"});
  Partitions partitions;
  partitions.name = field.at("name").text();
  partitions.name_at = field.at("name");
  partitions.counter_set = field.at("counterSet").text();
  partitions.memory_slices = field.at("memorySlices").integer(1, 24);
  if (field.has("attributes")) partitions.attributes = field.at("attributes").entries();
  if (field.has("without"))
    for (const Field& name : field.at("without").items()) partitions.without.push_back(name.text());
  for (const Field& profile : field.at("profiles").items())
    partitions.profiles.push_back(read_profile(profile, partitions.memory_slices, whole));
  return partitions;
}

}  // namespace

std::string quantity_text(const Field& field) {
  std::string text = field.text();
  if (!api::Quantity::parse(text))
    field.refuse(quote(text) + " is not a quantity; write a number with a suffix of Kubernetes, such as 80Gi or 500m");
  return text;
}

std::string fill_or_refuse(std::string_view text, const Scope& scope, const Field& where) {
  auto filled = fill(text, scope);
  if (!filled) where.refuse(filled.error().message());
  return *filled;
}

DeviceModel read_model(const Field& field) {
  field.allow({"driver", "name", "attributes", "capacity", "allowMultipleAllocations", "partitions", "taints",
               "bindsToNode", "bindingConditions", "bindingFailureConditions"});
  DeviceModel model;
  model.driver = field.at("driver").text();
  model.name = field.at("name").text();
  model.name_at = field.at("name");
  if (field.has("attributes")) model.attributes = field.at("attributes").entries();
  if (field.has("capacity")) model.capacity = field.at("capacity").entries();
  for (const auto& [name, capacity] : model.capacity) capacity_value(capacity);
  model.allow_multiple_allocations = field.boolean("allowMultipleAllocations", false);
  for (const char* key : {"taints", "bindsToNode", "bindingConditions", "bindingFailureConditions"})
    if (field.has(key)) model.as_in_api.emplace_back(key, field.at(key));
  if (field.has("partitions")) {
    const Field partitions = field.at("partitions");
    model.partitions = read_partitions(partitions, model.capacity);
    for (const std::string& name : model.partitions->without)
      if (std::none_of(model.attributes.begin(), model.attributes.end(),
                       [&](const auto& attribute) { return attribute.first == name; }))
        partitions.at("without").refuse("the model has no attribute " + quote(name));
  }
  return model;
}

void add_devices(const DeviceModel& model, const Scope& scope, const Field& where, PoolContent& pool) {
  Json device = {{"name", device_name(model.name, scope, model.name_at.value_or(where))}};
  device["attributes"] = attributes(model.attributes, scope);
  Json capacity = Json::object();
  for (const auto& [name, field] : model.capacity) capacity[name] = capacity_value(field);
  device["capacity"] = std::move(capacity);
  if (model.allow_multiple_allocations) device["allowMultipleAllocations"] = true;
  for (const auto& [key, field] : model.as_in_api) device[key] = field.value();
  if (model.partitions)
    add_partitions(model, scope, where, std::move(device), pool);
  else
    pool.devices.push_back(std::move(device));
}

}  // namespace dra::sandbox
