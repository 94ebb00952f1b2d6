#include "pkg/apiserver/kinds/resource/slice_spec.h"

#include <nlohmann/json.hpp>

#include "pkg/apiserver/kinds/resource/parts.h"
#include "pkg/apiserver/kinds/resource/release_fields.h"
#include "pkg/apiserver/validation/content.h"
#include "pkg/apiserver/validation/go_render.h"
#include "pkg/apiserver/validation/json_read.h"
#include "pkg/apiserver/validation/node_selector.h"
#include "pkg/base/strings.h"

namespace dra::apiserver {

namespace {

constexpr size_t kMaxDevices = 128;
constexpr size_t kMaxDevicesAdvanced = 64;
constexpr size_t kMaxCounterSets = 8;
constexpr size_t kMaxCounters = 32;
constexpr const char* kListAttributes[] = {"ints", "bools", "strings", "versions"};
constexpr std::string_view kOneSelection =
    "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required";

Json* devices_of(Json& spec) {
  if (!spec.is_object()) return nullptr;
  auto it = spec.find("devices");
  return it == spec.end() || !it->is_array() ? nullptr : &*it;
}

bool has_list_attributes(const Json& device) {
  for (const auto& [name, attribute] : map_of(device, "attributes").items()) {
    for (const char* kind : kListAttributes) {
      if (is_set(attribute, kind)) return true;
    }
  }
  return false;
}

bool uses_advanced_features(const Json& spec) {
  for (const auto& device : list_of(spec, "devices")) {
    if (!list_of(device, "taints").empty() || !list_of(device, "consumesCounters").empty()) return true;
    if (has_list_attributes(device)) return true;
  }
  return false;
}

const Json& find_device(const Json& spec, const std::string& name) {
  static const Json none = nullptr;
  for (const auto& device : list_of(spec, "devices")) {
    if (text_of(device, "name") == name) return device;
  }
  return none;
}

void check_immutable_text(FieldErrors& out, const FieldPath& path, const Json& value, const Json& old) {
  if (value != old) out.push_back(invalid_value(path, value, "field is immutable"));
}

void check_pool(FieldErrors& out, const FieldPath& path, const Json& pool) {
  check_pool_name(out, path.child("name"), text_of(pool, "name"));
  const int64_t slices = int_of(pool, "resourceSliceCount");
  if (slices <= 0) out.push_back(invalid_value(path.child("resourceSliceCount"), slices, "must be greater than zero"));
  const int64_t generation = int_of(pool, "generation");
  if (generation < 0) {
    out.push_back(invalid_value(path.child("generation"), generation, "must be greater than or equal to zero"));
  }
}

// A boolean whose only valid value is `true`.
bool check_only_true(FieldErrors& out, const FieldPath& path, const Json& spec, const char* key) {
  if (!is_set(spec, key)) return false;
  if (bool_of(spec, key)) return true;
  out.push_back(invalid_value(path.child(key), false, "must be either unset or set to true"));
  return false;
}

void check_node_selection(FieldErrors& out, const FieldPath& path, const Json& spec) {
  std::vector<std::string> set;
  if (is_set(spec, "nodeName")) {
    const std::string& name = text_of(spec, "nodeName");
    if (name.empty()) {
      out.push_back(invalid(path.child("nodeName"), name, "must be either unset or set to a non-empty string"));
    } else {
      set.push_back("`nodeName`");
      check_dns_subdomain(out, path.child("nodeName"), name);
    }
  }
  if (is_set(spec, "nodeSelector")) {
    set.push_back("`nodeSelector`");
    const Json& selector = member(spec, "nodeSelector");
    check_node_selector(out, path.child("nodeSelector"), selector);
    const Json& terms = member(selector, "nodeSelectorTerms");
    if (count_of(terms) != 1) {
      out.push_back(invalid_raw(path.child("nodeSelector").child("nodeSelectorTerms"),
                                terms.is_null() ? "null" : render_go("[]NodeSelectorTerm", terms),
                                "must have exactly one node selector term"));
    }
  }
  if (check_only_true(out, path, spec, "allNodes")) set.push_back("`allNodes`");
  if (check_only_true(out, path, spec, "perDeviceNodeSelection")) set.push_back("`perDeviceNodeSelection`");
  if (set.empty()) {
    out.push_back(required(path, kOneSelection));
  } else if (set.size() > 1) {
    out.push_back(
        invalid(path, "{" + join(set, ", ") + "}", std::string(kOneSelection) + ", but multiple fields are set"));
  }
}

void check_counter_set(FieldErrors& out, const FieldPath& path, const Json& set) {
  const std::string& name = text_of(set, "name");
  if (name.empty()) {
    out.push_back(required(path.child("name"), ""));
  } else {
    check_dns_label(out, path.child("name"), name);
  }
  const Json& counters = map_of(set, "counters");
  const FieldPath counters_path = path.child("counters");
  if (counters.empty()) {
    out.push_back(required(counters_path, ""));
  } else if (counters.size() > kMaxCounters) {
    out.push_back(too_many(counters_path, static_cast<int64_t>(counters.size()), kMaxCounters));
  } else {
    for (const auto& [key, counter] : counters.items()) check_dns_label(out, counters_path, key);
  }
}

}  // namespace

void slice_spec_from_v1beta1(Json& spec) {
  if (!spec.is_object()) return;
  if (text_of(spec, "nodeName").empty()) spec.erase("nodeName");
  if (!bool_of(spec, "allNodes")) spec.erase("allNodes");
  Json* devices = devices_of(spec);
  if (devices == nullptr) return;
  for (auto& device : *devices) {
    if (!device.is_object()) continue;
    auto basic = device.find("basic");
    if (basic == device.end()) continue;
    Json fields = std::move(*basic);
    device.erase(basic);
    if (fields.is_object()) device.update(fields);
  }
}

void slice_spec_to_v1beta1(Json& spec) {
  Json* devices = devices_of(spec);
  if (devices == nullptr) return;
  for (auto& device : *devices) {
    if (!device.is_object()) continue;
    Json outer = Json::object();
    auto name = device.find("name");
    if (name != device.end()) {
      outer["name"] = std::move(*name);
      device.erase(name);
    }
    outer["basic"] = std::move(device);
    device = std::move(outer);
  }
}

void drop_disabled_slice_fields(Json& spec, const Json& old_spec) {
  drop_slice_fields_of_137(spec, old_spec);
  bool keep_lists = false;
  bool keep_mappings = false;
  for (const auto& device : list_of(old_spec, "devices")) {
    keep_lists = keep_lists || has_list_attributes(device);
    keep_mappings = keep_mappings || is_set(device, "nodeAllocatableResourceMappings");
  }
  Json* devices = devices_of(spec);
  if (devices == nullptr) return;
  for (auto& device : *devices) {
    if (!device.is_object()) continue;
    if (!keep_mappings) device.erase("nodeAllocatableResourceMappings");
    auto attributes = device.find("attributes");
    if (keep_lists || attributes == device.end() || !attributes->is_object()) continue;
    for (auto& attribute : *attributes) {
      for (const char* kind : kListAttributes) {
        if (attribute.is_object()) attribute.erase(kind);
      }
    }
  }
}

void default_taint_times(Json& spec, const std::string& now) {
  Json* devices = devices_of(spec);
  if (devices == nullptr) return;
  for (auto& device : *devices) {
    if (!device.is_object()) continue;
    auto taints = device.find("taints");
    if (taints == device.end() || !taints->is_array()) continue;
    for (auto& taint : *taints) {
      // Null is the time 0001-01-01T00:00:00Z, which somebody set.
      if (taint.is_object() && !taint.contains("timeAdded")) taint["timeAdded"] = now;
    }
  }
}

void check_slice_spec(FieldErrors& out, const FieldPath& path, const Json& spec, const Json& old_spec) {
  check_driver_name(out, path.child("driver"), text_of(spec, "driver"));
  check_pool(out, path.child("pool"), member(spec, "pool"));
  if (!old_spec.is_null()) {
    check_immutable_text(out, path.child("pool").child("name"), member_at(spec, "pool.name"),
                         member_at(old_spec, "pool.name"));
    check_immutable_text(out, path.child("driver"), member(spec, "driver"), member(old_spec, "driver"));
    check_immutable_text(out, path.child("nodeName"), member(spec, "nodeName"), member(old_spec, "nodeName"));
  }
  check_node_selection(out, path, spec);
  if (is_set(spec, "sharedCounters") && is_set(spec, "devices")) {
    out.push_back(invalid(path, "", "only one of `sharedCounters` or `devices` is allowed"));
  }
  const bool per_device = bool_of(spec, "perDeviceNodeSelection");
  check_set(
      out, path.child("devices"), member(spec, "devices"),
      uses_advanced_features(spec) ? kMaxDevicesAdvanced : kMaxDevices,
      [&](FieldErrors& o, const FieldPath& p, const Json& device) {
        check_device(o, p, device, find_device(old_spec, text_of(device, "name")), per_device);
      },
      [](const Json& device) { return text_of(device, "name"); });
  check_set(out, path.child("sharedCounters"), member(spec, "sharedCounters"), kMaxCounterSets, check_counter_set,
            [](const Json& set) { return text_of(set, "name"); });
  check_slice_fields_of_137(out, path, spec, old_spec);
}

}  // namespace dra::apiserver
