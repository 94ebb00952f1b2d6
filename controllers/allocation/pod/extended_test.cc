// Pods that request extended resources of a DeviceClass: kube-scheduler would allocate for them, and nobody could prove
// those allocations.
#include <nlohmann/json.hpp>

#include "controllers/allocation/allocation_fixture.h"
#include "pkg/protocol/extended.h"

namespace dra::allocation::extended_test {

using namespace protocol;
using namespace reconcile;
using Json = nlohmann::json;

class Extended : public AllocationTest {
 protected:
  Extended() {
    put_class("gpu", "example.com/gpu");
    for (const char* name : {"n1", "n2"}) put_node(name, "");
  }
  void put_class(const std::string& name, const std::string& resource, const std::string& created = "2026") {
    api::DeviceClass one;
    one.metadata.name = name;
    one.metadata.creation_timestamp = created;
    if (!resource.empty()) one.extended_resource_name = resource;
    view.put(one);
  }
  void put_node(const std::string& name, const std::string& plugin_devices) {
    api::Node node;
    node.metadata.name = name;
    node.metadata.labels = {{"kubernetes.io/hostname", name + ".local"}};
    if (!plugin_devices.empty()) node.allocatable = {{"example.com/gpu", plugin_devices}};
    view.put(node);
  }
  api::Pod asking(const std::string& resource, const std::string& amount = "1", std::vector<std::string> claims = {}) {
    api::Pod pod = make_pod("p", std::move(claims));
    api::Container container;
    container.name = "main";
    container.requests = {{resource, amount}, {"cpu", "1"}};
    pod.containers.push_back(container);
    return pod;
  }
};

TEST_F(Extended, IsNotLetGoTowardsNodesThatWouldServeItByDra) {
  struct Case {
    const char* name;
    void (*change)(api::Pod&);
  };
  api::Container wants;
  const Case cases[] = {
      {"a container", [](api::Pod&) {}},
      {"by a limit alone", [](api::Pod& p) { std::swap(p.containers[0].requests, p.containers[0].limits); }},
      {"an init container", [](api::Pod& p) { std::swap(p.containers, p.init_containers); }},
      {"a sidecar",
       [](api::Pod& p) {
         std::swap(p.containers, p.init_containers);
         p.init_containers[0].restart_policy = "Always";
       }},
      {"the whole pod",
       [](api::Pod& p) {
         p.containers.clear();
         p.pod_requests = api::ResourceList{{"example.com/gpu", "1"}};
       }},
      {"the implicit name",
       [](api::Pod& p) {
         p.containers[0].requests = {{"deviceclass.resource.kubernetes.io/gpu", "2"}};
       }},
      {"an amount that cannot be read", [](api::Pod& p) { p.containers[0].requests["example.com/gpu"] = "x"; }},
  };
  for (const Case& c : cases) {
    api::Pod pod = asking("example.com/gpu");
    c.change(pod);
    view.put(pod);
    view.emitted.clear();
    ASSERT_EQ(pass(), "event ExtendedResource, parked") << c.name;
    for (const char* part : {"/gpu\"", "DeviceClass \"gpu\"", "bind mode"})
      EXPECT_NE(event().note.find(part), std::string::npos) << c.name << ": " << event().note;
    remember();
    EXPECT_EQ(pass(), "parked") << c.name << ": one event";
  }
}

TEST_F(Extended, WhatNoClassProvidesIsNoneOfOurs) {
  for (const auto& [resource, amount] : {std::pair{"example.com/other", "1"}, std::pair{"example.com/gpu", "0"},
                                         std::pair{"deviceclass.resource.kubernetes.io/none", "1"}}) {
    view.put(asking(resource, amount));
    EXPECT_EQ(pass(), "lift-gate p") << resource;
    EXPECT_FALSE(body()["spec"].contains("affinity"));
  }
}

TEST_F(Extended, IsLetGoPinnedToTheNodesWhoseDevicePluginAdvertisesIt) {
  view.put(asking("example.com/gpu"));
  put_node("n2", "0");
  EXPECT_EQ(pass(), "event ExtendedResource, parked") << "a plugin without devices: kube-scheduler takes DRA there";
  put_node("n2", "4");
  ASSERT_EQ(pass(), "lift-gate p");
  EXPECT_EQ(
      body()["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"],
      Json::parse(
          R"([{"matchExpressions":[{"key":"kubernetes.io/hostname","operator":"In","values":["n2.local"]}]}])"));
  api::Node twin;
  twin.metadata.name = "n3";
  twin.metadata.labels = {{"kubernetes.io/hostname", "n2.local"}};
  view.put(twin);
  nodes.names.push_back("n3");
  EXPECT_EQ(pass(), "event ExtendedResource, parked") << "the label would let it go to n3 as well";
}

TEST_F(Extended, ClaimsOfTheSamePodAreNotTakenInVain) {
  view.put(asking("example.com/gpu", "1", {"c"}));
  put(make_claim("c"));
  EXPECT_EQ(pass(), "event ExtendedResource, parked");
  api::ResourceClaim claim = allocated("c", "n1", "gpu-0", true, {"p"});
  EXPECT_EQ(pass(), "withdraw c") << "the class got its name later";
  claim = proven(claim, "p");
  EXPECT_EQ(pass(), "announce-leaving p");
}

// The claim pins the pod to its node. The list of hosts may lack that node (at most 1,000 hosts, none with a shared
// label) and would then contradict the claim, so it is left out.
TEST_F(Extended, AClaimDecidesTheNodeAndTheListOfHostsDoesNotContradict) {
  view.put(asking("example.com/gpu", "1", {"c"}));
  put_node("n2", "4");
  proven(allocated("c", "n1", "gpu-0", true, {"p"}), "p");
  EXPECT_EQ(pass(), "announce-leaving p") << "the claim's node does not advertise the resource";
  put(make_claim("c"));
  ASSERT_EQ(pass(), "allocate c");
  EXPECT_EQ(body()["status"]["allocation"]["devices"]["results"][0]["pool"], "n2");
  proven(allocated("c", "n2", "gpu-0", true, {"p"}), "p");
  api::Node twin;
  twin.metadata.name = "n3";
  twin.metadata.labels = {{"kubernetes.io/hostname", "n2.local"}};
  view.put(twin);
  nodes.names.push_back("n3");
  ASSERT_EQ(pass(), "lift-gate p");
  const auto term = [&] {
    return body()["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
                 ["nodeSelectorTerms"][0];
  };
  EXPECT_EQ(term()["matchFields"][0]["values"][0], "n2");
  EXPECT_FALSE(term().contains("matchExpressions"));
  // Devices that can be used from every node.
  api::ResourceClaim anywhere = allocated("c", "n2", "gpu-0", true, {"p"});
  anywhere.status.allocation->node_selector.reset();
  proven(anywhere, "p");
  put_node("n1", "4");
  ASSERT_EQ(pass(), "lift-gate p");
  EXPECT_EQ(term()["matchExpressions"][0]["values"], nlohmann::json({"n1.local"}));
}

TEST_F(Extended, AnUninstallLetsItGo) {
  options.release_gates = true;
  view.put(asking("example.com/gpu"));
  EXPECT_EQ(pass(), "lift-gate p");
}

TEST_F(Extended, TheNewestClassProvidesANameThatSeveralHave) {
  put_class("b", "example.com/gpu", "2027");
  put_class("a", "example.com/gpu", "2027");
  EXPECT_EQ(extended_resources_of(view, asking("example.com/gpu")),
            (std::vector<ExtendedResource>{{"example.com/gpu", "a"}}));
}

TEST_F(Extended, WaitsForNodesAndForItsClass) {
  view.put(asking("example.com/gpu"));
  pass();
  EXPECT_EQ(last.park->causes, (std::vector<Cause>{"class/gpu", "nodes", "capacity"}));
  test::WholeController reconciler(parts(options, inventory, allocator, nodes));
  EnqueueRequests out;
  reconciler.on_class(view, &view.classes.at("gpu"), nullptr, out);
  EXPECT_EQ(out.causes, std::vector<Cause>{"class/gpu"}) << "a class that is gone provides nothing any more";
}

TEST_F(Extended, OnlyPodsWithClaimsAreReportedAsAllocated) {
  view.put(make_pod("p", {}));
  ASSERT_EQ(pass(), "lift-gate p");
  EXPECT_FALSE(write().success_event);
  proven(allocated("c", "n1", "gpu-0", true, {"p"}), "p");
  view.put(make_pod("p", {"c"}));
  ASSERT_EQ(pass(), "lift-gate p");
  ASSERT_TRUE(write().success_event);
  EXPECT_EQ(write().success_event->reason, "Allocated");
}

// Devices with binding conditions: kube-scheduler waits for them, and withdraws the devices when they fail.
TEST_F(Extended, GateModeWarnsOfBindingConditions) {
  api::ResourceClaim claim = allocated("c", "n1", "gpu-0", true, {"p"});
  claim.status.allocation->results[0].binding_conditions = {"example.com/attached"};
  proven(claim, "p");
  view.put(make_pod("p", {"c"}));
  ASSERT_EQ(pass(), "event BindingConditions, lift-gate p");
  EXPECT_NE(event().note.find("bind mode"), std::string::npos);
  remember();
  EXPECT_EQ(pass(), "lift-gate p");
}

}  // namespace dra::allocation::extended_test
