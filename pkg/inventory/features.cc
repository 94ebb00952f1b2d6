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
constexpr std::array<GateName, 12> kGateNames{{
    {"DRAAdminAccess", &Features::admin_access},
    {"DRAPrioritizedList", &Features::prioritized_list},
    {"DRADeviceTaints", &Features::device_taints},
    {"DRAPartitionableDevices", &Features::partitionable},
    {"DRAConsumableCapacity", &Features::consumable},
    {"DRADeviceBindingConditions", &Features::binding_conditions},
    {"DRAListTypeAttributes", &Features::list_attributes},
    {"DRADeviceTaintRules", &Features::taint_rules},
    {"DRAFractionalCapacityRange", &Features::fractional_ranges},
    {"DRADeviceCompatibilityGroups", &Features::compatibility_groups},
    {"DRADerivedAttributes", &Features::derived_attributes},
    {"DRAOptionalNodeOperations", &Features::optional_node_operations},
}};

// Gates of the same feature that do not affect allocation: accepted, so that a cluster's list can be used
// unchanged.
constexpr std::array<std::string_view, 8> kOtherGates{
    "DynamicResourceAllocation",   "DRAResourceClaimDeviceStatus", "DRAResourceClaimGranularStatusAuthorization",
    "DRAExtendedResource",         "DRASchedulerFilterTimeout",    "DRAResourcePoolStatus",
    "DRAPartitionableDevicesType", "ResourceHealthStatus"};
// The releases that changed the features without a gate field. Servers older than the oldest known release are decided
// by its rules where they serve what these need.
constexpr int kSelectorsOf137 = 37, kCapacitiesOf138 = 38;

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

std::optional<int> minor_version(std::string_view version) {
  if (version.starts_with("v")) version.remove_prefix(1);
  if (!version.starts_with("1.")) return std::nullopt;
  version.remove_prefix(2);
  int minor = 0;
  size_t digits = 0;
  while (digits < version.size() && version[digits] >= '0' && version[digits] <= '9' && minor < 1000)
    minor = minor * 10 + (version[digits++] - '0');
  if (digits == 0 || minor >= 1000) return std::nullopt;
  return minor;
}

bool is_newer_than_known(std::string_view version) {
  return minor_version(version).value_or(0) > kNewestKnownRelease;
}

Features features_of_release(std::string_view server_version) {
  Features features;
  features.list_attributes = true;
  const int minor = minor_version(server_version).value_or(0);
  features.selectors_of_137 = minor >= kSelectorsOf137;
  features.fractional_ranges = features.either_capacity_name = features.incomplete_pool_excludes_node =
      minor >= kCapacitiesOf138;
  return features;
}

Result<FeatureChoice> FeatureChoice::parse(std::string_view gates, std::string_view version) {
  FeatureChoice choice;
  if (const auto read = features_from_flag(gates); !read) return fail(read.error().wrap("--feature-gates"));
  choice.gates_ = std::string(gates);
  choice.version_ = std::string(trim(version));
  if (choice.version_.empty()) return choice;
  const std::optional<int> minor = minor_version(choice.version_);
  if (!minor || *minor < kOldestKnownRelease || *minor > kNewestKnownRelease)
    return fail(Code::kInvalidArgument, "--kubernetes-version: " + quote(choice.version_) +
                                            " is not a release whose rules are known; write 1.36, 1.37 or 1.38");
  return choice;
}

std::optional<bool> FeatureChoice::said(bool Features::*gate) const {
  if (fixed_) return (*fixed_).*gate;
  Features off, on;
  off.*gate = false;
  on.*gate = true;
  const bool of_off = features_from_flag(gates_, off).value_or(off).*gate;
  const bool of_on = features_from_flag(gates_, on).value_or(on).*gate;
  return of_off == of_on ? std::optional<bool>(of_on) : std::nullopt;
}

Features FeatureChoice::on(std::string_view server_version) const {
  if (fixed_) return *fixed_;
  Features base = features_of_release(version_.empty() ? server_version : std::string_view(version_));
  base.ignored_fields = ignored_fields_;
  return features_from_flag(gates_, base).value_or(base);
}

}  // namespace dra::inventory
