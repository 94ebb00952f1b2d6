// Features at their promised size: a DeviceTaintRule for many pods, extended resources and binding conditions in bind
// mode. DRA_FEATURE_PODS: pods of each (100; a rule evicts ten times as many).
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "test/integration/feature_scenarios.h"

namespace dra::integration::features_test {

using namespace std::chrono_literals;

size_t pods_wanted() {
  return from_environment("DRA_FEATURE_PODS", 100);
}

ClusterOptions embedded(size_t nodes, size_t devices) {
  ClusterOptions options;
  options.embedded = true;
  options.nodes = nodes;
  options.devices = devices;
  options.components.scheduler_allocates = false;
  return options;
}

ProcessOptions bind_mode() {
  ProcessOptions process;
  process.manager = Cluster::manager_options();
  process.manager.settings.scheduling = reconcile::Scheduling::kBind;
  process.manager.settings.scheduler_names = {"dra"};
  return process;
}

std::string text_at(const Json& rule, const char* field) {
  const Json conditions = rule.value("status", Json::object()).value("conditions", Json::array());
  return conditions.empty() ? "" : conditions[0].value(field, "");
}

// The first pod is evicted within a second, the rate holds, no pod is evicted twice; the simulation gave the number.
TEST(TaintRules, ManyPodsOfADriver) {
  const size_t count = 10 * pods_wanted();
  ClusterOptions options = embedded(10, count / 10);
  options.components.kubelets = false;  // pods are deleted by hand: nothing else happens
  Cluster cluster(options);
  for (size_t i = 0; i < count; ++i) {
    const std::string number = std::to_string(i), host = node_name(i % 10);
    cluster.api().create(claim("c" + number));
    PodOptions bound;
    bound.gated = false;
    bound.node = host;
    const Json made = cluster.api().create(pod("p" + number, {from_claim("gpu", "c" + number)}, bound));
    cluster.api().merge(Api::path("ResourceClaim", "c" + number) + "/status",
                        {{"status",
                          {{"allocation", allocation(host, {"gpu-" + std::to_string(i / 10)}, "2023-11-14T22:13:20Z")},
                           {"reservedFor", {pod_reference(made)}}}}});
  }
  ProcessOptions process;
  process.manager = Cluster::manager_options();
  process.manager.settings.device_taint_eviction = manager::DeviceTaintEviction::kOwn;
  process.manager.settings.controllers = {"tainteviction"};
  process.manager.settings.device_taint_eviction_rate = 50;
  Process& manager = cluster.start("m1", process);
  cluster.pass(2s);

  const std::string path = Api::path("DeviceTaintRule", "quarantine");
  cluster.api().create(taint_rule("quarantine", "None", {{"driver", kDriver}}));
  ASSERT_TRUE(cluster.eventually([&] { return text_at(cluster.api().get(path), "reason") == "NoEffect"; }, 5s));
  const std::string simulated = text_at(cluster.api().get(path), "message");
  EXPECT_NE(simulated.find(" " + std::to_string(count) + " pods would be evicted in 1 namespace"), std::string::npos)
      << simulated;

  const auto evicted = [&] {
    const auto& seen = manager.guard().seen();
    const auto found = seen.find("tainteviction/evict");
    return found == seen.end() ? 0 : found->second;
  };
  cluster.api().merge(path, {{"spec", {{"taint", {{"effect", "NoExecute"}}}}}});
  ASSERT_TRUE(cluster.eventually([&] { return evicted() > 0; }, 1s, 10ms)) << "the first eviction in a second";
  const size_t most = count / 50 + 30;  // seconds
  for (size_t second = 1; evicted() < count && second < most; ++second) {
    cluster.pass(1s);
    EXPECT_LE(evicted(), 50 * (second + 2)) << "the rate is kept, after a burst of one second's worth";
  }
  cluster.pass(15s);
  EXPECT_EQ(evicted(), count) << "none twice";
  EXPECT_EQ(text_at(cluster.api().get(path), "reason"), "Completed");
  EXPECT_EQ(text_at(cluster.api().get(path), "message"),
            std::to_string(count) + " pods evicted since starting the controller.");
}

// Some nodes have device plugins, the others devices of the class: every pod is bound, no device is used twice, each
// claim is in its pod's status, and none remains.
TEST(BindMode, ExtendedResources) {
  const size_t count = pods_wanted();
  Cluster cluster(embedded(10, count / 10));
  cluster.api().merge(Api::path("DeviceClass", "gpu"), {{"spec", {{"extendedResourceName", kExtendedResource}}}});
  const Json plugin{{kExtendedResource, std::to_string(count / 10)}};
  cluster.api().merge(Api::path("Node", "n0") + "/status",
                      {{"status", {{"capacity", plugin}, {"allocatable", plugin}}}});
  cluster.start("m1", bind_mode());
  const auto name = [](size_t i) { return "p" + std::to_string(i); };
  for (size_t i = 0; i < count; ++i) cluster.api().create(extended_pod(name(i), 1));
  EXPECT_TRUE(cluster.eventually([&] { return cluster.watchdog().bound_pods() == count; }, 60s));
  EXPECT_EQ(cluster.verdict(), "");
  EXPECT_EQ(cluster.watchdog().held_devices(), count - count / 10) << "the plugin serves its node";
  size_t named = 0;
  for (size_t i = 0; i < count; ++i) {
    const auto pod = cluster.watchdog().pod("default/" + name(i));
    ASSERT_TRUE(pod);
    EXPECT_EQ(pod->node_name == "n0", !pod->extended_resource_claim_status) << name(i);
    if (!pod->extended_resource_claim_status) continue;
    ++named;
    const auto held = cluster.watchdog().claim("default/" + pod->extended_resource_claim_status->resource_claim_name);
    ASSERT_TRUE(held);
    EXPECT_EQ(held->metadata.controller()->uid, pod->metadata.uid);
    EXPECT_EQ(held->status.reserved_for.at(0).uid, pod->metadata.uid);
  }
  EXPECT_EQ(named, cluster.watchdog().claims());
  for (size_t i = 0; i < count; ++i) cluster.api().remove(Api::path("Pod", name(i)));
  EXPECT_TRUE(cluster.eventually([&] { return cluster.watchdog().claims() == 0; }, 60s));
  EXPECT_EQ(cluster.empty_verdict(), "");
}

// A driver sets the condition of most devices late, lets one device of each node fail and never reports on one: at the
// end every pod has a prepared device, no other device is held, and nothing polled for it.
TEST(BindMode, BindingConditionsSetLateFailingAndNever) {
  const size_t count = pods_wanted(), nodes = 10, devices = count / nodes + 2;
  Cluster cluster(embedded(nodes, devices));
  for (size_t i = 0; i < nodes; ++i)
    cluster.api().merge(Api::path("ResourceSlice", node_name(i) + "-" + kDriver),
                        {{"spec", {{"devices", slice_with_conditions(node_name(i), devices)["spec"]["devices"]}}}});
  cluster.api().create(claim_template("one-gpu"));
  Process& manager = cluster.start("m1", bind_mode());
  size_t requests = 0;
  manager.network().set_plan([&](const client::Request&, bool) {
    ++requests;
    return client::Fault{};
  });
  PodOptions ours;
  ours.gated = false;
  ours.scheduler = "dra";
  ours.run_seconds = 100'000;
  for (size_t i = 0; i < count; ++i)
    cluster.api().create(pod("p" + std::to_string(i), {from_template("gpu", "one-gpu")}, ours));

  const auto is_silent = [](const api::DeviceRequestAllocationResult& result) {
    return result.pool == "n0" && result.device == "gpu-1";
  };
  std::map<std::string, MonoTime> seen;  // claim and device -> when the driver saw the allocation
  const auto drive = [&] {
    const MonoTime now = cluster.plane().clock().mono_now();
    for (const auto& claim : cluster.watchdog().all_claims()) {
      if (!claim->status.allocation || !claim->status.devices.empty()) continue;
      const api::DeviceRequestAllocationResult& result = claim->status.allocation->results.at(0);
      const MonoTime since = seen.emplace(claim->metadata.uid + result.pool + result.device, now).first->second;
      try {
        if (result.device == "gpu-0") set_condition(cluster.api(), *claim, "Broken");
        if (result.device != "gpu-0" && !is_silent(result) && now - since >= 5s)
          set_condition(cluster.api(), *claim, "Attached");
      } catch (const std::runtime_error&) {
        // The claim was withdrawn meanwhile.
      }
    }
    return cluster.watchdog().bound_pods() == count;
  };
  // All pods except the one with the silent device are bound soon.
  EXPECT_TRUE(cluster.eventually([&] { return drive(), cluster.watchdog().bound_pods() >= count - 1; }, 120s, 500ms));
  cluster.pass(10s);
  const size_t quiet = requests;
  cluster.pass(300s);
  EXPECT_LE(requests - quiet, 30u) << "watches that are opened again, and no polling";
  EXPECT_TRUE(cluster.eventually(drive, 700s, 500ms)) << cluster.watchdog().bound_pods() << " bound";
  EXPECT_EQ(cluster.verdict(), "");
  EXPECT_EQ(cluster.watchdog().held_devices(), count) << "none leaked";
  for (const auto& claim : cluster.watchdog().all_claims()) {
    const api::DeviceRequestAllocationResult& result = claim->status.allocation->results.at(0);
    EXPECT_TRUE(result.device != "gpu-0" && !is_silent(result)) << claim->metadata.name << " has " << result.device;
  }
}

}  // namespace dra::integration::features_test
