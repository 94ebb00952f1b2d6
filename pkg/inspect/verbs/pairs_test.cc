// What verbs say about pairs: top pairs, fits, explain and doctor.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pkg/inspect/state/manifest.h"
#include "pkg/inspect/verbs/explain.h"
#include "pkg/inspect/verbs/fits.h"
#include "pkg/inspect/verbs/not_honoured.h"
#include "pkg/inspect/verbs/roots_fixture.h"
#include "pkg/inspect/verbs/top_pairs.h"

namespace dra::inspect::verbs_pairs_test {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kRule = "gpu+nic by resource.kubernetes.io/pcieRoot";

std::string shown(const Result<Answer>& answer) {
  return answer ? render(*answer, {Format::kWide}) : answer.error().message();
}

TEST(TopPairs, CountsFreeGroupsAndTheLargestAsk) {
  const OneServer server;
  State state(server.objects, {});
  const auto answer = top_pairs(state, kRule, {});
  ASSERT_TRUE(answer) << answer.error().message();
  EXPECT_EQ(answer->status, Status::kYes);
  EXPECT_THAT(shown(answer), HasSubstr("the largest ask that fits is 6 groups, on node a: 6 x gpu, 6 x nic"));
  ASSERT_EQ(answer->tables.size(), 1u);
  ASSERT_EQ(answer->tables[0].rows.size(), 1u);
  EXPECT_THAT(shown(answer), HasSubstr("a      6"));
}

TEST(TopPairs, NumbersMakeLargerGroups) {
  const OneServer server;
  State state(server.objects, {});
  EXPECT_THAT(shown(top_pairs(state, "gpu + nic*3 by resource.kubernetes.io/pcieRoot", {})),
              HasSubstr("is 1 group, on node a: 1 x gpu, 3 x nic"));
  EXPECT_THAT(shown(top_pairs(state, "gpu+nic*4 by resource.kubernetes.io/pcieRoot", {})),
              HasSubstr("no node has a free group"));
}

TEST(TopPairs, RefusesWithTheFormAndANearName) {
  const OneServer server;
  State state(server.objects, {});
  for (const char* text : {"", "gpu+nic", "gpu++nic by a/b", "gpu*0+nic by a/b", "gpu*33+nic by a/b", "gpu by a/b",
                           "gpu+nic by root", "gpu+nic by a b/c", " by a/b"}) {
    const auto answer = top_pairs(state, text, {});
    ASSERT_FALSE(answer) << text;
    EXPECT_EQ(answer.error().code(), Code::kInvalidArgument) << text;
    EXPECT_THAT(answer.error().message(), HasSubstr("CLASS+CLASS by DOMAIN/ATTRIBUTE")) << text;
  }
  EXPECT_THAT(shown(top_pairs(state, "gpuu+nic by a/b", {})), HasSubstr("did you mean \"gpu\"?"));
}

TEST(TopPairs, WhatMayNotBeListedIsNotAbsent) {
  OneServer server;
  server.objects.slices.clear();
  server.objects.hidden.push_back({"resourceslices", std::string(kMayNotList)});
  State state(server.objects, {});
  const auto answer = top_pairs(state, kRule, {});
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, Status::kUnknown);
  EXPECT_THAT(shown(answer), HasSubstr("devices are not visible"));
}

std::string pod_file(const std::string& claim_pairs, int gpus, int nics, const std::string& pod_pairs = "") {
  return "apiVersion: resource.k8s.io/v1\nkind: ResourceClaimTemplate\nmetadata: {name: t, namespace: ml}\nspec:\n  "
         "metadata: {annotations: {dra-controller-manager/pairs: '" +
         claim_pairs + "'}}\n  spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu, count: " +
         std::to_string(gpus) + "}}, {name: nic, exactly: {deviceClassName: nic, count: " + std::to_string(nics) +
         "}}]}}\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: ml, annotations: {" +
         (pod_pairs.empty() ? "" : "dra-controller-manager/pairs: '" + pod_pairs + "'") +
         "}}\nspec: {containers: [{name: c, image: i}], resourceClaims: [{name: left, resourceClaimTemplateName: "
         "t}]}\n";
}

std::string fit_of(const std::string& file) {
  const OneServer server;
  const auto manifest = read_manifest(file, "ml");
  if (!manifest) return manifest.error().message();
  const auto found = fits(server.objects, *manifest, {});
  return found ? render(to_answer(*found, *manifest, server.objects, false), {Format::kWide}) : found.error().message();
}

TEST(FitsPairs, KnowsTheRulesOfATemplateAndOfAPod) {
  EXPECT_THAT(fit_of(pod_file(kRule, 8, 8)),
              HasSubstr("node a has 6 such pairs (gpu+nic by resource.kubernetes.io/pcieRoot), 8 are asked: 1 gpu of "
                        "pcieRoot pci0000:60 has no free nic, 1 gpu of pcieRoot pci0000:70 has no free nic"));
  EXPECT_THAT(fit_of(pod_file(kRule, 6, 6)), Not(HasSubstr("such pairs")));
  EXPECT_THAT(fit_of(pod_file(kRule, 4, 1, "left/gpu+left/nic*2 by resource.kubernetes.io/pcieRoot")),
              HasSubstr("this never fits"));
  EXPECT_THAT(
      fit_of(pod_file(kRule, 4, 4, "left/gpu+left/nic*4 by resource.kubernetes.io/pcieRoot")),
      HasSubstr("node a has 0 such pairs (left/gpu+left/nic*4 by resource.kubernetes.io/pcieRoot), 1 is asked"));
  EXPECT_THAT(fit_of(pod_file(kRule, 4, 4, "lefd/gpu+left/nic by a/b")), HasSubstr("did you mean \"left\"?"));
}

TEST(ExplainPairs, SaysHowManyANodeHas) {
  OneServer server;
  auto pod = named_object<api::Pod>("ml", "p");
  pod->phase = "Pending";
  pod->scheduling_gates = {"dra-controller-manager/allocation"};
  pod->resource_claims.push_back({"devices", "c", std::nullopt});
  server.objects.pods["ml/p"] = pod;
  const auto claim = OneServer::claim("c", 8, 8, kRule);
  server.objects.claims["ml/c"] = claim;
  server.objects.claim_by_uid[claim->metadata.uid] = claim;
  State state(server.objects, {});
  EXPECT_THAT(shown(explain(state, "pod/p", {.ns = "ml", .width = 0})),
              HasSubstr("node a has 6 such pairs (gpu+nic by resource.kubernetes.io/pcieRoot), 8 are asked"));
}

// Somebody else allocated both claims: NIC 6 is on root 0.
TEST(ExplainPairs, ClaimsThatAreAllocatedAlready) {
  OneServer server;
  auto pod = named_object<api::Pod>("ml", "p");
  pod->phase = "Pending";
  pod->scheduling_gates = {"dra-controller-manager/allocation"};
  pod->metadata.annotations["dra-controller-manager/pairs"] = "left/gpu+right/nic by resource.kubernetes.io/pcieRoot";
  for (const auto& [entry, gpus] : {std::pair{"left", 1}, {"right", 0}}) {
    pod->resource_claims.push_back({entry, entry, std::nullopt});
    const auto claim = OneServer::claim(entry, gpus, 1 - gpus, "");
    const std::string kind = gpus == 1 ? "gpu" : "nic";
    auto& allocation = claim->status.allocation.emplace();
    allocation.results.push_back({kind, kind + ".example.com", "a", kind + "-6"});
    allocation.node_selector = api::NodeSelector{{{{}, {{"metadata.name", "In", {"a"}}}}}};
    server.objects.claims[claim->metadata.key()] = server.objects.claim_by_uid[claim->metadata.uid] = claim;
  }
  server.objects.pods["ml/p"] = pod;
  const auto said = [&] {
    State state(server.objects, {});
    return shown(explain(state, "pod/p", {.ns = "ml", .width = 0}));
  };
  constexpr const char* kUnmet = "its claims are allocated already, and the devices of its claims form 0 such pairs";
  EXPECT_THAT(said(), HasSubstr(kUnmet));
  pod->metadata.annotations.clear();
  EXPECT_THAT(said(), Not(HasSubstr(kUnmet)));
}

// Two pods: one of another scheduler, one at the manager's gate.
TEST(NotHonoured, CountsPodsThatOthersPlace) {
  OneServer server;
  for (const char* name : {"foreign", "ours"}) {
    auto pod = named_object<api::Pod>("ml", name);
    pod->scheduler_name = "default-scheduler";
    pod->resource_claims.push_back({"devices", name, std::nullopt});
    if (std::string(name) == "ours") pod->scheduling_gates = {"dra-controller-manager/allocation"};
    server.objects.pods[pod->metadata.key()] = pod;
    server.objects.claims[std::string("ml/") + name] = OneServer::claim(name, 1, 1, kRule);
  }
  const std::vector<NotHonoured> found = pairs_not_honoured(server.objects);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].pod, "ml/foreign");
  EXPECT_EQ(found[0].bearer, "ResourceClaim ml/foreign");
  EXPECT_EQ(found[0].annotation, "dra-controller-manager/pairs");
}

TEST(NotHonoured, LooksAtTemplatesBeforeThereIsAClaim) {
  OneServer server;
  auto from = named_object<api::ResourceClaimTemplate>("ml", "t");
  from->claim_annotations["dra-controller-manager/pairs"] = kRule;
  server.objects.templates["ml/t"] = from;
  auto pod = named_object<api::Pod>("ml", "p");
  pod->resource_claims.push_back({"devices", std::nullopt, "t"});
  server.objects.pods["ml/p"] = pod;
  const std::vector<NotHonoured> found = pairs_not_honoured(server.objects);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].bearer, "ResourceClaimTemplate ml/t");
}

}  // namespace
}  // namespace dra::inspect::verbs_pairs_test
