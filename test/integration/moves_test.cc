// Moves that are carried out (--defragment=on): who moves where, what is kept for the next pods, and what becomes of
// rivals, budgets, limits and plans that end. The manager killed at each of its writes: the scenario "moves" of
// integration_crash_test.
#include "test/integration/moving.h"

namespace dra::integration::moves_test {

using namespace std::chrono_literals;

class Moves : public Moving {
 protected:
  // "whole" fits if "m0" and "m1" move. One of them has gone, and further evictions are refused.
  bool one_of_two_moves() {
    nodes_ = 3;
    begin_moving();
    two_must_move([this](const std::string& name) { create(name); });
    allow_evictions(1);
    create("whole", "four-gpu");
    return within(20s, [&] { return all_moved().size() == 1 && gone(moved()); });
  }
};

TEST_F(Moves, OnePodMovesToThePlaceThatIsKeptForItsNextOne) {
  begin_moving();
  halve();
  create("wide", "two-gpu");
  ASSERT_TRUE(within(20s, [&] { return moved() != "" && gone(moved()); })) << note("MovesHeldBack");
  const std::string who = moved();
  const auto plan = plan_of("wide");
  ASSERT_TRUE(plan && plan->moves.size() == 1);
  EXPECT_TRUE(plan->proven);
  EXPECT_EQ(plan->moves[0].pod.key, "default/" + who);
  create(who + "-next");
  EXPECT_TRUE(within(10s, [&] { return bound("wide") && bound(who + "-next"); })) << cluster().verdict();
  EXPECT_EQ(node_of("wide"), plan->node);
  EXPECT_EQ(node_of(who + "-next"), plan->moves[0].node);
  EXPECT_NE(node_of("wide"), node_of(who + "-next"));
  EXPECT_TRUE(within(5s, [&] { return !protocol::has_promise(*get_pod("wide")); })) << "it ends when all have places";
  EXPECT_EQ(on("n0").size() + on("n1").size(), 5u);
  EXPECT_EQ(writes("defragment/move"), 1u);
  for (const char* reason : {"Moving", "Moved"}) EXPECT_TRUE(reasons().contains(reason)) << reason;
  EXPECT_NE(note("Moving").find("1 pod moves: pod default/" + who + " from node "), std::string::npos)
      << note("Moving");
  EXPECT_EQ(cluster().verdict(), "");
}

// Nobody else gets what is kept: neither before the pod leaves nor until its next one comes, and "wide" does not
// either.
TEST_F(Moves, ARivalGetsNoPlaceThatIsKept) {
  begin_moving();
  halve();
  block_evictions();
  create("wide", "two-gpu");
  ASSERT_TRUE(within(20s, [&] { return plan_of("wide").has_value(); }));
  for (const char* rival : {"r0", "r1"}) create(rival);
  EXPECT_TRUE(never([&] { return bound("r0") || bound("r1"); }, 20s));
  unblock();
  ASSERT_TRUE(soon([&] { return moved() != "" && get_pod(moved()) == nullptr; }, 60s));
  EXPECT_TRUE(within(10s, [&] { return bound("wide"); }));
  EXPECT_TRUE(never([&] { return bound("r0") || bound("r1"); }, 30s)) << "the next pod is late";
  create(moved() + "-next");
  EXPECT_TRUE(within(10s, [&] { return bound(moved() + "-next"); })) << cluster().verdict();
  EXPECT_TRUE(never([&] { return bound("r0") || bound("r1"); }, 20s)) << "all devices are taken";
  EXPECT_EQ(all_moved().size(), 1u);
  for (const char* rival : {"r0", "r1"}) api().remove_now(Api::path("Pod", rival));
  EXPECT_EQ(cluster().verdict(), "");
}

// As a Deployment does, which makes the next pod at once.
TEST_F(Moves, TheNextPodDoesNotWaitForTheOneBeforeIt) {
  begin_moving();
  halve();
  for (int i = 0; i < 8; ++i)
    if (get_pod("p" + std::to_string(i)))
      api().merge(Api::path("Pod", "p" + std::to_string(i)), {{"metadata", {{"finalizers", {"example.com/slow"}}}}});
  create("wide", "two-gpu");
  ASSERT_TRUE(within(20s, [&] { return moved() != "" && gone(moved()); }));
  const std::string who = moved();
  create(who + "-next");
  EXPECT_TRUE(within(10s, [&] { return bound(who + "-next"); }));
  EXPECT_TRUE(never([&] { return bound("wide") || writes("defragment/move") > 1; }, 60s))
      << "nobody else goes meanwhile";
  api().merge(Api::path("Pod", who), {{"metadata", {{"finalizers", nullptr}}}});
  EXPECT_TRUE(within(20s, [&] { return bound("wide"); })) << cluster().verdict();
  EXPECT_TRUE(within(5s, [&] { return !protocol::has_promise(*get_pod("wide")); }));
  for (int i = 0; i < 8; ++i)
    if (get_pod("p" + std::to_string(i)))
      api().merge(Api::path("Pod", "p" + std::to_string(i)), {{"metadata", {{"finalizers", nullptr}}}});
  EXPECT_EQ(cluster().verdict(), "");
}

// Its owner makes no other one: the place is kept for a minute, and then it is anybody's.
TEST_F(Moves, APlaceForWhichNoPodComesIsNotKeptForLong) {
  begin_moving();
  halve();
  create("wide", "two-gpu");
  ASSERT_TRUE(within(20s, [&] { return bound("wide"); }));
  create("r0");
  EXPECT_TRUE(never([&] { return bound("r0"); }, 55s));
  EXPECT_TRUE(within(10s, [&] { return bound("r0"); }));
  EXPECT_FALSE(protocol::has_promise(*get_pod("wide")));
}

// The next pod is there, but something else keeps it waiting: ten minutes.
TEST_F(Moves, APlaceThatItsNextPodCannotTakeIsNotKeptForever) {
  begin_moving();
  DRA_NEEDS_TIME(15min);
  halve();
  create("wide", "two-gpu");
  ASSERT_TRUE(within(20s, [&] { return bound("wide"); }));
  Json held = pod_that_may_move(moved() + "-next");
  held["spec"]["nodeSelector"] = {{"kubernetes.io/hostname", "elsewhere"}};
  api().create(held);
  create("r0");
  EXPECT_TRUE(never([&] { return bound("r0"); }, 9min));
  EXPECT_TRUE(within(2min, [&] { return bound("r0"); }));
  EXPECT_FALSE(protocol::has_promise(*get_pod("wide")));
}

// Two must move. The next pod of the first has its place, and ends, while the second is kept by a budget: what it had
// is anybody's then, and the plan goes on.
TEST_F(Moves, APlaceIsKeptOnce) {
  ASSERT_TRUE(one_of_two_moves());
  const std::string first = moved(), second = first == "m0" ? "m1" : "m0";
  create(first + "-next");
  ASSERT_TRUE(within(20s, [&] { return bound(first + "-next"); }));
  const std::string its_node = node_of(first + "-next");
  const std::string uid = get_pod(first + "-next")->metadata.uid;
  create("r0");
  EXPECT_TRUE(never([&] { return bound("r0"); }, 10s)) << "one place is kept for the second";
  const auto plan = plan_of("whole");
  ASSERT_TRUE(plan && plan->moves.size() == 2);
  EXPECT_TRUE(plan->proven) << "as it was";
  for (const auto& move : plan->moves) EXPECT_EQ(move.next, move.pod.key == "default/" + first ? uid : "");
  api().remove_now(Api::path("Pod", first + "-next"));
  EXPECT_TRUE(within(10s, [&] { return bound("r0"); })) << cluster().verdict();
  EXPECT_EQ(node_of("r0"), its_node);
  EXPECT_FALSE(gone(second));
  unblock();
  ASSERT_TRUE(within(30s, [&] { return gone(second); }));
  create(second + "-next");
  EXPECT_TRUE(within(30s, [&] { return bound("whole") && bound(second + "-next"); })) << cluster().verdict();
  EXPECT_TRUE(within(5s, [&] { return !protocol::has_promise(*get_pod("whole")); }));
  EXPECT_EQ(cluster().verdict(), "");
}

// The pod that waits is deleted when somebody has left for it: the next pod gets a place all the same, as there is one
// more.
TEST_F(Moves, WhoMovedFindsAPlaceWhenThePodIsDeletedMeanwhile) {
  begin_moving();
  halve();
  create("wide", "two-gpu");
  ASSERT_TRUE(within(20s, [&] { return moved() != "" && gone(moved()); }));
  api().remove_now(Api::path("Pod", "wide"));
  create(moved() + "-next");
  EXPECT_TRUE(within(10s, [&] { return bound(moved() + "-next"); }));
  EXPECT_TRUE(never([&] { return writes("defragment/move") > 1; }, 30s));
  EXPECT_EQ(cluster().verdict(), "");
}

TEST_F(Moves, TwoMoveAndEachGetsItsPlace) {
  nodes_ = 3;
  begin_moving();
  two_must_move([this](const std::string& name) { create(name); });
  create("whole", "four-gpu");
  std::set<std::string> made;
  EXPECT_TRUE(within(60s, [&] {
    for (const char* name : {"m0", "m1"})
      if (gone(name) && made.insert(name).second) create(std::string(name) + "-next");
    return bound("whole") && made.size() == 2 && bound("m0-next") && bound("m1-next");
  })) << cluster().verdict();
  EXPECT_EQ(node_of("whole"), "n0");
  EXPECT_NE(node_of("m0-next"), node_of("m1-next"));
  EXPECT_EQ(all_moved().size(), 2u);
  EXPECT_TRUE(within(5s, [&] { return !protocol::has_promise(*get_pod("whole")); }));
  EXPECT_EQ(cluster().verdict(), "");
}

// One has moved; then the pod fits where the other one would go. It goes there, and the other one stays.
TEST_F(Moves, WhoHasNotLeftStaysWhenThePodFitsInItsNewPlace) {
  ASSERT_TRUE(one_of_two_moves());
  const std::string first = moved(), second = first == "m0" ? "m1" : "m0";
  create(first + "-next");
  ASSERT_TRUE(within(20s, [&] { return bound(first + "-next"); }));
  const std::string other = node_of(first + "-next") == "n1" ? "n2" : "n1";  // where the second one would go
  for (const std::string& name : on(other)) api().remove_now(Api::path("Pod", name));
  EXPECT_TRUE(within(20s, [&] { return bound("whole"); })) << cluster().verdict();
  EXPECT_EQ(node_of("whole"), other);
  unblock();
  EXPECT_TRUE(never([&] { return gone(second); }, 30s));
  EXPECT_TRUE(soon([&] { return !protocol::has_promise(*get_pod("whole")); }));
  EXPECT_EQ(cluster().verdict(), "");
}

// A second pod waits: there is a place for whom it would need to move, but it is kept for somebody else.
TEST_F(Moves, NobodyMovesToAPlaceThatIsKept) {
  nodes_ = 3;
  begin_moving();
  for (int i = 0; i < 12; ++i) create("p" + std::to_string(i));
  const auto of = [&](const std::string& node) {
    Names names;
    for (int i = 0; i < 12; ++i)
      if (const std::string name = "p" + std::to_string(i); get_pod(name) && node_of(name) == node)
        names.push_back(name);
    return names;
  };
  ASSERT_TRUE(soon([&] { return of("n0").size() + of("n1").size() + of("n2").size() == 12; }));
  for (const char* node : {"n0", "n1", "n2"}) api().remove_now(Api::path("Pod", of(node).front()));
  pass(6s);
  create("wide", "two-gpu");
  ASSERT_TRUE(within(20s, [&] { return bound("wide") && all_moved().size() == 1 && !get_pod(moved()); }));
  create("wide2", "two-gpu");
  EXPECT_TRUE(never([&] { return all_moved().size() > 1; }, 40s));
  create(moved() + "-next");
  EXPECT_TRUE(within(20s, [&] { return bound(moved() + "-next"); }));
}

// Both flags: who waits with high priority takes the place of a pod for whom others would have moved, and its plan
// falls.
TEST_F(Moves, APodOfHigherPriorityLooksThroughAPlan) {
  begin_moving([](manager::ManagerOptions& options) { options.settings.flags["preemption"] = "on"; });
  api().merge(Api::path("Namespace", "default"),
              {{"metadata", {{"labels", {{"dra-controller-manager/preemption", "true"}}}}}});
  halve();
  block_evictions();
  create("wide", "two-gpu");
  ASSERT_TRUE(within(20s, [&] { return plan_of("wide").has_value(); }));
  for (const char* name : {"high0", "high1"}) api().create(pod_of_rank(name, {from_template("gpu", "one-gpu")}));
  EXPECT_TRUE(within(20s, [&] { return bound("high0") && bound("high1"); })) << "both devices that are free";
  EXPECT_TRUE(within(20s, [&] { return !plan_of("wide"); }));
  unblock();
  EXPECT_TRUE(never([&] { return !all_moved().empty() || writes("preemption/preempt") > 0; }, 30s));
  EXPECT_TRUE(reasons().contains("MovesEnded"));
}

// ---- what keeps everybody where he is

TEST_F(Moves, WithoutATaintNobodyMoves) {
  begin_moving({}, /*tainted=*/false);
  halve();
  create("wide", "two-gpu");
  EXPECT_TRUE(never([&] { return moved() != "" || plan_of("wide"); }, 60s));
  EXPECT_NE(note("MovesHeldBack").find("has no NoSchedule taint"), std::string::npos) << note("MovesHeldBack");
}

TEST_F(Moves, AClassThatAllowsAdviceGetsAdvice) {
  begin_moving();
  api().merge(Api::path("DeviceClass", "gpu"),
              {{"metadata", {{"annotations", {{"dra-controller-manager/defragment", "advice"}}}}}});
  halve();
  create("wide", "two-gpu");
  EXPECT_TRUE(never([&] { return moved() != "" || plan_of("wide"); }, 60s));
  EXPECT_TRUE(reasons().contains("MovesAdvised"));
}

TEST_F(Moves, ABudgetThatClosesKeepsThemUntilItOpens) {
  begin_moving();
  halve();
  block_evictions();
  create("wide", "two-gpu");
  ASSERT_TRUE(within(20s, [&] { return plan_of("wide") && plan_of("wide")->proven; }));
  const std::string who = plan_of("wide")->moves[0].pod.key.substr(8);
  api().merge(Api::path("Pod", who), {{"metadata", {{"labels", {{"app", "kept"}}}}}});
  Json budget{{"apiVersion", "policy/v1"},
              {"kind", "PodDisruptionBudget"},
              {"metadata", {{"name", "kept"}, {"namespace", "default"}}},
              {"spec", {{"minAvailable", 1}, {"selector", {{"matchLabels", {{"app", "kept"}}}}}}}};
  api().create(budget);
  pass(5s);
  unblock();
  // Another one moves now, whom no budget keeps: nobody had left yet.
  EXPECT_TRUE(within(60s, [&] { return moved() != "" && moved() != who && gone(moved()); })) << moved();
  EXPECT_FALSE(gone(who));
  create(moved() + "-next");
  EXPECT_TRUE(within(20s, [&] { return bound("wide") && bound(moved() + "-next"); })) << cluster().verdict();
  EXPECT_EQ(cluster().verdict(), "");
}

// One has moved, and then the other one's budget closes: the plan waits, and says so, until it opens.
TEST_F(Moves, ABudgetThatClosesHalfWayIsWaitedFor) {
  ASSERT_TRUE(one_of_two_moves());
  const std::string first = moved(), second = first == "m0" ? "m1" : "m0";
  create(first + "-next");
  api().merge(Api::path("Pod", second), {{"metadata", {{"labels", {{"app", "kept"}}}}}});
  api().create({{"apiVersion", "policy/v1"},
                {"kind", "PodDisruptionBudget"},
                {"metadata", {{"name", "kept"}, {"namespace", "default"}}},
                {"spec", {{"minAvailable", 1}, {"selector", {{"matchLabels", {{"app", "kept"}}}}}}}});
  ASSERT_TRUE(within(20s, [&] { return bound(first + "-next"); }));
  pass(5s);
  unblock();
  EXPECT_TRUE(never([&] { return gone(second); }, 60s));
  EXPECT_TRUE(plan_of("whole"));
  EXPECT_NE(note("MovesHeldBack").find("these have still to move: pod default/" + second), std::string::npos)
      << note("MovesHeldBack");
  api().remove_now(Api::path("PodDisruptionBudget", "kept"));
  EXPECT_TRUE(within(60s, [&] { return gone(second); }));
  create(second + "-next");
  EXPECT_TRUE(within(30s, [&] { return bound("whole") && bound(second + "-next"); })) << cluster().verdict();
  EXPECT_EQ(cluster().verdict(), "");
}

// Of a group that moves some new members would be there while others have still to leave: it stays where it is.
TEST_F(Moves, MembersOfAGroupStay) {
  nodes_ = 3;
  begin_moving();
  const Json job = api().create(
      {{"apiVersion", "batch/v1"},
       {"kind", "Job"},
       {"metadata", {{"name", "pair"}, {"namespace", "default"}}},
       {"spec",
        {{"suspend", true},
         {"podReplacementPolicy", "Failed"},
         {"template", {{"spec", {{"restartPolicy", "Never"}, {"containers", {{{"name", "c"}, {"image", "i"}}}}}}}}}}});
  const auto member = [&](const std::string& name) {
    Json made = pod_that_may_move(name);
    made["metadata"]["ownerReferences"] = {{{"apiVersion", "batch/v1"},
                                            {"kind", "Job"},
                                            {"name", "pair"},
                                            {"uid", job["metadata"]["uid"]},
                                            {"controller", true}}};
    made["metadata"]["annotations"] = {{"dra-controller-manager/group", "2"},
                                       {"dra-controller-manager/moves-per-hour", "5"}};
    api().create(made);
  };
  two_must_move(member);
  create("whole", "four-gpu");
  EXPECT_TRUE(never([&] { return !all_moved().empty() || plan_of("whole") || bound("whole"); }, 60s));
}

TEST_F(Moves, WhoMayNotMoveAnyMoreStays) {
  begin_moving();
  halve();
  block_evictions();
  create("wide", "two-gpu");
  ASSERT_TRUE(within(20s, [&] { return plan_of("wide").has_value(); }));
  for (int i = 0; i < 8; ++i)
    if (get_pod("p" + std::to_string(i)))
      api().merge(Api::path("Pod", "p" + std::to_string(i)),
                  {{"metadata", {{"annotations", {{"dra-controller-manager/do-not-move", "true"}}}}}});
  pass(2s);
  unblock();
  EXPECT_TRUE(never([&] { return moved() != "" && gone(moved()); }, 60s));
  EXPECT_FALSE(plan_of("wide"));
  EXPECT_TRUE(reasons().contains("MovesEnded"));
  create("r0");
  EXPECT_TRUE(within(20s, [&] { return bound("r0"); })) << "nothing is kept any longer";
}

TEST_F(Moves, ItFitsBeforeAnybodyWent) {
  begin_moving();
  halve();
  block_evictions();
  create("wide", "two-gpu");
  ASSERT_TRUE(within(20s, [&] { return plan_of("wide").has_value(); }));
  Names others = on("n0");
  std::erase(others, plan_of("wide")->moves[0].pod.key.substr(8));
  api().remove_now(Api::path("Pod", others.front()));
  EXPECT_TRUE(within(20s, [&] { return bound("wide"); }));
  unblock();
  EXPECT_TRUE(never([&] { return !all_moved().empty(); }, 20s));
  EXPECT_TRUE(soon([&] { return !protocol::has_promise(*get_pod("wide")); }));
}

// What somebody else wrote into the status is a proposal: it moves only who may move, and keeps nothing that does not
// follow from the rules.
TEST_F(Moves, AForgedPlanMovesNobodyWhoMayNotMove) {
  begin_moving();
  halve();
  for (const Names& names : {on("n0"), on("n1")})
    for (const std::string& name : names)
      api().merge(Api::path("Pod", name),
                  {{"metadata", {{"annotations", {{"dra-controller-manager/do-not-move", "true"}}}}}});
  Json alone = pod_that_may_move("alone");
  alone["metadata"].erase("ownerReferences");
  api().create(alone);
  ASSERT_TRUE(soon([&] { return bound("alone"); }));
  create("wide", "two-gpu");
  pass(6s);
  const auto instance = [&](const std::string& name) { return "default/" + name + "/" + get_pod(name)->metadata.uid; };
  const Json devices{
      {"devices",
       {{"results", {{{"request", "gpu"}, {"driver", std::string(kDriver)}, {"pool", "n1"}, {"device", "gpu-0"}}}}}}};
  for (const std::string& victim : {on("n0").front(), std::string("alone"), std::string("wide")}) {
    const Json record{{"pod", get_pod("wide")->metadata.uid},
                      {"node", "n0"},
                      {"since", victim == "alone" ? "9999-12-31T23:59:59Z" : "2000-01-01T00:00:00Z"},
                      {"victims", {instance(victim)}},
                      {"victimClaims", Json::array()},
                      {"moves", {{{"controller", "uid-rs-p0"}, {"node", "n1"}, {"claims", {"default/x"}}}}},
                      {"allocations",
                       {{generated("wide").empty() ? "default/y" : "default/" + generated("wide"), devices},
                        {"default/x", devices}}}};
    Json status = api().get(Api::path("Pod", "wide"))["status"];
    std::erase_if(status["conditions"].get_ref<Json::array_t&>(),
                  [](const Json& one) { return one["type"] == std::string(protocol::kPromiseCondition); });
    status["conditions"].push_back({{"type", std::string(protocol::kPromiseCondition)},
                                    {"status", "True"},
                                    {"reason", "Promised"},
                                    {"message", record.dump()}});
    api().merge(Api::path("Pod", "wide") + "/status", {{"status", {{"conditions", status["conditions"]}}}});
    EXPECT_TRUE(never([&] { return !all_moved().empty() || gone(victim); }, 15s)) << victim;
    EXPECT_FALSE(plan_of("wide")) << victim;
  }
  VerdictOptions waits;
  waits.may_wait = {"default/wide"};
  EXPECT_EQ(cluster().verdict(waits), "");
}

// ---- limits an hour

TEST_F(Moves, WhatWasMovedInTheLastHourCountsAlsoForTheNextLeader) {
  elect_ = true;
  begin_moving([](manager::ManagerOptions& options) { options.settings.moves_per_hour = 1; });
  halve();
  create("wide", "two-gpu");
  ASSERT_TRUE(within(20s, [&] { return moved() != "" && gone(moved()); }));
  create(moved() + "-next");
  ASSERT_TRUE(within(20s, [&] { return bound("wide") && bound(moved() + "-next"); }));
  ASSERT_TRUE(within(10s, [&] { return !protocol::has_promise(*get_pod("wide")); }));
  pass(5s);  // the Lease is renewed
  cluster().kill("m1");
  ProcessOptions next;
  next.elect = true;
  next.identity = "m2";
  next.manager = Cluster::manager_options();
  switch_moves_on(next.manager);
  next.manager.settings.moves_per_hour = 1;
  cluster().start("m2", next);
  // Again two halves: the wide one goes, and two that are alone.
  api().remove_now(Api::path("Pod", "wide"));
  const std::string node = on("n0").size() > on("n1").size() ? "n0" : "n1";
  create("q0");
  ASSERT_TRUE(within(60s, [&] { return bound("q0"); }));
  api().remove_now(Api::path("Pod", on(node).front()));
  pass(20s);
  create("wide2", "two-gpu");
  pass(20s);
  ASSERT_FALSE(bound("wide2")) << "the devices are not scattered as the test needs them";
  EXPECT_EQ(all_moved().size(), 1u);
  EXPECT_NE(note("MovesHeldBack").find("--moves-per-hour allows 1 move in an hour"), std::string::npos)
      << note("MovesHeldBack");
}

// ---- two managers that both lead

// Two wide pods for four devices that are free on four nodes: each needs one to move.
TEST(TwoLeadersOfMoves, MoveNobodyTwiceAndNobodyInVain) {
  for (const uint64_t seed : seeds("DRA_PROMISE_SEEDS", 4)) {
    SCOPED_TRACE(seed);
    ClusterOptions options;
    options.seed = seed;
    options.components.scheduler_allocates = false;
    options.nodes = 4;
    options.devices = 4;
    Cluster cluster(options);
    SeededRandom chance(seed);
    for (int node = 0; node < 4; ++node)
      cluster.api().merge(Api::path("Node", "n" + std::to_string(node)),
                          {{"spec", {{"taints", {{{"key", "example.com/gpu"}, {"effect", "NoSchedule"}}}}}}});
    start_two_leaders(cluster, chance, seed, true, [](manager::ManagerOptions& manager) {
      switch_moves_on(manager);
      manager.settings.move_after = Duration::zero();
    });
    cluster.api().create(claim_template("two-gpu", "gpu", 2));
    std::vector<std::string> pods;
    for (int i = 0; i < 16; ++i) {
      pods.push_back("p" + std::to_string(i));
      cluster.api().create(pod_that_may_move(pods.back()));
    }
    const auto pod = [&](const std::string& name) { return cluster.watchdog().pod("default/" + name); };
    const auto all_bound = [&] {
      return std::all_of(pods.begin(), pods.end(),
                         [&](const std::string& name) { return pod(name) && !pod(name)->node_name.empty(); });
    };
    ASSERT_TRUE(cluster.eventually(all_bound, 120s));
    for (int node = 0; node < 4; ++node) {
      const auto one = std::find_if(pods.begin(), pods.end(), [&](const std::string& name) {
        return pod(name)->node_name == "n" + std::to_string(node);
      });
      cluster.api().remove_now(Api::path("Pod", *one));
      pods.erase(one);
    }
    for (const char* wide : {"wide0", "wide1"}) {
      cluster.api().create(pod_that_may_move(wide, "two-gpu"));
      pods.push_back(wide);
    }
    const auto placed = [&] {
      for (std::string& name : pods) {
        const auto known = pod(name);
        if ((known && !known->metadata.deleting()) || name.ends_with("-next")) continue;
        name += "-next";
        cluster.api().create(pod_that_may_move(name));
      }
      return all_bound() && !protocol::has_promise(*pod("wide0")) && !protocol::has_promise(*pod("wide1"));
    };
    EXPECT_TRUE(cluster.eventually(placed, 300s)) << cluster.verdict();
    EXPECT_EQ(std::count_if(pods.begin(), pods.end(), [](const auto& name) { return name.ends_with("-next"); }), 2);
    EXPECT_EQ(cluster.verdict(), "");
  }
}

}  // namespace dra::integration::moves_test
