// DeviceTaintRules: the status that upstream writes, evictions by rules, and the guard against many of them.
#include <nlohmann/json.hpp>

#include "controllers/tainteviction/rules.h"
#include "controllers/tainteviction/tainteviction_fixture.h"
#include "pkg/base/timestamp.h"

namespace dra::tainteviction::rules_test {

using namespace protocol;
using namespace reconcile;
using namespace std::chrono_literals;

class TaintRules : public TaintEviction {
 protected:
  explicit TaintRules(Options options = {}) : TaintEviction(options) {}

  api::DeviceTaintRule rule(const std::string& effect = "NoExecute", const std::string& name = "r") {
    return rule_of(name, taint(now - 1s, effect));
  }
  // Pod number i has its own claim on its own device, in one of two namespaces.
  void put_pods(int count, std::vector<api::DeviceToleration> tolerations = {}) {
    for (int i = 0; i < count; ++i) {
      const std::string number = std::to_string(i), ns = i % 2 == 0 ? "even" : "odd";
      api::ResourceClaim held = claim(tolerations, "gpu-" + number);
      held.metadata.ns = ns;
      held.metadata.name = "c" + number;
      held.metadata.uid = held.metadata.name + "-uid";
      held.status.reserved_for = {{"", "pods", "p" + number, "p" + number + "-uid"}};
      api::Pod holder = pod("p" + number);
      holder.metadata.ns = ns;
      holder.resource_claims = {{"gpu", held.metadata.name, std::nullopt}};
      cluster.put(held);
      cluster.put(holder);
    }
  }
  const api::Condition& condition(const std::string& name = "r") {
    static const api::Condition none;
    const auto& conditions = cluster.view.rules.at(name).conditions;
    return conditions.empty() ? none : conditions.front();
  }
  std::string said(const std::string& name = "r") {
    const api::Condition& c = condition(name);
    return c.status + "/" + c.reason + ": " + c.message;
  }
  size_t evicted() {
    size_t count = 0;
    for (const Write& write : cluster.writes) count += write.purpose == "evict";
    return count;
  }
};

// More claims than one reconcile visits: the next one goes on if it is handed the same state.
TEST_F(TaintRules, TheCountOfARuleGoesOnInTheStateThatIsHandedIn) {
  put_pods(static_cast<int>(Reaches::kClaimPortions * ClaimsOfRule::kAtOnce) + 100);
  cluster.put(rule());
  const TaintEvictionReconciler reconciler({}, cluster.inventory);
  tainteviction::State one, other;
  const Key key{Kind::kTaintRule, "r"};
  EXPECT_TRUE(reconciler.reconcile(key, cluster.view, one).goes_on);
  EXPECT_FALSE(reconciler.reconcile(key, cluster.view, one).goes_on);
  EXPECT_TRUE(reconciler.reconcile(key, cluster.view, other).goes_on);
}

TEST_F(TaintRules, EvictsFromDevicesThatNobodyPublishes) {
  put_pods(1);
  cluster.put(rule());
  cluster.settle();
  EXPECT_EQ(evicted(), 1u);
  EXPECT_EQ(cluster.notes.at(0),
            "Marking for deletion: device drv/node-1/gpu-0 of claim even/c0 has the taint broken=yes:NoExecute by "
            "DeviceTaintRule r");
}

TEST_F(TaintRules, SelectsByEachNameThatItGives) {
  put_pods(1);
  struct Case {
    std::optional<std::string> driver, pool, device;
    bool has_selector, hits;
  };
  const Case cases[] = {{{}, {}, {}, true, true},
                        {{}, {}, {}, false, false},
                        {kDriver, {}, {}, true, true},
                        {"other", {}, {}, true, false},
                        {{}, kPool, {}, true, true},
                        {{}, "other", {}, true, false},
                        {{}, {}, "gpu-0", true, true},
                        {{}, {}, "gpu-1", true, false},
                        {kDriver, kPool, "gpu-0", true, true},
                        {kDriver, kPool, "gpu-1", true, false}};
  for (const Case& one : cases) {
    api::DeviceTaintRule made = rule();
    made.driver = one.driver, made.pool = one.pool, made.device = one.device, made.has_selector = one.has_selector;
    cluster.inventory.apply_taint_rule(made);
    EXPECT_EQ(judge(cluster.view, cluster.inventory, cluster.view.pods.at("even/p0")).has_value(), one.hits)
        << one.driver.value_or("*") << "/" << one.pool.value_or("*") << "/" << one.device.value_or("*");
  }
}

// In the words of kube-controller-manager 1.36.2.
TEST_F(TaintRules, StatusOfEachEffect) {
  cluster.put(slice({}));
  put_pods(3);
  cluster.put(rule("None", "none"));
  cluster.put(rule("NoSchedule", "other"));
  cluster.put(rule("Newer", "unknown"));
  api::DeviceTaintRule nothing = rule("NoExecute", "without");
  nothing.has_selector = false;
  cluster.put(nothing);
  nothing = rule("NoExecute", "tombstone");
  nothing.has_selector = false;
  nothing.unknown_selector = "deviceClassName";
  cluster.put(nothing);
  cluster.settle();
  EXPECT_EQ(said("none"),
            "False/NoEffect: 2 published devices selected. 3 allocated devices selected. 3 pods would be evicted in 2 "
            "different namespaces if the effect was NoExecute. This information will not be updated again. Recreate "
            "the DeviceTaintRule to trigger an update.");
  EXPECT_EQ(said("other"), "False/OtherEffect: Eviction only happens for the NoExecute effect.");
  EXPECT_EQ(said("unknown"), said("other"));
  EXPECT_EQ(said("without"),
            "False/NotStarted: The rule selects no device: it has no deviceSelector ({} selects every device).");
  EXPECT_EQ(said("tombstone"),
            "False/NotStarted: The rule selects no device: its deviceSelector has the field \"deviceClassName\", which "
            "this version does not know.");
  EXPECT_EQ(evicted(), 0u);
  const size_t writes = cluster.writes.size();
  cluster.advance(1h);
  EXPECT_EQ(cluster.writes.size(), writes) << "nothing is said twice";
}

TEST_F(TaintRules, StatusFollowsTheEvictions) {
  put_pods(2, {tolerate(60)});
  api::DeviceTaintRule made = rule();
  made.taint.time_added = format_rfc3339(now);
  cluster.put(made);
  cluster.settle();
  EXPECT_EQ(said(), "True/PodsPendingEviction: 2 pods need to be evicted in 2 different namespaces.");
  EXPECT_EQ(condition().observed_generation, 1);
  cluster.advance(61s);
  EXPECT_EQ(evicted(), 2u);
  cluster.advance(10s);
  EXPECT_EQ(said(), "False/Completed: 2 pods evicted since starting the controller.");
  // A completed rule stays completed for the next process.
  cluster.restart();
  cluster.advance(10s);
  EXPECT_EQ(condition().reason, "Completed");
  EXPECT_EQ(evicted(), 2u);
}

TEST_F(TaintRules, FiguresAreWrittenEveryTenSecondsAtMost) {
  put_pods(5, {tolerate(60)});
  cluster.put(rule());
  cluster.settle();
  const size_t writes = cluster.writes.size();
  for (int i = 0; i < 5; ++i) {
    cluster.remove_pod(i % 2 == 0 ? "even/p" + std::to_string(i) : "odd/p" + std::to_string(i));
    cluster.advance(1s);
  }
  EXPECT_EQ(cluster.writes.size(), writes);
  cluster.advance(10s);
  EXPECT_EQ(cluster.writes.size(), writes + 1);
  EXPECT_EQ(condition().reason, "Completed");
}

// When the effect becomes NoExecute, what the simulation said happens.
TEST_F(TaintRules, TheSimulationEqualsWhatThenHappens) {
  cluster.put(slice({}));
  put_pods(40);
  put_pods(7, {tolerate(std::nullopt)});  // these tolerate it forever
  api::Pod finished = cluster.view.pods.at("even/p38");
  finished.phase = "Succeeded";
  cluster.put(finished);
  api::DeviceTaintRule made = rule("None");
  cluster.put(made);
  cluster.settle();
  const Reach reach = reach_of(cluster.view, cluster.inventory, made, true);
  EXPECT_EQ(reach.pods, 32u);
  EXPECT_TRUE(said().find(" 32 pods would be evicted in 2 different namespaces") != std::string::npos) << said();
  made = cluster.view.rules.at("r");
  made.metadata.generation = 2;
  made.taint.effect = "NoExecute";
  cluster.put(made);
  cluster.settle();
  EXPECT_EQ(evicted(), 32u);
  cluster.advance(20s);
  EXPECT_EQ(said(), "False/Completed: 32 pods evicted since starting the controller.");
}

TEST_F(TaintRules, ARuleThatGoesCallsItOff) {
  put_pods(1, {tolerate(60)});
  cluster.put(rule());
  EXPECT_NE(cluster.settle().find(kAnnounced), std::string::npos);
  cluster.remove_rule("r");
  EXPECT_EQ(cluster.settle(), kCalledOff);
  cluster.advance(1h);
  EXPECT_EQ(evicted(), 0u);
}

TEST_F(TaintRules, TwoRulesAreBothCreditedWithAPodOnce) {
  put_pods(1);
  cluster.put(rule("NoExecute", "a"));
  cluster.put(rule("NoExecute", "b"));
  cluster.settle();
  EXPECT_EQ(evicted(), 1u);
  cluster.advance(20s);
  EXPECT_EQ(said("a"), "False/Completed: 1 pod evicted since starting the controller.");
  EXPECT_EQ(said("b"), said("a"));
}

class GuardedRules : public TaintRules {
 protected:
  static Options guarded() {
    Options options;
    options.max_evictions_per_rule = 3;
    return options;
  }
  GuardedRules() : TaintRules(guarded()) {}
};

TEST_F(GuardedRules, UpToTheLimitNobodyIsAsked) {
  put_pods(3);
  cluster.put(rule());
  cluster.settle();
  EXPECT_EQ(evicted(), 3u);
  // The status says so before the first pod is evicted.
  EXPECT_EQ(cluster.writes.front().purpose, "rule-status");
}

TEST_F(GuardedRules, BeyondItARuleWaitsForItsAnnotation) {
  put_pods(4);
  cluster.put(rule());
  cluster.settle();
  EXPECT_EQ(said(),
            "False/WaitsForApproval: 4 pods would be evicted, 4 of them now in 2 different namespaces, which is more "
            "than --max-evictions-per-rule=3. To let the evictions begin, set the annotation "
            "dra-controller-manager/allow-evictions=1 on this rule.");
  cluster.restart();
  cluster.advance(1h);
  EXPECT_EQ(evicted(), 0u);
  api::DeviceTaintRule made = cluster.view.rules.at("r");
  made.metadata.annotations[std::string(kAllowEvictions)] = "7";
  cluster.put(made);
  cluster.advance(20s);
  EXPECT_EQ(evicted(), 0u) << "allowed is a generation, not every one";
  made = cluster.view.rules.at("r");
  made.metadata.annotations[std::string(kAllowEvictions)] = "1";
  cluster.put(made);
  cluster.settle();
  EXPECT_EQ(evicted(), 4u);
  cluster.advance(20s);
  EXPECT_EQ(said(), "False/Completed: 4 pods evicted since starting the controller.");
}

// A kube-scheduler that ignores rules hands the same devices out again: evictions do not go on without end.
TEST_F(GuardedRules, PodsThatComeOneByOneCountTogether) {
  cluster.put(rule());
  for (int i = 0; i < 6; ++i) {
    put_pods(1);
    cluster.advance(20s);
    if (cluster.view.pods.contains("even/p0")) cluster.remove_pod("even/p0");
    cluster.advance(20s);
  }
  EXPECT_EQ(evicted(), 3u);
}

// The watch of pods may lag: the status was written for the pods known then.
TEST_F(GuardedRules, PodsThatAreSeenLateDoNotGoByAnOldStatus) {
  put_pods(3);
  cluster.put(rule());
  cluster.settle();
  ASSERT_EQ(evicted(), 3u);
  ASSERT_TRUE(said().starts_with("True/")) << said();
  put_pods(6);
  cluster.settle();
  EXPECT_EQ(evicted(), 3u);
  cluster.advance(20s);
  EXPECT_EQ(evicted(), 3u);
  EXPECT_TRUE(said().starts_with("False/WaitsForApproval: ")) << said();
}

TEST_F(GuardedRules, ATaintOfTheSliceAsksNobody) {
  put_pods(4);
  cluster.put(rule());
  cluster.settle();
  api::ResourceSlice made = slice({});
  made.devices[0].name = "gpu-0";
  made.devices[0].taints = {taint(now)};
  cluster.put(made);
  cluster.settle();
  EXPECT_EQ(evicted(), 1u);
}

}  // namespace dra::tainteviction::rules_test
