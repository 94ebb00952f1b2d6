#include "pkg/apiserver/model/release.h"

#include <algorithm>
#include <atomic>
#include <set>

#include "pkg/base/strings.h"

namespace dra::apiserver {
namespace {

constexpr std::string_view kGatesOf137[] = {"DRADeviceCompatibilityGroups", "DRADerivedAttributes",
                                            "DRAOptionalNodeOperations", "DRAPartitionableDevicesType"};

// Changes nothing that is served; a manager beside the server follows it.
constexpr std::string_view kOfTheManager = "DRAFractionalCapacityRange";

std::atomic<int> g_release{kOldestServedRelease};

std::set<std::string, std::less<>>& gates_on() {
  static std::set<std::string, std::less<>> gates;
  return gates;
}

}  // namespace

const std::vector<ReleaseRow>& release_rows() {
  static const std::vector<ReleaseRow> rows = {
      {37, "resource.k8s.io/v1 serves DeviceTaintRule, with status",
       "resource/v1/types.go: DeviceTaintRule, prerelease-lifecycle-gen:introduced=1.37"},
      {37, "ResourceSlice spec.partitionTypeAttribute; forbidden without DRAPartitionableDevicesType",
       "resource/v1/generated.proto: ResourceSliceSpec 9"},
      {37, "ResourceSlice spec.skipNodeOperations; dropped without DRAOptionalNodeOperations",
       "resource/v1/generated.proto: ResourceSliceSpec 10"},
      {37, "ResourceClaim status.allocation.devices.results[].skipNodeOperations",
       "resource/v1/generated.proto: DeviceRequestAllocationResult 11"},
      {37, "ResourceSlice spec.devices[].nodeAllocatableResources; dropped, its gate is alpha",
       "resource/v1/generated.proto: Device 14"},
      {37,
       "ResourceSlice spec.devices[].consumesCounters[].compatibilityGroups, at most 2, unique; dropped without "
       "DRADeviceCompatibilityGroups",
       "kubernetes 139795"},
      {37, "derivedAttributes of requests and alternatives, at most 32; dropped without DRADerivedAttributes",
       "kubernetes 140029"},
      {37, "scheduling.k8s.io/v1alpha2 is gone, v1beta1 serves PodGroup and Workload",
       "scheduling/v1beta1/generated.proto; the folder v1alpha2 is gone"},
      {38, "resource.k8s.io/v1beta1 is gone", "resource/v1beta1: prerelease-lifecycle-gen:removed=1.38"},
      {38, "attribute and capacity names with two slashes are refused, unless stored before", "1.38.0-alpha.2"},
      {38, "nodeSelector of a device: exactly one term, unless stored before", "1.38.0-alpha.2"},
  };
  return rows;
}

int served_release() {
  return g_release;
}

std::string served_version() {
  switch (g_release) {
    case 37:
      return "v1.37.0";
    case 38:
      return "v1.38.0-alpha.2";
    default:
      return "v1.36.2";
  }
}

bool serves_gate(std::string_view gate) {
  return served_release() >= 37 && gates_on().contains(gate);
}

Result<void> serve_release(std::string_view version, std::string_view gates) {
  int release = kOldestServedRelease;
  for (int minor = kOldestServedRelease; minor <= kNewestServedRelease; ++minor)
    if (version == "1." + std::to_string(minor)) release = minor;
  if (!version.empty() && version != "1." + std::to_string(release))
    return fail(Code::kInvalidArgument, "--kubernetes-version: " + quote(version) +
                                            " is not a release that is served; write 1.36, 1.37 or 1.38");
  std::set<std::string, std::less<>> on;
  for (const std::string& part : split(gates, ',')) {
    if (trim(part).empty()) continue;
    const size_t equal = part.find('=');
    const std::string name(trim(part.substr(0, equal)));
    const std::string value(equal == std::string::npos ? "" : trim(part.substr(equal + 1)));
    if (value != "true" && value != "false")
      return fail(Code::kInvalidArgument, "--feature-gates: " + quote(part) + ": write Name=true or Name=false");
    const bool known = std::find(std::begin(kGatesOf137), std::end(kGatesOf137), name) != std::end(kGatesOf137);
    if (!known && name != kOfTheManager) {
      std::string all(kOfTheManager);
      for (const std::string_view gate : kGatesOf137) all += ", " + std::string(gate);
      return fail(Code::kInvalidArgument, "--feature-gates: " + quote(name) + " is not known here; known are: " + all);
    }
    if (value == "true" && known && release < 37)
      return fail(Code::kInvalidArgument,
                  "--feature-gates: " + name + " is a gate of 1.37: say --kubernetes-version=1.37");
    if (value == "true") on.insert(name);
  }
  g_release = release;
  gates_on() = std::move(on);
  return {};
}

}  // namespace dra::apiserver
