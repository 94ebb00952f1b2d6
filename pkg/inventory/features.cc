#include "pkg/inventory/features.h"

#include <algorithm>
#include <array>

#include "pkg/base/strings.h"

namespace dra::inventory {
namespace {

struct GateName {
  std::string_view name;
  bool Features::*member;
};
constexpr std::array<GateName, 8> kGateNames{{
    {"DRAAdminAccess", &Features::admin_access},
    {"DRAPrioritizedList", &Features::prioritized_list},
    {"DRADeviceTaints", &Features::device_taints},
    {"DRAPartitionableDevices", &Features::partitionable},
    {"DRAConsumableCapacity", &Features::consumable},
    {"DRADeviceBindingConditions", &Features::binding_conditions},
    {"DRAListTypeAttributes", &Features::list_attributes},
    {"DRADeviceTaintRules", &Features::taint_rules},
}};

// Gates of the same feature that do not change what may be allocated: accepted, so that a cluster's list can be given
// as it is.
constexpr std::array<std::string_view, 4> kOtherGates{"DynamicResourceAllocation", "DRAResourceClaimDeviceStatus",
                                                      "DRAExtendedResource", "DRASchedulerFilterTimeout"};

// Null for one of kOtherGates.
Result<bool Features::*> find_gate(std::string_view name) {
  for (const GateName& gate : kGateNames)
    if (gate.name == name) return gate.member;
  if (std::find(kOtherGates.begin(), kOtherGates.end(), name) != kOtherGates.end())
    return static_cast<bool Features::*>(nullptr);
  std::string known;
  for (const GateName& gate : kGateNames) known += (known.empty() ? "" : ", ") + std::string(gate.name);
  return fail(Code::kInvalidArgument, "feature gate " + quote(name) + " is not known; known are: " + known);
}

}  // namespace

Result<Features> features_from_gates(const std::vector<std::string>& enabled) {
  Features features = Features::none();
  for (const std::string& name : enabled) {
    auto gate = find_gate(name);
    if (!gate) return fail(gate.error());
    if (*gate != nullptr) features.*(*gate) = true;
  }
  return features;
}

Result<Features> features_from_flag(std::string_view text, Features base) {
  if (trim(text).empty()) return base;
  for (const std::string& part : split(text, ',')) {
    size_t equal = part.find('=');
    std::string_view value =
        equal == std::string::npos ? std::string_view() : trim(std::string_view(part).substr(equal + 1));
    if (value != "true" && value != "false")
      return fail(Code::kInvalidArgument, "feature gate " + quote(part) + ": write Name=true or Name=false");
    auto gate = find_gate(trim(std::string_view(part).substr(0, equal)));
    if (!gate) return fail(gate.error());
    if (*gate != nullptr) base.*(*gate) = value == "true";
  }
  return base;
}

}  // namespace dra::inventory
