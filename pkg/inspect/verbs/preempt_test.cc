// whatif preempt, and explain's statement about it.
#include "pkg/inspect/verbs/preempt.h"

#include <gtest/gtest.h>

#include "pkg/inspect/verbs/explain.h"
#include "pkg/inspect/verbs/preempt_fixture.h"

namespace dra::inspect::preempt_test {
namespace {

Answer ask(const Objects& objects, const std::string& target = "pod/train") {
  State state(objects, {});
  auto answer = whatif_preempt(state, target, "ml");
  if (!answer) return Answer{"error", {answer.error().message()}};
  EXPECT_TRUE(state.inventory.audit().empty());
  return *answer;
}

TEST(WhatIfPreempt, NamesTheLeastVictimsAndTheNewPlace) {
  Priorities world;
  world.add("low", 1, "a", {"gpu-0", "gpu-1"});
  world.add("middle", 5, "b", {"gpu-0", "gpu-1"});
  world.add("train", 10, "", {}, 2);
  const Answer answer = ask(world.objects);
  EXPECT_EQ(codes_of(answer), "Victims AdviceOnly");
  EXPECT_EQ(
      answer.statements[0].message,
      "1 pod has to go so that pod ml/train fits, on a: ml/low (replicaset/low-rs, priority 1). No other set does "
      "less harm.");
  EXPECT_EQ(rows_of(answer, 0, {0, 1, 3, 5}), "ml/low>a>replicaset/low-rs>gpu-0;gpu-1;");
  EXPECT_EQ(rows_of(answer, 1, {0, 1, 2}), "ml/train>a>gpu-0;gpu-1;");
  EXPECT_EQ(answer.status, Status::kYes);
  EXPECT_TRUE(answer.notes.empty()) << answer.notes.front();
}

TEST(WhatIfPreempt, BudgetsComeBeforePriorities) {
  Priorities world;
  world.add("low", 1, "a", {"gpu-0", "gpu-1"});
  world.add("middle", 5, "b", {"gpu-0", "gpu-1"});
  world.add("train", 10, "", {}, 2);
  world.add_budget("guard", "low", 0);
  EXPECT_EQ(rows_of(ask(world.objects), 0, {0}), "ml/middle");
  // Where every set breaks one, it says which.
  world.add_budget("other", "middle", 0);
  const Answer broken = ask(world.objects);
  EXPECT_EQ(rows_of(broken, 0, {0, 4}), "ml/low>ml/guard;");
  EXPECT_EQ(codes_of(broken), "Victims BudgetBroken AdviceOnly");
  EXPECT_NE(
      broken.statements[1].message.find("PodDisruptionBudget ml/guard allows 0 evictions, and 1 of these pods is"),
      std::string::npos);
}

TEST(WhatIfPreempt, NeverWhateverGoes) {
  Priorities world;
  world.add("low", 1, "a", {"gpu-0"});
  world.add("train", 10, "", {}, 3);
  const Answer answer = ask(world.objects);
  EXPECT_EQ(codes_of(answer), "NeverWhateverGoes");
  EXPECT_EQ(answer.statements[0].message,
            "Never, whoever goes: pod ml/train does not fit even if all 1 pod that may go were gone.");
  EXPECT_EQ(answer.status, Status::kNo);
}

TEST(WhatIfPreempt, SaysWhyNobodyGoes) {
  Priorities world;
  world.add("low", 1, "a", {"gpu-0", "gpu-1"});
  world.add("middle", 5, "b", {"gpu-0", "gpu-1"});
  world.add("train", 10, "", {}, 2);
  Priorities policy = world;
  policy.never_preempts("train");
  EXPECT_EQ(ask(policy.objects).statements.at(0).message,
            "Nobody goes for pod ml/train: pod ml/train has preemptionPolicy Never.");
  Priorities kept = world;
  auto gpu = std::make_shared<api::DeviceClass>(*kept.objects.classes.at("gpu"));
  gpu->metadata.annotations["dra-controller-manager/preemption"] = "never";
  kept.objects.classes["gpu"] = gpu;
  EXPECT_NE(
      ask(kept.objects).statements.at(0).message.find("whose annotation dra-controller-manager/preemption is never"),
      std::string::npos);
  Priorities equal = world;
  equal.change("train", [](api::Pod& pod) { pod.priority = 1; });
  EXPECT_EQ(ask(equal.objects).statements.at(0).message,
            "Nobody goes for pod ml/train: no pod that may go has a lower priority.");
}

// What another allocator holds, it would give to others.
TEST(WhatIfPreempt, LeavesOutPodsOfOthers) {
  Priorities world;
  world.add("low", 1, "a", {"gpu-0", "gpu-1"});
  world.add("middle", 5, "b", {"gpu-0", "gpu-1"});
  world.add("train", 10, "", {}, 2);
  auto claim = std::make_shared<api::ResourceClaim>(*world.objects.claims.at("ml/low-g"));
  claim->metadata.managed_fields.push_back({"kube-scheduler", "Update", "status"});
  world.objects.claims["ml/low-g"] = claim;
  const Answer answer = ask(world.objects);
  EXPECT_EQ(rows_of(answer, 0, {0}), "ml/middle");
  ASSERT_EQ(answer.notes.size(), 1u);
  EXPECT_EQ(answer.notes[0], "1 pod of a priority that would allow it does not go: 1 of another scheduler");
}

TEST(WhatIfPreempt, SaysWhatItCouldNotKnow) {
  Priorities world;
  world.add("low", 1, "a", {"gpu-0", "gpu-1"});
  world.add("train", 10, "", {}, 2);
  world.add("middle", 5, "b", {"gpu-0", "gpu-1"});
  world.objects.evictions.hidden.push_back({"poddisruptionbudgets", "you may not list them"});
  const Answer answer = ask(world.objects);
  EXPECT_EQ(codes_of(answer), "Victims AdviceOnly");
  EXPECT_EQ(answer.status, Status::kUnknown);
  ASSERT_EQ(answer.notes.size(), 1u);
  EXPECT_EQ(answer.notes[0],
            "not known: which of the pods budgets protect (poddisruptionbudgets: you may not list them)");
}

TEST(WhatIfPreempt, UndecidedShowsTheBestSetFound) {
  Priorities world;
  world.add("low", 1, "a", {"gpu-0"});
  world.add("low2", 1, "a", {"gpu-1"});
  world.add("middle", 5, "b", {"gpu-0", "gpu-1"});
  world.add("train", 10, "", {}, 2);
  State state(world.objects, {});
  EvictionLimits limits;
  limits.max_checks = 3;
  const auto answer = whatif_preempt(state, "train", "ml", limits);
  ASSERT_TRUE(answer);
  EXPECT_EQ(codes_of(*answer), "Undecided");
  EXPECT_NE(answer->statements[0].message.find("a better one may exist"), std::string::npos)
      << answer->statements[0].message;
  EXPECT_EQ(answer->status, Status::kUnknown);
}

TEST(WhatIfPreempt, FitsAndWrongTargets) {
  Priorities world;
  world.add("low", 1, "a", {"gpu-0", "gpu-1"});
  world.add("train", 10, "", {}, 2);
  EXPECT_EQ(ask(world.objects).statements.at(0).message, "Nobody has to go: pod ml/train fits now, on b.");
  EXPECT_NE(ask(world.objects, "pod/tran").lines.at(0).find("did you mean \"train\"?"), std::string::npos);
  EXPECT_NE(ask(world.objects, "pod/low").lines.at(0).find("does not wait: it is on node a"), std::string::npos);
  EXPECT_NE(ask(world.objects, "claim/x").lines.at(0).find("is not pod/NAME"), std::string::npos);
}

// A claim from a template that nobody has made yet counts as the template says.
TEST(WhatIfPreempt, ClaimsToCome) {
  Priorities world;
  world.add("low", 1, "a", {"gpu-0", "gpu-1"});
  world.add("middle", 5, "b", {"gpu-0", "gpu-1"});
  world.add("train", 10, "", {}, 2);
  world.objects.claims.erase("ml/train-g");
  world.change("train", [](api::Pod& pod) { pod.resource_claim_statuses.clear(); });
  EXPECT_EQ(rows_of(ask(world.objects), 0, {0}), "ml/low");
  world.objects.templates.clear();
  const Answer answer = ask(world.objects);
  EXPECT_EQ(codes_of(answer), "Undecided");
  EXPECT_NE(answer.statements[0].message.find("ResourceClaimTemplate ml/two of pod ml/train is not there"),
            std::string::npos);
}

TEST(ExplainPreempt, NamesWhoWouldHaveToGo) {
  Priorities world;
  world.add("low", 1, "a", {"gpu-0", "gpu-1"});
  world.add("middle", 5, "b", {"gpu-0", "gpu-1"});
  world.add("train", 10, "", {}, 2);
  const auto explained = [](const Objects& objects) {
    State state(objects, {});
    ExplainOptions options;
    options.ns = "ml";
    return explain(state, "pod/train", options);
  };
  const auto answer = explained(world.objects);
  ASSERT_TRUE(answer);
  EXPECT_NE(codes_of(*answer).find("Victims"), std::string::npos) << codes_of(*answer);
  EXPECT_EQ(answer->status, Status::kNo);
  // Nothing where nobody is lower, or where nothing was read about it.
  world.change("train", [](api::Pod& pod) { pod.priority = 0; });
  EXPECT_EQ(codes_of(*explained(world.objects)).find("Victims"), std::string::npos);
  world.change("train", [](api::Pod& pod) { pod.priority = 10; });
  world.objects.evictions.asked = false;
  EXPECT_EQ(codes_of(*explained(world.objects)).find("Victims"), std::string::npos);
}

}  // namespace
}  // namespace dra::inspect::preempt_test
