#include "test/integration/objects.h"

#include <nlohmann/json.hpp>

namespace dra::integration {
namespace {

Json claim_spec(const std::string& device_class, int count) {
  return {{"devices",
           {{"requests", {{{"name", "gpu"}, {"exactly", {{"deviceClassName", device_class}, {"count", count}}}}}}}}};
}

}  // namespace

std::string node_name(size_t index) {
  return "n" + std::to_string(index);
}

Json node(const std::string& name) {
  const Json amounts{{"cpu", "64"}, {"memory", "256Gi"}, {"pods", "110"}};
  return {{"apiVersion", "v1"},
          {"kind", "Node"},
          {"metadata", {{"name", name}, {"labels", {{"kubernetes.io/hostname", name}}}}},
          {"status",
           {{"capacity", amounts},
            {"allocatable", amounts},
            {"conditions", {{{"type", "Ready"}, {"status", "True"}, {"reason", "KubeletReady"}}}}}}};
}

Json slice(const std::string& node, size_t devices) {
  Json list = Json::array();
  for (size_t i = 0; i < devices; ++i)
    list.push_back({{"name", "gpu-" + std::to_string(i)},
                    {"attributes", {{"index", {{"int", static_cast<int64_t>(i)}}}, {"model", {{"string", "a100"}}}}}});
  return {{"apiVersion", "resource.k8s.io/v1"},
          {"kind", "ResourceSlice"},
          {"metadata", {{"name", node + "-" + kDriver}}},
          {"spec",
           {{"driver", kDriver},
            {"nodeName", node},
            {"pool", {{"name", node}, {"generation", 1}, {"resourceSliceCount", 1}}},
            {"devices", std::move(list)}}}};
}

Json device_class(const std::string& name) {
  return {
      {"apiVersion", "resource.k8s.io/v1"},
      {"kind", "DeviceClass"},
      {"metadata", {{"name", name}}},
      {"spec", {{"selectors", {{{"cel", {{"expression", std::string("device.driver == \"") + kDriver + "\""}}}}}}}}};
}

Json claim(const std::string& name, const std::string& device_class, int count) {
  return {{"apiVersion", "resource.k8s.io/v1"},
          {"kind", "ResourceClaim"},
          {"metadata", {{"name", name}, {"namespace", "default"}}},
          {"spec", claim_spec(device_class, count)}};
}

Json claim_template(const std::string& name, const std::string& device_class, int count) {
  return {{"apiVersion", "resource.k8s.io/v1"},
          {"kind", "ResourceClaimTemplate"},
          {"metadata", {{"name", name}, {"namespace", "default"}}},
          {"spec", {{"spec", claim_spec(device_class, count)}}}};
}

Json pod(const std::string& name, const std::vector<Entry>& entries, const PodOptions& options) {
  Json claims = Json::array();
  Json used = Json::array();
  for (const Entry& entry : entries) {
    Json one{{"name", entry.name}};
    if (!entry.claim.empty()) one["resourceClaimName"] = entry.claim;
    if (!entry.claim_template.empty()) one["resourceClaimTemplateName"] = entry.claim_template;
    claims.push_back(std::move(one));
    used.push_back({{"name", entry.name}});
  }
  Json container{{"name", "main"}, {"image", "registry.example/app"}};
  if (!used.empty()) container["resources"]["claims"] = used;
  Json spec{{"containers", {container}}, {"restartPolicy", options.restart_policy}};
  if (!claims.empty()) spec["resourceClaims"] = claims;
  Json gates = Json::array();
  if (options.gated) gates.push_back({{"name", kGate}});
  for (const std::string& gate : options.gates) gates.push_back({{"name", gate}});
  if (!gates.empty()) spec["schedulingGates"] = gates;
  if (!options.node.empty()) spec["nodeName"] = options.node;
  if (!options.scheduler.empty()) spec["schedulerName"] = options.scheduler;
  if (!options.node_selector_host.empty())
    spec["nodeSelector"] = {{"kubernetes.io/hostname", options.node_selector_host}};
  return {{"apiVersion", "v1"},
          {"kind", "Pod"},
          {"metadata",
           {{"name", name},
            {"namespace", "default"},
            {"annotations", {{"dra-sandbox/run-seconds", std::to_string(options.run_seconds)}}}}},
          {"spec", std::move(spec)}};
}

Json allocation(const std::string& node, const std::vector<std::string>& devices, const std::string& timestamp,
                bool node_selector, const std::string& request) {
  Json results = Json::array();
  for (const std::string& device : devices)
    results.push_back({{"request", request}, {"driver", kDriver}, {"pool", node}, {"device", device}});
  Json result{{"devices", {{"results", results}}}};
  if (node_selector)
    result["nodeSelector"] = {
        {"nodeSelectorTerms",
         {{{"matchFields", {{{"key", "metadata.name"}, {"operator", "In"}, {"values", {node}}}}}}}}};
  if (!timestamp.empty()) result["allocationTimestamp"] = timestamp;
  return result;
}

Json pod_reference(const Json& pod) {
  return {{"resource", "pods"}, {"name", pod["metadata"]["name"]}, {"uid", pod["metadata"]["uid"]}};
}

}  // namespace dra::integration
