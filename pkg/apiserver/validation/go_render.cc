#include "pkg/apiserver/validation/go_render.h"

#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "pkg/apiserver/validation/json_read.h"
#include "pkg/base/check.h"

namespace dra::apiserver {

namespace {

// `type`: "s" string, "i" integer, "b" boolean, "p" anything that prints as null if unset and else as JSON, "[]T",
// "*T", "T". An empty `go` name: an embedded struct with its own JSON tags, whose set members are printed in the
// parent.
struct GoField {
  std::string_view go;
  std::string_view json;
  std::string_view type;
};
using GoTypes = std::map<std::string_view, std::vector<GoField>>;

const GoTypes& go_types() {
  static const GoTypes types = {
      {"CSINodeDriver",
       {{"Name", "name", "s"},
        {"NodeID", "nodeID", "s"},
        {"TopologyKeys", "topologyKeys", "p"},
        {"Allocatable", "allocatable", "p"}}},
      {"Taint",
       {{"Key", "key", "s"}, {"Value", "value", "s"}, {"Effect", "effect", "s"}, {"TimeAdded", "timeAdded", "p"}}},
      {"PodDisruptionBudgetSpec",
       {{"MinAvailable", "minAvailable", "p"},
        {"Selector", "selector", "p"},
        {"MaxUnavailable", "maxUnavailable", "p"},
        {"UnhealthyPodEvictionPolicy", "unhealthyPodEvictionPolicy", "p"}}},
      {"ResourceClaimTemplateSpec", {{"", "metadata", "meta"}, {"Spec", "spec", "ResourceClaimSpec"}}},
      {"ResourceClaimSpec", {{"Devices", "devices", "DeviceClaim"}}},
      {"DeviceClaim",
       {{"Requests", "requests", "[]DeviceRequest"},
        {"Constraints", "constraints", "[]DeviceConstraint"},
        {"Config", "config", "[]DeviceClaimConfiguration"}}},
      {"DeviceRequest",
       {{"Name", "name", "s"},
        {"Exactly", "exactly", "*ExactDeviceRequest"},
        {"FirstAvailable", "firstAvailable", "[]DeviceSubRequest"}}},
      {"ExactDeviceRequest",
       {{"DeviceClassName", "deviceClassName", "s"},
        {"Selectors", "selectors", "[]DeviceSelector"},
        {"AllocationMode", "allocationMode", "s"},
        {"Count", "count", "i"},
        {"AdminAccess", "adminAccess", "p"},
        {"Tolerations", "tolerations", "[]DeviceToleration"},
        {"Capacity", "capacity", "*CapacityRequirements"}}},
      {"DeviceSubRequest",
       {{"Name", "name", "s"},
        {"DeviceClassName", "deviceClassName", "s"},
        {"Selectors", "selectors", "[]DeviceSelector"},
        {"AllocationMode", "allocationMode", "s"},
        {"Count", "count", "i"},
        {"Tolerations", "tolerations", "[]DeviceToleration"},
        {"Capacity", "capacity", "*CapacityRequirements"}}},
      {"DeviceSelector", {{"CEL", "cel", "*CELDeviceSelector"}}},
      {"CELDeviceSelector", {{"Expression", "expression", "s"}}},
      {"DeviceToleration",
       {{"Key", "key", "s"},
        {"Operator", "operator", "s"},
        {"Value", "value", "s"},
        {"Effect", "effect", "s"},
        {"TolerationSeconds", "tolerationSeconds", "p"}}},
      {"CapacityRequirements", {{"Requests", "requests", "p"}}},
      {"DeviceConstraint",
       {{"Requests", "requests", "p"},
        {"MatchAttribute", "matchAttribute", "p"},
        {"DistinctAttribute", "distinctAttribute", "p"}}},
      {"DeviceClaimConfiguration", {{"Requests", "requests", "p"}, {"Opaque", "opaque", "*Opaque"}}},
      {"DeviceAllocationConfiguration",
       {{"Source", "source", "s"}, {"Requests", "requests", "p"}, {"Opaque", "opaque", "*Opaque"}}},
      {"Opaque", {{"Driver", "driver", "s"}, {"Parameters", "parameters", "p"}}},
      {"AllocationResult",
       {{"Devices", "devices", "DeviceAllocationResult"},
        {"NodeSelector", "nodeSelector", "*NodeSelector"},
        {"AllocationTimestamp", "allocationTimestamp", "p"}}},
      {"DeviceAllocationResult",
       {{"Results", "results", "[]DeviceRequestAllocationResult"},
        {"Config", "config", "[]DeviceAllocationConfiguration"}}},
      {"DeviceRequestAllocationResult",
       {{"Request", "request", "s"},
        {"Driver", "driver", "s"},
        {"Pool", "pool", "s"},
        {"Device", "device", "s"},
        {"AdminAccess", "adminAccess", "p"},
        {"Tolerations", "tolerations", "[]DeviceToleration"},
        {"BindingConditions", "bindingConditions", "p"},
        {"BindingFailureConditions", "bindingFailureConditions", "p"},
        {"ShareID", "shareID", "p"},
        {"ConsumedCapacity", "consumedCapacity", "p"}}},
      {"NodeSelector", {{"NodeSelectorTerms", "nodeSelectorTerms", "[]NodeSelectorTerm"}}},
      {"NodeSelectorTerm",
       {{"MatchExpressions", "matchExpressions", "[]NodeSelectorRequirement"},
        {"MatchFields", "matchFields", "[]NodeSelectorRequirement"}}},
      {"NodeSelectorRequirement", {{"Key", "key", "s"}, {"Operator", "operator", "s"}, {"Values", "values", "p"}}},
      {"DeviceAttribute",
       {{"IntValue", "int", "p"},
        {"BoolValue", "bool", "p"},
        {"StringValue", "string", "p"},
        {"VersionValue", "version", "p"},
        {"IntValues", "ints", "p"},
        {"BoolValues", "bools", "p"},
        {"StringValues", "strings", "p"},
        {"VersionValues", "versions", "p"}}},
      {"SharedDeviceID",
       {{"Driver", "driver", "s"}, {"Pool", "pool", "s"}, {"Device", "device", "s"}, {"ShareID", "shareID", "s"}}},
      {"PodTemplateSpec", {{"", "metadata", "meta"}, {"Spec", "spec", "PodSpec"}}},
      {"PodSpec",
       {{"Volumes", "volumes", "p"},
        {"InitContainers", "initContainers", "[]Container"},
        {"Containers", "containers", "[]Container"},
        {"EphemeralContainers", "ephemeralContainers", "p"},
        {"RestartPolicy", "restartPolicy", "s"},
        {"TerminationGracePeriodSeconds", "terminationGracePeriodSeconds", "p"},
        {"ActiveDeadlineSeconds", "activeDeadlineSeconds", "p"},
        {"DNSPolicy", "dnsPolicy", "s"},
        {"NodeSelector", "nodeSelector", "p"},
        {"ServiceAccountName", "serviceAccountName", "s"},
        {"AutomountServiceAccountToken", "automountServiceAccountToken", "p"},
        {"NodeName", "nodeName", "s"},
        {"SecurityContext", "securityContext", "*PodSecurityContext"},
        {"ImagePullSecrets", "imagePullSecrets", "p"},
        {"Hostname", "hostname", "s"},
        {"Subdomain", "subdomain", "s"},
        {"SetHostnameAsFQDN", "setHostnameAsFQDN", "p"},
        {"Affinity", "affinity", "p"},
        {"SchedulerName", "schedulerName", "s"},
        {"Tolerations", "tolerations", "p"},
        {"HostAliases", "hostAliases", "p"},
        {"PriorityClassName", "priorityClassName", "s"},
        {"Priority", "priority", "p"},
        {"PreemptionPolicy", "preemptionPolicy", "p"},
        {"DNSConfig", "dnsConfig", "p"},
        {"ReadinessGates", "readinessGates", "p"},
        {"RuntimeClassName", "runtimeClassName", "p"},
        {"Overhead", "overhead", "p"},
        {"EnableServiceLinks", "enableServiceLinks", "p"},
        {"TopologySpreadConstraints", "topologySpreadConstraints", "p"},
        {"OS", "os", "p"},
        {"SchedulingGates", "schedulingGates", "p"},
        {"ResourceClaims", "resourceClaims", "[]PodResourceClaim"},
        {"Resources", "resources", "p"},
        {"HostnameOverride", "hostnameOverride", "p"},
        {"SchedulingGroup", "schedulingGroup", "p"}}},
      {"Container",
       {{"Name", "name", "s"},
        {"Image", "image", "s"},
        {"Command", "command", "p"},
        {"Args", "args", "p"},
        {"WorkingDir", "workingDir", "s"},
        {"Ports", "ports", "p"},
        {"EnvFrom", "envFrom", "p"},
        {"Env", "env", "p"},
        {"Resources", "resources", "ResourceRequirements"},
        {"ResizePolicy", "resizePolicy", "p"},
        {"RestartPolicy", "restartPolicy", "p"},
        {"RestartPolicyRules", "restartPolicyRules", "p"},
        {"VolumeMounts", "volumeMounts", "p"},
        {"VolumeDevices", "volumeDevices", "p"},
        {"LivenessProbe", "livenessProbe", "p"},
        {"ReadinessProbe", "readinessProbe", "p"},
        {"StartupProbe", "startupProbe", "p"},
        {"Lifecycle", "lifecycle", "p"},
        {"TerminationMessagePath", "terminationMessagePath", "s"},
        {"TerminationMessagePolicy", "terminationMessagePolicy", "s"},
        {"ImagePullPolicy", "imagePullPolicy", "s"},
        {"SecurityContext", "securityContext", "p"},
        {"Stdin", "stdin", "b"},
        {"StdinOnce", "stdinOnce", "b"},
        {"TTY", "tty", "b"}}},
      {"ResourceRequirements", {{"Limits", "limits", "p"}, {"Requests", "requests", "p"}, {"Claims", "claims", "p"}}},
      {"PodSecurityContext",
       {{"HostNetwork", "hostNetwork", "b"},
        {"HostPID", "hostPID", "b"},
        {"HostIPC", "hostIPC", "b"},
        {"ShareProcessNamespace", "shareProcessNamespace", "p"},
        {"HostUsers", "hostUsers", "p"},
        {"SELinuxOptions", "seLinuxOptions", "p"},
        {"WindowsOptions", "windowsOptions", "p"},
        {"RunAsUser", "runAsUser", "p"},
        {"RunAsGroup", "runAsGroup", "p"},
        {"RunAsNonRoot", "runAsNonRoot", "p"},
        {"SupplementalGroups", "supplementalGroups", "p"},
        {"SupplementalGroupsPolicy", "supplementalGroupsPolicy", "p"},
        {"FSGroup", "fsGroup", "p"},
        {"FSGroupChangePolicy", "fsGroupChangePolicy", "p"},
        {"Sysctls", "sysctls", "p"},
        {"SeccompProfile", "seccompProfile", "p"},
        {"AppArmorProfile", "appArmorProfile", "p"},
        {"SELinuxChangePolicy", "seLinuxChangePolicy", "p"}}},
      {"PodResourceClaim",
       {{"Name", "name", "s"},
        {"ResourceClaimName", "resourceClaimName", "p"},
        {"ResourceClaimTemplateName", "resourceClaimTemplateName", "p"}}},
  };
  return types;
}

nlohmann::ordered_json go_value(std::string_view type, const Json& value);

// A document unchanged, but with members in Json's order.
nlohmann::ordered_json as_is(const Json& value) {
  return nlohmann::ordered_json::parse(value.dump(-1, ' ', false, Json::error_handler_t::replace));
}

nlohmann::ordered_json go_struct(const std::vector<GoField>& fields, const Json& value) {
  nlohmann::ordered_json out = nlohmann::ordered_json::object();
  for (const auto& f : fields) {
    const Json& v = member(value, f.json);
    if (f.go.empty()) {
      for (const auto& [key, part] : map_of(value, f.json).items()) out[key] = as_is(part);
      continue;
    }
    out[std::string(f.go)] = go_value(f.type, v);
  }
  return out;
}

nlohmann::ordered_json go_value(std::string_view type, const Json& value) {
  if (type == "s") return as_text(value);
  if (type == "b") return value.is_boolean() && value.get<bool>();
  if (type == "i") return value.is_number() ? value.get<int64_t>() : 0;
  if (type == "p") return as_is(value);
  if (type.starts_with("[]")) {
    if (!value.is_array()) return nullptr;
    nlohmann::ordered_json out = nlohmann::ordered_json::array();
    for (const auto& item : value) out.push_back(go_value(type.substr(2), item));
    return out;
  }
  if (type.starts_with("*")) return value.is_null() ? nlohmann::ordered_json() : go_value(type.substr(1), value);
  auto it = go_types().find(type);
  DRA_CHECK(it != go_types().end());
  return go_struct(it->second, value);
}

}  // namespace

std::string render_go(std::string_view type, const Json& value) {
  return go_value(type, value).dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace dra::apiserver
