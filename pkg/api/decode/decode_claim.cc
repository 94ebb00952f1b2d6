// decode<T>() for ResourceClaim, ResourceClaimTemplate and what a claim holds.
#include "pkg/api/claim_bounds.h"
#include "pkg/api/decode/decode_entry.h"
#include "pkg/api/decode/decode_resource_parts.h"
#include "pkg/api/decode/find_unknown.h"
#include "pkg/api/decode/unknown_rules.h"

namespace dra::api {
namespace detail {

bool read_selector(const WireValue& v, std::string& out, Trouble& t) {
  return expect_object(v, t) &&
         section(v, "cel", t, [&](const WireValue& cel) { return field(cel, "expression", out, t); });
}

bool read_opaque(const WireValue& v, OpaqueConfig& out, Trouble& t) {
  return expect_object(v, t) && field(v, "driver", out.driver, t) &&
         field_with(v, "parameters", t, [&](const WireValue& parameters) {
           out.parameters_json = parameters.raw();
           return true;
         });
}

bool read_class_config(const WireValue& v, OpaqueConfig& out, Trouble& t) {
  return expect_object(v, t) &&
         field_with(v, "opaque", t, [&](const WireValue& opaque) { return read_opaque(opaque, out, t); });
}

namespace {

bool read_optional_opaque(const WireValue& v, std::optional<OpaqueConfig>& out, Trouble& t) {
  return field_with(v, "opaque", t, [&](const WireValue& opaque) { return read_opaque(opaque, out.emplace(), t); });
}

bool read_device_toleration(const WireValue& v, DeviceToleration& out, Trouble& t) {
  return expect_object(v, t) && field(v, "key", out.key, t) && field(v, "operator", out.op, t) &&
         field(v, "value", out.value, t) && field(v, "effect", out.effect, t) &&
         field(v, "tolerationSeconds", out.toleration_seconds, t) && note_if_strange(out.op, kTolerationOperators, t) &&
         note_if_strange(out.effect, kTolerationEffects, t);
}

bool read_derived_attribute(const WireValue& v, DerivedAttribute& out, Trouble& t) {
  return expect_object(v, t) && field(v, "name", out.name, t) && field(v, "expression", out.expression, t);
}

// An empty list is the same as none.
bool read_derived_attributes(const WireValue& list, DeviceSubRequest& out, Trouble& t) {
  std::vector<DerivedAttribute> found;
  if (!read_list(list, found, t, read_derived_attribute)) return false;
  if (!found.empty()) out.derived_attributes = std::move(found);
  return true;
}

bool read_subrequest_body(const WireValue& v, DeviceSubRequest& out, Trouble& t) {
  return field(v, "deviceClassName", out.device_class_name, t) &&
         field_with(v, "selectors", t,
                    [&](const WireValue& list) { return read_list(list, out.selectors, t, read_selector); }) &&
         field(v, "allocationMode", out.allocation_mode, t) &&
         note_if_strange(out.allocation_mode, kAllocationModes, t) && field(v, "count", out.count, t) &&
         field(v, "adminAccess", out.admin_access, t) &&
         field_with(
             v, "tolerations", t,
             [&](const WireValue& list) { return read_list(list, out.tolerations, t, read_device_toleration); }) &&
         section(v, "capacity", t,
                 [&](const WireValue& capacity) {
                   return field_with(capacity, "requests", t, [&](const WireValue& map) {
                     return read_map(map, out.capacity_requests, t, read_quantity);
                   });
                 }) &&
         field_with(v, "derivedAttributes", t,
                    [&](const WireValue& list) { return read_derived_attributes(list, out, t); });
}

bool read_exactly(const WireValue& v, DeviceSubRequest& out, Trouble& t) {
  return expect_object(v, t) && read_subrequest_body(v, out, t);
}

bool read_alternative(const WireValue& v, DeviceSubRequest& out, Trouble& t) {
  return expect_object(v, t) && field(v, "name", out.name, t) && read_subrequest_body(v, out, t);
}

// v1beta1 has the fields of `exactly` on the request itself; any of them set makes one.
bool is_flat_request(const WireValue& v) {
  for (std::string_view name : {"deviceClassName", "selectors", "allocationMode", "count", "adminAccess", "tolerations",
                                "capacity", "derivedAttributes"}) {
    WireValue member;
    if (!v.find(name, member) || member.is_null()) continue;
    std::string_view text;
    // A v1beta1 server writes deviceClassName "" next to firstAvailable.
    if (!member.get(text) || !text.empty()) return true;
  }
  return false;
}

bool read_request(const WireValue& v, DeviceRequest& out, Trouble& t) {
  if (!expect_object(v, t) || !field(v, "name", out.name, t)) return false;
  const bool readable =
      field_with(v, "exactly", t, [&](const WireValue& e) { return read_exactly(e, out.exactly.emplace(), t); }) &&
      field_with(v, "firstAvailable", t,
                 [&](const WireValue& list) { return read_list(list, out.first_available, t, read_alternative); });
  if (!readable) return false;
  if (!out.exactly && is_flat_request(v)) return read_subrequest_body(v, out.exactly.emplace(), t);
  return true;
}

bool read_constraint(const WireValue& v, DeviceConstraint& out, Trouble& t) {
  return expect_object(v, t) && field(v, "requests", out.requests, t) &&
         field(v, "matchAttribute", out.match_attribute, t) && field(v, "distinctAttribute", out.distinct_attribute, t);
}

bool read_claim_config(const WireValue& v, DeviceClaimConfig& out, Trouble& t) {
  return expect_object(v, t) && field(v, "requests", out.requests, t) && read_optional_opaque(v, out.opaque, t);
}

bool read_result(const WireValue& v, DeviceRequestAllocationResult& out, Trouble& t) {
  return expect_object(v, t) && field(v, "request", out.request, t) && field(v, "driver", out.driver, t) &&
         field(v, "pool", out.pool, t) && field(v, "device", out.device, t) &&
         field(v, "adminAccess", out.admin_access, t) &&
         field_with(
             v, "tolerations", t,
             [&](const WireValue& list) { return read_list(list, out.tolerations, t, read_device_toleration); }) &&
         field(v, "bindingConditions", out.binding_conditions, t) &&
         field(v, "bindingFailureConditions", out.binding_failure_conditions, t) &&
         field(v, "shareID", out.share_id, t) &&
         field_with(v, "consumedCapacity", t,
                    [&](const WireValue& map) { return read_map(map, out.consumed_capacity, t, read_quantity); }) &&
         field_with(v, "skipNodeOperations", t, [&](const WireValue& list) {
           std::vector<std::string> found;
           if (!read(list, found, t)) return false;
           if (!found.empty()) out.skip_node_operations = std::move(found);
           return true;
         });
}

bool read_allocated_config(const WireValue& v, DeviceAllocationConfiguration& out, Trouble& t) {
  return expect_object(v, t) && field(v, "source", out.source, t) && field(v, "requests", out.requests, t) &&
         read_optional_opaque(v, out.opaque, t) && note_if_strange(out.source, kConfigSources, t);
}

bool read_consumer(const WireValue& v, ResourceClaimConsumerReference& out, Trouble& t) {
  const int64_t before = t.unread();
  if (!expect_object(v, t) || !field(v, "apiGroup", out.api_group, t) || !field(v, "resource", out.resource, t) ||
      !field(v, "name", out.name, t) || !field(v, "uid", out.uid, t))
    return false;
  if (t.unread() > before) out.json = v.raw();
  return true;
}

bool read_device_status(const WireValue& v, AllocatedDeviceStatus& out, Trouble& t) {
  const bool readable = expect_object(v, t) && field(v, "driver", out.driver, t) && field(v, "pool", out.pool, t) &&
                        field(v, "device", out.device, t) && field(v, "shareID", out.share_id, t) &&
                        field(v, "conditions", out.conditions, t);
  drop_beyond_bounds(out);
  return readable;
}

}  // namespace

bool read(const WireValue& v, ResourceClaimSpec& out, Trouble& t) {
  return expect_object(v, t) && section(v, "devices", t, [&](const WireValue& d) {
           return field_with(
                      d, "requests", t,
                      [&](const WireValue& list) { return read_list(list, out.requests.edit(), t, read_request); }) &&
                  field_with(
                      d, "constraints", t,
                      [&](const WireValue& list) { return read_list(list, out.constraints, t, read_constraint); }) &&
                  field_with(d, "config", t,
                             [&](const WireValue& list) { return read_list(list, out.config, t, read_claim_config); });
         });
}

bool read(const WireValue& v, AllocationResult& out, Trouble& t) {
  return expect_object(v, t) &&
         section(v, "devices", t,
                 [&](const WireValue& d) {
                   return field_with(
                              d, "results", t,
                              [&](const WireValue& list) { return read_list(list, out.results, t, read_result); }) &&
                          field_with(d, "config", t, [&](const WireValue& list) {
                            return read_list(list, out.config, t, read_allocated_config);
                          });
                 }) &&
         field(v, "nodeSelector", out.node_selector, t) && field(v, "allocationTimestamp", out.allocation_timestamp, t);
}

bool read(const WireValue& v, ResourceClaimStatus& out, Trouble& t) {
  // Of a status only the allocation counts.
  WireValue allocation;
  if (v.find("allocation", allocation) && !allocation.is_null() && !read(allocation, out.allocation, t))
    return t.in_member("allocation");
  if (out.allocation) drop_beyond_bounds(*out.allocation);
  const Trouble::Uncounted rest(t);
  return expect_object(v, t) &&
         field_with(v, "reservedFor", t,
                    [&](const WireValue& list) { return read_list(list, out.reserved_for, t, read_consumer); }) &&
         field_with(v, "devices", t,
                    [&](const WireValue& list) { return read_list(list, out.devices, t, read_device_status); });
}

bool read(const WireValue& v, ResourceClaim& out, Trouble& t) {
  const bool readable = expect_object(v, t) && read_metadata_in_use(v, out.metadata, Labels::kDropped, t) &&
                        field(v, "spec", out.spec, t) && field(v, "status", out.status, t);
  if (readable) note_unknown(v, t, out);
  drop_beyond_bounds(out);
  return readable;
}

bool read(const WireValue& v, ResourceClaimTemplate& out, Trouble& t) {
  const bool readable = expect_object(v, t) && read_metadata_in_use(v, out.metadata, Labels::kDropped, t) &&
                        section(v, "spec", t, [&](const WireValue& s) {
                          return section(s, "metadata", t,
                                         [&](const WireValue& m) {
                                           return field(m, "labels", out.claim_labels, t) &&
                                                  field(m, "annotations", out.claim_annotations, t);
                                         }) &&
                                 field_with(s, "spec", t, [&](const WireValue& spec) {
                                   out.spec_json = spec.raw();
                                   const int64_t before = t.unread();
                                   if (!read(spec, out.spec, t)) return false;
                                   note_unknown_of_template(spec, t, t.unread() - before, out);
                                   return true;
                                 });
                        });
  drop_beyond_bounds(out);
  return readable;
}

}  // namespace detail

DRA_DECODE_KIND(ResourceClaim)
DRA_DECODE_PROTOBUF(ResourceClaim)
DRA_DECODE_KIND(ResourceClaimTemplate)
DRA_DECODE_PART(ResourceClaimSpec)
DRA_DECODE_PART(AllocationResult)

}  // namespace dra::api
