// Rails where verbs decide: fits, explain, whatif and replay answer as the manager would.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pkg/inspect/answer/layout.h"
#include "pkg/inspect/state/drivers_fixture.h"
#include "pkg/inspect/state/manifest.h"
#include "pkg/inspect/verbs/explain.h"
#include "pkg/inspect/verbs/fits.h"
#include "pkg/inspect/verbs/replay.h"
#include "pkg/inspect/verbs/waiting.h"

namespace dra::inspect::verbs_rails_test {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kRails = "dra-controller-manager/same-across-members";
constexpr const char* kRule = "nics/nic by rail.test/rail";

// Nodes a and b with the NICs of these rails, PodGroup g, and members whose claim "nics" asks for NICs.
struct RailWorld {
  Objects objects = objects_with_node("a");

  RailWorld(std::initializer_list<int> on_a, std::initializer_list<int> on_b) {
    auto node = std::make_shared<api::Node>(*objects.nodes.at("a"));
    node->metadata.name = "b";
    node->metadata.uid = "uid-b";
    objects.nodes["b"] = node;
    for (const auto& [name, rails] : {std::pair{"a", on_a}, {"b", on_b}}) {
      const auto slice = add_class_and_slice(objects, "nic", "nic.example.com", name);
      for (const int rail : rails)
        add_device(*slice, "nic-" + std::to_string(rail)).attributes["rail.test/rail"] = static_cast<int64_t>(rail);
    }
    auto group = named_object<api::PodGroup>("ml", "g");
    group->min_count = 2;
    group->metadata.annotations[kRails] = kRule;
    objects.pod_groups[reconcile::GroupApi::kCore]["ml/g"] = group;
  }

  // On a node: with the NICs of these rails.
  api::Pod& add(const std::string& name, int64_t nics, const std::string& node = "",
                std::initializer_list<int> rails = {}) {
    auto pod = named_object<api::Pod>("ml", name);
    pod->pod_group_name = "g";
    pod->node_name = node;
    pod->phase = node.empty() ? "Pending" : "Running";
    if (node.empty()) pod->scheduling_gates = {"dra-controller-manager/allocation"};
    pod->resource_claims.push_back({"nics", name + "-nics", std::nullopt});
    auto claim = named_object<api::ResourceClaim>("ml", name + "-nics");
    claim->spec.requests.emplace_back().name = "nic";
    claim->spec.requests.back().exactly.emplace().device_class_name = "nic";
    claim->spec.requests.back().exactly->count = nics;
    if (!node.empty()) {
      auto& allocation = claim->status.allocation.emplace();
      for (const int rail : rails)
        allocation.results.push_back({"nic", "nic.example.com", node, "nic-" + std::to_string(rail)});
      allocation.node_selector = api::NodeSelector{{{{}, {{"metadata.name", "In", {node}}}}}};
      claim->status.reserved_for.push_back({"", "pods", name, pod->metadata.uid});
    }
    objects.claims[claim->metadata.key()] = objects.claim_by_uid[claim->metadata.uid] = claim;
    objects.pods[pod->metadata.key()] = pod;
    return *pod;
  }

  std::string explained(const std::string& pod, const std::string& node = "") {
    State state(objects, {});
    const auto answer = explain(state, "pod/" + pod, {"ml", node, 200, false});
    return answer ? render(*answer, {Format::kWide}) : answer.error().message();
  }
};

TEST(ExplainRails, AGroupFitsOnRailsThatBothNodesHave) {
  RailWorld world({0, 1, 3, 6}, {2, 3, 4, 6});
  world.add("w0", 2);
  world.add("w1", 2);
  EXPECT_THAT(world.explained("w0"), HasSubstr("Fits: 2 members now"));
}

TEST(ExplainRails, AGroupWaitsForRailsInCommon) {
  RailWorld world({0, 1, 2}, {2, 3, 4});
  world.add("w0", 3);
  world.add("w1", 3);
  EXPECT_THAT(world.explained("w0"), AllOf(HasSubstr("Does not fit: "), HasSubstr("rail.test/rail")));
  auto group = std::make_shared<api::PodGroup>(*world.objects.pod_groups[reconcile::GroupApi::kCore]["ml/g"]);
  group->metadata.annotations.clear();
  world.objects.pod_groups[reconcile::GroupApi::kCore]["ml/g"] = group;
  EXPECT_THAT(world.explained("w0"), HasSubstr("Fits: 2 members now"));
}

TEST(ExplainRails, AnAnnotationThatCannotBeFollowedIsQuoted) {
  RailWorld world({0, 1}, {0, 1});
  world.add("w0", 1);
  world.add("w1", 1).metadata.annotations[kRails] = "nics/nik by rail.test/rail";
  EXPECT_THAT(world.explained("w0"), AllOf(HasSubstr("ml/w1: "), HasSubstr("nics/nik")));
}

// Rail 0 and 1 run on a; a joiner needs both.
TEST(ExplainRails, AJoinerMustFitThoseThatRun) {
  RailWorld world({0, 1, 2, 3}, {0, 2, 3});
  world.add("w0", 2, "a", {0, 1});
  world.add("w1", 2);
  EXPECT_THAT(world.explained("w1"),
              AllOf(HasSubstr("of which pods run"), HasSubstr("Does not fit on the rails of its group: ")));
  EXPECT_THAT(world.explained("w1", "b"), HasSubstr("Does not fit on the rails of its group: "));
  RailWorld fits({0, 1, 2, 3}, {0, 1, 2, 3});
  fits.add("w0", 2, "a", {0, 1});
  fits.add("w1", 2);
  EXPECT_THAT(fits.explained("w1"),
              HasSubstr("Fits now, on node b, with nic.example.com/b/nic-0, nic.example.com/b/nic-1"));
  EXPECT_THAT(fits.explained("w1", "a"), HasSubstr("Does not fit on the rails of its group: "));
}

TEST(ExplainRails, APodOfNoGroupNeedsTheAttribute) {
  RailWorld world({0, 1}, {0, 1});
  api::Pod& alone = world.add("alone", 1);
  alone.pod_group_name.clear();
  alone.metadata.annotations[kRails] = "nics/nic by rail.test/other";
  EXPECT_THAT(world.explained("alone"), HasSubstr("Does not fit on the rails of its group: "));
  alone.metadata.annotations[kRails] = kRule;
  EXPECT_THAT(world.explained("alone"), HasSubstr("Fits now, on node "));
}

TEST(WaitingRails, GroupsAndJoinersAreDecidedOnTheirRails) {
  RailWorld world({0, 1, 3, 6}, {2, 3, 4, 6});
  world.add("w0", 2);
  world.add("w1", 2);
  auto placed = decide_waiting(world.objects, {}, 0);
  for (const char* name : {"ml/w0", "ml/w1"}) {
    ASSERT_EQ(placed[name].results.size(), 1u) << name << placed[name].why;
    EXPECT_EQ(placed[name].results[0].results[0].device, "nic-3");
    EXPECT_EQ(placed[name].results[0].results[1].device, "nic-6");
  }
  RailWorld join({0, 1, 2, 3}, {0, 2, 3});
  join.add("w0", 2, "a", {0, 1});
  join.add("w1", 2);
  placed = decide_waiting(join.objects, {}, 1);
  EXPECT_EQ(placed["ml/w1"].outcome, allocator::Outcome::kInfeasible);
  EXPECT_THAT(placed["ml/w1"].why, HasSubstr("rail.test/rail"));
}

TEST(ReplayRails, TheGroupIsDecidedOnItsRails) {
  RailWorld world({0, 1, 3, 6}, {2, 3, 4, 6});
  world.add("w0", 2, "a", {3, 6});
  world.add("w1", 2, "b", {3, 6});
  const auto answer = replay(world.objects, "w0", "ml", {});
  ASSERT_TRUE(answer) << answer.error().message();
  EXPECT_THAT(render(*answer, {Format::kWide}), HasSubstr("the same decision, on a"));
}

std::string group_file(int first, int second, const std::string& rule) {
  std::string text = "apiVersion: scheduling.k8s.io/v1alpha2\nkind: PodGroup\nmetadata: {name: g, namespace: ml";
  if (!rule.empty()) text += ", annotations: {dra-controller-manager/same-across-members: '" + rule + "'}";
  text += "}\nspec: {schedulingPolicy: {gang: {minCount: 2}}}\n";
  for (const auto& [name, count] : {std::pair{"one", first}, {"two", second}})
    text += "---\napiVersion: resource.k8s.io/v1\nkind: ResourceClaimTemplate\nmetadata: {name: " + std::string(name) +
            ", namespace: ml}\nspec: {spec: {devices: {requests: [{name: nic, exactly: {deviceClassName: nic, count: " +
            std::to_string(count) + "}}]}}}\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: " + name +
            ", namespace: ml}\nspec: {schedulingGroup: {podGroupName: g}, containers: [{name: c, image: i}], "
            "resourceClaims: [{name: nics, resourceClaimTemplateName: " +
            name + "}]}\n";
  return text;
}

std::string fit_of(const std::string& file, const Objects& objects) {
  const auto manifest = read_manifest(file, "ml");
  if (!manifest) return manifest.error().message();
  const auto found = fits(objects, *manifest, {});
  return found ? render(to_answer(*found, *manifest, objects, false), {Format::kWide}) : found.error().message();
}

TEST(FitsRails, KnowsTheRulesOfAPodGroup) {
  const RailWorld world({0, 1, 2}, {2, 3, 4});
  EXPECT_THAT(fit_of(group_file(3, 3, ""), world.objects), HasSubstr("podgroup/g   now"));
  EXPECT_THAT(fit_of(group_file(3, 3, kRule), world.objects),
              AllOf(HasSubstr("podgroup/g   never"), HasSubstr("rail.test/rail")));
  // Two of one node's three, or one of each: a member may have fewer.
  EXPECT_THAT(fit_of(group_file(1, 3, kRule), world.objects), HasSubstr("podgroup/g   now"));
  EXPECT_THAT(fit_of(group_file(1, 1, "nics/nik by rail.test/rail"), world.objects), HasSubstr("nics/nik"));
}

}  // namespace
}  // namespace dra::inspect::verbs_rails_test
