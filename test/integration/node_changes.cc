#include "test/integration/node_changes.h"

#include <nlohmann/json.hpp>

namespace dra::integration {

namespace {

Json filler(const std::string& node) {
  Json big = pod("filler-" + node, {}, {.gated = false, .node = node, .run_seconds = 100'000});
  big["spec"]["containers"][0]["resources"]["requests"] = {{"cpu", "1000"}};
  return big;
}

}  // namespace

const std::vector<NodeChange>& node_changes() {
  static const std::vector<NodeChange> kAll{
      {"cordoned",
       [](Api& api, const std::string& node) {
         api.merge(Api::path("Node", node), {{"spec", {{"unschedulable", true}}}});
       }},
      {"tainted",
       [](Api& api, const std::string& node) {
         api.merge(Api::path("Node", node),
                   {{"spec", {{"taints", {{{"key", "a"}, {"value", "b"}, {"effect", "NoSchedule"}}}}}}});
       }},
      {"relabelled",
       [](Api& api, const std::string& node) {
         api.merge(Api::path("Node", node), {{"metadata", {{"labels", {{"usable", nullptr}}}}}});
       }},
      {"deleted", [](Api& api, const std::string& node) { api.remove_now(Api::path("Node", node)); }},
      {"filled", [](Api& api, const std::string& node) { api.create(filler(node)); }},
  };
  return kAll;
}

void label_usable(Api& api, size_t nodes) {
  for (size_t i = 0; i < nodes; ++i)
    api.merge(Api::path("Node", node_name(i)), {{"metadata", {{"labels", {{"usable", "yes"}}}}}});
}

Json asking(Json pod) {
  pod["spec"]["containers"][0]["resources"]["requests"] = {{"cpu", "1"}};
  pod["spec"]["nodeSelector"] = {{"usable", "yes"}};
  return pod;
}

}  // namespace dra::integration
