#include "pkg/nodes/unready.h"

#include <algorithm>

namespace dra::nodes {

std::string_view unready_taint(const api::Node& node) {
  for (const api::Condition& condition : node.conditions) {
    if (condition.type != "Ready") continue;
    if (condition.status == "False") return "node.kubernetes.io/not-ready";
    if (condition.status == "Unknown") return "node.kubernetes.io/unreachable";
  }
  return "";
}

std::vector<api::Taint> taints_in_force(const api::Node& node) {
  std::vector<api::Taint> taints = node.taints;
  const std::string_view key = unready_taint(node);
  const auto says_so = [&](const api::Taint& taint) { return taint.key == key && taint.effect == "NoSchedule"; };
  if (!key.empty() && std::none_of(taints.begin(), taints.end(), says_so))
    taints.push_back({std::string(key), "", "NoSchedule", ""});
  return taints;
}

}  // namespace dra::nodes
