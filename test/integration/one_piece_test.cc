// One piece of silicon, once, over time: two drivers that publish the same devices, and a device plugin that serves
// what a driver publishes (docs/design/identity.md).
//
// DRA_PLUGIN_SEEDS: histories of the device plugin (3). DRA_PLUGIN_STEPS: steps of each (40).
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "pkg/api/plugin_resources.h"
#include "test/integration/feature_scenarios.h"

namespace dra::integration::one_piece_test {

using namespace std::chrono_literals;

constexpr const char* kOther = "pt.example.com";

std::string bus_of(size_t device) {
  return "0000:" + std::to_string(10 + device) + ":00.0";
}

Json with_bus_ids(Json slice, const std::string& driver) {
  slice["metadata"]["name"] = slice["spec"]["nodeName"].get<std::string>() + "-" + driver;
  slice["spec"]["driver"] = driver;
  size_t number = 0;
  for (Json& device : slice["spec"]["devices"])
    device["attributes"]["resource.kubernetes.io/pciBusID"] = {{"string", bus_of(number++)}};
  return slice;
}

Json class_of(const std::string& name, const std::string& driver) {
  Json made = device_class(name);
  made["spec"]["selectors"][0]["cel"]["expression"] = "device.driver == \"" + driver + "\"";
  return made;
}

ClusterOptions embedded(size_t nodes, size_t devices, uint64_t seed = 1) {
  ClusterOptions options;
  options.seed = seed;
  options.embedded = true;
  options.nodes = nodes;
  options.devices = devices;
  options.components.scheduler_allocates = false;
  return options;
}

ProcessOptions manager_of(reconcile::Scheduling mode) {
  ProcessOptions process;
  process.manager = Cluster::manager_options();
  process.manager.settings.scheduling = mode;
  process.manager.settings.scheduler_names = {"dra"};
  return process;
}

// No object of the waiting pod's driver changes when its silicon is released under another name.
TEST(TwoDrivers, APodGetsTheDeviceWhenItsOtherNameIsReleased) {
  Cluster cluster(embedded(1, 1));
  Api& api = cluster.api();
  api.remove(Api::path("ResourceSlice", node_name(0) + "-" + kDriver));
  for (const char* driver : {kDriver, kOther}) api.create(with_bus_ids(slice(node_name(0), 1), driver));
  api.create(class_of("pt", kOther));
  api.create(claim_template("one-gpu"));
  api.create(claim_template("one-pt", "pt"));
  cluster.start("m1", manager_of(reconcile::Scheduling::kGate));
  api.create(pod("first", {from_template("gpu", "one-gpu")}));
  const auto bound = [&](const char* name) {
    const auto found = cluster.watchdog().pod(std::string("default/") + name);
    return found && !found->node_name.empty();
  };
  ASSERT_TRUE(cluster.eventually([&] { return bound("first"); }, 10s));
  api.create(pod("second", {from_template("gpu", "one-pt")}));
  cluster.pass(5s);
  EXPECT_FALSE(bound("second")) << "one piece of silicon";
  bool said = false;
  for (const Json& event : api.list("Event"))
    said =
        said || event.value("note", "").find("is the same hardware as gpu.example.com/n0/gpu-0") != std::string::npos;
  EXPECT_TRUE(said);
  api.remove(Api::path("Pod", "first"));
  EXPECT_TRUE(cluster.eventually([&] { return bound("second"); }, 20s)) << "nothing woke it";
  EXPECT_EQ(cluster.verdict(), "");
}

// Another program allocated a device while no manager ran (one died between seeing it and noting it); then the driver
// withdraws it. Whether the other name of the device was given out all the same.
bool given_twice(bool annotations) {
  Cluster cluster(embedded(1, 1));
  Api& api = cluster.api();
  api.remove(Api::path("ResourceSlice", node_name(0) + "-" + kDriver));
  for (const char* driver : {kDriver, kOther}) api.create(with_bus_ids(slice(node_name(0), 1), driver));
  api.create(class_of("pt", kOther));
  api.create(claim_template("one-pt", "pt"));
  ProcessOptions process = manager_of(reconcile::Scheduling::kGate);
  process.manager.identities.annotations = annotations;
  cluster.start("m1", process);
  api.create(claim("foreign"));
  cluster.pass(2s);
  cluster.kill("m1");
  api.merge(Api::path("ResourceClaim", "foreign") + "/status",
            {{"status",
              {{"allocation",
                {{"devices",
                  {{"results",
                    {{{"request", "gpu"}, {"driver", kDriver}, {"pool", node_name(0)}, {"device", "gpu-0"}}}}}}}}}}});
  cluster.start("m2", process);
  const auto noted = [&] {
    for (const Json& one : api.list("ResourceClaim"))
      if (one["metadata"].value("annotations", Json::object()).contains("dra-controller-manager/identities"))
        return true;
    return false;
  };
  EXPECT_EQ(cluster.eventually(noted, 30s), annotations);
  api.remove(Api::path("ResourceSlice", node_name(0) + "-" + kDriver));
  cluster.pass(2s);
  cluster.kill("m2");
  cluster.start("m3", process);
  api.create(pod("second", {from_template("gpu", "one-pt")}));
  const auto bound = [&] {
    const auto found = cluster.watchdog().pod("default/second");
    return found && !found->node_name.empty();
  };
  const bool twice = cluster.eventually(bound, 20s);
  api.remove(Api::path("ResourceClaim", "foreign"));
  EXPECT_TRUE(cluster.eventually(bound, 30s)) << "the device is free again";
  return twice;
}

TEST(TwoDrivers, WhatOthersAllocatedIsKnownAfterItsDriverHasWithdrawnIt) {
  EXPECT_FALSE(given_twice(true));
  EXPECT_TRUE(given_twice(false)) << "by default annotations are neither written nor read: users can write them";
}

// Nodes that move between the device plugin and claims, while pods that may be served by either come and go.
class Plugin {
 public:
  Plugin(uint64_t seed, identity::PluginUse use) : cluster_(embedded(kNodes, kDevices, seed)), random_(seed) {
    api().merge(Api::path("DeviceClass", "gpu"), {{"spec", {{"extendedResourceName", kExtendedResource}}}});
    for (size_t i = 0; i < kNodes; ++i) set_plugin(i, i % 2 == 0);
    ProcessOptions process = manager_of(reconcile::Scheduling::kBind);
    process.manager.identities.plugin[kDriver] = use;
    cluster_.start("m1", process);
    cluster_.pass(2s);
  }

  void step() {
    switch (random_.below(5)) {
      case 0:
      case 1:
        api().create(extended_pod("p" + std::to_string(next_++), 1));
        break;
      case 2:
        if (const std::vector<std::string> names = pods(); !names.empty())
          api().remove(Api::path("Pod", names[random_.below(names.size())]));
        break;
      case 3: {
        const size_t node = random_.below(kNodes);
        offers_[node] ? to_claims(node) : to_plugin(node);
        break;
      }
      default:
        cluster_.pass(Duration(random_.below(2'000'000'000)));
    }
    cluster_.pass(Duration(random_.below(300'000'000)));
    look();
  }

  // Everybody gets what is there: of a node whose plugin ended before its pods, what they use.
  void end() {
    const std::vector<std::string> names = pods();
    const auto all_there = [&] {
      std::map<std::string, size_t> by_plugin = plugin_pods();
      size_t places = 0;
      for (size_t i = 0; i < kNodes; ++i) {
        const size_t left = by_plugin[node_name(i)];
        places += offers_[i] || left == 0 ? kDevices : left;
      }
      return cluster_.watchdog().bound_pods() >= std::min(names.size(), places);
    };
    EXPECT_TRUE(cluster_.eventually(all_there, 60s))
        << cluster_.watchdog().bound_pods() << " of " << names.size() << " pods are bound";
    look();
    std::set<std::string> may_wait;
    for (const std::string& name : names) may_wait.insert("default/" + name);
    EXPECT_EQ(cluster_.verdict({.may_wait = may_wait}), "");
    for (const std::string& name : names) api().remove(Api::path("Pod", name));
    EXPECT_TRUE(cluster_.eventually([&] { return cluster_.watchdog().claims() == 0; }, 60s));
  }

  size_t both_ways = 0;  // moments at which a node's devices were given both ways
  size_t flips = 0, served_by_plugin = 0, served_by_claim = 0;
  std::set<std::string> reasons;

 private:
  static constexpr size_t kNodes = 4, kDevices = 2;
  Api& api() { return cluster_.api(); }

  std::vector<std::string> pods() {
    std::vector<std::string> names;
    for (const Json& one : api().list("Pod"))
      if (!one["metadata"].contains("deletionTimestamp")) names.push_back(one["metadata"]["name"]);
    return names;
  }
  void set_plugin(size_t node, bool on) {
    const Json amount{{kExtendedResource, on ? std::to_string(kDevices) : "0"}};
    api().merge(Api::path("Node", node_name(node)) + "/status",
                {{"status", {{"capacity", amount}, {"allocatable", amount}}}});
    offers_[node] = on;
  }
  // Nobody new comes, then the plugin ends; its pods may still run.
  void to_claims(size_t node) {
    const std::string path = Api::path("Node", node_name(node));
    api().merge(path, {{"spec", {{"unschedulable", true}}}});
    cluster_.pass(2s);
    set_plugin(node, false);
    api().merge(path, {{"spec", {{"unschedulable", false}}}});
    ++flips;
  }
  // As the page says: nobody new comes, those with claims go, then the plugin begins.
  void to_plugin(size_t node) {
    const std::string path = Api::path("Node", node_name(node));
    api().merge(path, {{"spec", {{"unschedulable", true}}}});
    cluster_.pass(2s);
    for (const Json& one : api().list("Pod"))
      if (one["spec"].value("nodeName", "") == node_name(node) && one["status"].contains("extendedResourceClaimStatus"))
        api().remove(Api::path("Pod", one["metadata"]["name"]));
    if (cluster_.eventually([&] { return held_on(node_name(node)) == 0; }, 30s)) {
      set_plugin(node, true);
      ++flips;
    }
    api().merge(path, {{"spec", {{"unschedulable", false}}}});
  }
  size_t held_on(const std::string& node) {
    size_t held = 0;
    for (size_t i = 0; i < kDevices; ++i)
      held += cluster_.watchdog().is_held(std::string(kDriver) + "/" + node + "/gpu-" + std::to_string(i));
    return held;
  }
  std::map<std::string, size_t> plugin_pods() {
    std::map<std::string, size_t> by_node;
    for (const Json& one : api().list("Pod")) {
      const auto pod = cluster_.watchdog().pod("default/" + one["metadata"]["name"].get<std::string>());
      if (pod && api::plugin_resources(*pod).contains(kExtendedResource)) ++by_node[pod->node_name];
    }
    return by_node;
  }
  void look() {
    std::map<std::string, size_t> by_plugin = plugin_pods();
    for (const auto& [node, count] : by_plugin) served_by_plugin += count;
    for (size_t i = 0; i < kNodes; ++i) served_by_claim += held_on(node_name(i));
    for (size_t i = 0; i < kNodes; ++i) both_ways += by_plugin[node_name(i)] > 0 && held_on(node_name(i)) > 0;
    for (const Json& event : api().list("Event"))
      if (const std::string note = event.value("note", ""); note.find("device plugin") != std::string::npos)
        reasons.insert(note);
  }

  Cluster cluster_;
  SeededRandom random_;
  std::map<size_t, bool> offers_;
  size_t next_ = 0;
};

size_t steps() {
  return from_environment("DRA_PLUGIN_STEPS", 40);
}

TEST(DevicePlugin, ServesANodeOrClaimsDoButNeverBoth) {
  size_t flips = 0, by_plugin = 0, by_claim = 0;
  std::set<std::string> reasons;
  for (const uint64_t seed : seeds("DRA_PLUGIN_SEEDS", 3)) {
    SCOPED_TRACE(seed);
    Plugin world(seed, identity::PluginUse::kPlugin);
    for (size_t i = 0; i < steps() && world.both_ways == 0; ++i) world.step();
    world.end();
    EXPECT_EQ(world.both_ways, 0u);
    flips += world.flips;
    by_plugin += world.served_by_plugin;
    by_claim += world.served_by_claim;
    reasons.insert(world.reasons.begin(), world.reasons.end());
  }
  EXPECT_GT(flips, 0u);
  EXPECT_GT(by_plugin, 0u);
  EXPECT_GT(by_claim, 0u);
  EXPECT_TRUE(std::any_of(reasons.begin(), reasons.end(), [](const std::string& note) {
    return note.find("the device plugin serves example.com/gpu (allocatable 0, ") != std::string::npos;
  })) << "a pod that waits says why";
}

// What the test above would see if nobody looked at the plugin's pods.
TEST(DevicePlugin, HandsOutTwiceWhereItIsSaidToBeApart) {
  size_t both_ways = 0;
  for (const uint64_t seed : seeds("DRA_PLUGIN_SEEDS", 3)) {
    Plugin world(seed, identity::PluginUse::kApart);
    for (size_t i = 0; i < steps(); ++i) world.step();
    both_ways += world.both_ways;
  }
  EXPECT_GT(both_ways, 0u);
}

}  // namespace dra::integration::one_piece_test
