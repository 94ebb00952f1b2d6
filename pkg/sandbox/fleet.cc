#include "pkg/sandbox/fleet.h"

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "pkg/base/strings.h"
#include "pkg/cel/cel.h"
#include "pkg/sandbox/device_model.h"

namespace dra::sandbox {
namespace {

using Json = nlohmann::json;
using Models = std::map<std::string, DeviceModel, std::less<>>;

// Limits of resource.k8s.io/v1 (1.36): devices of a slice, with and without counters, and counter sets of a slice.
constexpr size_t kDevicesPerSlice = 128;
constexpr size_t kPartitionableDevicesPerSlice = 64;
constexpr size_t kCounterSetsPerSlice = 8;

class FleetBuilder {
 public:
  Fleet build(const Field& root) {
    root.allow({"kind", "namespaces", "deviceClasses", "storageClasses", "models", "nodes", "pools", "drivers"});
    if (root.text("kind", "Fleet") != "Fleet") root.at("kind").refuse("a fleet file has kind: Fleet");
    if (root.has("models")) {
      for (const auto& [name, field] : root.at("models").entries()) models_.emplace(name, read_model(field));
    }
    if (root.has("namespaces")) each(root.at("namespaces"), &FleetBuilder::add_namespace);
    if (root.has("deviceClasses")) each(root.at("deviceClasses"), &FleetBuilder::add_class);
    if (root.has("storageClasses")) each(root.at("storageClasses"), &FleetBuilder::add_storage_class);
    if (root.has("nodes")) each(root.at("nodes"), &FleetBuilder::add_nodes);
    if (root.has("pools")) each(root.at("pools"), &FleetBuilder::add_pool);
    if (root.has("drivers")) {
      for (const auto& [name, field] : root.at("drivers").entries()) add_driver(name, field);
    }
    // Nodes come before their slices.
    fleet_.objects.insert(fleet_.objects.end(), slices_.begin(), slices_.end());
    return std::move(fleet_);
  }

 private:
  void each(const Field& list, void (FleetBuilder::*add)(const Field&)) {
    for (const Field& item : list.items()) (this->*add)(item);
  }

  void add_namespace(const Field& field) {
    field.allow({"name", "labels"});
    Json object = {{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", field.at("name").text()}}}};
    if (field.has("labels")) object["metadata"]["labels"] = texts(field.at("labels"), {});
    fleet_.objects.push_back(std::move(object));
  }

  void add_class(const Field& field) {
    field.allow({"name", "selectors", "extendedResourceName", "config"});
    Json spec = Json::object();
    if (field.has("selectors")) {
      for (const Field& selector : field.at("selectors").items()) {
        if (const auto compiled = cel::compile(selector.text(), cel::Environment()); compiled.error)
          selector.refuse("the selector does not compile: " + compiled.error->message);
        spec["selectors"].push_back({{"cel", {{"expression", selector.text()}}}});
      }
    }
    if (field.has("extendedResourceName")) spec["extendedResourceName"] = field.at("extendedResourceName").text();
    if (field.has("config")) spec["config"] = field.at("config").value();
    fleet_.objects.push_back({{"apiVersion", "resource.k8s.io/v1"},
                              {"kind", "DeviceClass"},
                              {"metadata", {{"name", field.at("name").text()}}},
                              {"spec", spec}});
  }

  void add_storage_class(const Field& field) {
    field.allow({"name", "provisioner", "volumeBindingMode", "reclaimPolicy", "default", "parameters"});
    Json object = {{"apiVersion", "storage.k8s.io/v1"},
                   {"kind", "StorageClass"},
                   {"metadata", {{"name", field.at("name").text()}}},
                   {"provisioner", field.at("provisioner").text()}};
    for (const char* key : {"volumeBindingMode", "reclaimPolicy"})
      if (field.has(key)) object[key] = field.at(key).text();
    if (field.has("parameters")) object["parameters"] = texts(field.at("parameters"), {});
    if (field.boolean("default", false))
      object["metadata"]["annotations"] = {{"storageclass.kubernetes.io/is-default-class", "true"}};
    fleet_.objects.push_back(std::move(object));
  }

  void add_driver(const std::string& name, const Field& field) {
    field.allow({"bindingSeconds", "failingDevices", "conditions", "health"});
    DriverBehaviour& driver = fleet_.drivers[name];
    if (field.has("bindingSeconds"))
      driver.binding_delay = std::chrono::seconds(field.integer("bindingSeconds", 0, 0, 86'400));
    if (field.has("failingDevices"))
      for (const Field& device : field.at("failingDevices").items()) driver.failing_devices.insert(device.text());
    if (field.has("conditions"))
      for (const Field& type : field.at("conditions").items()) driver.conditions.push_back(type.text());
    if (!field.has("health")) return;
    for (const auto& [device, health] : field.at("health").entries()) {
      const std::string value = health.text();
      if (value != "Healthy" && value != "Unhealthy" && value != "Unknown")
        health.refuse("health is Healthy, Unhealthy or Unknown");
      driver.health[device] = value;
    }
  }

  static Json texts(const Field& map, const Scope& scope) {
    Json object = Json::object();
    for (const auto& [key, value] : map.entries()) object[key] = fill_or_refuse(value.text(), scope, value);
    return object;
  }

  void add_nodes(const Field& field) {
    field.allow({"name", "count", "labels", "taints", "capacity", "devices", "slicesAfterSeconds"});
    const int64_t count = field.integer("count", 1, 1, kMaxFleetNodes);
    const std::string name_template = field.at("name").text();
    if (count > 1 && name_template.find("{index") == std::string::npos)
      field.at("name").refuse("count is " + std::to_string(count) + ", so the name must hold {index}");
    for (int64_t index = 0; index < count; ++index) {
      Scope scope;
      scope.index = index;
      scope.node = fill_or_refuse(name_template, scope, field);
      if (!names_.insert(scope.node).second)
        field.at("name").refuse("a node named " + quote(scope.node) + " is there already");
      if (++fleet_.nodes > kMaxFleetNodes)
        field.refuse("more than " + std::to_string(kMaxFleetNodes) + " nodes in all");
      add_node(field, scope);
      add_node_devices(field, scope);
    }
  }

  void add_node(const Field& field, const Scope& scope) {
    Json labels = {
        {"kubernetes.io/hostname", scope.node}, {"kubernetes.io/os", "linux"}, {"kubernetes.io/arch", "amd64"}};
    if (field.has("labels")) labels.update(texts(field.at("labels"), scope));
    Json capacity = {{"cpu", "64"}, {"memory", "256Gi"}, {"pods", "110"}, {"ephemeral-storage", "1Ti"}};
    if (field.has("capacity"))
      for (const auto& [name, value] : field.at("capacity").entries()) capacity[name] = quantity_text(value);
    Json spec = Json::object();
    if (field.has("taints")) spec["taints"] = field.at("taints").value();
    fleet_.objects.push_back({{"apiVersion", "v1"},
                              {"kind", "Node"},
                              {"metadata", {{"name", scope.node}, {"labels", labels}}},
                              {"spec", spec},
                              {"status", {{"capacity", capacity}, {"allocatable", capacity}}}});
  }

  void add_node_devices(const Field& field, const Scope& node_scope) {
    if (!field.has("devices")) return;
    // A driver publishes one pool per node, named after the node.
    std::map<std::string, PoolContent> by_driver;
    for (const Field& entry : field.at("devices").items()) {
      Scope scope = node_scope;
      scope.pool = scope.node;
      fill_pool(entry, scope, {"model", "count"}, by_driver);
    }
    for (const auto& [driver, content] : by_driver)
      publish(driver, node_scope.node, {{"nodeName", node_scope.node}}, content, field);
  }

  void add_pool(const Field& field) {
    field.allow({"name", "model", "count", "allNodes", "nodeSelector", "slicesAfterSeconds"});
    Scope scope;
    scope.pool = field.at("name").text();
    if (field.has("allNodes") == field.has("nodeSelector"))
      field.refuse("exactly one of allNodes and nodeSelector is required");
    Json where;
    if (field.has("allNodes")) {
      if (!field.boolean("allNodes", false)) field.at("allNodes").refuse("only true makes sense here");
      where["allNodes"] = true;
    } else {
      where["nodeSelector"] = field.at("nodeSelector").value();
    }
    std::map<std::string, PoolContent> by_driver;
    fill_pool(field, scope, {"name", "model", "count", "allNodes", "nodeSelector", "slicesAfterSeconds"}, by_driver);
    for (const auto& [driver, content] : by_driver) publish(driver, scope.pool, where, content, field);
  }

  void fill_pool(const Field& entry, Scope scope, std::initializer_list<std::string_view> keys,
                 std::map<std::string, PoolContent>& by_driver) {
    entry.allow(keys);
    const auto model = models_.find(entry.at("model").text());
    if (model == models_.end()) {
      std::vector<std::string> known;
      for (const auto& [name, unused] : models_) known.push_back(name);
      entry.at("model").refuse("no such model; models here: " + join(known, ", "));
    }
    const int64_t count = entry.integer("count", 1, 0, 4096);
    PoolContent& content = by_driver[model->second.driver];
    for (int64_t device = 0; device < count; ++device) {
      scope.device = device;
      add_devices(model->second, scope, entry, content);
    }
  }

  // Splits a pool's content into slices as drivers do: counter sets in slices of their own.
  void publish(const std::string& driver, const std::string& pool, const Json& where, const PoolContent& content,
               const Field& field) {
    std::set<std::string> names;
    for (const Json& device : content.devices) {
      if (!names.insert(device["name"].get<std::string>()).second)
        field.refuse("driver " + driver + " would publish two devices named " + device["name"].dump() + " in pool " +
                     quote(pool) + "; make the model's name hold {device}");
    }
    fleet_.devices += content.devices.size();
    if (fleet_.devices > kMaxFleetDevices)
      field.refuse("more than " + std::to_string(kMaxFleetDevices) + " devices in all");
    std::vector<Json> specs;
    chunk(content.counter_sets, kCounterSetsPerSlice, "sharedCounters", specs);
    chunk(content.devices, content.counter_sets.empty() ? kDevicesPerSlice : kPartitionableDevicesPerSlice, "devices",
          specs);
    const int64_t later = field.integer("slicesAfterSeconds", 0, 0, 86'400);
    for (size_t i = 0; i < specs.size(); ++i) {
      Json& spec = specs[i];
      spec["driver"] = driver;
      spec["pool"] = {{"name", pool}, {"generation", 1}, {"resourceSliceCount", specs.size()}};
      spec.update(where);
      Json slice = {{"apiVersion", "resource.k8s.io/v1"},
                    {"kind", "ResourceSlice"},
                    {"metadata", {{"name", pool + "-" + driver + "-" + std::to_string(i)}}},
                    {"spec", spec}};
      if (later > 0) {
        fleet_.late.emplace_back(later, std::move(slice));
      } else {
        slices_.push_back(std::move(slice));
      }
    }
  }

  static void chunk(const std::vector<Json>& items, size_t size, const char* key, std::vector<Json>& specs) {
    for (size_t i = 0; i < items.size(); ++i) {
      if (i % size == 0) specs.push_back({{key, Json::array()}});
      specs.back()[key].push_back(items[i]);
    }
  }

  Models models_;
  Fleet fleet_;
  std::vector<Json> slices_;
  std::set<std::string> names_;
};

}  // namespace

Result<Fleet> load_fleet(std::string_view text, std::string_view source) {
  yaml::Positions positions;
  auto document = yaml::parse_with_positions(text, positions, {.refuse_duplicate_keys = true});
  if (!document) return tl::make_unexpected(document.error().wrap(source));
  try {
    return FleetBuilder().build(Field(*document, "", "", positions, source));
  } catch (const FleetError& error) {
    return fail(Code::kInvalidArgument, error.message);
  }
}

}  // namespace dra::sandbox
