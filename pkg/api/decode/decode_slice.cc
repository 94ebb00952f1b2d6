// decode<T>() for ResourceSlice and its devices, DeviceClass and DeviceTaintRule.
#include <algorithm>

#include "pkg/api/decode/decode_entry.h"
#include "pkg/api/decode/decode_resource_parts.h"
#include "pkg/api/decode/find_unknown.h"

namespace dra::api {
namespace detail {
namespace {

bool read_version(const WireValue& v, VersionText& out, Trouble& t) {
  return read(v, out.text, t);
}

bool read_attribute_member(std::string_view name, const WireValue& v, DeviceAttribute& out, Trouble& t) {
  if (name == "int") return read(v, out.emplace<int64_t>(), t);
  if (name == "bool") return read(v, out.emplace<bool>(), t);
  if (name == "string") return read(v, out.emplace<std::string>(), t);
  if (name == "version") return read_version(v, out.emplace<VersionText>(), t);
  if (name == "ints") return read(v, out.emplace<std::vector<int64_t>>(), t);
  if (name == "strings") return read(v, out.emplace<std::vector<std::string>>(), t);
  if (name == "versions") return read_list(v, out.emplace<std::vector<VersionText>>(), t, read_version);
  return read(v, out.emplace<std::vector<bool>>(), t);
}

bool is_attribute_member(std::string_view name) {
  return name == "int" || name == "bool" || name == "string" || name == "version" || name == "ints" ||
         name == "bools" || name == "strings" || name == "versions";
}

// Exactly one member of the union; none, several or only unknown ones (a newer server's) leave monostate. Unknown ones
// stay unread, which find_unknown.h notices.
bool read_attribute(const WireValue& v, DeviceAttribute& out, Trouble& t) {
  if (!expect_object(v, t)) return false;
  int members = 0;
  const bool readable = v.each_member([&](std::string_view name, const WireValue& member) {
    if (!is_attribute_member(name)) return true;
    t.member_read();
    if (member.is_null()) return true;
    ++members;
    return read_attribute_member(name, member, out, t) || t.in_member(name);
  });
  if (members != 1) out = std::monostate{};
  return readable;
}

bool quantity_field(const WireValue& v, std::string_view name, std::string& out, Trouble& t) {
  return field_with(v, name, t, [&](const WireValue& q) { return read_quantity(q, out, t); });
}

bool quantity_field(const WireValue& v, std::string_view name, std::optional<std::string>& out, Trouble& t) {
  return field_with(v, name, t, [&](const WireValue& q) { return read_quantity(q, out.emplace(), t); });
}

bool read_policy(const WireValue& v, CapacityRequestPolicy& out, Trouble& t) {
  return expect_object(v, t) && quantity_field(v, "default", out.default_value, t) &&
         field_with(v, "validValues", t,
                    [&](const WireValue& list) { return read_list(list, out.valid_values, t, read_quantity); }) &&
         section(v, "validRange", t, [&](const WireValue& r) {
           CapacityRange& range = out.valid_range.emplace();
           return quantity_field(r, "min", range.min, t) && quantity_field(r, "max", range.max, t) &&
                  quantity_field(r, "step", range.step, t);
         });
}

bool read_capacity(const WireValue& v, DeviceCapacity& out, Trouble& t) {
  return expect_object(v, t) && quantity_field(v, "value", out.value, t) &&
         field_with(v, "requestPolicy", t,
                    [&](const WireValue& p) { return read_policy(p, out.request_policy.emplace(), t); });
}

// {"name": {"value": quantity}} -> name -> quantity
bool read_counters(const WireValue& v, CounterMap& out, Trouble& t) {
  return read_map(v, out, t, [](const WireValue& counter, std::string& quantity, Trouble& inner) {
    return expect_object(counter, inner) && quantity_field(counter, "value", quantity, inner);
  });
}

bool read_counter_set(const WireValue& v, CounterSet& out, Trouble& t) {
  return expect_object(v, t) && field(v, "name", out.name, t) &&
         field_with(v, "counters", t, [&](const WireValue& map) { return read_counters(map, out.counters, t); });
}

bool read_consumption(const WireValue& v, DeviceCounterConsumption& out, Trouble& t) {
  return expect_object(v, t) && field(v, "counterSet", out.counter_set, t) &&
         field_with(v, "counters", t, [&](const WireValue& map) { return read_counters(map, out.counters, t); }) &&
         field(v, "compatibilityGroups", out.compatibility_groups, t);
}

bool read_device_taint(const WireValue& v, DeviceTaint& out, Trouble& t) {
  return expect_object(v, t) && field(v, "key", out.key, t) && field(v, "value", out.value, t) &&
         field(v, "effect", out.effect, t) && field(v, "timeAdded", out.time_added, t);
}

// Does not count as read, so the field is noted as one that is not supported: whoever counts what devices take of their
// node says so itself (pkg/inventory/node_takes.h). What is not understood as a whole is not kept.
void read_takes(const WireValue& device, Device& out) {
  WireValue mappings;
  if (!device.find("nodeAllocatableResourceMappings", mappings)) return;
  Trouble own;
  std::vector<DeviceTake> takes;
  const bool whole = mappings.each_member([&](std::string_view resource, const WireValue& mapping) {
    DeviceTake& take = takes.emplace_back();
    take.resource = resource;
    return mapping.each_member([&](std::string_view name, const WireValue& value) {
      if (name == "capacityKey") return read(value, take.capacity, own);
      return name == "allocationMultiplier" && read_quantity(value, take.multiplier, own);
    }) && (!take.capacity.empty() || !take.multiplier.empty());
  });
  if (!whole || takes.empty()) return;
  std::sort(takes.begin(), takes.end(), [](const auto& a, const auto& b) { return a.resource < b.resource; });
  out.takes_of_node = std::move(takes);
}

bool read_device_body(const WireValue& v, Device& out, Trouble& t) {
  read_takes(v, out);
  return field_with(v, "attributes", t,
                    [&](const WireValue& map) { return read_map(map, out.attributes, t, read_attribute); }) &&
         field_with(v, "capacity", t,
                    [&](const WireValue& map) {
                      return read_map(
                          map, out.capacity, t, [](const WireValue& c, DeviceCapacity& item, Trouble& inner) {
                            // v1beta1 of 1.31 wrote the bare quantity.
                            return c.kind() == WireValue::Kind::kObject ? read_capacity(c, item, inner)
                                                                        : read_quantity(c, item.value, inner);
                          });
                    }) &&
         field_with(
             v, "consumesCounters", t,
             [&](const WireValue& list) { return read_list(list, out.consumes_counters, t, read_consumption); }) &&
         field(v, "nodeName", out.node_name, t) && field(v, "nodeSelector", out.node_selector, t) &&
         field(v, "allNodes", out.all_nodes, t) &&
         field_with(v, "taints", t,
                    [&](const WireValue& list) { return read_list(list, out.taints, t, read_device_taint); }) &&
         field(v, "bindsToNode", out.binds_to_node, t) && field(v, "bindingConditions", out.binding_conditions, t) &&
         field(v, "bindingFailureConditions", out.binding_failure_conditions, t) &&
         field(v, "allowMultipleAllocations", out.allow_multiple_allocations, t);
}

}  // namespace

bool read(const WireValue& v, Device& out, Trouble& t) {
  if (!expect_object(v, t) || !field(v, "name", out.name, t)) return false;
  WireValue basic;
  if (v.find("basic", basic) && basic.kind() == WireValue::Kind::kObject) {  // v1beta1
    t.member_read();
    return (expect_object(basic, t) && read_device_body(basic, out, t)) || t.in_member("basic");
  }
  return read_device_body(v, out, t);
}

bool read(const WireValue& v, ResourceSlice& out, Trouble& t) {
  const bool readable =
      expect_object(v, t) && read_metadata_in_use(v, out.metadata, Labels::kDropped, t) &&
      section(v, "spec", t, [&](const WireValue& s) {
        return field(s, "driver", out.driver, t) &&
               section(s, "pool", t,
                       [&](const WireValue& p) {
                         return field(p, "name", out.pool.name, t) && field(p, "generation", out.pool.generation, t) &&
                                field(p, "resourceSliceCount", out.pool.resource_slice_count, t);
                       }) &&
               field(s, "nodeName", out.node_name, t) && field(s, "nodeSelector", out.node_selector, t) &&
               field(s, "allNodes", out.all_nodes, t) &&
               field(s, "perDeviceNodeSelection", out.per_device_node_selection, t) &&
               field(s, "devices", out.devices, t) &&
               field_with(
                   s, "sharedCounters", t,
                   [&](const WireValue& list) { return read_list(list, out.shared_counters, t, read_counter_set); }) &&
               field(s, "partitionTypeAttribute", out.partition_type_attribute, t) &&
               field(s, "skipNodeOperations", out.skip_node_operations, t);
      });
  if (readable) note_unknown(v, t, out);
  return readable;
}

bool read(const WireValue& v, DeviceClass& out, Trouble& t) {
  const bool readable =
      expect_object(v, t) && read_metadata_in_use(v, out.metadata, Labels::kDropped, t) &&
      section(v, "spec", t, [&](const WireValue& s) {
        return field_with(s, "selectors", t,
                          [&](const WireValue& list) { return read_list(list, out.selectors, t, read_selector); }) &&
               field_with(s, "config", t,
                          [&](const WireValue& list) { return read_list(list, out.config, t, read_class_config); }) &&
               field(s, "extendedResourceName", out.extended_resource_name, t);
      });
  if (readable) note_unknown(v, t, out);
  return readable;
}

namespace {

// The first member of a rule's selector that is not one of those in use.
std::string unknown_selector_field(const WireValue& selector) {
  std::string unknown;
  selector.each_member([&](std::string_view key, const WireValue& value) {
    const bool known = key == "driver" || key == "pool" || key == "device";
    const bool empty_list =
        value.kind() == WireValue::Kind::kArray && value.each_element([](const auto&) { return false; });
    if (known || value.is_null() || empty_list) return true;
    unknown = key.substr(0, 64);
    return false;
  });
  return unknown;
}

}  // namespace

bool read(const WireValue& v, DeviceTaintRule& out, Trouble& t) {
  return expect_object(v, t) && read_metadata_in_use(v, out.metadata, Labels::kKept, t) &&
         section(v, "spec", t,
                 [&](const WireValue& s) {
                   return section(s, "deviceSelector", t,
                                  [&](const WireValue& selector) {
                                    out.unknown_selector = unknown_selector_field(selector);
                                    out.has_selector = out.unknown_selector.empty();
                                    return field(selector, "driver", out.driver, t) &&
                                           field(selector, "pool", out.pool, t) &&
                                           field(selector, "device", out.device, t);
                                  }) &&
                          field_with(s, "taint", t,
                                     [&](const WireValue& taint) { return read_device_taint(taint, out.taint, t); });
                 }) &&
         section(v, "status", t, [&](const WireValue& s) { return field(s, "conditions", out.conditions, t); });
}

}  // namespace detail

DRA_DECODE_KIND(ResourceSlice)
DRA_DECODE_PROTOBUF(ResourceSlice)
DRA_DECODE_KIND(DeviceClass)
DRA_DECODE_KIND(DeviceTaintRule)
DRA_DECODE_PART(Device)

}  // namespace dra::api
