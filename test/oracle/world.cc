#include "test/oracle/world.h"

#include <nlohmann/json.hpp>

#include "pkg/api/decode/decode.h"
#include "pkg/api/encode.h"

namespace dra::oracle {
namespace {

using nlohmann::json;

template <class T>
Result<void> read_objects(const json& source, const char* member, std::vector<T>& out) {
  if (!source.contains(member)) return {};
  if (!source[member].is_array()) return fail(Code::kInvalidArgument, std::string(member) + ": expected an array");
  for (const json& item : source[member]) {
    Result<T> object = api::decode<T>(item.dump());
    if (!object) return fail(object.error().wrap(std::string(member) + "[" + std::to_string(out.size()) + "]"));
    out.push_back(std::move(*object));
  }
  return {};
}

Result<void> read_nodes(const json& source, World& world) {
  if (source.contains("node")) {
    Result<api::Node> node = api::decode<api::Node>(source["node"].dump());
    if (!node) return fail(node.error().wrap("node"));
    world.nodes.push_back(std::move(*node));
    return {};
  }
  world.single_node = false;
  return read_objects(source, "nodes", world.nodes);
}

Result<void> read_usage(const json& source, World& world) {
  for (const json& item : source.value("allocatedDevices", json::array())) {
    std::optional<DeviceName> name = parse_device_name(item.get<std::string>());
    if (!name) return fail(Code::kInvalidArgument, "allocatedDevices: not driver/pool/device: " + item.dump());
    world.allocated.insert(*name);
  }
  for (const json& item : source.value("allocatedSharedDevices", json::array())) {
    const std::string text = item.get<std::string>();
    const size_t slash = text.rfind('/');
    std::optional<DeviceName> name;
    if (slash != std::string::npos) name = parse_device_name(std::string_view(text).substr(0, slash));
    if (!name) return fail(Code::kInvalidArgument, "allocatedSharedDevices: not driver/pool/device/share: " + text);
    world.allocated_shares.insert({*name, text.substr(slash + 1)});
  }
  const json consumed = source.value("consumedCapacity", json::object());
  for (const auto& [key, capacities] : consumed.items()) {
    std::optional<DeviceName> name = parse_device_name(key);
    if (!name) return fail(Code::kInvalidArgument, "consumedCapacity: not driver/pool/device: " + key);
    for (const auto& [capacity, amount] : capacities.items())
      world.consumed[*name][capacity] = amount.is_string() ? amount.get<std::string>() : amount.dump();
  }
  return {};
}

Result<void> read_identities(const json& source, World& world) {
  const json recorded = source.value("recordedIdentities", json::object());
  for (const auto& [key, one] : recorded.items()) {
    const std::optional<DeviceName> name = parse_device_name(key);
    const std::optional<identity::Record> record = identity::decode_record(one.dump());
    if (!name || !record) return fail(Code::kInvalidArgument, "recordedIdentities: " + key);
    world.recorded[*name] = *record;
  }
  for (const json& item : source.value("adminDevices", json::array()))
    if (const auto name = parse_device_name(item.get<std::string>())) world.admin_held.insert(*name);
  const json settings = source.value("settings", json::object());
  const json none = json::object();
  const auto part = [&](const char* key) -> const json& { return settings.contains(key) ? settings.at(key) : none; };
  identity::Rules& rules = world.identity_rules;
  for (const auto& [attribute, space] : part("own").items()) rules.own[attribute] = space.get<std::string>();
  for (const auto& [attribute, space] : part("parent").items()) rules.parent[attribute] = space.get<std::string>();
  for (const auto& [driver, types] : part("parts").items())
    for (const json& type : types) rules.parts[driver].insert(type.get<std::string>());
  for (const auto& [driver, pairs] : part("exclusive").items())
    for (const json& pair : pairs)
      rules.exclusive[driver].insert(
          std::minmax(pair.at(0).get_ref<const std::string&>(), pair.at(1).get_ref<const std::string&>()));
  for (const auto& [driver, use] : part("devicePlugin").items()) {
    const auto read = identity::parse_plugin_use(use.get<std::string>());
    if (!read) return fail(Code::kInvalidArgument, "settings.devicePlugin: " + use.dump());
    rules.plugin[driver] = *read;
  }
  for (const auto& [driver, resources] : part("pluginResources").items())
    for (const json& resource : resources) rules.plugin_resources[driver].insert(resource.get<std::string>());
  return {};
}

Result<void> read_expectation(const json& source, Expectation& out) {
  if (!source.contains("expect")) return {};
  const json& expect = source["expect"];
  if (expect.contains("feasible")) out.feasible = expect["feasible"].get<bool>();
  out.error = expect.value("error", false);
  if (expect.contains("results")) return read_objects(expect, "results", out.results.emplace());
  return {};
}

Result<Case> read_checked(const json& source) {
  Case out;
  out.world.id = source.value("id", "");
  for (const json& gate : source.value("featureGates", json::array())) out.world.gates.insert(gate.get<std::string>());
  Result<void> step = read_nodes(source, out.world);
  if (step) step = read_objects(source, "deviceClasses", out.world.classes);
  if (step) step = read_objects(source, "resourceSlices", out.world.slices);
  if (step) step = read_objects(source, "claims", out.world.claims);
  if (step) step = read_objects(source, "deviceTaintRules", out.world.taint_rules);
  if (step) step = read_usage(source, out.world);
  if (step) step = read_objects(source, "pods", out.world.pods);
  if (step) step = read_identities(source, out.world);
  if (step) step = read_expectation(source, out.expect);
  if (!step) return fail(step.error());
  if (source.contains("upstream")) out.upstream_json = source["upstream"].dump();
  return out;
}

}  // namespace

std::optional<DeviceName> parse_device_name(std::string_view text) {
  const size_t first = text.find('/');
  const size_t last = text.rfind('/');
  if (first == std::string_view::npos || first == last) return std::nullopt;
  return DeviceName{std::string(text.substr(0, first)), std::string(text.substr(first + 1, last - first - 1)),
                    std::string(text.substr(last + 1))};
}

Result<Case> read_case(std::string_view text) {
  const json source = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!source.is_object()) return fail(Code::kInvalidArgument, "an allocator case must be a JSON object");
  try {
    Result<Case> out = read_checked(source);
    if (!out) return fail(out.error().wrap("case " + source.value("id", "")));
    return out;
  } catch (const json::exception& e) {
    return fail(Code::kInvalidArgument, std::string("not an allocator case: ") + e.what());
  }
}

std::string write_case(const World& world, std::optional<bool> feasible) {
  json out = {{"id", world.id}, {"featureGates", world.gates}};
  auto objects = [](const auto& list) {
    json array = json::array();
    for (const auto& object : list) array.push_back(json::parse(api::encode(object)));
    return array;
  };
  if (world.single_node && world.nodes.size() == 1)
    out["node"] = json::parse(api::encode(world.nodes[0]));
  else
    out["nodes"] = objects(world.nodes);
  out["deviceClasses"] = objects(world.classes);
  out["resourceSlices"] = objects(world.slices);
  out["claims"] = objects(world.claims);
  if (!world.taint_rules.empty()) out["deviceTaintRules"] = objects(world.taint_rules);
  out["allocatedDevices"] = json::array();
  for (const DeviceName& name : world.allocated) out["allocatedDevices"].push_back(name.text());
  for (const auto& [name, share] : world.allocated_shares)
    out["allocatedSharedDevices"].push_back(name.text() + "/" + share);
  for (const auto& [name, capacities] : world.consumed) out["consumedCapacity"][name.text()] = capacities;
  if (feasible) out["expect"]["feasible"] = *feasible;
  return out.dump();
}

const std::set<std::string, std::less<>>& all_gates() {
  static const std::set<std::string, std::less<>> gates = {
      "DRAAdminAccess",        "DRAConsumableCapacity",   "DRADeviceBindingConditions", "DRADeviceTaints",
      "DRAListTypeAttributes", "DRAPartitionableDevices", "DRAPrioritizedList"};
  return gates;
}

}  // namespace dra::oracle
