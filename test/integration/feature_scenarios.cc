#include "test/integration/feature_scenarios.h"

#include <nlohmann/json.hpp>

namespace dra::integration {

Json extended_pod(const std::string& name, int count) {
  PodOptions ours;
  ours.gated = false;
  ours.scheduler = "dra";
  Json made = pod(name, {}, ours);
  const Json amount{{kExtendedResource, std::to_string(count)}};
  made["spec"]["containers"][0]["resources"] = {{"limits", amount}, {"requests", amount}};
  return made;
}

Json slice_with_conditions(const std::string& node, size_t devices) {
  Json made = slice(node, devices);
  for (Json& device : made["spec"]["devices"]) {
    device["bindingConditions"] = {"Attached"};
    device["bindingFailureConditions"] = {"Broken"};
  }
  return made;
}

Json taint_rule(const std::string& name, const std::string& effect, const Json& selector) {
  return {{"apiVersion", "resource.k8s.io/v1beta2"},
          {"kind", "DeviceTaintRule"},
          {"metadata", {{"name", name}}},
          {"spec", {{"deviceSelector", selector}, {"taint", {{"key", "example.com/broken"}, {"effect", effect}}}}}};
}

void set_condition(Api& api, const api::ResourceClaim& claim, const std::string& type) {
  const api::DeviceRequestAllocationResult& result = claim.status.allocation->results.at(0);
  const Json condition{{"type", type},
                       {"status", "True"},
                       {"reason", "Driver"},
                       {"message", ""},
                       {"lastTransitionTime", "2026-01-01T00:00:00Z"}};
  const Json device{{"driver", result.driver},
                    {"pool", result.pool},
                    {"device", result.device},
                    {"conditions", Json::array({condition})}};
  api.merge(Api::path("ResourceClaim", claim.metadata.name) + "/status",
            {{"status", {{"devices", Json::array({device})}}}});
}

namespace {

using namespace std::chrono_literals;

std::vector<std::string> pod_names(const std::string& prefix, int count) {
  std::vector<std::string> list;
  for (int i = 0; i < count; ++i) list.push_back(prefix + std::to_string(i));
  return list;
}

std::string condition_reason(Stage& s, const std::string& rule) {
  const Json found = s.api().get(Api::path("DeviceTaintRule", rule));
  const Json conditions = found.value("status", Json::object()).value("conditions", Json::array());
  return conditions.empty() ? "" : conditions[0].value("reason", "");
}

// A rule for one pool, limited: two pods may be evicted, four may not before the rule is approved.
void play_rules(Stage& s) {
  s.api().create(claim_template("one-gpu"));
  s.begin();
  const auto pods = pod_names("k", 6);
  for (const auto& name : pods) s.api().create(pod(name, {from_template("gpu", "one-gpu")}));
  s.await("pods bound", [&] { return s.all_bound(pods); });
  s.api().create(taint_rule("all", "NoExecute", {{"driver", kDriver}}));
  s.await("the rule waits", [&] { return condition_reason(s, "all") == "WaitsForApproval"; });
  s.check();
  s.api().merge(Api::path("DeviceTaintRule", "all"),
                {{"metadata", {{"annotations", {{"dra-controller-manager/allow-evictions", "1"}}}}}});
  s.await("the pods evicted", [&] { return s.watchdog().pods() == 0; });
  s.await("the rule is done", [&] { return condition_reason(s, "all") == "Completed"; });
  s.api().remove(Api::path("DeviceTaintRule", "all"));
  s.end(pods);
}

// Another writer takes devices while our view of claims is old: the claim made for them is deleted and created again.
void play_extended(Stage& s) {
  s.api().merge(Api::path("DeviceClass", "gpu"), {{"spec", {{"extendedResourceName", kExtendedResource}}}});
  s.delay_claims(2s);
  s.begin();
  s.cluster().pass(3s);
  PodOptions running;
  running.gated = false;
  running.node = "n0";
  running.run_seconds = 100'000;
  s.api().create(claim("foreign"));
  const Json consumer = s.api().create(pod("f", {from_claim("gpu", "foreign")}, running));
  const std::string path = Api::path("ResourceClaim", "foreign");
  s.api().merge(path, {{"metadata", {{"finalizers", {"resource.kubernetes.io/delete-protection"}}}}});
  s.api().merge(path + "/status?fieldManager=rival",
                {{"status",
                  {{"allocation", allocation("n0", {"gpu-0", "gpu-1"}, "2023-11-14T22:13:20Z")},
                   {"reservedFor", {pod_reference(consumer)}}}}});
  const auto pods = pod_names("x", 3);
  for (const auto& name : pods) s.api().create(extended_pod(name, 1));
  s.cluster().pass(8s);
  s.api().remove(Api::path("Pod", "f"));
  s.await("one pod bound for each device", [&] { return s.watchdog().held_devices() == 2; });
  s.api().remove(Api::path("Pod", s.bound("x0") ? "x0" : "x1"));
  s.await("the others bound", [&] {
    size_t bound = 0;
    for (const auto& name : pods) bound += s.bound(name);
    return bound == 2;
  });
  s.check();
  s.end(pods, {"default/foreign"});
}

// One of the two devices fails.
void play_conditions(Stage& s) {
  s.api().create(claim_template("one-gpu"));
  s.api().merge(Api::path("ResourceSlice", std::string("n0-") + kDriver),
                {{"spec", {{"devices", slice_with_conditions("n0", 2)["spec"]["devices"]}}}});
  s.begin();
  PodOptions options;
  options.gated = false;
  options.scheduler = "dra";
  s.api().create(pod("c0", {from_template("gpu", "one-gpu")}, options));
  s.await("the pod bound on the device that does not fail", [&] {
    for (const auto& claim : s.watchdog().all_claims()) {
      if (!claim->status.allocation || !claim->status.devices.empty()) continue;
      const bool fails = claim->status.allocation->results.at(0).device == "gpu-0";
      try {
        set_condition(s.api(), *claim, fails ? "Broken" : "Attached");
      } catch (const std::runtime_error&) {
        // The claim was withdrawn meanwhile.
      }
    }
    return s.bound("c0");
  });
  s.check();
  s.end({"c0"});
}

// The API server here drops what the gate DRANodeAllocatableResources guards, unless an object has it already.
void store(Stage& s, const std::string& table, const std::string& key, Json object, const char* version,
           const char* kind) {
  object["apiVersion"] = version;
  object["kind"] = kind;
  s.cluster().embedded().server().store().put(table, key, std::move(object));
}

// Devices that take cpu of their node, and a pod whose status says what other devices took.
void play_node_resources(Stage& s) {
  s.api().create(claim_template("one-gpu"));
  const std::string name = std::string("n0-") + kDriver;
  Json slice = s.api().get(Api::path("ResourceSlice", name));
  for (Json& device : slice["spec"]["devices"])
    device["nodeAllocatableResourceMappings"]["cpu"]["allocationMultiplier"] = "2";
  store(s, "resource.k8s.io/resourceslices", name, std::move(slice), "resource.k8s.io/v1", "ResourceSlice");
  PodOptions options;
  options.gated = false;
  options.scheduler = "dra";
  Json made = s.api().create(pod("c0", {from_template("gpu", "one-gpu")}, options));
  made["status"]["nodeAllocatableResourceClaimStatuses"] = Json::array(
      {{{"containers", Json::array({"c"})}, {"resourceClaimName", "earlier"}, {"resources", {{"cpu", "1"}}}}});
  store(s, "/pods", "default/c0", std::move(made), "v1", "Pod");
  s.begin();
  s.await("the pod bound", [&] { return s.bound("c0"); });
  const Json status = s.api().get(Api::path("Pod", "c0")).at("status");
  const Json& takes = status.at("nodeAllocatableResourceClaimStatuses");
  for (const Json& event : s.api().list("Event"))
    if (event.value("reason", "") == "UnknownField") throw std::runtime_error("refused and given: " + event.dump());
  if (takes.size() != 1 || takes[0].at("resources") != Json{{"cpu", "2"}}) throw std::runtime_error(takes.dump());
  s.check();
  s.end({"c0"});
}

}  // namespace

std::vector<Scenario> feature_scenarios() {
  ClusterOptions small;
  small.embedded = true;
  small.components.scheduler_allocates = false;
  ClusterOptions one_node = small;
  one_node.nodes = 1;
  one_node.devices = 2;
  const auto bind_mode = [](ProcessOptions& process) {
    process.manager.settings.scheduling = reconcile::Scheduling::kBind;
    process.manager.settings.scheduler_names = {"dra"};
  };
  std::vector<Scenario> all;
  all.push_back({"rules", small,
                 [](ProcessOptions& process) {
                   process.manager.settings.device_taint_eviction = manager::DeviceTaintEviction::kOwn;
                   process.manager.settings.max_evictions_per_rule = 2;
                   process.manager.settings.controllers.push_back("tainteviction");
                 },
                 play_rules});
  all.push_back({"extended", one_node, bind_mode, play_extended});
  all.push_back({"conditions", one_node, bind_mode, play_conditions});
  all.push_back({"noderesources", one_node, bind_mode, play_node_resources});
  return all;
}

}  // namespace dra::integration
