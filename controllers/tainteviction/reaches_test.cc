// The counts that follow events against one pass over everything.
#include "controllers/tainteviction/reaches.h"

#include <iostream>

#include "controllers/tainteviction/tainteviction_fixture.h"
#include "pkg/base/random.h"
#include "test/support/cpu_millis.h"

namespace dra::tainteviction::reaches_test {

using namespace protocol;
using namespace reconcile;

api::DeviceTaintRule rule(const std::string& name, const std::string& effect = "NoExecute") {
  return rule_of(name, {"broken", "yes", effect, "2026-01-01T00:00:00Z"});
}

api::ResourceClaim claim(const std::string& ns, const std::string& name, const std::string& device,
                         const std::string& pod) {
  api::ResourceClaim made = test::named<api::ResourceClaim>(name);
  made.metadata.ns = ns;
  made.status.allocation.emplace();
  made.status.allocation->results.push_back({"r", kDriver, kPool, device});
  made.status.reserved_for = {{"", "pods", pod, ns + "-" + pod + "-uid"}};
  return made;
}

api::Pod pod_of(const std::string& ns, const std::string& name, const std::string& claim) {
  api::Pod made = test::named<api::Pod>(name);
  made.metadata.ns = ns;
  made.metadata.uid = ns + "-" + name + "-uid";
  made.node_name = "n";
  made.phase = "Running";
  made.resource_claims = {{"r", claim, std::nullopt}};
  return made;
}

using test::cpu_millis;

TEST(Reaches, FollowEveryChange) {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    SeededRandom random(seed);
    const auto pick = [&](std::vector<std::string> of) { return of[random.below(of.size())]; };
    Cluster cluster;
    Reaches reaches;
    std::map<std::string, api::DeviceTaintRule> rules;
    for (int step = 0; step < 120; ++step) {
      const std::string ns = pick({"x", "y"}), number = pick({"0", "1", "2", "3"});
      switch (random.below(5)) {
        case 0: {
          api::ResourceClaim made = claim(ns, "c" + number, pick({"d0", "d1"}), "p" + pick({"0", "1", "2", "3"}));
          if (random.below(4) == 0) made.status = {};
          if (made.status.allocation && random.below(3) == 0)
            made.status.allocation->results[0].tolerations = {{"broken", "Exists", "", "NoExecute", std::nullopt}};
          cluster.put(made);
          reaches.changed(cluster.view, made);
          break;
        }
        case 1: {
          api::Pod made = pod_of(ns, "p" + number, "c" + pick({"0", "1", "2", "3"}));
          if (random.below(5) == 0) made.phase = "Succeeded";
          cluster.put(made);
          reaches.changed(made);
          break;
        }
        case 2:
          if (const auto pod = cluster.view.pods.find(ns + "/p" + number); pod != cluster.view.pods.end()) {
            const api::Pod gone = pod->second;
            cluster.remove_pod(ns + "/p" + number);
            reaches.changed(gone);
          }
          break;
        case 3:
          if (const auto known = cluster.view.claims.find(ns + "/c" + number); known != cluster.view.claims.end()) {
            const api::ResourceClaim gone = known->second;
            cluster.remove_claim(ns + "/c" + number);
            reaches.changed(cluster.view, gone);
          }
          break;
        default: {
          const std::string name = pick({"a", "b"});
          api::DeviceTaintRule made = rule(name, pick({"NoExecute", "NoExecute", "None"}));
          if (random.below(2) == 0) made.device = pick({"d0", "d1"});
          made.metadata.generation = rules.contains(name) ? rules[name].metadata.generation + 1 : 1;
          cluster.put(made);
          rules[name] = made;
        }
      }
      if (random.below(2) == 0) continue;
      for (const auto& [name, one] : rules) {
        const std::optional<Reach> counted = reaches.of(cluster.view, cluster.inventory, one);
        const Reach whole = reach_of(cluster.view, cluster.inventory, one, one.taint.effect == "None");
        ASSERT_TRUE(counted);
        ASSERT_EQ(counted->pods, whole.pods) << "seed " << seed << ", step " << step;
        ASSERT_EQ(counted->namespaces, whole.namespaces) << "seed " << seed << ", step " << step;
        if (one.taint.effect == "None") {
          ASSERT_EQ(counted->allocated_devices, whole.allocated_devices) << "seed " << seed << ", step " << step;
        }
      }
    }
  }
}

TEST(Reaches, ManyPodsAreCountedInPortionsAndThenOnlyWhatChanges) {
  constexpr int kPods = 2'500;
  Cluster cluster;
  for (int i = 0; i < kPods; ++i) {
    const std::string number = std::to_string(i);
    cluster.put(claim("x", "c" + number, "d" + number, "p" + number));
    cluster.put(pod_of("x", "p" + number, "c" + number));
  }
  const api::DeviceTaintRule one = rule("a");
  cluster.put(one);
  // The rule came: each pod is enqueued, in portions.
  EXPECT_EQ(cluster.portions, kPods / ClaimsOfRule::kAtOnce);
  EXPECT_LE(cluster.most_keys_at_once, ClaimsOfRule::kAtOnce + 1) << "and the rule's own key";
  for (int i = 0; i < kPods; ++i)
    ASSERT_TRUE(cluster.ready.contains(reconcile::pod_key("x/p" + std::to_string(i)))) << i;
  Reaches reaches;
  int portions = 1;
  while (!reaches.of(cluster.view, cluster.inventory, one)) ++portions;
  EXPECT_GE(portions, 3);
  double before = cpu_millis();
  EXPECT_EQ(reach_of(cluster.view, cluster.inventory, one, false).pods, size_t{kPods});
  const double whole = cpu_millis() - before;
  before = cpu_millis();
  for (int i = 0; i < 100; ++i) {
    const std::string key = "x/p" + std::to_string(i);
    const api::Pod gone = cluster.view.pods.at(key);
    cluster.remove_pod(key);
    reaches.changed(gone);
    ASSERT_EQ(reaches.of(cluster.view, cluster.inventory, one)->pods, static_cast<size_t>(kPods - 1 - i));
  }
  const double each = (cpu_millis() - before) / 100;
  std::cout << "one pass: " << whole << " ms; after a change: " << each << " ms\n";
  EXPECT_LT(each * 10, whole);
}

TEST(Reaches, WhatNobodyAsksAboutIsForgotten) {
  Cluster cluster;
  const api::DeviceTaintRule one = rule("a");
  cluster.put(one);
  Reaches reaches;
  ASSERT_TRUE(reaches.of(cluster.view, cluster.inventory, one));
  for (size_t i = 0; i < 2 * Reaches::kMostStale; ++i) reaches.changed(pod_of("x", "p" + std::to_string(i), "c"));
  EXPECT_TRUE(reaches.of(cluster.view, cluster.inventory, one)) << "counted anew, in one portion";
}

}  // namespace dra::tainteviction::reaches_test
