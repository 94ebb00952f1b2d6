// Around the moment at which a pod is ungated: a node changes while a pod waits for its turn, and kube-scheduler
// withdraws reservations. No pod is reserved, ungated or pinned where it cannot run.
#include <nlohmann/json.hpp>

#include "pkg/log/log.h"
#include "test/integration/node_changes.h"
#include "test/integration/world.h"

namespace dra::integration::release_test {

using namespace std::chrono_literals;
using Names = std::vector<std::string>;

class GatedNodeChanges : public World, public testing::WithParamInterface<NodeChange> {
 protected:
  // Gated, requests a little CPU and a node with the label that "relabelled" removes.
  Json consumer(const std::string& name, const std::vector<Entry>& entries) {
    return asking(pod(name, entries, {.run_seconds = 100'000}));
  }
  void label_nodes() { label_usable(api(), 2); }
};

// The second consumer of a shared claim waits unreserved while the first runs, then moves to another node.
TEST_P(GatedNodeChanges, ASecondConsumerDoesNotWaitForeverForANodeThatRefusesIt) {
  begin();
  label_nodes();
  api().create(claim("shared"));
  api().create(consumer("first", {from_claim("gpu", "shared")}));
  ASSERT_TRUE(soon([&] { return bound("first"); }));
  const std::string node = node_of("first");
  GetParam().apply(api(), node);
  pass(1s);
  api().create(consumer("second", {from_claim("gpu", "shared")}));
  EXPECT_TRUE(never([&] { return !gated("second") || consumers("shared") != Names{"first"}; }, 20s));
  EXPECT_TRUE(reasons().contains("FailedScheduling"));
  api().remove_now(Api::path("Pod", "first"));
  EXPECT_TRUE(soon([&] { return bound("second"); }));
  EXPECT_NE(node_of("second"), node);
}

// The node refuses the pod after its claim was proven and before the gate is lifted (the claim's name comes late).
TEST_P(GatedNodeChanges, AGatedPodMovesAwayFromANodeThatRefusesIt) {
  begin(Claims::kOwn, /*manager=*/false);
  label_nodes();
  api().create(claim("shared"));
  start_manager();
  // The watch delivers the reservation late, and the gate waits for it.
  api().create(consumer("first", {from_claim("gpu", "shared")}));
  ASSERT_TRUE(soon([&] { return bound("first"); }));
  manager().network().set_plan([](const client::Request& request, bool streamed) {
    client::Fault fault;
    if (streamed && request.target.find("/resourceclaims?") != std::string::npos) fault.delay_answer = 3s;
    return fault;
  });
  manager().network().cut_all_streams();
  pass(5s);
  api().create(consumer("second", {from_claim("gpu", "shared")}));
  ASSERT_TRUE(soon([&] { return consumers("shared").size() == 2; }));
  const std::string node = node_of("first");
  GetParam().apply(api(), node);
  EXPECT_TRUE(soon([&] { return consumers("shared") == Names{"first"}; }, 30s)) << "the reservation goes back";
  EXPECT_TRUE(gated("second"));
  api().remove_now(Api::path("Pod", "first"));
  EXPECT_TRUE(soon([&] { return bound("second"); }, 60s));
  EXPECT_NE(node_of("second"), node);
}

INSTANTIATE_TEST_SUITE_P(Each, GatedNodeChanges, testing::ValuesIn(node_changes()),
                         [](const auto& param) { return std::string(param.param.name); });

class TwoNodes : public World {};

TEST_F(TwoNodes, APodWithClaimsOnDifferentNodesIsNotLetGo) {
  begin();
  for (const char* name : {"a", "b"}) api().create(claim(name));
  for (const auto& [claim_name, node] : {std::pair{"a", "n0"}, std::pair{"b", "n1"}}) {
    PodOptions there;
    there.node_selector_host = node;
    api().create(pod(std::string("user-of-") + claim_name, {from_claim("gpu", claim_name)}, there));
  }
  ASSERT_TRUE(soon([&] { return bound("user-of-a") && bound("user-of-b"); }));
  api().create(pod("both", {from_claim("x", "a"), from_claim("y", "b")}));
  EXPECT_TRUE(never([&] { return !gated("both"); }, 20s));
  EXPECT_EQ(consumers("a"), Names{"user-of-a"});
  EXPECT_EQ(consumers("b"), Names{"user-of-b"});
  for (const char* name : {"user-of-a", "user-of-b"}) api().remove_now(Api::path("Pod", name));
  EXPECT_TRUE(soon([&] { return bound("both"); }));
}

class Ungated : public World {};

// kube-scheduler's Unreserve, as seen when a volume is not bound in time: the pod was ungated and is pinned.
TEST_F(Ungated, AReservationThatKubeSchedulerTookBackIsRestored) {
  begin(Claims::kOwn, /*manager=*/true, /*scheduler=*/false);
  for (const char* name : {"c", "shared"}) api().create(claim(name));
  api().create(pod("p", {from_claim("gpu", "c"), from_claim("more", "shared")}));
  ASSERT_TRUE(soon([&] { return get_pod("p") && !gated("p"); }));
  api().create(pod("q", {from_claim("gpu", "shared")}));
  ASSERT_TRUE(soon([&] { return get_pod("q") && !gated("q"); }));
  api().create(pod("stranger", {from_claim("gpu", "shared")}, {.gated = false}));
  for (int round = 0; round < 3; ++round) {
    for (const char* name : {"c", "shared"}) status_patch(name, {{"reservedFor", nullptr}});
    ASSERT_TRUE(within(1s, [&] { return consumers("c") == Names{"p"} && consumers("shared").size() == 2; }));
  }
  pass(5s);
  EXPECT_EQ(consumers("shared").size(), 2u) << "a pod that was not launched by us is kube-scheduler's to reserve for";
}

// A claim deleted while its pod is still gated: neither waits for the other.
TEST_F(Ungated, AClaimThatIsDeletedUnderAGatedPodGoes) {
  begin(Claims::kOwn, /*manager=*/false);
  for (const char* node : {"n0", "n1"}) api().merge(Api::path("Node", node), {{"spec", {{"unschedulable", true}}}});
  const Json held = api().create(pod("p", {from_claim("gpu", "c")}));
  api().create(claim("c"));
  allocate("c", allocation("n0", {"gpu-0"}, now()), Json::array({pod_reference(held)}));
  api().remove(Api::path("ResourceClaim", "c"));
  start_manager();
  EXPECT_TRUE(soon([&] { return !get_claim("c"); }));
}

// The same after the claim was proven: the gate stays, because the pod cannot be written and then no node takes it.
TEST_F(Ungated, AProvenClaimThatIsDeletedUnderAGatedPodGoes) {
  begin(Claims::kOwn, /*manager=*/false);
  start_manager();
  manager().network().set_plan([](const client::Request& request, bool) {
    client::Fault fault;
    if (request.method == "PATCH" && request.target.find("/pods/p") != std::string::npos)
      fault.kind = client::Fault::Kind::kRefuse;
    return fault;
  });
  api().create(claim("c"));
  api().create(pod("p", {from_claim("gpu", "c")}));
  ASSERT_TRUE(soon([&] {
    const auto held = get_claim("c");
    return held && held->metadata.annotations.contains("dra-controller-manager/proven");
  }));
  EXPECT_TRUE(gated("p"));
  for (const char* node : {"n0", "n1"}) api().merge(Api::path("Node", node), {{"spec", {{"unschedulable", true}}}});
  pass(2s);
  api().remove(Api::path("ResourceClaim", "c"));
  manager().network().set_plan(nullptr);
  EXPECT_TRUE(soon([&] { return !get_claim("c"); }, 60s));
  EXPECT_TRUE(gated("p"));
}

Json extended_consumer(const std::string& name, const char* resource, const char* list) {
  Json object = pod(name, {}, {.run_seconds = 100'000});
  const Json resources{{"requests", {{resource, "1"}}}, {"limits", {{resource, "1"}}}};
  object["spec"]["containers"][0]["resources"] = resources;
  if (list == std::string("initContainers")) {
    object["spec"]["initContainers"] = object["spec"]["containers"];
    object["spec"]["initContainers"][0]["name"] = "first";
    object["spec"]["containers"][0].erase("resources");
  }
  return object;
}

// Logged once a term, before the first such pod: an operator with such classes learns that gated pods cannot use the
// names.
TEST_F(Ungated, AClassWithAnExtendedResourceNameIsAWarningAtTheStart) {
  begin(Claims::kOwn, /*manager=*/false);
  Json offered = device_class("offered");
  offered["spec"]["extendedResourceName"] = "example.com/gpu";
  api().create(offered);
  const auto warnings = [&](reconcile::Scheduling mode) {
    std::vector<std::string> lines;
    log::configure({log::Format::kText, 0, [&](std::string_view line) { lines.emplace_back(line); }, nullptr});
    start_manager([&](manager::ManagerOptions& options) { options.settings.scheduling = mode; });
    pass(10s);
    log::configure({log::Format::kText, 0, [](std::string_view) {}, nullptr});
    std::erase_if(lines, [](const std::string& line) { return line.find("extended resource") == std::string::npos; });
    return lines;
  };
  const std::vector<std::string> gate = warnings(reconcile::Scheduling::kGate);
  ASSERT_EQ(gate.size(), 1u);
  EXPECT_EQ(gate[0].front(), 'W');
  EXPECT_NE(gate[0].find("deviceClass=\"offered\" resource=\"example.com/gpu\""), std::string::npos) << gate[0];
  EXPECT_EQ(warnings(reconcile::Scheduling::kObserve).size(), 0u);
}

// kube-scheduler would create and allocate such a pod's claim by itself, and nobody could prove that.
TEST_F(Ungated, APodThatAsksForAnExtendedResourceOfAClassIsNotLetGoTowardsDra) {
  begin();
  Json offered = device_class("offered");
  offered["spec"]["extendedResourceName"] = "example.com/gpu";
  api().create(offered);
  api().create(extended_consumer("explicit", "example.com/gpu", "containers"));
  api().create(extended_consumer("implicit", "deviceclass.resource.kubernetes.io/offered", "containers"));
  api().create(extended_consumer("init", "example.com/gpu", "initContainers"));
  EXPECT_TRUE(never([&] { return !gated("explicit") || !gated("implicit") || !gated("init"); }, 20s));
  EXPECT_TRUE(reasons().contains("ExtendedResource"));
  EXPECT_FALSE(reasons().contains("Allocated"));
  // A device plugin starts on n1.
  api().merge(Api::path("Node", "n1") + "/status", {{"status", {{"allocatable", {{"example.com/gpu", "4"}}}}}});
  EXPECT_TRUE(soon([&] { return bound("explicit") && bound("init"); }));
  EXPECT_EQ(node_of("explicit"), "n1");
  EXPECT_EQ(node_of("init"), "n1");
  EXPECT_TRUE(gated("implicit"));
}

}  // namespace dra::integration::release_test
