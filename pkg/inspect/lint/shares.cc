#include "pkg/inspect/lint/shares.h"

#include <nlohmann/json.hpp>

namespace dra::inspect {
namespace {

using nlohmann::json;

const json& member_of(const json& object, const char* key) {
  static const json none;
  const auto found = object.is_object() ? object.find(key) : object.end();
  return object.is_object() && found != object.end() ? *found : none;
}

}  // namespace

void lint_shares(const json& object, const Place& place, FindingList& findings) {
  if (member_of(object, "kind") != "ResourceSlice") return;
  const json& devices = member_of(member_of(object, "spec"), "devices");
  for (size_t i = 0; devices.is_array() && i < devices.size(); ++i) {
    // Before v1beta2 what is of a device stands under `basic`.
    const bool basic = devices[i].is_object() && devices[i].contains("basic");
    const json& device = basic ? devices[i]["basic"] : devices[i];
    if (member_of(device, "allowMultipleAllocations") != true) continue;
    Place at = place.child("spec").child("devices").index(i);
    if (basic) at = at.child("basic");
    const json& capacities = member_of(device, "capacity");
    if (!capacities.is_object()) continue;
    for (const auto& [name, capacity] : capacities.items())
      if (member_of(capacity, "requestPolicy").is_null())
        findings.warn(
            at.child("capacity").child(name), LintCode::kHasNoEffect,
            "the device may be shared (allowMultipleAllocations), but this capacity has no requestPolicy, so "
            "each claim takes all of it and nobody shares the device: the driver must publish a requestPolicy "
            "with a default, or leave the capacity out");
  }
}

}  // namespace dra::inspect
