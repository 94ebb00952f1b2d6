#include "pkg/apiserver/kinds/resource/release_fields.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "pkg/apiserver/model/release.h"
#include "pkg/apiserver/validation/content.h"
#include "pkg/apiserver/validation/json_read.h"
#include "pkg/base/strings.h"
#include "pkg/cel/cel.h"

namespace dra::apiserver {
namespace {

constexpr size_t kMaxGroups = 2;
constexpr size_t kMaxDerived = 32;
constexpr const char* kOperations[] = {"*", "NodePrepareResources", "NodeUnprepareResources"};

bool any_groups(const Json& spec) {
  for (const Json& device : list_of(spec, "devices"))
    for (const Json& consumption : list_of(device, "consumesCounters"))
      if (!list_of(consumption, "compatibilityGroups").empty()) return true;
  return false;
}

template <class F>
void each_body(Json& spec, F&& f) {
  if (!spec.is_object() || !spec.contains("devices") || !spec["devices"].is_object()) return;
  Json& devices = spec["devices"];
  if (!devices.contains("requests") || !devices["requests"].is_array()) return;
  for (Json& request : devices["requests"]) {
    if (!request.is_object()) continue;
    if (request.contains("exactly") && request["exactly"].is_object()) f(request["exactly"]);
    if (!request.contains("firstAvailable") || !request["firstAvailable"].is_array()) continue;
    for (Json& sub : request["firstAvailable"])
      if (sub.is_object()) f(sub);
  }
}

bool any_derived(const Json& spec) {
  for (const Json& request : list_of(member(spec, "devices"), "requests")) {
    if (!list_of(member(request, "exactly"), "derivedAttributes").empty()) return true;
    for (const Json& sub : list_of(request, "firstAvailable"))
      if (!list_of(sub, "derivedAttributes").empty()) return true;
  }
  return false;
}

// A constraint of this name applies to the request: to all, to `request`, or to `request/sub`.
bool is_referenced(const Json& devices, const std::string& attribute, const std::string& request,
                   const std::string& sub) {
  for (const Json& constraint : list_of(devices, "constraints")) {
    if (text_of(constraint, "matchAttribute") != attribute && text_of(constraint, "distinctAttribute") != attribute)
      continue;
    const Json& requests = list_of(constraint, "requests");
    if (requests.empty()) return true;
    for (const Json& name : requests)
      if (as_text(name) == request || (!sub.empty() && as_text(name) == request + "/" + sub)) return true;
  }
  return false;
}

void check_derived_expression(FieldErrors& out, const FieldPath& path, const std::string& expression) {
  if (expression.empty()) return out.push_back(required(path, ""));
  if (expression.size() > kMaxExpressionLength) return out.push_back(too_long(path, kMaxExpressionLength));
  cel::EnvironmentOptions options;
  options.release = cel::Release::k137;
  options.new_expressions = options.derived_attributes = true;
  static const cel::Environment environment(options);
  const cel::CompileResult compiled = cel::compile(expression, environment);
  if (!compiled.ok()) return out.push_back(invalid(path, expression, compiled.error->message));
  if (compiled.estimated_cost > cel::kMaxCost) out.push_back(forbidden(path, "too complex, exceeds cost limit"));
}

void check_body(FieldErrors& out, const FieldPath& path, const Json& devices, const Json& body,
                const std::string& request, const std::string& sub) {
  const FieldPath list = path.child("derivedAttributes");
  check_set(
      out, list, member(body, "derivedAttributes"), kMaxDerived,
      [&](FieldErrors& o, const FieldPath& p, const Json& one) {
        const std::string& name = text_of(one, "name");
        check_fully_qualified_name(o, p.child("name"), name);
        if (!is_referenced(devices, name, request, sub))
          o.push_back(invalid(p.child("name"), name,
                              "must be referenced by at least one matchAttribute or distinctAttribute constraint "
                              "targeting this request"));
        check_derived_expression(o, p.child("expression"), text_of(one, "expression"));
      },
      [](const Json& one) { return text_of(one, "name"); });
}

}  // namespace

void drop_slice_fields_of_137(Json& spec, const Json& old_spec) {
  if (served_release() < 37 || !spec.is_object()) return;
  if (!serves_gate("DRAOptionalNodeOperations") && list_of(old_spec, "skipNodeOperations").empty())
    spec.erase("skipNodeOperations");
  const bool keep_groups = serves_gate("DRADeviceCompatibilityGroups") || any_groups(old_spec);
  if (!spec.contains("devices") || !spec["devices"].is_array()) return;
  for (Json& device : spec["devices"]) {
    if (!device.is_object()) continue;
    device.erase("nodeAllocatableResources");
    if (keep_groups || !device.contains("consumesCounters") || !device["consumesCounters"].is_array()) continue;
    for (Json& consumption : device["consumesCounters"])
      if (consumption.is_object()) consumption.erase("compatibilityGroups");
  }
}

void drop_claim_fields_of_137(Json& spec, const Json& old_spec) {
  if (served_release() < 37 || serves_gate("DRADerivedAttributes") || any_derived(old_spec)) return;
  each_body(spec, [](Json& body) { body.erase("derivedAttributes"); });
}

void check_slice_fields_of_137(FieldErrors& out, const FieldPath& path, const Json& spec, const Json& old_spec) {
  if (served_release() < 37) return;
  const FieldPath type = path.child("partitionTypeAttribute");
  if (is_set(spec, "partitionTypeAttribute")) {
    if (serves_gate("DRAPartitionableDevicesType"))
      check_fully_qualified_name(out, type, text_of(spec, "partitionTypeAttribute"));
    else if (!is_set(old_spec, "partitionTypeAttribute"))
      out.push_back(forbidden(type, "may not be set when the DRAPartitionableDevicesType feature gate is disabled"));
  }
  const FieldPath skipped = path.child("skipNodeOperations");
  const Json& operations = list_of(spec, "skipNodeOperations");
  check_set(
      out, skipped, member(spec, "skipNodeOperations"), kNoLimit,
      [](FieldErrors& o, const FieldPath& p, const Json& one) {
        if (std::find(std::begin(kOperations), std::end(kOperations), as_text(one)) == std::end(kOperations))
          o.push_back(not_supported(p, as_text(one), {"*", "NodePrepareResources", "NodeUnprepareResources"}));
      },
      [](const Json& one) { return as_text(one); });
  const auto lists = [&](const char* name) {
    return std::any_of(operations.begin(), operations.end(), [&](const Json& one) { return as_text(one) == name; });
  };
  if (lists("NodePrepareResources") && !lists("NodeUnprepareResources") && !lists("*"))
    out.push_back(
        invalid(skipped, "NodePrepareResources", "may only be skipped together with NodeUnprepareResources or *"));
  const Json& devices = list_of(spec, "devices");
  for (size_t d = 0; d < devices.size(); ++d) {
    const Json& consumes = list_of(devices[d], "consumesCounters");
    for (size_t c = 0; c < consumes.size(); ++c)
      check_set(
          out, path.child("devices").index(d).child("consumesCounters").index(c).child("compatibilityGroups"),
          member(consumes[c], "compatibilityGroups"), kMaxGroups,
          [](FieldErrors& o, const FieldPath& p, const Json& one) { check_dns_label(o, p, as_text(one)); },
          [](const Json& one) { return as_text(one); });
  }
}

void check_claim_fields_of_137(FieldErrors& out, const FieldPath& path, const Json& spec) {
  if (served_release() < 37) return;
  const Json& devices = member(spec, "devices");
  const Json& requests = list_of(devices, "requests");
  for (size_t r = 0; r < requests.size(); ++r) {
    const FieldPath at = path.child("devices").child("requests").index(r);
    const std::string& name = text_of(requests[r], "name");
    check_body(out, at.child("exactly"), devices, member(requests[r], "exactly"), name, "");
    const Json& subs = list_of(requests[r], "firstAvailable");
    for (size_t s = 0; s < subs.size(); ++s)
      check_body(out, at.child("firstAvailable").index(s), devices, subs[s], name, text_of(subs[s], "name"));
  }
}

void check_slashes(FieldErrors& out, const FieldPath& path, const std::string& name, const Json& old_map) {
  if (served_release() < 38 || std::count(name.begin(), name.end(), '/') < 2) return;
  if (old_map.is_object() && old_map.contains(name)) return;
  out.push_back(invalid(path, name, "must have at most one slash, between a domain and an identifier"));
}

void check_one_term(FieldErrors& out, const FieldPath& path, const Json& selector, const Json& old_selector) {
  if (served_release() < 38 || selector == old_selector) return;
  const Json& terms = member(selector, "nodeSelectorTerms");
  if (terms.is_array() && terms.size() != 1)
    out.push_back(invalid_value(path.child("nodeSelectorTerms"), static_cast<int64_t>(terms.size()),
                                "must have exactly one node selector term"));
}

}  // namespace dra::apiserver
