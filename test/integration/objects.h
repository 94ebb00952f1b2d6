// Builders of the objects that tests create, as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace dra::integration {

using Json = nlohmann::json;

inline constexpr const char* kDriver = "gpu.example.com";
inline constexpr const char* kGate = "dra-controller-manager/allocation";

// "n0", "n1", ...
std::string node_name(size_t index);
Json node(const std::string& name);
// One slice, a pool named after the node: devices gpu-0, gpu-1, ...
Json slice(const std::string& node, size_t devices);
Json device_class(const std::string& name = "gpu");
Json claim(const std::string& name, const std::string& device_class = "gpu", int count = 1);
Json claim_template(const std::string& name, const std::string& device_class = "gpu", int count = 1);

struct Entry {
  std::string name;
  std::string claim;           // one of these two
  std::string claim_template;  //
};
inline Entry from_claim(std::string name, std::string claim) {
  return {std::move(name), std::move(claim), ""};
}
inline Entry from_template(std::string name, std::string claim_template) {
  return {std::move(name), "", std::move(claim_template)};
}

struct PodOptions {
  bool gated = true;
  std::vector<std::string> gates;  // besides ours
  std::string node;                // spec.nodeName
  std::string scheduler;           // empty: default-scheduler
  std::string restart_policy = "Always";
  int run_seconds = 1;
  std::string node_selector_host;  // nodeSelector kubernetes.io/hostname
};
Json pod(const std::string& name, const std::vector<Entry>& entries, const PodOptions& options = {});

// A handmade allocation of these devices of a node's pool. Without a timestamp if the text is empty.
Json allocation(const std::string& node, const std::vector<std::string>& devices, const std::string& timestamp,
                bool node_selector = true, const std::string& request = "gpu");
Json pod_reference(const Json& pod);

}  // namespace dra::integration
