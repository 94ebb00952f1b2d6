#include "pkg/apiserver/model/release.h"

#include <algorithm>
#include <atomic>
#include <set>

#include "pkg/base/strings.h"

namespace dra::apiserver {
namespace {

struct Gate {
  std::string_view name;
  int since;                // minor version
  bool of_manager = false;  // a manager has a gate of this name, too
};
// Alpha, off unless named.
constexpr Gate kGates[] = {
    {"CompositePodGroup", 37},
    {"DRADerivedAttributes", 37, true},
    {"DRADeviceCompatibilityGroups", 37, true},
    {"DRAOptionalNodeOperations", 37, true},
    {"DRAPartitionableDevicesType", 37, true},
    {"DRAResourcePoolStatus", 36},
    {"DRAWorkloadResourceClaims", 36},
};
const Gate* gate_named(std::string_view name) {
  const auto* found = std::find_if(std::begin(kGates), std::end(kGates), [&](const Gate& g) { return g.name == name; });
  return found == std::end(kGates) ? nullptr : found;
}

// Changes nothing that is served; a manager beside the server follows it.
constexpr std::string_view kOfTheManager = "DRAFractionalCapacityRange";

// Written before servers start, or between tests.
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
      {37, "scheduling.k8s.io/v1alpha3 serves PodGroup, Workload and CompositePodGroup, with CompositePodGroup",
       "scheduling/v1alpha3/types.go, generated.proto"},
      {37,
       "Workload spec.compositePodGroupTemplates, PodGroup spec.parentCompositePodGroupName; forbidden without "
       "CompositePodGroup",
       "scheduling/v1beta1/types.go: +k8s:ifDisabled(CompositePodGroup)=+k8s:forbidden"},
      {37, "PodGroup spec.schedulingPolicy.gang.minCount may change",
       "scheduling/v1beta1/types.go: PodGroupSchedulingPolicy"},
      {37,
       "ResourcePoolStatusRequest spec.defaultPartitionTypeAttribute, forbidden without DRAPartitionableDevicesType; "
       "status.pools[].partitionSummary and shareableSummary",
       "resource/v1alpha3/types.go, generated.proto"},
      {38, "resource.k8s.io/v1beta1 is gone", "resource/v1beta1: prerelease-lifecycle-gen:removed=1.38"},
      {38, "attribute and capacity names with two slashes are refused, unless stored before",
       "CHANGELOG-1.38.md of 1.38.0-alpha.2"},
      {38, "nodeSelector of a device: exactly one term, unless stored before", "CHANGELOG-1.38.md of 1.38.0-alpha.2"},
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
  const Gate* known = gate_named(gate);
  return known != nullptr && served_release() >= known->since && gates_on().contains(gate);
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
    const Gate* known = gate_named(name);
    if (known == nullptr && name != kOfTheManager) {
      std::string all(kOfTheManager);
      for (const Gate& gate : kGates) all += ", " + std::string(gate.name);
      return fail(Code::kInvalidArgument, "--feature-gates: " + quote(name) + " is not known here; known are: " + all);
    }
    if (value == "true" && known != nullptr && release < known->since)
      return fail(Code::kInvalidArgument, "--feature-gates: " + name + " is a gate of 1." +
                                              std::to_string(known->since) + ": say --kubernetes-version=1." +
                                              std::to_string(known->since));
    if (value == "true") on.insert(name);
  }
  g_release = release;
  gates_on() = std::move(on);
  return {};
}

std::string gates_of_manager(std::string_view gates) {
  std::string kept;
  for (const std::string& part : split(gates, ',')) {
    const Gate* known = gate_named(trim(part.substr(0, part.find('='))));
    if (known != nullptr && !known->of_manager) continue;
    kept += (kept.empty() ? "" : ",") + part;
  }
  return kept;
}

}  // namespace dra::apiserver
