#include "pkg/api/encode.h"

#include <nlohmann/json.hpp>

namespace dra::api {
namespace {

// Members stand in alphabetical order, as nlohmann::json writes them: texts are compared.

void put(JsonText& out, const char* name, const std::string& value) {
  if (!value.empty()) out.member(name, value);
}
void put(JsonText& out, const char* name, bool value) {
  if (value) out.member(name, true);
}
void put(JsonText& out, const char* name, int64_t value) {
  if (value != 0) out.member(name, value);
}
void put(JsonText& out, const char* name, const std::optional<std::string>& value) {
  if (value) out.member(name, *value);
}
void put(JsonText& out, const char* name, const std::optional<int64_t>& value) {
  if (value) out.member(name, *value);
}

void put(JsonText& out, const char* name, const StringMap& values) {
  if (values.empty()) return;
  out.object(name, [&] {
    for (const auto& [key, value] : values) out.member(key, value);
  });
}

template <class T, class F>
void put_list(JsonText& out, const char* name, const std::vector<T>& values, F&& one) {
  if (values.empty()) return;
  out.array(name, [&] {
    for (const T& value : values) one(out, value);
  });
}
template <class T>
void put_list(JsonText& out, const char* name, const std::vector<T>& values) {
  put_list(out, name, values, [](JsonText& to, const T& value) { write(to, value); });
}
void put(JsonText& out, const char* name, const std::vector<std::string>& values) {
  put_list(out, name, values, [](JsonText& to, const std::string& value) { to.value(value); });
}

void write_requirement(JsonText& out, const NodeSelectorRequirement& value) {
  out.object([&] {
    out.member("key", value.key);
    out.member("operator", value.op);
    put(out, "values", value.values);
  });
}

void write_owner(JsonText& out, const OwnerReference& value) {
  out.object([&] {
    out.member("apiVersion", value.api_version);
    put(out, "controller", value.controller);
    out.member("kind", value.kind);
    out.member("name", value.name);
    out.member("uid", value.uid);
  });
}

void put_opaque(JsonText& out, const OpaqueConfig& value) {
  out.object("opaque", [&] {
    out.member("driver", value.driver);
    out.raw("parameters", nlohmann::json::accept(value.parameters_json) ? value.parameters_json : "null");
  });
}

void write_attribute(JsonText& out, const DeviceAttribute& value) {
  struct Writer {
    JsonText& out;
    void operator()(std::monostate) const {}
    void operator()(int64_t v) const { out.member("int", v); }
    void operator()(bool v) const { out.member("bool", v); }
    void operator()(const std::string& v) const { out.member("string", v); }
    void operator()(const VersionText& v) const { out.member("version", v.text); }
    void operator()(const std::vector<int64_t>& v) const {
      out.array("ints", [&] {
        for (const int64_t number : v) out.value(number);
      });
    }
    void operator()(const std::vector<bool>& v) const {
      out.array("bools", [&] {
        for (const bool truth : v) out.value(truth);
      });
    }
    void operator()(const std::vector<std::string>& v) const {
      out.array("strings", [&] {
        for (const std::string& text : v) out.value(text);
      });
    }
    void operator()(const std::vector<VersionText>& v) const {
      out.array("versions", [&] {
        for (const VersionText& version : v) out.value(version.text);
      });
    }
  };
  out.object([&] { std::visit(Writer{out}, value); });
}

void write_capacity(JsonText& out, const DeviceCapacity& value) {
  out.object([&] {
    if (value.request_policy) {
      out.object("requestPolicy", [&] {
        put(out, "default", value.request_policy->default_value);
        if (const auto& range = value.request_policy->valid_range) {
          out.object("validRange", [&] {
            put(out, "max", range->max);
            out.member("min", range->min);
            put(out, "step", range->step);
          });
        }
        put(out, "validValues", value.request_policy->valid_values);
      });
    }
    out.member("value", value.value);
  });
}

void put_counters(JsonText& out, const CounterMap& counters) {
  out.object("counters", [&] {
    for (const auto& counter : counters) out.object(counter.first, [&] { out.member("value", counter.second); });
  });
}

void write_selector(JsonText& out, const std::string& expression) {
  out.object([&] {
    if (!expression.empty()) out.object("cel", [&] { out.member("expression", expression); });
  });
}

void write_derived(JsonText& out, const DerivedAttribute& value) {
  out.object([&] {
    out.member("expression", value.expression);
    out.member("name", value.name);
  });
}

void write_class_config(JsonText& out, const OpaqueConfig& value) {
  out.object([&] { put_opaque(out, value); });
}

void write_request(JsonText& out, const DeviceRequest& value) {
  out.object([&] {
    if (value.exactly) {
      out.key("exactly");
      write(out, *value.exactly);
    }
    put_list(out, "firstAvailable", value.first_available);
    out.member("name", value.name);
  });
}

void write_constraint(JsonText& out, const DeviceConstraint& value) {
  out.object([&] {
    put(out, "distinctAttribute", value.distinct_attribute);
    put(out, "matchAttribute", value.match_attribute);
    put(out, "requests", value.requests);
  });
}

void write_claim_config(JsonText& out, const DeviceClaimConfig& value) {
  out.object([&] {
    if (value.opaque) put_opaque(out, *value.opaque);
    put(out, "requests", value.requests);
  });
}

void write_allocated_config(JsonText& out, const DeviceAllocationConfiguration& value) {
  out.object([&] {
    if (value.opaque) put_opaque(out, *value.opaque);
    put(out, "requests", value.requests);
    out.member("source", value.source);
  });
}

void write_device_status(JsonText& out, const AllocatedDeviceStatus& value) {
  out.object([&] {
    put_list(out, "conditions", value.conditions);
    out.member("device", value.device);
    out.member("driver", value.driver);
    out.member("pool", value.pool);
    put(out, "shareID", value.share_id);
  });
}

void write_node_taint(JsonText& out, const Taint& value) {
  out.object([&] {
    out.member("effect", value.effect);
    out.member("key", value.key);
    put(out, "timeAdded", value.time_added);
    put(out, "value", value.value);
  });
}

// A whole object; `rest` adds the members after its metadata.
template <class F>
void write_object(JsonText& out, const char* api_version, const char* kind, const ObjectMeta& metadata, F&& rest) {
  out.object([&] {
    out.member("apiVersion", api_version);
    out.member("kind", kind);
    out.key("metadata");
    write(out, metadata);
    rest();
  });
}

void put_selector(JsonText& out, const std::optional<NodeSelector>& selector) {
  if (!selector) return;
  out.key("nodeSelector");
  write(out, *selector);
}

bool is_empty(const ResourceClaimStatus& value) {
  return !value.allocation && value.reserved_for.empty() && value.devices.empty();
}

}  // namespace

void write(JsonText& out, const ObjectMeta& value) {
  out.object([&] {
    put(out, "annotations", value.annotations);
    put(out, "creationTimestamp", value.creation_timestamp);
    put(out, "deletionTimestamp", value.deletion_timestamp);
    put(out, "finalizers", value.finalizers);
    put(out, "generateName", value.generate_name);
    put(out, "generation", value.generation);
    put(out, "labels", value.labels);
    put(out, "name", value.name);
    put(out, "namespace", value.ns);
    put_list(out, "ownerReferences", value.owner_references, write_owner);
    put(out, "resourceVersion", value.resource_version);
    put(out, "uid", value.uid);
  });
}

void write(JsonText& out, const Condition& value) {
  out.object([&] {
    put(out, "lastTransitionTime", value.last_transition_time);
    put(out, "message", value.message);
    put(out, "observedGeneration", value.observed_generation);
    put(out, "reason", value.reason);
    out.member("status", value.status);
    out.member("type", value.type);
  });
}

void write(JsonText& out, const NodeSelectorTerm& value) {
  out.object([&] {
    put_list(out, "matchExpressions", value.match_expressions, write_requirement);
    put_list(out, "matchFields", value.match_fields, write_requirement);
  });
}

void write(JsonText& out, const NodeSelector& value) {
  out.object([&] {
    out.array("nodeSelectorTerms", [&] {
      for (const NodeSelectorTerm& term : value.terms) write(out, term);
    });
  });
}

void write(JsonText& out, const DeviceTaint& value) {
  out.object([&] {
    out.member("effect", value.effect);
    out.member("key", value.key);
    put(out, "timeAdded", value.time_added);
    put(out, "value", value.value);
  });
}

void write(JsonText& out, const DeviceToleration& value) {
  out.object([&] {
    put(out, "effect", value.effect);
    put(out, "key", value.key);
    put(out, "operator", value.op);
    put(out, "tolerationSeconds", value.toleration_seconds);
    put(out, "value", value.value);
  });
}

void write(JsonText& out, const Device& value) {
  out.object([&] {
    put(out, "allNodes", value.all_nodes);
    put(out, "allowMultipleAllocations", value.allow_multiple_allocations);
    if (!value.attributes.empty()) {
      out.object("attributes", [&] {
        for (const auto& [name, attribute] : value.attributes) {
          out.key(name);
          write_attribute(out, attribute);
        }
      });
    }
    put(out, "bindingConditions", value.binding_conditions);
    put(out, "bindingFailureConditions", value.binding_failure_conditions);
    put(out, "bindsToNode", value.binds_to_node);
    if (!value.capacity.empty()) {
      out.object("capacity", [&] {
        for (const auto& [name, capacity] : value.capacity) {
          out.key(name);
          write_capacity(out, capacity);
        }
      });
    }
    put_list(out, "consumesCounters", value.consumes_counters,
             [](JsonText& to, const DeviceCounterConsumption& consumption) {
               to.object([&] {
                 put(to, "compatibilityGroups", consumption.compatibility_groups);
                 to.member("counterSet", consumption.counter_set);
                 put_counters(to, consumption.counters);
               });
             });
    out.member("name", value.name);
    put(out, "nodeName", value.node_name);
    put_selector(out, value.node_selector);
    put_list(out, "taints", value.taints);
  });
}

void write(JsonText& out, const DeviceSubRequest& value) {
  out.object([&] {
    put(out, "adminAccess", value.admin_access);
    put(out, "allocationMode", value.allocation_mode);
    if (!value.capacity_requests.empty())
      out.object("capacity", [&] { put(out, "requests", value.capacity_requests); });
    put(out, "count", value.count);
    if (value.derived_attributes) put_list(out, "derivedAttributes", *value.derived_attributes, write_derived);
    out.member("deviceClassName", value.device_class_name);
    put(out, "name", value.name);
    put_list(out, "selectors", value.selectors, write_selector);
    put_list(out, "tolerations", value.tolerations);
  });
}

void write(JsonText& out, const ResourceClaimSpec& value) {
  out.object([&] {
    out.object("devices", [&] {
      put_list(out, "config", value.config, write_claim_config);
      put_list(out, "constraints", value.constraints, write_constraint);
      put_list(out, "requests", value.requests.get(), write_request);
    });
  });
}

void write(JsonText& out, const DeviceRequestAllocationResult& value) {
  out.object([&] {
    put(out, "adminAccess", value.admin_access);
    put(out, "bindingConditions", value.binding_conditions);
    put(out, "bindingFailureConditions", value.binding_failure_conditions);
    put(out, "consumedCapacity", value.consumed_capacity);
    out.member("device", value.device);
    out.member("driver", value.driver);
    out.member("pool", value.pool);
    out.member("request", value.request);
    put(out, "shareID", value.share_id);
    if (value.skip_node_operations) put(out, "skipNodeOperations", *value.skip_node_operations);
    put_list(out, "tolerations", value.tolerations);
  });
}

void write(JsonText& out, const AllocationResult& value) {
  out.object([&] {
    put(out, "allocationTimestamp", value.allocation_timestamp);
    out.object("devices", [&] {
      put_list(out, "config", value.config, write_allocated_config);
      put_list(out, "results", value.results);
    });
    put_selector(out, value.node_selector);
  });
}

void write(JsonText& out, const ResourceClaimConsumerReference& value) {
  if (value.json) return out.raw(*value.json);
  out.object([&] {
    put(out, "apiGroup", value.api_group);
    out.member("name", value.name);
    out.member("resource", value.resource);
    out.member("uid", value.uid);
  });
}

void write(JsonText& out, const ResourceClaimStatus& value) {
  out.object([&] {
    if (value.allocation) {
      out.key("allocation");
      write(out, *value.allocation);
    }
    put_list(out, "devices", value.devices, write_device_status);
    put_list(out, "reservedFor", value.reserved_for);
  });
}

void write(JsonText& out, const ResourceSlice& value) {
  write_object(out, "resource.k8s.io/v1", "ResourceSlice", value.metadata, [&] {
    out.object("spec", [&] {
      put(out, "allNodes", value.all_nodes);
      put_list(out, "devices", value.devices);
      out.member("driver", value.driver);
      put(out, "nodeName", value.node_name);
      put_selector(out, value.node_selector);
      put(out, "partitionTypeAttribute", value.partition_type_attribute);
      put(out, "perDeviceNodeSelection", value.per_device_node_selection);
      out.object("pool", [&] {
        out.member("generation", value.pool.generation);
        out.member("name", value.pool.name);
        out.member("resourceSliceCount", value.pool.resource_slice_count);
      });
      put_list(out, "sharedCounters", value.shared_counters, [](JsonText& to, const CounterSet& set) {
        to.object([&] {
          put_counters(to, set.counters);
          to.member("name", set.name);
        });
      });
      put(out, "skipNodeOperations", value.skip_node_operations);
    });
  });
}

void write(JsonText& out, const DeviceClass& value) {
  write_object(out, "resource.k8s.io/v1", "DeviceClass", value.metadata, [&] {
    out.object("spec", [&] {
      put_list(out, "config", value.config, write_class_config);
      put(out, "extendedResourceName", value.extended_resource_name);
      put_list(out, "selectors", value.selectors, write_selector);
    });
  });
}

void write(JsonText& out, const ResourceClaim& value) {
  write_object(out, "resource.k8s.io/v1", "ResourceClaim", value.metadata, [&] {
    out.key("spec");
    write(out, value.spec);
    if (is_empty(value.status)) return;
    out.key("status");
    write(out, value.status);
  });
}

void write(JsonText& out, const DeviceTaintRule& value) {
  write_object(out, "resource.k8s.io/v1beta2", "DeviceTaintRule", value.metadata, [&] {
    out.object("spec", [&] {
      if (value.has_selector) {
        out.object("deviceSelector", [&] {
          put(out, "device", value.device);
          put(out, "driver", value.driver);
          put(out, "pool", value.pool);
        });
      }
      out.key("taint");
      write(out, value.taint);
    });
  });
}

void write(JsonText& out, const Node& value) {
  write_object(out, "v1", "Node", value.metadata, [&] {
    out.object("spec", [&] {
      put_list(out, "taints", value.taints, write_node_taint);
      put(out, "unschedulable", value.unschedulable);
    });
    out.object("status", [&] {
      put(out, "allocatable", value.allocatable);
      put(out, "capacity", value.capacity);
      put_list(out, "conditions", value.conditions);
    });
  });
}

}  // namespace dra::api
