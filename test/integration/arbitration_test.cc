// P1 to P9 under three writers that all lead, lagging watches, crashes, relists and lost answers (arbitration_model.h).
//
// DRA_ARBITRATION_STEPS: steps in total (100000); every 20,000 steps the world comes to rest and is checked.
// DRA_COUNTER_EXAMPLES: of how many seeds counter-examples are searched for (3).
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>

#include "test/integration/arbitration_model.h"
#include "test/integration/cluster.h"

namespace dra::integration::arbitration_test {

namespace {

// Random steps; from time to time the world is left alone and must come to rest.
void walk(ArbitrationModel& model, size_t steps) {
  for (size_t i = 1; i <= steps; ++i) {
    model.step();
    ASSERT_TRUE(model.violations().empty()) << "step " << i << ": " << model.violations().front();
    if (i % 20'000 != 0 && i != steps) continue;
    const auto findings = model.settle();
    ASSERT_TRUE(findings.empty()) << "after step " << i << ": " << findings.front();
    ASSERT_TRUE(model.violations().empty()) << "coming to rest after step " << i << ": " << model.violations().front();
  }
}

}  // namespace

TEST(Arbitration, NoDeviceIsUsedTwiceAndNoPodThatFitsWaitsForEver) {
  const size_t steps = from_environment("DRA_ARBITRATION_STEPS", 100'000);
  ArbitrationOptions options;
  options.seed = from_environment("DRA_SEED", 1);
  std::printf("seed %llu\n", static_cast<unsigned long long>(options.seed));
  ArbitrationModel model(options);
  ASSERT_NO_FATAL_FAILURE(walk(model, steps));
  const ArbitrationStats& s = model.stats();
  std::printf(
      "%llu steps: %llu allocations, %llu proofs, %llu withdrawals, %llu pods launched, %llu lost races, %llu lost "
      "answers, %llu crashes, %llu relists, %llu proven claims left, %llu reservations taken back by kube-scheduler, "
      "%llu "
      "pods added to the users of a claim, %llu taken off, %llu shared claims deleted\n",
      static_cast<unsigned long long>(s.steps), static_cast<unsigned long long>(s.allocations),
      static_cast<unsigned long long>(s.proofs), static_cast<unsigned long long>(s.withdrawals),
      static_cast<unsigned long long>(s.released), static_cast<unsigned long long>(s.conflicts),
      static_cast<unsigned long long>(s.lost), static_cast<unsigned long long>(s.crashes),
      static_cast<unsigned long long>(s.relists), static_cast<unsigned long long>(s.left),
      static_cast<unsigned long long>(s.unreserved), static_cast<unsigned long long>(s.enlisted),
      static_cast<unsigned long long>(s.unlisted), static_cast<unsigned long long>(s.shared_deletions));
  EXPECT_GT(s.withdrawals, 0u) << "the writers never met: this run proved nothing";
  EXPECT_GT(s.released, steps / 400);
  EXPECT_GT(s.left, 0u) << "no node was cordoned between a proof and a lifting";
  EXPECT_GT(s.unreserved, 0u);
  EXPECT_GT(s.enlisted, 0u) << "no claim was shared";
  EXPECT_GT(s.unlisted, 0u) << "no shared claim was left";
}

// Groups beside single pods: no member of a group is ungated before all have been marked.
TEST(Arbitration, NoGroupIsPartlyLetGoAndNoneThatFitsWaitsForEver) {
  const size_t steps = from_environment("DRA_ARBITRATION_STEPS", 100'000);
  ArbitrationOptions options;
  options.seed = from_environment("DRA_SEED", 1) + 2000;
  options.groups = true;
  options.devices = 4;  // per node, so that groups fit at times
  std::printf("seed %llu\n", static_cast<unsigned long long>(options.seed));
  ArbitrationModel model(options);
  ASSERT_NO_FATAL_FAILURE(walk(model, steps));
  const ArbitrationStats& s = model.stats();
  std::printf("%llu groups, %llu of them launched; %llu withdrawals, %llu proven claims left, %llu crashes\n",
              static_cast<unsigned long long>(s.groups), static_cast<unsigned long long>(s.groups_launched),
              static_cast<unsigned long long>(s.withdrawals), static_cast<unsigned long long>(s.left),
              static_cast<unsigned long long>(s.crashes));
  EXPECT_GT(s.groups_launched, steps / 20'000);
  EXPECT_GT(s.withdrawals, 0u);
}

// G9. Two leaders can each allocate members that fit those who run and not each other.
TEST(Arbitration, MembersAreMarkedOnTheSameRails) {
  const size_t steps = from_environment("DRA_ARBITRATION_STEPS", 100'000) / 10;
  for (const bool bind : {false, true}) {
    SCOPED_TRACE(bind);
    ArbitrationOptions options;
    options.seed = from_environment("DRA_SEED", 1) + 5000;
    options.writers = 2;
    options.groups = options.rails = true;
    options.bind = bind;
    options.devices = 4;
    std::printf("seed %llu\n", static_cast<unsigned long long>(options.seed));
    ArbitrationModel model(options);
    ASSERT_NO_FATAL_FAILURE(walk(model, steps));
    const ArbitrationStats& s = model.stats();
    std::printf("%llu groups, %llu of them launched; %llu joiners, %llu proofs, %llu withdrawals, %llu crashes\n",
                static_cast<unsigned long long>(s.groups), static_cast<unsigned long long>(s.groups_launched),
                static_cast<unsigned long long>(s.joiners), static_cast<unsigned long long>(s.proofs),
                static_cast<unsigned long long>(s.withdrawals), static_cast<unsigned long long>(s.crashes));
    EXPECT_GT(s.groups_launched, steps / 20'000);
    EXPECT_GT(s.joiners, steps / 1'000);
    EXPECT_GT(s.withdrawals, 0u);
  }
}

// Three of four pods are the writers' to bind, and somebody else binds some of them at any moment.
void walk_with_bindings(ArbitrationOptions options) {
  const size_t steps = from_environment("DRA_ARBITRATION_STEPS", 100'000);
  options.bind = options.foreign_binder = true;
  std::printf("seed %llu\n", static_cast<unsigned long long>(options.seed));
  ArbitrationModel model(options);
  ASSERT_NO_FATAL_FAILURE(walk(model, steps));
  const ArbitrationStats& s = model.stats();
  std::printf(
      "%llu steps: %llu bindings, %llu by others, %llu proven claims left, %llu of them freed without a gate, %llu "
      "lost "
      "requests, %llu lost answers, %llu crashes, %llu groups\n",
      static_cast<unsigned long long>(s.steps), static_cast<unsigned long long>(s.bindings),
      static_cast<unsigned long long>(s.foreign_bindings), static_cast<unsigned long long>(s.left),
      static_cast<unsigned long long>(s.left_unbound), static_cast<unsigned long long>(s.lost_requests),
      static_cast<unsigned long long>(s.lost), static_cast<unsigned long long>(s.crashes),
      static_cast<unsigned long long>(s.groups_launched));
  EXPECT_GT(s.bindings, steps / 1500);
  EXPECT_GT(s.foreign_bindings, 0u);
  EXPECT_GT(s.left_unbound, 0u) << "no pod left between its proof and its binding";
}

TEST(Arbitration, PodsToBeBoundLeaveWithoutHarm) {
  ArbitrationOptions options;
  options.seed = from_environment("DRA_SEED", 1) + 3000;
  walk_with_bindings(options);
}

TEST(Arbitration, GroupsToBeBoundLeaveWithoutHarm) {
  ArbitrationOptions options;
  options.seed = from_environment("DRA_SEED", 1) + 4000;
  options.groups = true;
  options.devices = 4;
  walk_with_bindings(options);
}

// P9: claims that are reserved for PodGroups, beside those of single pods.
void walk_with_group_claims(ArbitrationOptions options) {
  const size_t steps = from_environment("DRA_ARBITRATION_STEPS", 100'000);
  options.group_claims = true;
  std::printf("seed %llu\n", static_cast<unsigned long long>(options.seed));
  ArbitrationModel model(options);
  ASSERT_NO_FATAL_FAILURE(walk(model, steps));
  const ArbitrationStats& s = model.stats();
  std::printf(
      "%llu steps: %llu pods of PodGroups, %llu PodGroups deleted, %llu pods launched, %llu bound, %llu of "
      "kube-scheduler's; %llu proofs, %llu withdrawals, %llu pods added to the users of a claim, %llu taken off, %llu "
      "claims left, %llu crashes, %llu claims freed under a binding of kube-scheduler's that was not seen yet\n",
      static_cast<unsigned long long>(s.steps), static_cast<unsigned long long>(s.group_members),
      static_cast<unsigned long long>(s.groups_ended), static_cast<unsigned long long>(s.released),
      static_cast<unsigned long long>(s.bindings), static_cast<unsigned long long>(s.stock_bound),
      static_cast<unsigned long long>(s.proofs), static_cast<unsigned long long>(s.withdrawals),
      static_cast<unsigned long long>(s.enlisted), static_cast<unsigned long long>(s.unlisted),
      static_cast<unsigned long long>(s.left), static_cast<unsigned long long>(s.crashes),
      static_cast<unsigned long long>(s.unseen));
  EXPECT_LE(s.unseen, s.stock_bound / 100);
  EXPECT_GT(s.group_members, steps / 1000);
  EXPECT_GT(s.groups_ended, steps / 20'000);
  EXPECT_GT(s.withdrawals, 0u);
  EXPECT_GT(s.enlisted, 0u);
  if (!options.stock_members) {
    EXPECT_GT(s.left, 0u);
  }
}

TEST(Arbitration, ClaimsOfPodGroupsAreUsedByNobodyElse) {
  ArbitrationOptions options;
  options.seed = from_environment("DRA_SEED", 1) + 6000;
  walk_with_group_claims(options);
}

TEST(Arbitration, ClaimsOfPodGroupsToBeBound) {
  ArbitrationOptions options;
  options.seed = from_environment("DRA_SEED", 1) + 7000;
  options.bind = true;
  walk_with_group_claims(options);
}

TEST(Arbitration, ClaimsOfPodGroupsThatKubeSchedulerServesToo) {
  ArbitrationOptions options;
  options.seed = from_environment("DRA_SEED", 1) + 8000;
  options.stock_members = true;
  walk_with_group_claims(options);
}

// A mark says that its writer saw no overlap; a tenant can forge it. But when a watch delivers a mark, it has delivered
// everything allocated before it, and a visible overlap keeps the gate, whatever the mark says.
TEST(Arbitration, AForgerOfMarksGainsNoDevice) {
  const size_t steps = from_environment("DRA_ARBITRATION_STEPS", 100'000) / 2;
  for (const uint64_t seed : {1, 2, 3}) {
    SCOPED_TRACE(seed);
    ArbitrationOptions options;
    options.seed = from_environment("DRA_SEED", 1) * 100 + seed;
    options.forger = Forger::kMarks;
    ArbitrationModel model(options);
    for (size_t i = 1; i <= steps; ++i) {
      model.step();
      if (i % 20'000 != 0 && i != steps) continue;
      // What the tenant corrupts for itself stays so; nobody else waits for it.
      for (const std::string& finding : model.settle())
        EXPECT_NE(finding.find(" d/t"), std::string::npos) << "after step " << i << ": " << finding;
    }
    size_t own_loss = 0;
    for (const std::string& violation : model.violations()) {
      EXPECT_EQ(violation.find("is used by"), std::string::npos) << violation;
      EXPECT_EQ(violation.find("d/p"), std::string::npos) << violation;
      ++own_loss;
    }
    const ArbitrationStats& s = model.stats();
    std::printf(
        "seed %llu: %llu forgeries, %llu of them true marks before the proof; %llu pods launched, %zu of the "
        "tenant's without a claim\n",
        static_cast<unsigned long long>(options.seed), static_cast<unsigned long long>(s.forged),
        static_cast<unsigned long long>(s.forged_early), static_cast<unsigned long long>(s.released), own_loss);
    EXPECT_GT(s.forged_early, steps / 1000);
    EXPECT_GT(s.released, steps / 400);
  }
}

// Of how many seeds; 0: a run with sanitizers, where these searches take minutes and execute nothing that walks do not.
size_t counter_examples() {
  return from_environment("DRA_COUNTER_EXAMPLES", 3);
}

// The model can find what it searches for: a violation with these words, for each of three seeds.
void expect_counter_example(ArbitrationOptions options, const char* words) {
  const size_t seeds = counter_examples();
  if (seeds == 0) GTEST_SKIP() << "DRA_COUNTER_EXAMPLES=0";
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    options.seed = seed;
    ArbitrationModel model(options);
    std::string found;
    while (found.empty() && model.stats().steps < 300'000) {
      model.step();
      if (!model.violations().empty() && model.violations().back().find(words) != std::string::npos)
        found = model.violations().back();
    }
    std::printf("seed %llu: %s after %llu steps\n", static_cast<unsigned long long>(seed), found.c_str(),
                static_cast<unsigned long long>(model.stats().steps));
    EXPECT_NE(found, "") << "seed " << seed;
  }
}

// Why the chart has the marks policy: when a tenant removes the mark of an ungated pod's claim, the allocation
// looks unproven, and a writer with an old view of the pod withdraws it. The next pod gets a device that is in
// use.
TEST(Arbitration, WithMarksTakenAwayTheCounterExampleIsFound) {
  ArbitrationOptions options;
  options.forger = Forger::kTakesMarks;
  options.old_view = true;  // else it takes 20,000 to 200,000 steps, depending on the seed
  expect_counter_example(options, "d/t");
}

// Why the chart has the marks policy: only the list of users remembers a pod that kube-scheduler took out of
// reservedFor, so a tenant who may rewrite the list makes an ungated pod lose its allocation.
TEST(Arbitration, WithAForgedListOfUsersTheCounterExampleIsFound) {
  ArbitrationOptions options;
  options.forger = Forger::kUsers;
  expect_counter_example(options, "was taken from d/t");
}

// Without the durable proof a device is used twice.
TEST(Arbitration, WithoutTheDurableProofTheCounterExampleIsFound) {
  ArbitrationOptions options;
  options.durable_proof = false;
  expect_counter_example(options, "is used by");
}

// It also finds a pod that is ungated with a claim that another writer withdrew.
TEST(Arbitration, WithoutTheAnnouncementOfALeaveTheCounterExampleIsFound) {
  ArbitrationOptions options;
  options.durable_leaving = false;
  if (counter_examples() == 0) GTEST_SKIP() << "DRA_COUNTER_EXAMPLES=0";
  size_t found = 0;
  for (const uint64_t seed : {1, 2, 3}) {
    options.seed = seed;
    ArbitrationModel model(options);
    while (model.violations().empty() && model.stats().steps < 300'000) model.step();
    std::printf("seed %llu: %s after %llu steps\n", static_cast<unsigned long long>(seed),
                model.violations().empty() ? "nothing" : model.violations().front().c_str(),
                static_cast<unsigned long long>(model.stats().steps));
    found += model.violations().empty() ? 0 : 1;
  }
  EXPECT_GT(found, 0u);
}

// It also finds an allocation that is removed with the last reservation although an ungated pod may use it:
// kube-scheduler's Unreserve took that pod out of the consumers.
TEST(Arbitration, WithoutTheListOfUsersTheCounterExampleIsFound) {
  ArbitrationOptions options;
  options.durable_users = false;
  expect_counter_example(options, "was taken from");
}

// ---- what P4 and P8 need for pods to be bound

// A pod is bound with devices that another writer freed meanwhile.
constexpr const char* kBoundWithout = "was launched without its claim";
// Devices are taken from a pod that somebody else bound.
constexpr const char* kTaken = "was taken from";

// Two writers must act within a few steps, so one run may not find it.
void expect_rare_counter_example(ArbitrationOptions options, const char* words) {
  if (counter_examples() == 0) GTEST_SKIP() << "DRA_COUNTER_EXAMPLES=0";
  for (options.seed = 1; options.seed <= 8; ++options.seed) {
    ArbitrationModel model(options);
    while (model.stats().steps < 150'000) {
      model.step();
      if (model.violations().empty() || model.violations().back().find(words) == std::string::npos) continue;
      std::printf("seed %llu: %s after %llu steps\n", static_cast<unsigned long long>(options.seed),
                  model.violations().back().c_str(), static_cast<unsigned long long>(model.stats().steps));
      return;
    }
  }
  ADD_FAILURE() << "found none";
}

ArbitrationOptions to_bind_without(Without part) {
  ArbitrationOptions options;
  options.bind = true;
  options.nodes = 2;  // few pods and nodes: they meet more often
  options.pods = 5;
  options.without = part;
  return options;
}

TEST(Arbitration, WithoutTheProofOfRailsTheCounterExampleIsFound) {
  ArbitrationOptions options;
  options.writers = 2;
  options.groups = options.rails = true;
  options.pods = 8;  // few, so that joiners of one group meet: with 14 it takes ten times as many steps
  options.shared = 0;
  options.without = Without::kRails;
  expect_rare_counter_example(options, "on different rails");
}

TEST(Arbitration, WithoutTheVersionInABindingTheCounterExampleIsFound) {
  expect_rare_counter_example(to_bind_without(Without::kVersion), kBoundWithout);
}

TEST(Arbitration, WhereAnnouncementsAreNotHeededTheCounterExampleIsFound) {
  expect_rare_counter_example(to_bind_without(Without::kHeeding), kBoundWithout);
}

TEST(Arbitration, WhereAClaimIsLeftAtAnyVersionTheCounterExampleIsFound) {
  expect_rare_counter_example(to_bind_without(Without::kExactVersion), kBoundWithout);
}

TEST(Arbitration, WhereABindingNeedsNoListTheCounterExampleIsFound) {
  ArbitrationOptions options = to_bind_without(Without::kNothing);
  options.durable_users = false;
  expect_rare_counter_example(options, kBoundWithout);
}

TEST(Arbitration, WithoutTheLiveGetBeforeFreeingTheCounterExampleIsFound) {
  ArbitrationOptions options = to_bind_without(Without::kGet);
  options.foreign_binder = true;
  expect_rare_counter_example(options, kTaken);
}

TEST(Arbitration, WhereReservationAndAllocationGoInOneWriteTheCounterExampleIsFound) {
  ArbitrationOptions options = to_bind_without(Without::kOrder);
  options.foreign_binder = true;
  expect_rare_counter_example(options, kTaken);
}

}  // namespace dra::integration::arbitration_test
