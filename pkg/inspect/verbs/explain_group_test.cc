// Groups explain themselves: explain and replay judge the group, with the cause that a pod of no group would get.
#include <gtest/gtest.h>

#include <functional>

#include "pkg/inspect/answer/layout.h"
#include "pkg/inspect/state/objects_fixture.h"
#include "pkg/inspect/verbs/explain.h"
#include "pkg/inspect/verbs/replay.h"

namespace dra::inspect::explain_group_test {
namespace {

constexpr const char* kNow = "2026-03-01T12:00:00Z";

// Four nodes, two on each of the spines s0 and s1, with one GPU each; PodGroup g of pods w0, w1, ...
struct GroupWorld {
  Objects objects;

  explicit GroupWorld(int32_t min_count) {
    parse_rfc3339(kNow, objects.taken);
    for (int i = 0; i < 4; ++i) {
      const std::string name = "n" + std::to_string(i);
      auto node = named_object<api::Node>("", name);
      node->metadata.labels["spine"] = i < 2 ? "s0" : "s1";
      node->allocatable = {{"pods", "10"}, {"cpu", "8"}};
      objects.nodes[name] = node;
      auto slice = named_object<api::ResourceSlice>("", name + "-gpus");
      slice->driver = "gpu.example.com";
      slice->pool = {name, 1, 1};
      slice->node_name = name;
      slice->devices.emplace_back().name = "gpu-0";
      objects.slices[slice->metadata.name] = slice;
    }
    auto device_class = named_object<api::DeviceClass>("", "gpu");
    device_class->selectors = {"device.driver == \"gpu.example.com\""};
    objects.classes["gpu"] = device_class;
    set_group(min_count, "");
  }

  void set_group(int32_t min_count, const std::string& topology) {
    auto group = named_object<api::PodGroup>("ml", "g");
    group->min_count = min_count;
    group->topology_key = topology;
    objects.pod_groups[reconcile::GroupApi::kCore]["ml/g"] = group;
  }

  // On a node: with its GPU.
  std::shared_ptr<api::Pod> add_member(const std::string& name, const std::string& node = "") {
    auto pod = named_object<api::Pod>("ml", name);
    pod->pod_group_name = "g";
    pod->node_name = node;
    pod->phase = node.empty() ? "Pending" : "Running";
    pod->resource_claims.push_back({"gpu", name + "-gpu", std::nullopt});
    auto claim = named_object<api::ResourceClaim>("ml", name + "-gpu");
    api::DeviceRequest request;
    request.name = "r";
    request.exactly.emplace().device_class_name = "gpu";
    request.exactly->count = 1;
    claim->spec.requests.push_back(request);
    if (!node.empty()) {
      auto& allocation = claim->status.allocation.emplace();
      allocation.results.push_back({"r", "gpu.example.com", node, "gpu-0"});
      allocation.node_selector = api::NodeSelector{{{{}, {{"metadata.name", "In", {node}}}}}};
      claim->status.reserved_for.push_back({"", "pods", name, pod->metadata.uid});
    }
    objects.pods[pod->metadata.key()] = pod;
    objects.claims[claim->metadata.key()] = objects.claim_by_uid[claim->metadata.uid] = claim;
    return pod;
  }

  std::string explained(const std::string& target, Status expected) const {
    State state(objects, {});
    const auto answer = explain(state, target, {"ml", "", 200, false});
    EXPECT_TRUE(answer) << answer.error().message();
    if (!answer) return "";
    EXPECT_EQ(answer->status, expected) << render(*answer, {});
    return join(answer->lines, "\n") + "\n" + join(answer->notes, "\n");
  }
  std::string replayed(const std::string& pod, Status expected) const {
    const auto answer = replay(objects, pod, "ml", {});
    EXPECT_TRUE(answer) << answer.error().message();
    EXPECT_EQ(answer->status, expected) << render(*answer, {});
    return join(answer->lines, "\n");
  }
};

void expect_has(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << part << " is not in:\n" << text;
}
void expect_lacks(const std::string& text, const std::string& part) {
  EXPECT_EQ(text.find(part), std::string::npos) << part << " is in:\n" << text;
}

TEST(ExplainGroup, AGroupThatIsTooLargeDoesNotFitThoughEachMemberWould) {
  GroupWorld world(5);
  for (int i = 0; i < 5; ++i) world.add_member("w" + std::to_string(i));
  for (const char* target : {"pod/w0", "pod/w4", "podgroup/g"}) {
    const std::string said = world.explained(target, Status::kNo);
    expect_has(said, "It is a member of group ml/g: 5 pods must be placed together.");
    expect_has(said, "4 of 5 members");
    expect_has(said, "A single member would fit");
    expect_lacks(said, "waits for its scheduler");
  }
  expect_has(world.explained("podgroup/g", Status::kNo), "PodGroup ml/g: 0 pods on nodes, 5 waiting.");
  world.set_group(4, "");
  const std::string fits = world.explained("pod/w0", Status::kYes);
  expect_has(fits, "Fits: 4 members now, on n0, n1, n2, n3.");
  expect_has(fits, "This pod would go to node n");
}

TEST(ExplainGroup, MembersThatAreMissingOrNotReadyAreCounted) {
  GroupWorld world(5);
  world.add_member("w0");
  auto held = world.add_member("w1");
  held->scheduling_gates = {"example.com/quota"};
  const std::string said = world.explained("pod/w0", Status::kNo);
  expect_has(said, "1 of 5 members are ready, and 2 pods of the group exist");
  expect_has(said, "Pod ml/w1 is not ready: it is held by example.com/quota.");
  world.objects.pod_groups[reconcile::GroupApi::kCore].clear();
  expect_has(world.explained("pod/w0", Status::kNo), "PodGroup ml/g does not exist");
}

// The cause that a pod of no group gets.
TEST(ExplainGroup, WhatKeepsEvenASingleMemberIsNamed) {
  const auto said = [](const std::function<void(api::Pod&, api::ResourceClaim&)>& change) {
    GroupWorld world(2);
    for (const char* name : {"w0", "w1"}) {
      auto pod = world.add_member(name);
      auto claim = std::make_shared<api::ResourceClaim>(*world.objects.claims.at(std::string("ml/") + name + "-gpu"));
      change(*pod, *claim);
      world.objects.claims[claim->metadata.key()] = world.objects.claim_by_uid[claim->metadata.uid] = claim;
    }
    return world.explained("pod/w0", Status::kNo);
  };
  expect_has(said([](api::Pod& pod, auto&) { pod.node_selector["pool"] = "nowhere"; }), "node selector");
  expect_has(said([](api::Pod& pod, auto&) { pod.containers.emplace_back().requests["cpu"] = "99"; }), "cpu");
  expect_has(said([](auto&, api::ResourceClaim& claim) {
               claim.spec.requests[0].exactly->selectors = {"device.attributes[\"none\"].x == 1"};
             }),
             "a selector fails");
}

TEST(ExplainGroup, AStartedGroupLetsTheOthersJoinOneByOne) {
  GroupWorld world(2);
  world.add_member("w0", "n0");
  world.add_member("w1", "n1");
  world.add_member("w2");
  expect_has(world.explained("pod/w2", Status::kYes), "of which pods run: the others join one by one.");
}

TEST(ExplainGroup, AClaimOfTheGroupIsSaidToWait) {
  GroupWorld world(1);
  auto pod = world.add_member("w0");
  pod->resource_claims = {{"shared", std::nullopt, "t"}};
  pod->scheduling_gates = {"dra-controller-manager/allocation"};
  auto group = std::make_shared<api::PodGroup>(*world.objects.pod_groups[reconcile::GroupApi::kCore]["ml/g"]);
  group->resource_claims = pod->resource_claims;
  world.objects.pod_groups[reconcile::GroupApi::kCore]["ml/g"] = group;
  const std::string said = world.explained("pod/w0", Status::kNo);
  expect_has(said, "claim entry \"shared\" is a claim of PodGroup ml/g as a whole");
  expect_lacks(said, "Broken");
  expect_lacks(said, "delete");
  // Once kube-controller-manager has made it, it is judged like any other.
  auto claim = named_object<api::ResourceClaim>("ml", "g-shared");
  claim->spec = world.objects.claims.at("ml/w0-gpu")->spec;
  claim->metadata.owner_references = {{"scheduling.k8s.io/v1alpha2", "PodGroup", "g", group->metadata.uid, true}};
  world.objects.claims["ml/g-shared"] = claim;
  pod->resource_claim_statuses = {{"shared", "g-shared"}};
  const std::string made = world.explained("pod/w0", Status::kYes);
  expect_has(made, "one allocation serves all pods of the group");
  expect_has(made, "n0");
}

TEST(ReplayGroup, AMemberIsDecidedWithItsGroupInItsDomain) {
  GroupWorld world(2);
  world.set_group(2, "spine");
  world.add_member("w0", "n2");
  world.add_member("w1", "n3");
  auto other = world.add_member("other", "n0");  // only spine s1 has two free nodes
  other->pod_group_name.clear();
  expect_has(world.replayed("w0", Status::kYes), "the same decision, on n2");
  expect_has(world.replayed("w1", Status::kYes), "the same decision, on n3");
}

TEST(ReplayGroup, AWaitingMemberOfAGroupThatDoesNotFitDoesNotFit) {
  GroupWorld world(5);
  for (int i = 0; i < 5; ++i) world.add_member("w" + std::to_string(i));
  expect_has(world.replayed("w0", Status::kYes),
             "The same: pod ml/w0 does not fit: 5 pods of group ml/g must be placed");
}

// Its status names the claim that served it, which must not keep it from asking for the devices again.
TEST(Replay, APodWithAnExtendedResourceIsDecidedAsItWas) {
  GroupWorld world(1);
  auto device_class = std::make_shared<api::DeviceClass>(*world.objects.classes.at("gpu"));
  device_class->extended_resource_name = "example.com/gpu";
  world.objects.classes["gpu"] = device_class;
  auto pod = world.add_member("x", "n0");
  pod->pod_group_name.clear();
  pod->resource_claims.clear();
  pod->containers.emplace_back().name = "c";
  pod->containers[0].requests = pod->containers[0].limits = {{"example.com/gpu", "1"}};
  pod->extended_resource_claim_status.emplace().resource_claim_name = "x-gpu";
  expect_has(world.replayed("x", Status::kYes), "the same decision, on n0");
  expect_has(world.replayed("x", Status::kYes), "Claim x-gpu: the same, gpu.example.com/n0/gpu-0.");
}

}  // namespace
}  // namespace dra::inspect::explain_group_test
