#include "pkg/api/encode.h"

#include <nlohmann/json.hpp>

namespace dra::api {
namespace {

using nlohmann::json;

void put(json& object, const char* name, const std::string& value) {
  if (!value.empty()) object[name] = value;
}
void put(json& object, const char* name, bool value) {
  if (value) object[name] = true;
}
void put(json& object, const char* name, int64_t value) {
  if (value != 0) object[name] = value;
}
void put(json& object, const char* name, const std::optional<std::string>& value) {
  if (value) object[name] = *value;
}
void put(json& object, const char* name, const std::optional<int64_t>& value) {
  if (value) object[name] = *value;
}
void put(json& object, const char* name, const StringMap& value) {
  if (!value.empty()) object[name] = value;
}
void put(json& object, const char* name, const std::vector<std::string>& value) {
  if (!value.empty()) object[name] = value;
}
template <class T, class F>
void put_list(json& object, const char* name, const std::vector<T>& values, F&& f) {
  if (values.empty()) return;
  json& list = object[name] = json::array();
  for (const T& value : values) list.push_back(f(value));
}
template <class T>
void put_list(json& object, const char* name, const std::vector<T>& values) {
  put_list(object, name, values, [](const T& value) { return to_json(value); });
}

json requirement_json(const NodeSelectorRequirement& value) {
  json out = {{"key", value.key}, {"operator", value.op}};
  put(out, "values", value.values);
  return out;
}

json owner_json(const OwnerReference& value) {
  json out = {{"apiVersion", value.api_version}, {"kind", value.kind}, {"name", value.name}, {"uid", value.uid}};
  put(out, "controller", value.controller);
  return out;
}

json raw_json(const std::string& text) {
  json parsed = json::parse(text, nullptr, /*allow_exceptions=*/false);
  return parsed.is_discarded() ? json() : parsed;
}

json opaque_json(const OpaqueConfig& value) {
  return {{"driver", value.driver}, {"parameters", raw_json(value.parameters_json)}};
}

json attribute_json(const DeviceAttribute& value) {
  struct Writer {
    json operator()(std::monostate) const { return json::object(); }
    json operator()(int64_t v) const { return {{"int", v}}; }
    json operator()(bool v) const { return {{"bool", v}}; }
    json operator()(const std::string& v) const { return {{"string", v}}; }
    json operator()(const VersionText& v) const { return {{"version", v.text}}; }
    json operator()(const std::vector<int64_t>& v) const { return {{"ints", v}}; }
    json operator()(const std::vector<bool>& v) const { return {{"bools", v}}; }
    json operator()(const std::vector<std::string>& v) const { return {{"strings", v}}; }
    json operator()(const std::vector<VersionText>& v) const {
      json list = json::array();
      for (const VersionText& version : v) list.push_back(version.text);
      return {{"versions", std::move(list)}};
    }
  };
  return std::visit(Writer{}, value);
}

json capacity_json(const DeviceCapacity& value) {
  json out = {{"value", value.value}};
  if (!value.request_policy) return out;
  json& policy = out["requestPolicy"] = json::object();
  put(policy, "default", value.request_policy->default_value);
  put(policy, "validValues", value.request_policy->valid_values);
  if (const auto& range = value.request_policy->valid_range) {
    json& out_range = policy["validRange"] = {{"min", range->min}};
    put(out_range, "max", range->max);
    put(out_range, "step", range->step);
  }
  return out;
}

json counters_json(const CounterMap& counters) {
  json out = json::object();
  for (const auto& [name, value] : counters) out[name] = {{"value", value}};
  return out;
}

json selector_json(const std::string& expression) {
  return expression.empty() ? json::object() : json{{"cel", {{"expression", expression}}}};
}

json class_config_json(const OpaqueConfig& value) {
  return {{"opaque", opaque_json(value)}};
}

json request_json(const DeviceRequest& value) {
  json out = {{"name", value.name}};
  if (value.exactly) out["exactly"] = to_json(*value.exactly);
  put_list(out, "firstAvailable", value.first_available);
  return out;
}

json constraint_json(const DeviceConstraint& value) {
  json out = json::object();
  put(out, "requests", value.requests);
  put(out, "matchAttribute", value.match_attribute);
  put(out, "distinctAttribute", value.distinct_attribute);
  return out;
}

json claim_config_json(const DeviceClaimConfig& value) {
  json out = json::object();
  put(out, "requests", value.requests);
  if (value.opaque) out["opaque"] = opaque_json(*value.opaque);
  return out;
}

json allocated_config_json(const DeviceAllocationConfiguration& value) {
  json out = {{"source", value.source}};
  put(out, "requests", value.requests);
  if (value.opaque) out["opaque"] = opaque_json(*value.opaque);
  return out;
}

json device_status_json(const AllocatedDeviceStatus& value) {
  json out = {{"driver", value.driver}, {"pool", value.pool}, {"device", value.device}};
  put(out, "shareID", value.share_id);
  put_list(out, "conditions", value.conditions);
  return out;
}

json node_taint_json(const Taint& value) {
  json out = {{"key", value.key}, {"effect", value.effect}};
  put(out, "value", value.value);
  put(out, "timeAdded", value.time_added);
  return out;
}

json object_json(const char* api_version, const char* kind, const ObjectMeta& metadata) {
  return {{"apiVersion", api_version}, {"kind", kind}, {"metadata", to_json(metadata)}};
}

void put_node_selection(json& out, const std::string& node_name, const std::optional<NodeSelector>& selector,
                        bool all_nodes) {
  put(out, "nodeName", node_name);
  if (selector) out["nodeSelector"] = to_json(*selector);
  put(out, "allNodes", all_nodes);
}

}  // namespace

json to_json(const ObjectMeta& value) {
  json out = json::object();
  put(out, "name", value.name);
  put(out, "generateName", value.generate_name);
  put(out, "namespace", value.ns);
  put(out, "uid", value.uid);
  put(out, "resourceVersion", value.resource_version);
  put(out, "generation", value.generation);
  put(out, "creationTimestamp", value.creation_timestamp);
  put(out, "deletionTimestamp", value.deletion_timestamp);
  put(out, "labels", value.labels);
  put(out, "annotations", value.annotations);
  put(out, "finalizers", value.finalizers);
  put_list(out, "ownerReferences", value.owner_references, owner_json);
  return out;
}

json to_json(const Condition& value) {
  json out = {{"type", value.type}, {"status", value.status}};
  put(out, "reason", value.reason);
  put(out, "message", value.message);
  put(out, "lastTransitionTime", value.last_transition_time);
  put(out, "observedGeneration", value.observed_generation);
  return out;
}

json to_json(const NodeSelectorTerm& value) {
  json out = json::object();
  put_list(out, "matchExpressions", value.match_expressions, requirement_json);
  put_list(out, "matchFields", value.match_fields, requirement_json);
  return out;
}

json to_json(const NodeSelector& value) {
  json out = {{"nodeSelectorTerms", json::array()}};
  for (const NodeSelectorTerm& term : value.terms) out["nodeSelectorTerms"].push_back(to_json(term));
  return out;
}

json to_json(const DeviceTaint& value) {
  json out = {{"key", value.key}, {"effect", value.effect}};
  put(out, "value", value.value);
  put(out, "timeAdded", value.time_added);
  return out;
}

json to_json(const DeviceToleration& value) {
  json out = json::object();
  put(out, "key", value.key);
  put(out, "operator", value.op);
  put(out, "value", value.value);
  put(out, "effect", value.effect);
  put(out, "tolerationSeconds", value.toleration_seconds);
  return out;
}

json to_json(const Device& value) {
  json out = {{"name", value.name}};
  for (const auto& [name, attribute] : value.attributes) out["attributes"][name] = attribute_json(attribute);
  for (const auto& [name, capacity] : value.capacity) out["capacity"][name] = capacity_json(capacity);
  put_list(out, "consumesCounters", value.consumes_counters, [](const DeviceCounterConsumption& consumption) -> json {
    return {{"counterSet", consumption.counter_set}, {"counters", counters_json(consumption.counters)}};
  });
  put_node_selection(out, value.node_name, value.node_selector, value.all_nodes);
  put_list(out, "taints", value.taints);
  put(out, "bindsToNode", value.binds_to_node);
  put(out, "bindingConditions", value.binding_conditions);
  put(out, "bindingFailureConditions", value.binding_failure_conditions);
  put(out, "allowMultipleAllocations", value.allow_multiple_allocations);
  return out;
}

json to_json(const DeviceSubRequest& value) {
  json out = {{"deviceClassName", value.device_class_name}};
  put(out, "name", value.name);
  put_list(out, "selectors", value.selectors, selector_json);
  put(out, "allocationMode", value.allocation_mode);
  put(out, "count", value.count);
  put(out, "adminAccess", value.admin_access);
  put_list(out, "tolerations", value.tolerations);
  if (!value.capacity_requests.empty()) out["capacity"]["requests"] = value.capacity_requests;
  return out;
}

json to_json(const ResourceClaimSpec& value) {
  json devices = json::object();
  put_list(devices, "requests", value.requests, request_json);
  put_list(devices, "constraints", value.constraints, constraint_json);
  put_list(devices, "config", value.config, claim_config_json);
  return {{"devices", std::move(devices)}};
}

json to_json(const DeviceRequestAllocationResult& value) {
  json out = {{"request", value.request}, {"driver", value.driver}, {"pool", value.pool}, {"device", value.device}};
  put(out, "adminAccess", value.admin_access);
  put_list(out, "tolerations", value.tolerations);
  put(out, "bindingConditions", value.binding_conditions);
  put(out, "bindingFailureConditions", value.binding_failure_conditions);
  put(out, "shareID", value.share_id);
  put(out, "consumedCapacity", value.consumed_capacity);
  return out;
}

json to_json(const AllocationResult& value) {
  json out = {{"devices", json::object()}};
  put_list(out["devices"], "results", value.results);
  put_list(out["devices"], "config", value.config, allocated_config_json);
  if (value.node_selector) out["nodeSelector"] = to_json(*value.node_selector);
  put(out, "allocationTimestamp", value.allocation_timestamp);
  return out;
}

json to_json(const ResourceClaimConsumerReference& value) {
  json out = {{"resource", value.resource}, {"name", value.name}, {"uid", value.uid}};
  put(out, "apiGroup", value.api_group);
  return out;
}

json to_json(const ResourceClaimStatus& value) {
  json out = json::object();
  if (value.allocation) out["allocation"] = to_json(*value.allocation);
  put_list(out, "reservedFor", value.reserved_for);
  put_list(out, "devices", value.devices, device_status_json);
  return out;
}

json to_json(const ResourceSlice& value) {
  json out = object_json("resource.k8s.io/v1", "ResourceSlice", value.metadata);
  json& spec = out["spec"] = {{"driver", value.driver},
                              {"pool",
                               {{"name", value.pool.name},
                                {"generation", value.pool.generation},
                                {"resourceSliceCount", value.pool.resource_slice_count}}}};
  put_node_selection(spec, value.node_name, value.node_selector, value.all_nodes);
  put(spec, "perDeviceNodeSelection", value.per_device_node_selection);
  put_list(spec, "devices", value.devices);
  put_list(spec, "sharedCounters", value.shared_counters, [](const CounterSet& set) -> json {
    return {{"name", set.name}, {"counters", counters_json(set.counters)}};
  });
  return out;
}

json to_json(const DeviceClass& value) {
  json out = object_json("resource.k8s.io/v1", "DeviceClass", value.metadata);
  json& spec = out["spec"] = json::object();
  put_list(spec, "selectors", value.selectors, selector_json);
  put_list(spec, "config", value.config, class_config_json);
  put(spec, "extendedResourceName", value.extended_resource_name);
  return out;
}

json to_json(const ResourceClaim& value) {
  json out = object_json("resource.k8s.io/v1", "ResourceClaim", value.metadata);
  out["spec"] = to_json(value.spec);
  json status = to_json(value.status);
  if (!status.empty()) out["status"] = std::move(status);
  return out;
}

json to_json(const DeviceTaintRule& value) {
  json out = object_json("resource.k8s.io/v1beta2", "DeviceTaintRule", value.metadata);
  json& spec = out["spec"] = {{"taint", to_json(value.taint)}};
  if (value.has_selector) {
    json& selector = spec["deviceSelector"] = json::object();
    put(selector, "driver", value.driver);
    put(selector, "pool", value.pool);
    put(selector, "device", value.device);
  }
  return out;
}

json to_json(const Node& value) {
  json out = object_json("v1", "Node", value.metadata);
  json& spec = out["spec"] = json::object();
  put(spec, "unschedulable", value.unschedulable);
  put_list(spec, "taints", value.taints, node_taint_json);
  json& status = out["status"] = json::object();
  put(status, "capacity", value.capacity);
  put(status, "allocatable", value.allocatable);
  put_list(status, "conditions", value.conditions);
  return out;
}

namespace {

// A value with bytes that are not UTF-8 is written with replacement characters instead of throwing.
template <class T>
std::string text_of(const T& value) {
  return to_json(value).dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace

std::string encode(const AllocationResult& value) {
  return text_of(value);
}
std::string encode(const ResourceClaimStatus& value) {
  return text_of(value);
}
std::string encode(const ResourceClaimSpec& value) {
  return text_of(value);
}
std::string encode(const NodeSelector& value) {
  return text_of(value);
}
std::string encode(const ResourceSlice& value) {
  return text_of(value);
}
std::string encode(const DeviceClass& value) {
  return text_of(value);
}
std::string encode(const ResourceClaim& value) {
  return text_of(value);
}
std::string encode(const DeviceTaintRule& value) {
  return text_of(value);
}
std::string encode(const Node& value) {
  return text_of(value);
}

}  // namespace dra::api
