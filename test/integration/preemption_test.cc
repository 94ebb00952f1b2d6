// Preemption in bind mode (--preemption=on): who goes, for whom, and what becomes of rivals, replacements and promises
// that others write. The manager killed at each of its writes: the scenario "preemption" of integration_crash_test.
#include <gtest/gtest.h>

#include <cstdio>

#include "pkg/protocol/avoided.h"
#include "pkg/protocol/promise.h"
#include "test/integration/preempting.h"

namespace dra::integration::preemption_test {

using namespace std::chrono_literals;

class Preemption : public Preempting {};

TEST_F(Preemption, APodTakesThePlaceOfTheLowestAndRunsOnItsDevice) {
  begin_preempting(1);
  fill({"low0", "mid0", "low1", "mid1"});
  create("high0");
  EXPECT_TRUE(within(20s, [&] { return bound("high0"); })) << cluster().verdict();
  EXPECT_EQ(gone({"low0", "mid0", "low1", "mid1"}), (Names{"low1"})) << "the youngest of the lowest";
  EXPECT_EQ(reasons_of("Preempt"), (std::set<std::string>{"Preempted", "Preempting"}));
  EXPECT_TRUE(soon([&] { return !protocol::has_promise(*get_pod("high0")); })) << "it ends with the binding";
  EXPECT_EQ(writes("preemption/preempt"), 1u);
  EXPECT_EQ(cluster().verdict(), "");
}

TEST_F(Preemption, NobodyGoesWhereNoAdministratorSaidSo) {
  begin_preempting(1, "false");
  fill({"low0", "low1", "low2", "low3"});
  create("high0");
  EXPECT_TRUE(never([&] { return get_pod("low0") == nullptr || bound("high0"); }, 120s));
  EXPECT_EQ(writes("preemption/promise"), 0u);
}

TEST_F(Preemption, NeitherForAPodOfAClassThatIsLeftOutNorForOneThatNeverPreempts) {
  begin_preempting(1);
  fill({"low0", "low1", "low2", "low3"});
  create("never0");
  EXPECT_TRUE(never([&] { return gone({"low0", "low1", "low2", "low3"}).size() > 0; }, 60s));
  api().merge(Api::path("DeviceClass", "gpu"),
              {{"metadata", {{"annotations", {{"dra-controller-manager/preemption", "never"}}}}}});
  create("high0");
  EXPECT_TRUE(never([&] { return gone({"low0", "low1", "low2", "low3"}).size() > 0; }, 60s));
}

// The freed device is the preemptor's: not its victim's replacement's, and not an older pod's of the same priority.
TEST_F(Preemption, WhatIsFreedIsKeptForThePromise) {
  begin_preempting(1);
  fill({"low0", "low1", "low2", "low3"});
  api().merge(Api::path("Pod", "low3"), {{"metadata", {{"finalizers", {"example.com/slow"}}}}});
  create("high0");
  ASSERT_TRUE(within(20s, [&] { return get_pod("low3") && get_pod("low3")->metadata.deleting(); }));
  for (int i = 4; i < 8; ++i) create("low" + std::to_string(i));
  pass(30s);
  EXPECT_EQ(gone({"low0", "low1", "low2"}), Names{}) << "no second victim while it waits";
  api().merge(Api::path("Pod", "low3"), {{"metadata", {{"finalizers", nullptr}}}});
  EXPECT_TRUE(within(20s, [&] { return bound("high0"); })) << cluster().verdict();
  for (int i = 4; i < 8; ++i) EXPECT_FALSE(bound("low" + std::to_string(i)));
  EXPECT_EQ(writes("preemption/preempt"), 1u);
}

// Two that could take the same victim: each takes its own.
TEST_F(Preemption, TwoPodsOfOnePriorityTakeTwoVictims) {
  begin_preempting(1);
  fill({"low0", "low1", "mid0", "mid1"});
  create("high0");
  create("high1");
  EXPECT_TRUE(within(30s, [&] { return bound("high0") && bound("high1"); })) << cluster().verdict();
  EXPECT_EQ(gone({"low0", "low1", "mid0", "mid1"}), (Names{"low0", "low1"}));
  EXPECT_EQ(writes("preemption/preempt"), 2u);
}

// Nobody has to go for a device that the pod would not get: it could not be prepared for another pod of its owner.
TEST_F(Preemption, NobodyGoesForADeviceThatThePodAvoids) {
  begin_preempting(1);
  fill({"low0", "low1", "low2", "low3"});
  const std::string device = get_claim(generated("low3"))->status.allocation->results.at(0).device;
  Json made = pod_of_rank("high0", {from_template("gpu", "one-gpu")});
  const protocol::AvoidedDevice avoided{{std::string(kDriver), node_name(0), device},
                                        Timestamp(cluster().plane().clock().wall_now()) + 10min};
  made["metadata"]["annotations"] = {{protocol::kAvoidedDevices, protocol::avoided_text({avoided})}};
  api().create(made);
  EXPECT_TRUE(within(20s, [&] { return bound("high0"); })) << cluster().verdict();
  EXPECT_EQ(gone({"low0", "low1", "low2", "low3"}), Names{"low2"}) << "the youngest but one";
}

// A device in quarantine is free, and nobody gets it: the pod takes the place of another one.
TEST_F(Preemption, ADeviceInQuarantineIsNoReasonToWait) {
  kubelets_ = false;
  nodes_ = 1;
  begin(Claims::kOwn, /*manager=*/false);
  create_priorities(api());
  api().merge(
      Api::path("Namespace", "default"),
      {{"metadata",
        {{"labels", {{"dra-controller-manager/preemption", "true"}, {"dra-controller-manager/recover", "true"}}}}}});
  start_manager([](manager::ManagerOptions& options) {
    switch_on(options);
    options.settings.flags["recover-failed-prepares"] = "on";
  });
  const Json labels{{"app", "set"}};
  const Json from{{"metadata", {{"labels", labels}}}, {"spec", {{"containers", {{{"name", "c"}, {"image", "i"}}}}}}};
  const Json owner =
      api().create({{"apiVersion", "apps/v1"},
                    {"kind", "ReplicaSet"},
                    {"metadata", {{"name", "set"}, {"namespace", "default"}}},
                    {"spec", {{"replicas", 0}, {"selector", {{"matchLabels", labels}}}, {"template", from}}}});
  Json broken = pod_of_rank("low9", {from_template("gpu", "one-gpu")});
  broken["metadata"]["ownerReferences"] = {{{"apiVersion", "apps/v1"},
                                            {"kind", "ReplicaSet"},
                                            {"name", "set"},
                                            {"uid", owner["metadata"]["uid"]},
                                            {"controller", true}}};
  api().create(broken);
  ASSERT_TRUE(soon([&] { return bound("low9"); }));
  const std::string device = get_claim(generated("low9"))->status.allocation->results.at(0).device;
  const Json health{{"resourceID", std::string(kDriver) + "/" + node_name(0) + "/" + device}, {"health", "Unhealthy"}};
  api().merge(Api::path("Pod", "low9") + "/status",
              {{"status",
                {{"containerStatuses",
                  {{{"name", "c"},
                    {"image", "i"},
                    {"imageID", ""},
                    {"restartCount", 0},
                    {"ready", false},
                    {"allocatedResourcesStatus", {{{"name", "claim:gpu"}, {"resources", {health}}}}}}}}}}});
  ASSERT_TRUE(within(60s, [&] { return writes("recovery/recover") == 1; }));
  api().remove_now(Api::path("Pod", "low9"));
  for (const char* name : {"low0", "mid1", "mid2"}) {
    create(name);
    ASSERT_TRUE(soon([&] { return bound(name); })) << name;
    api().merge(Api::path("Pod", name) + "/status", {{"status", {{"phase", "Running"}}}});
  }
  create("high0");
  EXPECT_TRUE(within(30s, [&] { return gone({"low0", "mid1", "mid2"}).size() == 1; }));
  EXPECT_EQ(gone({"low0", "mid1", "mid2"}), Names{"low0"});
}

// Their claims keep the devices for a day: that protects no pod, since the preemptor's priority is higher.
TEST_F(Preemption, KeptDevicesProtectNobody) {
  begin_preempting(1);
  for (const std::string name : {"low0", "low1", "mid0", "mid1"}) {
    Json kept = claim("of-" + name);
    kept["metadata"]["annotations"] = {{"dra-controller-manager/keep-devices", "24h"}};
    api().create(kept);
    api().create(pod_of_rank(name, {from_claim("gpu", "of-" + name)}));
    ASSERT_TRUE(soon([&] { return running(name) && consumers("of-" + name).size() == 2; })) << name;
    pass(2s);
  }
  create("high0");
  EXPECT_TRUE(within(30s, [&] { return bound("high0"); })) << cluster().verdict();
  EXPECT_EQ(gone({"low0", "low1", "mid0", "mid1"}), (Names{"low1"}));
  EXPECT_EQ(writes("preemption/preempt"), 1u);
}

// CPU alone: only where a taint keeps pods of other schedulers away.
TEST_F(Preemption, APodWithoutClaimsTakesPlaceOnlyOnATaintedNode) {
  begin_preempting(1);
  fill_cpu({"low0", "low1"});
  create_cpu("high0", "30");
  EXPECT_TRUE(never([&] { return gone({"low0", "low1"}).size() > 0; }, 60s));
  EXPECT_TRUE(reasons().contains("PreemptionAdvised"));
  api().merge(Api::path("Node", "n0"),
              {{"spec", {{"taints", {{{"key", "ours"}, {"value", "y"}, {"effect", "NoSchedule"}}}}}}});
  EXPECT_TRUE(within(60s, [&] { return bound("high0"); })) << cluster().verdict();
  EXPECT_EQ(gone({"low0", "low1"}).size(), 1u);
}

TEST_F(Preemption, WhereOthersAllocateTheDriverNobodyIsEvicted) {
  begin_preempting(1);
  fill({"low0", "low1", "low2"});
  api().create(claim("foreign"));
  allocate("foreign", allocation("n0", {"gpu-3"}, now()), nullptr);
  create("high0");
  EXPECT_TRUE(never([&] { return gone({"low0", "low1", "low2"}).size() > 0; }, 60s));
  EXPECT_TRUE(reasons().contains("PreemptionAdvised"));
}

// A budget is a preference: the set that breaks none goes, though its pods are younger by rank.
TEST_F(Preemption, BudgetsAreSparedWhereASetBreaksNone) {
  begin_preempting(1);
  fill({"low0", "low1", "mid0", "mid1"});
  for (const char* name : {"low0", "low1"})
    api().merge(Api::path("Pod", name), {{"metadata", {{"labels", {{"app", "spared"}}}}}});
  api().create({{"apiVersion", "policy/v1"},
                {"kind", "PodDisruptionBudget"},
                {"metadata", {{"name", "spared"}, {"namespace", "default"}}},
                {"spec", {{"minAvailable", 2}, {"selector", {{"matchLabels", {{"app", "spared"}}}}}}}});
  pass(5s);
  create("high0");
  EXPECT_TRUE(within(20s, [&] { return bound("high0"); })) << cluster().verdict();
  EXPECT_EQ(gone({"low0", "low1", "mid0", "mid1"}), (Names{"mid1"}));
}

// The preemptor goes after its promise is written and before anybody is evicted: the promise goes with it.
TEST_F(Preemption, APreemptorThatIsDeletedTakesItsPromiseAlong) {
  begin_preempting(1);
  fill({"low0", "low1", "low2", "low3"});
  block_proofs();
  create("high0");
  ASSERT_TRUE(within(20s, [&] { return get_pod("high0") && protocol::has_promise(*get_pod("high0")); }));
  api().remove_now(Api::path("Pod", "high0"));
  unblock();
  EXPECT_TRUE(never([&] { return gone({"low0", "low1", "low2", "low3"}).size() > 0; }, 30s));
}

// A budget closes between the promise and the first eviction: another set is the better one now.
TEST_F(Preemption, ABudgetThatClosesMeanwhileChangesTheChoice) {
  begin_preempting(1);
  fill({"mid0", "low0", "mid1", "mid2"});
  block_proofs();
  create("high0");
  ASSERT_TRUE(within(20s, [&] { return get_pod("high0") && protocol::has_promise(*get_pod("high0")); }));
  api().merge(Api::path("Pod", "low0"), {{"metadata", {{"labels", {{"app", "spared"}}}}}});
  api().create({{"apiVersion", "policy/v1"},
                {"kind", "PodDisruptionBudget"},
                {"metadata", {{"name", "spared"}, {"namespace", "default"}}},
                {"spec", {{"minAvailable", 1}, {"selector", {{"matchLabels", {{"app", "spared"}}}}}}}});
  pass(3s);
  unblock();
  EXPECT_TRUE(within(30s, [&] { return bound("high0"); })) << cluster().verdict();
  EXPECT_EQ(gone({"mid0", "low0", "mid1", "mid2"}), (Names{"mid2"}));
}

// A device becomes free while the promise stands and nobody has gone: it is used, and nobody goes.
TEST_F(Preemption, WhoFitsWithoutEvictionsGoesThere) {
  begin_preempting(1);
  fill({"low0", "low1", "low2", "low3"});
  block_proofs();
  create("high0");
  ASSERT_TRUE(within(20s, [&] { return get_pod("high0") && protocol::has_promise(*get_pod("high0")); }));
  api().remove_now(Api::path("Pod", "low0"));
  pass(2s);
  unblock();
  EXPECT_TRUE(within(30s, [&] { return bound("high0"); })) << cluster().verdict();
  EXPECT_EQ(gone({"low1", "low2", "low3"}), Names{});
}

// What somebody else wrote into the status is a proposal, and what does not follow from the rules evicts nobody.
TEST_F(Preemption, AForgedPromiseEvictsNobodyAndHoldsNothing) {
  begin_preempting(1);
  fill({"high0", "high1", "high2"});
  create("low0");
  ASSERT_TRUE(soon([&] { return bound("low0"); }));
  create("low1");
  pass(3s);
  for (
      const std::string& forged :
      {std::string("not JSON"),
       std::string(R"({"node":"n0","since":"2000-01-01T00:00:00Z","victims":["default/high0/)") +
           get_pod("high0")->metadata.uid +
           R"("],"victimClaims":[],"allocations":{"default/x":{"devices":{"results":[{"request":"gpu","driver":"gpu.example.com","pool":"n0","device":"gpu-0"}]}}}})"}) {
    Json status = api().get(Api::path("Pod", "low1"))["status"];
    status["conditions"].push_back({{"type", std::string(protocol::kPromiseCondition)},
                                    {"status", "True"},
                                    {"reason", "Promised"},
                                    {"message", forged}});
    api().merge(Api::path("Pod", "low1") + "/status", {{"status", {{"conditions", status["conditions"]}}}});
    pass(10s);
    EXPECT_EQ(gone({"high0", "high1", "high2", "low0"}), Names{});
  }
  // A pod that may use the device gets it.
  api().remove_now(Api::path("Pod", "high0"));
  EXPECT_TRUE(within(20s, [&] { return bound("low1"); })) << cluster().verdict();
}

// ---- two managers that both lead

struct Meeting {
  size_t twice = 0;    // moments at which one device was promised to two pods, proven both times
  size_t victims = 0;  // evicted for the pods
  size_t ended = 0;    // promises that were withdrawn
  std::string left;    // what is wrong at the end
};

// Four pods of one priority for eight devices that pods of low priority have.
Meeting meet(uint64_t seed, bool prove) {
  ClusterOptions options;
  options.seed = seed;
  options.components.scheduler_allocates = false;
  options.nodes = 1;
  options.devices = 8;
  Cluster cluster(options);
  SeededRandom chance(seed);
  start_two_leaders(cluster, chance, seed, prove);
  std::vector<std::string> low, high;
  for (int i = 0; i < 8; ++i) {
    low.push_back("low" + std::to_string(i));
    cluster.api().create(pod_of_rank(low.back(), {from_template("gpu", "one-gpu")}));
  }
  const auto bound = [&](const std::vector<std::string>& pods) {
    return std::all_of(pods.begin(), pods.end(), [&](const std::string& name) {
      const auto known = cluster.watchdog().pod("default/" + name);
      return known && !known->node_name.empty();
    });
  };
  Meeting met;
  if (!cluster.eventually([&] { return bound(low); }, 120s)) met.left = "the low ones are not bound";
  for (int i = 0; i < 4; ++i) {
    high.push_back("high" + std::to_string(i));
    cluster.api().create(pod_of_rank(high.back(), {from_template("gpu", "one-gpu")}));
  }
  const auto look = [&] {
    std::map<std::string, size_t> owners;  // by device
    for (const std::string& name : high) {
      const auto known = cluster.watchdog().pod("default/" + name);
      if (!known || !known->node_name.empty()) continue;
      const auto promise = protocol::promise_of(*known);
      // Without the rule a promise counts as soon as it is written.
      if (!promise || !*promise || (prove && !(*promise)->proven)) continue;
      for (const auto& [claim, allocation] : (*promise)->allocations)
        for (const auto& result : allocation.results) ++owners[result.device];
    }
    for (const auto& [device, count] : owners) met.twice += count > 1;
    return bound(high);
  };
  if (!cluster.eventually(look, 300s, 20ms)) met.left = "the high ones are not bound: " + cluster.verdict();
  for (const std::string& name : low) met.victims += !cluster.watchdog().pod("default/" + name);
  for (const char* name : {"a", "b"}) {
    const auto& seen = cluster.process(name).guard().seen();
    met.ended += seen.contains("preemption/end-promise") ? seen.at("preemption/end-promise") : 0;
  }
  if (met.left.empty()) {
    VerdictOptions waiting;
    met.left = cluster.verdict(waiting);
  }
  return met;
}

TEST(TwoPromises, PromiseEachDeviceOnceAndEvictNobodyInVain) {
  size_t ended = 0;
  const std::vector<uint64_t> chosen = seeds("DRA_PROMISE_SEEDS", 4);
  for (const uint64_t seed : chosen) {
    SCOPED_TRACE(seed);
    const Meeting met = meet(seed, true);
    EXPECT_EQ(met.twice, 0u);
    EXPECT_EQ(met.victims, 4u);
    EXPECT_EQ(met.left, "");
    ended += met.ended;
  }
  if (chosen.size() >= 4) {
    EXPECT_GT(ended, 0u) << "the two never met: this run proved nothing";
  }
}

// The same without the proof (T2): somebody is evicted in vain, or a device is promised twice.
TEST(TwoPromises, WithoutTheProofTheCounterExampleIsFound) {
  if (from_environment("DRA_COUNTER_EXAMPLES", 3) == 0) GTEST_SKIP() << "DRA_COUNTER_EXAMPLES=0";
  if (!real_programs().empty()) GTEST_SKIP() << "its delays need simulated time";
  size_t wrong = 0;
  for (uint64_t seed = 1; seed <= 12 && wrong == 0; ++seed) {
    const Meeting met = meet(seed, false);
    std::printf("seed %llu: promised twice at %zu moments, %zu victims\n", static_cast<unsigned long long>(seed),
                met.twice, met.victims);
    wrong += met.twice > 0 && met.victims > 4;
  }
  EXPECT_GT(wrong, 0u);
}

}  // namespace dra::integration::preemption_test
