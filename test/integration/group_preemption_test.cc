// Groups that take the place of others in bind mode (--preemption=on): one promise for all members, kept or dropped as
// a whole. The manager killed at each of its writes: the scenario "grouppreemption" of integration_crash_test.
#include <gtest/gtest.h>

#include "pkg/protocol/promise.h"
#include "test/integration/groups.h"
#include "test/integration/preempting.h"

namespace dra::integration::group_preemption_test {

using namespace std::chrono_literals;

class GroupPreemption : public Preempting {
 protected:
  void create_member(const std::string& name, size_t min_count, const std::string& group = "gang") {
    api().create(member_of_job(pod_of_rank(name, {from_template("gpu", "one-gpu")}), group, min_count));
  }
  void create_group(const Names& members) {
    for (const std::string& name : members) create_member(name, members.size());
  }
  bool all_bound(const Names& names) {
    return std::all_of(names.begin(), names.end(), [&](const std::string& name) { return bound(name); });
  }
  Names with_promise(const Names& names) {
    Names some;
    for (const std::string& name : names)
      if (const auto known = get_pod(name); known && protocol::has_promise(*known)) some.push_back(name);
    return some;
  }
  protocol::Promise promise_among(const Names& names) {
    const Names holders = with_promise(names);
    EXPECT_EQ(holders.size(), 1u);
    if (holders.empty()) return {};
    auto read = protocol::promise_of(*get_pod(holders.front()));
    EXPECT_TRUE(read && *read);
    return read && *read ? **read : protocol::Promise{};
  }
  void hold(const std::string& name) {
    api().merge(Api::path("Pod", name), {{"metadata", {{"finalizers", {"example.com/slow"}}}}});
  }
  void release(const std::string& name) {
    api().merge(Api::path("Pod", name), {{"metadata", {{"finalizers", nullptr}}}});
  }
  // The group has a promise, in the status of `owner`, which the server does not let be proven.
  void begin_with_a_promise(const Names& low, std::string& owner) {
    begin_preempting(2);
    fill(low);
    block_proofs();
    create_group(high_);
    ASSERT_TRUE(within(20s, [&] { return !with_promise(high_).empty(); }));
    owner = with_promise(high_).front();
  }
  // Deletes the member that has the promise, or another one, before anybody was evicted. With its successor the group
  // chooses again.
  void lose_a_member(bool holder) {
    const Names low = numbered("low", 0, 8);
    std::string owner;
    begin_with_a_promise(low, owner);
    const std::string other = owner == "high0" ? "high1" : "high0";
    api().remove_now(Api::path("Pod", holder ? owner : other));
    unblock();
    EXPECT_TRUE(never([&] { return !gone(low).empty(); }, 30s));
    EXPECT_EQ(with_promise(high_), Names{});
    // Nothing is kept for it meanwhile.
    api().remove_now(Api::path("Pod", "low0"));
    create("low8");
    EXPECT_TRUE(soon([&] { return bound("low8"); })) << cluster().verdict();
    create_member("high4", 4);
    Names now = numbered("high", 0, 5);
    std::erase(now, holder ? owner : other);
    EXPECT_TRUE(within(90s, [&] { return all_bound(now); })) << cluster().verdict();
    EXPECT_EQ(writes("preemption/preempt"), 4u);
  }
  static Names numbered(const std::string& rank, size_t from, size_t to) {
    Names names;
    for (size_t i = from; i < to; ++i) names.push_back(rank + std::to_string(i));
    return names;
  }
  const Names high_ = numbered("high", 0, 4);
};

TEST_F(GroupPreemption, TakesPlacesOnSeveralNodesWithOnePromise) {
  begin_preempting(2);
  const Names low = numbered("low", 0, 4), mid = numbered("mid", 0, 4);
  fill({"low0", "mid0", "mid1", "low1", "low2", "mid2", "mid3", "low3"});
  create_group(high_);
  EXPECT_TRUE(within(60s, [&] { return all_bound(high_); })) << cluster().verdict();
  EXPECT_EQ(gone(low), low);
  EXPECT_EQ(gone(mid), Names{});
  EXPECT_EQ(writes("preemption/promise"), 1u);
  EXPECT_EQ(writes("preemption/preempt"), 4u);
  EXPECT_EQ(reasons_of("Preempt"), (std::set<std::string>{"Preempted", "Preempting"}));
  EXPECT_TRUE(soon([&] { return with_promise(high_).empty(); })) << "it ends with the last binding";
  EXPECT_EQ(cluster().verdict(), "");
}

// The minimum counts: the promise is for two. Once these run the others join one by one, each for itself.
TEST_F(GroupPreemption, ThePromiseIsForTheMinimum) {
  begin_preempting(1);
  const Names low = numbered("low", 0, 4);
  fill(low);
  block_proofs();
  for (const std::string& name : high_) create_member(name, 2);
  ASSERT_TRUE(within(20s, [&] { return !with_promise(high_).empty(); }));
  const protocol::Promise promise = promise_among(high_);
  EXPECT_EQ(promise.places.size(), 2u);
  EXPECT_EQ(promise.victims.size(), 2u);
  EXPECT_EQ(promise.allocations.size(), 2u);
  unblock();
  EXPECT_TRUE(within(120s, [&] { return all_bound(high_); })) << cluster().verdict();
  EXPECT_EQ(writes("preemption/preempt"), 4u);
}

TEST_F(GroupPreemption, WithoutEnoughPlacesNobodyGoes) {
  begin_preempting(1);
  fill({"low0", "low1", "high8", "high9"});
  create_group(numbered("high", 0, 3));
  EXPECT_TRUE(never([&] { return gone({"low0", "low1"}).size() > 0; }, 120s));
  EXPECT_EQ(writes("preemption/promise"), 0u);
}

// What is not judged here: the manager says so, and evicts nobody.
TEST_F(GroupPreemption, AGroupInOneDomainGetsAdvice) {
  begin_preempting(1);
  fill(numbered("low", 0, 4));
  for (const std::string& name : high_) {
    Json made = member_of_job(pod_of_rank(name, {from_template("gpu", "one-gpu")}), "gang", high_.size());
    made["metadata"]["annotations"]["dra-controller-manager/topology-required"] = "kubernetes.io/hostname";
    api().create(made);
  }
  EXPECT_TRUE(never([&] { return gone(numbered("low", 0, 4)).size() > 0; }, 60s));
  EXPECT_TRUE(reasons().contains("PreemptionAdvised"));
}

// Victims that stay for long: nobody else goes, and what the others left is the group's.
TEST_F(GroupPreemption, WhatIsFreedIsKeptUntilTheLastVictimHasGone) {
  begin_preempting(2);
  const Names low = numbered("low", 0, 8);
  fill(low);
  hold("low7");
  create_group(high_);
  ASSERT_TRUE(within(60s, [&] { return gone(low).size() == 4; })) << cluster().verdict();
  const protocol::Promise promise = promise_among(high_);
  EXPECT_TRUE(promise.proven);
  EXPECT_EQ(promise.places.size(), 4u);
  const Names victims = gone(low);
  ASSERT_EQ(std::count(victims.begin(), victims.end(), "low7"), 1) << "the youngest";
  create("high9");
  for (const std::string& name : numbered("low", 8, 12)) create(name);
  pass(30s);
  EXPECT_EQ(gone(numbered("low", 8, 12)), Names{});
  for (const std::string& name : numbered("low", 8, 12)) EXPECT_FALSE(bound(name)) << name;
  EXPECT_FALSE(all_bound(high_));
  release("low7");
  EXPECT_TRUE(within(60s, [&] { return all_bound(high_); })) << cluster().verdict();
  EXPECT_TRUE(within(60s, [&] { return bound("high9"); })) << "for one victim of its own";
  EXPECT_EQ(gone(low).size(), 5u);
  EXPECT_EQ(writes("preemption/preempt"), 5u);
}

// CPU alone, on nodes with a taint. What two members were promised of one node does not keep a third from it.
TEST_F(GroupPreemption, MembersWithoutClaimsTakeCpu) {
  begin_preempting(2);
  for (const char* node : {"n0", "n1"})
    api().merge(Api::path("Node", node),
                {{"spec", {{"taints", {{{"key", "ours"}, {"value", "y"}, {"effect", "NoSchedule"}}}}}}});
  const Names low = numbered("low", 0, 4);
  fill_cpu(low);
  hold("low3");
  const Names high = numbered("high", 0, 3);
  for (const std::string& name : high) {
    Json made = member_of_job(pod_of_rank(name, {}), "gang", high.size());
    made["spec"]["containers"][0]["resources"]["requests"] = {{"cpu", "30"}};
    api().create(made);
  }
  ASSERT_TRUE(within(60s, [&] { return gone(low).size() == 3; })) << cluster().verdict();
  for (const std::string& name : numbered("low", 4, 7)) create_cpu(name, "20");
  pass(30s);
  for (const char* name : {"low4", "low5", "low6"}) EXPECT_FALSE(bound(name)) << name;
  release("low3");
  EXPECT_TRUE(within(60s, [&] { return all_bound(high); })) << cluster().verdict();
  EXPECT_EQ(writes("preemption/preempt"), 3u);
}

TEST_F(GroupPreemption, BudgetsAreSparedWhereASetBreaksNone) {
  begin_preempting(2);
  const Names low = numbered("low", 0, 4), mid = numbered("mid", 0, 4);
  fill({"low0", "low1", "low2", "low3", "mid0", "mid1", "mid2", "mid3"});
  for (const std::string& name : low)
    api().merge(Api::path("Pod", name), {{"metadata", {{"labels", {{"app", "spared"}}}}}});
  api().create({{"apiVersion", "policy/v1"},
                {"kind", "PodDisruptionBudget"},
                {"metadata", {{"name", "spared"}, {"namespace", "default"}}},
                {"spec", {{"minAvailable", 3}, {"selector", {{"matchLabels", {{"app", "spared"}}}}}}}});
  pass(5s);
  create_group(high_);
  EXPECT_TRUE(within(60s, [&] { return all_bound(high_); })) << cluster().verdict();
  EXPECT_EQ(gone(low).size(), 1u);
  EXPECT_EQ(gone(mid).size(), 3u);
}

// The promise is void as a whole.
TEST_F(GroupPreemption, AMemberThatIsDeletedEndsThePromise) {
  lose_a_member(false);
}

TEST_F(GroupPreemption, AMemberThatIsDeletedTakesThePromiseAlong) {
  lose_a_member(true);
}

// A member goes while the victims do: who has gone is not evicted again, and the successor's group needs no more.
TEST_F(GroupPreemption, AMemberThatIsDeletedLateCostsNobodyElse) {
  begin_preempting(2);
  const Names low = numbered("low", 0, 8);
  fill(low);
  for (const std::string& name : low) hold(name);
  create_group(high_);
  ASSERT_TRUE(within(60s, [&] { return gone(low).size() == 4; })) << cluster().verdict();
  const std::string owner = with_promise(high_).front();
  api().remove_now(Api::path("Pod", owner));
  pass(5s);
  create_member("high4", 4);
  pass(20s);
  for (const std::string& name : low) release(name);
  Names now = numbered("high", 0, 5);
  std::erase(now, owner);
  EXPECT_TRUE(within(90s, [&] { return all_bound(now); })) << cluster().verdict();
  EXPECT_EQ(gone(low).size(), 4u);
  EXPECT_EQ(writes("preemption/preempt"), 4u);
}

// A node of the promise goes: what is still possible is chosen again, and the rest of the old set stays if it can.
TEST_F(GroupPreemption, ANodeThatGoesEndsThePromise) {
  begin_preempting(3);
  const Names low = numbered("low", 0, 12);
  fill(low);
  std::map<std::string, std::string> nodes;
  for (const std::string& name : low) nodes[name] = node_of(name);
  block_proofs();
  create_group(high_);
  ASSERT_TRUE(within(20s, [&] { return !with_promise(high_).empty(); }));
  const std::string lost = promise_among(high_).places.front().node;
  api().remove_now(Api::path("Node", lost));
  pass(3s);
  unblock();
  EXPECT_TRUE(within(90s, [&] { return all_bound(high_); })) << cluster().verdict();
  for (const std::string& name : high_) EXPECT_NE(node_of(name), lost);
  for (const std::string& name : gone(low)) EXPECT_NE(nodes[name], lost);
  EXPECT_EQ(gone(low).size(), 4u);
}

// Somebody with the right to write pods/status puts the group's record on another member, or one that names pods of
// others: neither counts.
TEST_F(GroupPreemption, ARecordOfOthersPlacesIsNone) {
  const Names low = numbered("low", 0, 8);
  std::string owner;
  begin_with_a_promise(low, owner);
  const Json status = api().get(Api::path("Pod", owner))["status"];
  Json record;
  for (const Json& condition : status["conditions"])
    if (condition["type"] == std::string(protocol::kPromiseCondition)) record = condition;
  record["status"] = "True";
  create("high9");
  pass(3s);
  for (const std::string& name : {std::string(owner == "high0" ? "high1" : "high0"), std::string("high9")}) {
    Json text = Json::parse(record["message"].get<std::string>());
    text["pod"] = get_pod(name)->metadata.uid;
    Json forged = record;
    forged["message"] = text.dump();
    Json conditions = api().get(Api::path("Pod", name))["status"]["conditions"];
    conditions.push_back(forged);
    api().merge(Api::path("Pod", name) + "/status", {{"status", {{"conditions", conditions}}}});
  }
  pass(10s);
  EXPECT_LE(with_promise(high_).size(), 1u);
  unblock();
  EXPECT_TRUE(within(120s, [&] { return all_bound(high_) && bound("high9"); })) << cluster().verdict();
  EXPECT_EQ(gone(low).size(), 5u);
  EXPECT_EQ(writes("preemption/preempt"), 5u);
}

// ---- two managers that both lead

// Two groups of one priority for eight devices that pods of low priority have.
TEST(TwoLeadersOfGroups, PromiseEachDeviceOnceAndEvictNobodyInVain) {
  size_t ended = 0;
  const std::vector<uint64_t> chosen = seeds("DRA_PROMISE_SEEDS", 4);
  for (const uint64_t seed : chosen) {
    SCOPED_TRACE(seed);
    ClusterOptions options;
    options.seed = seed;
    options.components.scheduler_allocates = false;
    options.nodes = 2;
    options.devices = 4;
    Cluster cluster(options);
    SeededRandom chance(seed);
    start_two_leaders(cluster, chance, seed);
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
    ASSERT_TRUE(cluster.eventually([&] { return bound(low); }, 120s));
    for (int i = 0; i < 6; ++i) {
      high.push_back("high" + std::to_string(i));
      cluster.api().create(
          member_of_job(pod_of_rank(high.back(), {from_template("gpu", "one-gpu")}), i % 2 == 0 ? "even" : "odd", 3));
    }
    size_t twice = 0;
    const auto look = [&] {
      std::map<std::string, size_t> owners;  // by device
      std::map<std::string, size_t> groups;
      for (size_t i = 0; i < high.size(); ++i) {
        const auto known = cluster.watchdog().pod("default/" + high[i]);
        const auto promise = known ? protocol::promise_of(*known) : std::nullopt;
        if (!promise || !*promise || !(*promise)->proven || !known->node_name.empty()) continue;
        twice += ++groups[i % 2 == 0 ? "even" : "odd"] > 1;
        for (const auto& [claim, allocation] : (*promise)->allocations)
          for (const auto& result : allocation.results) ++owners[result.pool + "/" + result.device];
      }
      for (const auto& [device, count] : owners) twice += count > 1;
      return bound(high);
    };
    EXPECT_TRUE(cluster.eventually(look, 600s, 20ms)) << cluster.verdict();
    EXPECT_EQ(twice, 0u) << "proven twice";
    const auto left = std::count_if(low.begin(), low.end(),
                                    [&](const auto& name) { return cluster.watchdog().pod("default/" + name); });
    EXPECT_EQ(left, 2) << "six go for six";
    for (const char* name : {"a", "b"}) {
      const auto& seen = cluster.process(name).guard().seen();
      ended += seen.contains("preemption/end-promise") ? seen.at("preemption/end-promise") : 0;
    }
    EXPECT_EQ(cluster.verdict(VerdictOptions{}), "");
  }
  if (chosen.size() >= 4) {
    EXPECT_GT(ended, 0u) << "the two never met: this run proved nothing";
  }
}

}  // namespace dra::integration::group_preemption_test
