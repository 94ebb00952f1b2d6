// who: of pods, claims and owners; whole cards in one row.
#include "pkg/inspect/verbs/who.h"

#include <gtest/gtest.h>

#include "pkg/inspect/verbs/two_nodes_fixture.h"

namespace dra::inspect::who_test {
namespace {

std::string shown(const Objects& objects, const std::string& target, const WhoOptions& options = {"ml", true},
                  Format format = Format::kTable) {
  State state(objects, {});
  const auto answer = who(state, target, options);
  return answer ? render(*answer, {format}) : answer.error().message();
}

TEST(Who, TellsTheDevicesOfAPodAClaimAndAnOwner) {
  const TwoNodes world;
  const std::string two =
      "DEVICE   STATE   CLAIM      PODS   SINCE   NODE\n"
      "gpu-0    held    ml/run-g   run    60m     a\n"
      "gpu-1    held    ml/run-g   run    60m     a\n";
  for (const char* target : {"pod/run", "po/run", "claim/run-g", "resourceclaims/run-g", "rs/set-1", "deploy/set"})
    EXPECT_EQ(shown(world.objects, target), two) << target;
}

TEST(Who, TellsTheDevicesThatAnExtendedResourceGot) {
  TwoNodes world;
  auto& pod = const_cast<api::Pod&>(*world.objects.pods.at("ml/run"));
  pod.resource_claims.clear();
  pod.extended_resource_claim_status.emplace().resource_claim_name = "run-g";
  EXPECT_NE(shown(world.objects, "pod/run").find("gpu-1    held    ml/run-g   run"), std::string::npos)
      << shown(world.objects, "pod/run");
}

TEST(Who, SaysThatAWaitingPodHoldsNothing) {
  TwoNodes world;
  world.add_pod("waits", "", {});
  State state(world.objects, {});
  const auto answer = who(state, "pod/waits", {"ml"});
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, Status::kNo);
  EXPECT_EQ(answer->statements.at(0).code, "HoldsNothing");
}

TEST(Who, ErrorsAreAboutTheObjectNotAboutANodeOfItsKind) {
  const TwoNodes world;
  EXPECT_EQ(shown(world.objects, "pod/runn"), "pod \"runn\" is not known in namespace ml; did you mean \"run\"?");
  EXPECT_EQ(shown(world.objects, "claim/x"), "claim \"x\" is not known in namespace ml");
  EXPECT_EQ(shown(world.objects, "nod/x"), "node \"nod\" is not known");
}

TEST(Who, ANodeMayBeNamedWithItsKind) {
  TwoNodes world;
  for (const char* target : {"node/a", "nodes/a", "no/a"})
    EXPECT_EQ(shown(world.objects, target), shown(world.objects, "a")) << target;
  EXPECT_EQ(shown(world.objects, "node/a/gpu-1"), shown(world.objects, "a/gpu-1"));
  EXPECT_EQ(shown(world.objects, "node/other"), "node \"other\" is not known");
  world.objects.nodes["node"] = named_object<api::Node>("", "node");
  EXPECT_EQ(shown(world.objects, "node/a"), "node \"node\" has no device \"a\"");
}

TEST(Who, ANodeMayBeCalledPod) {
  TwoNodes world;
  world.objects.nodes["pod"] = named_object<api::Node>("", "pod");
  EXPECT_EQ(shown(world.objects, "pod/run"), "node \"pod\" has no device \"run\"");
}

// Three cards on one node, each the whole and two halves.
struct Cards : TwoNodes {
  Cards() {
    auto counters = named_object<api::ResourceSlice>("", "a-counters");
    auto parts = named_object<api::ResourceSlice>("", "a-parts");
    for (const auto& slice : {counters, parts}) {
      slice->driver = "mig";
      slice->pool = {"a", 1, 2};
      slice->node_name = "a";
      objects.slices[slice->metadata.name] = slice;
    }
    for (const char* card : {"c0", "c1", "c2"}) {
      counters->shared_counters.push_back({card, {{"left", "1"}, {"right", "1"}}});
      add(*parts, card, card, {{"left", "1"}, {"right", "1"}});
      add(*parts, card, std::string(card) + "-l", {{"left", "1"}});
      add(*parts, card, std::string(card) + "-r", {{"right", "1"}});
    }
    objects.slices.erase("a-gpus");
    objects.pods.clear();
    objects.claims.clear();
    objects.claim_by_uid.clear();
  }
  static void add(api::ResourceSlice& slice, const std::string& set, const std::string& name, api::StringMap counters) {
    slice.devices.emplace_back();
    slice.devices.back().name = name;
    api::DeviceCounterConsumption use{set, {}};
    for (const auto& [key, amount] : counters) use.counters[key] = amount;
    slice.devices.back().consumes_counters.push_back(use);
  }
  void hold(const std::string& device) {
    add_pod("on-" + device, "a", {device});
    auto& claim = const_cast<api::ResourceClaim&>(*objects.claims.at("ml/on-" + device + "-g"));
    claim.status.allocation->results[0].driver = "mig";
  }
};

TEST(Who, CardsThatAreWholeAreOneRow) {
  Cards world;
  world.hold("c1");
  world.hold("c2-l");
  EXPECT_EQ(shown(world.objects, "a"),
            "DEVICE              STATE   CLAIM          PODS      SINCE\n"
            "c0 (2 partitions)   free    -              -         -\n"
            "c1 (2 partitions)   held    ml/on-c1-g     on-c1     60m\n"
            "c2                  cut     -              -         -\n"
            "  c2-l              held    ml/on-c2-l-g   on-c2-l   60m\n"
            "  c2-r              free    -              -         -\n");
  State state(world.objects, {});
  EXPECT_EQ(who(state, "a", {"ml", false})->tables.at(0).rows.size(), 9u) << "programs get all of them";
  EXPECT_EQ(who(state, "a/c0-l", {"ml", true})->tables.at(0).rows.size(), 1u) << "a partition can be asked for";
}

// A claim that one may not list could hold it.
TEST(Who, NothingIsFreeWhileClaimsAreHidden) {
  TwoNodes world;
  world.objects.claims.clear();
  world.objects.claim_by_uid.clear();
  world.objects.hidden.push_back({"resourceclaims", "you may not list them"});
  State state(world.objects, {});
  const auto answer = who(state, "a");
  ASSERT_TRUE(answer);
  const std::string text = render(*answer, {});
  EXPECT_EQ(text.find("free"), std::string::npos) << text;
  EXPECT_NE(text.find("no holder visible"), std::string::npos) << text;
}

TEST(WhatIf, PodsThatAreHiddenMayMove) {
  TwoNodes world;
  world.objects.pods.clear();
  EXPECT_EQ(whatif_answer({}, world.objects).lines.at(0), "no pod moves, waits or starts");
  world.objects.hidden.push_back({"pods", "you may not list them"});
  EXPECT_EQ(whatif_answer({}, world.objects).lines.at(0), "no pod that is visible moves, waits or starts");
}

}  // namespace
}  // namespace dra::inspect::who_test
