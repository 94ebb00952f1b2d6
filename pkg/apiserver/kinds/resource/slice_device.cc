// Devices of a ResourceSlice: attributes, capacities with request policies, taints, counters, node selection.
#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "pkg/api/quantity.h"
#include "pkg/api/semver.h"
#include "pkg/apiserver/kinds/resource/parts.h"
#include "pkg/apiserver/kinds/resource/release_fields.h"
#include "pkg/apiserver/kinds/resource/slice_spec.h"
#include "pkg/apiserver/validation/content.h"
#include "pkg/apiserver/validation/go_render.h"
#include "pkg/apiserver/validation/json_read.h"
#include "pkg/apiserver/validation/node_selector.h"
#include "pkg/base/strings.h"

namespace dra::apiserver {

namespace {

using api::Quantity;

constexpr size_t kMaxAttributesAndCapacities = 32;
constexpr size_t kMaxAttributeValues = 48;
constexpr size_t kMaxAttributeBytes = 64;
constexpr size_t kMaxTaints = 16;
constexpr size_t kMaxCounterConsumptions = 2;
constexpr size_t kMaxConsumedCounters = 32;
constexpr size_t kMaxValidValues = 10;
constexpr size_t kMaxKeyShown = 63 + 1 + 32;
constexpr std::string_view kOneDeviceSelection =
    "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set to true "
    "in the ResourceSlice spec";

std::string shown_key(const std::string& key) {
  if (key.size() <= kMaxKeyShown) return key;
  const size_t rest = kMaxKeyShown - 3;
  return key.substr(0, (rest + 1) / 2) + "..." + key.substr(key.size() - rest / 2);
}

void check_string_attribute(FieldErrors& out, const FieldPath& path, const std::string& text) {
  if (text.size() > kMaxAttributeBytes) out.push_back(too_long(path, kMaxAttributeBytes));
}

// Only the grammar counts (semver.org's regular expression), not the size of the numbers.
bool semver_shape(const std::string& text) {
  if (api::Semver::parse(text)) return true;
  // Numbers beyond 64 bits are valid in API versions: check a text in which every run of digits is cut short.
  std::string cut;
  size_t run = 0;
  for (char c : text) {
    run = c >= '0' && c <= '9' ? run + 1 : 0;
    if (run <= 18) cut += c;
  }
  return cut.size() != text.size() && api::Semver::parse(cut).has_value();
}

void check_version_attribute(FieldErrors& out, const FieldPath& path, const std::string& text) {
  if (!semver_shape(text)) out.push_back(invalid(path, text, "must be a string compatible with semver.org spec 2.0.0"));
  check_string_attribute(out, path, text);
}

void check_attribute(FieldErrors& out, const FieldPath& path, const Json& attribute) {
  int set = 0;
  for (const char* key : {"bool", "int"}) set += is_set(attribute, key) ? 1 : 0;
  if (is_set(attribute, "string")) {
    ++set;
    check_string_attribute(out, path.child("string"), text_of(attribute, "string"));
  }
  if (is_set(attribute, "version")) {
    ++set;
    check_version_attribute(out, path.child("version"), text_of(attribute, "version"));
  }
  for (const char* key : {"bools", "ints", "strings", "versions"}) {
    if (!is_set(attribute, key)) continue;
    ++set;
    const Json& list = list_of(attribute, key);
    const FieldPath at = path.child(key);
    if (list.empty()) out.push_back(invalid_value(at, list, "must not be empty if specified"));
    for (size_t i = 0; i < list.size(); ++i) {
      if (key == std::string_view("strings")) check_string_attribute(out, at.index(i), as_text(list[i]));
      if (key == std::string_view("versions")) check_version_attribute(out, at.index(i), as_text(list[i]));
    }
  }
  if (set == 0) {
    out.push_back(invalid(path, "", "exactly one value must be specified"));
  } else if (set > 1) {
    out.push_back(invalid_raw(path, render_go("DeviceAttribute", attribute), "exactly one value must be specified"));
  }
}

size_t attribute_values(const Json& device) {
  size_t n = 0;
  for (const auto& [name, attribute] : map_of(device, "attributes").items()) {
    size_t listed = 0;
    for (const char* key : {"bools", "ints", "strings", "versions"}) listed += list_of(attribute, key).size();
    n += std::max<size_t>(listed, 1);
  }
  return n;
}

// The codec has checked the grammar; other values read as zero.
Quantity quantity_of(const Json& value) {
  auto q = Quantity::parse(as_text(value));
  return q ? *q : Quantity();
}

void check_valid_values(FieldErrors& out, const FieldPath& path, const Json& policy, const Quantity& capacity) {
  const Json& values = list_of(policy, "validValues");
  const Quantity preset = quantity_of(member(policy, "default"));
  for (size_t i = 0; i + 1 < values.size(); ++i) {
    if (quantity_of(values[i]).compare(quantity_of(values[i + 1])) > 0) {
      out.push_back(invalid(path.index(i + 1), quantity_of(values[i + 1]).to_string(),
                            "values must be sorted in ascending order"));
    }
  }
  bool found = false;
  check_set(
      out, path, values, kMaxValidValues,
      [&](FieldErrors& o, const FieldPath& p, const Json& value) {
        const Quantity q = quantity_of(value);
        if (q.compare(capacity) > 0) {
          o.push_back(invalid(p, q.to_string(), "option is larger than capacity value: " + capacity.to_string()));
        }
        found = found || q.compare(preset) == 0;
      },
      [](const Json& value) { return std::to_string(quantity_of(value).value()); });
  if (!found) {
    out.push_back(invalid(path, preset.to_string(), "default value is not valid according to the requestPolicy"));
  }
}

void check_multiple_of_step(FieldErrors& out, const FieldPath& path, const Quantity& value, const Quantity& min,
                            const Quantity& step) {
  const int64_t width = step.value();
  // In 128 bits: the difference of two int64 may not fit into one.
  const auto distance = static_cast<__int128>(value.value()) - min.value();
  if (width == 0 || distance % width == 0) return;
  out.push_back(
      invalid(path, value.to_string(),
              "value is not a multiple of a given step (" + step.to_string() + ") from (" + min.to_string() + ")"));
}

void check_step(FieldErrors& out, const FieldPath& path, const Json& policy, const Quantity& min,
                const Quantity& capacity) {
  const Json& range = member(policy, "validRange");
  const Quantity step = quantity_of(member(range, "step"));
  // 1.36.2 divides by a step of zero and drops the connection; this server refuses it, as later releases do.
  if (step.sign() <= 0) {
    out.push_back(invalid(path, step.to_string(), "must be greater than zero"));
    return;
  }
  if (const auto added = min.add(step); added && added->compare(capacity) > 0) {
    out.push_back(
        invalid(path, step.to_string(),
                "one step " + added->to_string() + " is larger than capacity value: " + capacity.to_string()));
  }
  check_multiple_of_step(out, path, quantity_of(member(policy, "default")), min, step);
  if (is_set(range, "max")) check_multiple_of_step(out, path, quantity_of(member(range, "max")), min, step);
}

void check_valid_range(FieldErrors& out, const FieldPath& path, const Json& policy, const Quantity& capacity) {
  const Json& range = member(policy, "validRange");
  if (!is_set(range, "min")) {
    out.push_back(required(path.child("min"), "required when validRange is defined"));
    return;
  }
  const Quantity min = quantity_of(member(range, "min"));
  const Quantity preset = quantity_of(member(policy, "default"));
  auto refuse = [&](const char* field, const Quantity& value, const char* what, const Quantity& bound) {
    out.push_back(invalid(path.child(field), value.to_string(), std::string(what) + bound.to_string()));
  };
  if (min.compare(capacity) > 0) refuse("min", min, "min is larger than capacity value: ", capacity);
  if (preset.compare(min) < 0) refuse("min", preset, "default is less than min: ", min);
  if (is_set(range, "max")) {
    const Quantity max = quantity_of(member(range, "max"));
    if (min.compare(max) > 0) refuse("max", min, "min is larger than max: ", max);
    if (max.compare(capacity) > 0) refuse("max", max, "max is larger than capacity value: ", capacity);
    if (preset.compare(max) > 0) refuse("default", preset, "default is more than max: ", max);
  }
  if (is_set(range, "step")) check_step(out, path.child("step"), policy, min, capacity);
}

void check_request_policy(FieldErrors& out, const FieldPath& path, const Json& policy, const Quantity& capacity) {
  const bool values = !list_of(policy, "validValues").empty();
  const bool range = is_set(policy, "validRange");
  if (values && range) {
    out.push_back(forbidden(path,
                            "exactly one policy can be specified, cannot specify \"validValues\" and \"validRange\" at "
                            "the same time"));
    return;
  }
  if (!values && !range) return;
  const std::string_view field = values ? "validValues" : "validRange";
  if (!is_set(policy, "default")) {
    out.push_back(required(path.child("default"), "required when " + std::string(field) + " is defined"));
  } else if (values) {
    check_valid_values(out, path.child(field), policy, capacity);
  } else {
    check_valid_range(out, path.child(field), policy, capacity);
  }
}

void check_capacities(FieldErrors& out, const FieldPath& path, const Json& device) {
  const bool multiple = bool_of(device, "allowMultipleAllocations");
  for (const auto& [key, capacity] : map_of(device, "capacity").items()) {
    check_attribute_name(out, path, key);
    if (!is_set(capacity, "requestPolicy")) continue;
    const FieldPath policy_path = path.key(shown_key(key)).child("requestPolicy");
    if (multiple) {
      check_request_policy(out, policy_path, member(capacity, "requestPolicy"), quantity_of(member(capacity, "value")));
    } else {
      out.push_back(forbidden(policy_path, "allowMultipleAllocations must be true"));
    }
  }
}

void check_counter_consumption(FieldErrors& out, const FieldPath& path, const Json& consumption) {
  const std::string& set = text_of(consumption, "counterSet");
  if (set.empty()) {
    out.push_back(required(path.child("counterSet"), ""));
  } else {
    check_dns_label(out, path.child("counterSet"), set);
  }
  const Json& counters = map_of(consumption, "counters");
  const FieldPath counters_path = path.child("counters");
  if (counters.empty()) {
    out.push_back(required(counters_path, ""));
  } else if (counters.size() > kMaxConsumedCounters) {
    out.push_back(too_many(counters_path, static_cast<int64_t>(counters.size()), kMaxConsumedCounters));
  } else {
    for (const auto& [key, counter] : counters.items()) check_dns_label(out, counters_path, key);
  }
}

void check_device_nodes(FieldErrors& out, const FieldPath& path, const Json& device) {
  std::vector<std::string> set;
  if (is_set(device, "nodeName")) {
    const std::string& name = text_of(device, "nodeName");
    if (name.empty()) {
      out.push_back(invalid(path.child("nodeName"), name, "must not be empty"));
    } else {
      set.push_back("`nodeName`");
      check_dns_subdomain(out, path.child("nodeName"), name);
    }
  }
  if (is_set(device, "nodeSelector")) {
    set.push_back("`nodeSelector`");
    check_node_selector(out, path.child("nodeSelector"), member(device, "nodeSelector"));
  }
  if (is_set(device, "allNodes")) {
    if (bool_of(device, "allNodes")) {
      set.push_back("`allNodes`");
    } else {
      out.push_back(invalid_value(path.child("allNodes"), false, "must be either unset or set to true"));
    }
  }
  if (set.empty()) {
    out.push_back(required(path, kOneDeviceSelection));
  } else if (set.size() > 1) {
    out.push_back(invalid(path, "{" + join(set, ", ") + "}", kOneDeviceSelection));
  }
}

void check_device_sizes(FieldErrors& out, const FieldPath& path, const Json& device) {
  const size_t entries = map_of(device, "attributes").size() + map_of(device, "capacity").size();
  if (entries > kMaxAttributesAndCapacities) {
    out.push_back(invalid_value(path, entries, "the total number of attributes and capacities must not exceed 32"));
  }
  const size_t values = attribute_values(device);
  if (values > kMaxAttributeValues) {
    out.push_back(invalid_value(path, values, "the total number of attribute values must not exceed 48"));
  }
}

}  // namespace

void check_device(FieldErrors& out, const FieldPath& path, const Json& device, const Json& old_device,
                  bool per_device_node_selection) {
  check_dns_label(out, path.child("name"), text_of(device, "name"));
  check_device_sizes(out, path, device);
  const FieldPath attributes = path.child("attributes");
  for (const auto& [key, attribute] : map_of(device, "attributes").items()) {
    check_attribute_name(out, attributes, key);
    check_slashes(out, attributes, key, member(old_device, "attributes"));
    check_attribute(out, attributes.key(shown_key(key)), attribute);
  }
  // Unchanged policies and taints are not checked again: their rules became stricter over time.
  if (old_device.is_null() || !semantic_equal(member(old_device, "capacity"), member(device, "capacity"))) {
    check_capacities(out, path.child("capacity"), device);
    for (const auto& [key, capacity] : map_of(device, "capacity").items())
      check_slashes(out, path.child("capacity"), key, member(old_device, "capacity"));
  }
  if (old_device.is_null() || !semantic_equal(member(old_device, "taints"), member(device, "taints"))) {
    check_list(out, path.child("taints"), member(device, "taints"), kMaxTaints, check_taint);
  }
  check_set(out, path.child("consumesCounters"), member(device, "consumesCounters"), kMaxCounterConsumptions,
            check_counter_consumption, [](const Json& c) { return text_of(c, "counterSet"); });
  if (per_device_node_selection) {
    check_device_nodes(out, path, device);
    check_one_term(out, path.child("nodeSelector"), member(device, "nodeSelector"), member(old_device, "nodeSelector"));
  } else if (is_set(device, "nodeName") || is_set(device, "nodeSelector") || is_set(device, "allNodes")) {
    out.push_back(invalid_value(path, nullptr,
                                "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` "
                                "is set to true in the ResourceSlice spec"));
  }
  check_binding_conditions(out, path, device);
}

}  // namespace dra::apiserver
