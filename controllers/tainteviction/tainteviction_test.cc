// The situations of kube-controller-manager's device taint eviction that slices alone can cause, in simulated time, and
// its weaknesses that concern them.
#include <nlohmann/json.hpp>

#include "controllers/tainteviction/tainteviction_fixture.h"
#include "pkg/base/timestamp.h"
#include "pkg/protocol/pod_claims.h"

namespace dra::tainteviction::tainteviction_test {

using namespace protocol;
using namespace reconcile;
using namespace std::chrono_literals;
using Json = nlohmann::json;

TEST_F(TaintEviction, NothingWithoutObjects) {
  EXPECT_EQ(cluster.settle(), "");
  EXPECT_TRUE(cluster.reconciler.reconcile(cluster.view, pod_key("default/p")).effects.empty());
}

TEST_F(TaintEviction, AnUntaintedClaimIsNoConcern) {
  cluster.put(slice({}));
  cluster.put(claim());
  cluster.put(pod());
  EXPECT_TRUE(cluster.ready.empty());
}

TEST_F(TaintEviction, EvictsAsUpstreamDoes) {
  cluster.put(slice({taint(now - 2s)}));
  cluster.put(claim());
  cluster.put(pod());
  EXPECT_EQ(cluster.settle(), kEvicted);
  EXPECT_EQ(cluster.notes.at(0),
            "Marking for deletion: device drv/node-1/dev-0 of claim default/c has the taint broken=yes:NoExecute");
  const Write& mark = cluster.writes.at(0);
  EXPECT_EQ(mark.verb, Verb::kApply);
  EXPECT_EQ(mark.subresource, "status");
  EXPECT_NE(mark.field_manager, kFieldManager) << "or it would take away the claim statuses applied under that one";
  const Json body = Json::parse(mark.body);
  EXPECT_EQ(body["metadata"]["uid"], "p-uid");
  Json condition = body["status"]["conditions"][0];
  condition.erase("lastTransitionTime");
  EXPECT_EQ(condition,
            Json::parse(R"({"type":"DisruptionTarget","status":"True","reason":"DeletionByDeviceTaintManager",
                                       "message":"Device Taint manager: deleting due to NoExecute taint"})"));
  const Write& deletion = cluster.writes.at(1);
  EXPECT_EQ(deletion.verb, Verb::kDelete);
  EXPECT_EQ(deletion.object.uid, "p-uid");
  ASSERT_EQ(cluster.metrics.size(), 2u);
  EXPECT_EQ(cluster.metrics[0].name, "device_taint_eviction_controller_pod_deletions_total");
  EXPECT_EQ(cluster.metrics[1].name, "device_taint_eviction_controller_pod_deletion_duration_seconds");
  EXPECT_DOUBLE_EQ(cluster.metrics[1].value, 2);
  EXPECT_EQ(cluster.advance(1h), "");
}

TEST_F(TaintEviction, InEveryOrderOfEvents) {
  std::vector<int> order{0, 1, 2};
  do {
    Cluster one;
    for (const int what : order) {
      if (what == 0) one.put(slice({taint(now - 1s)}));
      if (what == 1) one.put(owned());
      if (what == 2) one.put(templated());
    }
    EXPECT_EQ(one.settle(), kEvicted) << order[0] << order[1] << order[2];
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST_F(TaintEviction, NoEviction) {
  struct Case {
    const char* name;
    std::function<void(api::Pod&, api::ResourceClaim&, api::ResourceSlice&)> change;
  };
  using P = api::Pod;
  using C = api::ResourceClaim;
  using S = api::ResourceSlice;
  const Case cases[] = {
      {"not scheduled", [](P& p, C&, S&) { p.node_name = ""; }},
      {"succeeded", [](P& p, C&, S&) { p.phase = "Succeeded"; }},  // upstream deletes it
      {"failed", [](P& p, C&, S&) { p.phase = "Failed"; }},
      {"being deleted", [](P& p, C&, S&) { p.metadata.deletion_timestamp = "2026-01-01T00:00:00Z"; }},
      {"another device", [](P&, C& c, S&) { c.status.allocation->results[0].device = "dev-1"; }},
      {"a device that does not exist", [](P&, C& c, S&) { c.status.allocation->results[0].device = "dev-9"; }},
      {"another pool", [](P&, C& c, S&) { c.status.allocation->results[0].pool = "node-2"; }},
      {"another driver", [](P&, C& c, S&) { c.status.allocation->results[0].driver = "other"; }},
      {"no claim", [](P& p, C&, S&) { p.resource_claims.clear(); }},
      {"the claim of a template without status",
       [](P& p, C&, S&) {
         p.resource_claims[0] = {"gpu", std::nullopt, "tpl"};
       }},
      {"a claim that is not the pod's own",
       [](P& p, C&, S&) {
         p.resource_claims[0] = {"gpu", std::nullopt, "tpl"};
         p.resource_claim_statuses = {{"gpu", "c"}};
       }},
      {"an extended resource claim of another pod",
       [](P& p, C&, S&) {
         p.resource_claims.clear();
         p.extended_resource_claim_status = api::PodExtendedResourceClaimStatus{"c", {}};
       }},
      {"not reserved for it", [](P&, C& c, S&) { c.status.reserved_for[0].uid = "another-uid"; }},
      {"not allocated", [](P&, C& c, S&) { c.status = {}; }},
      {"no taint", [](P&, C&, S& s) { s.devices[0].taints.clear(); }},
      {"NoSchedule", [](P&, C&, S& s) { s.devices[0].taints[0].effect = "NoSchedule"; }},
      {"None", [](P&, C&, S& s) { s.devices[0].taints[0].effect = "None"; }},
      {"an effect of the future", [](P&, C&, S& s) { s.devices[0].taints[0].effect = "NoBreathing"; }},
      {"tolerated forever",
       [](P&, C& c, S&) {
         c.status.allocation->results[0].tolerations = {tolerate(30), tolerate(std::nullopt)};
       }},
      {"everything tolerated",
       [](P&, C& c, S&) {
         c.status.allocation->results[0].tolerations = {{"", "Exists", "", "NoExecute", std::nullopt}};
       }},
      {"tolerated by value",
       [](P&, C& c, S&) {
         c.status.allocation->results[0].tolerations = {{"broken", "", "yes", "NoExecute", std::nullopt}};
       }},
      {"tolerated for longer than clocks go",
       [](P&, C& c, S&) { c.status.allocation->results[0].tolerations = {tolerate(int64_t{1} << 62)}; }},
  };
  for (const Case& c : cases) {
    Cluster one;
    api::Pod p = pod();
    api::ResourceClaim made = claim();
    api::ResourceSlice s = slice({taint(now - 1s)});
    c.change(p, made, s);
    one.put(s);
    one.put(made);
    one.put(p);
    EXPECT_EQ(one.settle(), "") << c.name;
    EXPECT_EQ(one.advance(24h), "") << c.name;
    EXPECT_EQ(one.restart(), "") << c.name;
  }
}

TEST_F(TaintEviction, ANotMatchingTolerationDoesNotHelp) {
  const api::DeviceToleration useless[] = {
      tolerate(std::nullopt, "other"),
      {"broken", "Equal", "no", "NoExecute", std::nullopt},
      {"broken", "Exists", "", "", std::nullopt},  // an empty effect counts when devices are allocated, not here
      {"broken", "Exists", "", "NoSchedule", std::nullopt},
      {"broken", "Matches", "yes", "NoExecute", std::nullopt},
  };
  for (const api::DeviceToleration& toleration : useless) {
    Cluster one;
    one.put(slice({taint(now - 1s)}));
    one.put(claim({toleration}));
    one.put(pod());
    EXPECT_EQ(one.settle(), kEvicted) << toleration.op << " " << toleration.effect;
  }
}

// It may tolerate the taint; whoever knows it decides.
TEST_F(TaintEviction, NotWhileATolerationIsNotKnownAsAWhole) {
  api::ResourceClaim strange = claim({{"broken", "Newer", "yes", "NoExecute", std::nullopt}});
  const std::string place = "resourceclaims.status.allocation.devices.results.tolerations.operator=Newer";
  strange.status.allocation->unknown.emplace().fields = {
      {place, "status.allocation.devices.results[0].tolerations[0].operator", api::UnknownField::Why::kValue}};
  cluster.put(slice({taint(now - 2s)}));
  cluster.put(strange);
  cluster.put(pod());
  EXPECT_EQ(cluster.settle(), "");
  cluster.view.ignored = {place};
  cluster.put(pod());
  EXPECT_EQ(cluster.settle(), kEvicted);
}

TEST_F(TaintEviction, OneOfTwoTaintsUntolerated) {
  cluster.put(slice({taint(now - 1s), taint(now - 1s, "NoExecute", "hot")}));
  cluster.put(claim({tolerate(std::nullopt)}));
  cluster.put(pod());
  EXPECT_EQ(cluster.settle(), kEvicted);
  EXPECT_NE(cluster.notes[0].find("hot=yes:NoExecute"), std::string::npos);
}

TEST_F(TaintEviction, SeveralTaintsOfOneTimeAreCounted) {
  cluster.put(slice({taint(now), taint(now, "NoExecute", "hot"), taint(now, "NoExecute", "wet")}));
  cluster.put(claim());
  cluster.put(pod());
  EXPECT_EQ(cluster.settle(), kEvicted);
  EXPECT_NE(cluster.notes[0].find("broken=yes:NoExecute (and 2 more)"), std::string::npos) << cluster.notes[0];
}

TEST_F(TaintEviction, LaterByTheLeastOfTheTolerations) {
  cluster.put(slice({taint(now - 10s)}));
  cluster.put(claim({tolerate(60), tolerate(30), tolerate(45)}));
  cluster.put(pod());
  EXPECT_EQ(cluster.settle(), kAnnounced);
  EXPECT_EQ(cluster.notes[0].substr(0, 38), "Will be deleted at " + format_rfc3339(now + 20s).substr(0, 19));
  EXPECT_EQ(cluster.advance(19s), "");
  EXPECT_EQ(cluster.advance(1s), kEvicted);
}

TEST_F(TaintEviction, NegativeSecondsAreNone) {
  cluster.put(slice({taint(now)}));
  cluster.put(claim({tolerate(-5)}));
  cluster.put(pod());
  EXPECT_EQ(cluster.settle(), kEvicted);
}

TEST_F(TaintEviction, DeadlinesSurviveARestart) {
  cluster.put(slice({taint(now)}));
  cluster.put(claim({tolerate(100)}));
  cluster.put(pod());
  EXPECT_EQ(cluster.settle(), kAnnounced);
  cluster.advance(60s);
  EXPECT_EQ(cluster.restart(), kAnnounced) << "one repeat is allowed";
  EXPECT_EQ(cluster.advance(39s), "");
  EXPECT_EQ(cluster.advance(1s), kEvicted);
}

TEST_F(TaintEviction, ADeadlineThatPassedWhileNobodyWatched) {
  cluster.put(slice({taint(now - 1h)}));
  cluster.put(claim({tolerate(100)}));
  cluster.put(pod());
  EXPECT_EQ(cluster.restart(), kEvicted);
}

TEST_F(TaintEviction, WhenItIsBound) {
  cluster.put(slice({taint(now)}));
  cluster.put(claim());
  api::Pod p = pod();
  p.node_name = "";
  cluster.put(p);
  EXPECT_EQ(cluster.settle(), "");
  cluster.put(pod());
  EXPECT_EQ(cluster.settle(), kEvicted);
}

TEST_F(TaintEviction, UnrelatedChangesChangeNothing) {
  cluster.put(slice({taint(now)}));
  cluster.put(claim({tolerate(100)}));
  cluster.put(pod());
  cluster.settle();
  for (int i = 0; i < 5; ++i) {
    api::Pod p = pod();
    p.metadata.labels["n"] = std::to_string(i);
    cluster.put(p);
    api::ResourceClaim c = claim({tolerate(100)});
    c.metadata.labels["n"] = std::to_string(i);
    cluster.put(c);
    EXPECT_EQ(cluster.advance(1s), "") << "the reason is the same: nothing is said";
  }
  EXPECT_EQ(cluster.later.size(), 1u);
}

TEST_F(TaintEviction, AnExtendedResourceClaim) {  // upstream never evicts for these
  api::Pod p = pod();
  p.resource_claims.clear();
  p.extended_resource_claim_status = api::PodExtendedResourceClaimStatus{"c", {}};
  cluster.put(slice({taint(now)}));
  cluster.put(owned());
  cluster.put(p);
  EXPECT_EQ(cluster.settle(), kEvicted);
}

TEST_F(TaintEviction, ResultsWithAdministrativeAccessCountToo) {
  api::ResourceClaim c = claim();
  c.status.allocation->results[0].admin_access = true;
  cluster.put(c);
  cluster.put(pod());
  cluster.put(slice({taint(now)}));
  EXPECT_EQ(cluster.settle(), kEvicted);
}

TEST_F(TaintEviction, TheEarliestOfSeveralClaimsDecides) {
  api::ResourceClaim second = claim({tolerate(10)}, "dev-1");
  second.metadata.name = "d";
  second.metadata.uid = "d-uid";
  api::ResourceSlice s = slice({taint(now)});
  s.devices[1].taints = {taint(now)};
  api::Pod p = pod();
  p.resource_claims.push_back({"more", "d", std::nullopt});
  cluster.put(s);
  cluster.put(claim({tolerate(50)}));
  cluster.put(second);
  cluster.put(p);
  EXPECT_EQ(cluster.settle(), kAnnounced);
  EXPECT_NE(cluster.notes[0].find("dev-1"), std::string::npos);
  EXPECT_EQ(cluster.advance(10s), kEvicted);
}

TEST_F(TaintEviction, TheWrongPodReplaced) {
  api::Pod other = pod();
  other.metadata.uid = "another-uid";
  cluster.put(slice({taint(now)}));
  cluster.put(claim());
  cluster.put(other);
  EXPECT_EQ(cluster.settle(), "");
  cluster.put(pod());
  EXPECT_EQ(cluster.settle(), kEvicted);
}

TEST_F(TaintEviction, TheWrongClaimReplaced) {
  cluster.put(slice({taint(now)}));
  cluster.put(claim());  // not owned by the pod
  cluster.put(templated());
  EXPECT_EQ(cluster.settle(), "");
  api::ResourceClaim right = owned();
  right.metadata.uid = "right-uid";
  cluster.put(right);
  EXPECT_EQ(cluster.settle(), kEvicted);
}

// ---- live GETs, and failures

TEST_F(TaintEviction, WhatIsGoneByTheServersWordIsLeftAlone) {
  cluster.presence = Presence::kAbsent;
  cluster.put(slice({taint(now)}));
  cluster.put(claim());
  cluster.put(pod());
  EXPECT_EQ(cluster.settle(), "") << "no event, no metric";
  EXPECT_TRUE(cluster.metrics.empty());
}

TEST_F(TaintEviction, ARefusedDeletionIsRepeatedWithoutEventAndCondition) {
  int failures = 2;
  cluster.refuse = [&failures](const Write& write) { return write.purpose == "evict" && failures-- > 0; };
  cluster.put(slice({taint(now)}));
  cluster.put(claim());
  cluster.put(pod());
  EXPECT_EQ(cluster.settle(), "event Marking for deletion, mark-disruption p, refused evict, refused evict, evict p");
  EXPECT_EQ(cluster.metrics.size(), 2u) << "counted once";
}

TEST_F(TaintEviction, ACrashBetweenConditionAndDeletion) {
  cluster.refuse = [](const Write& write) { return write.purpose == "evict"; };
  cluster.put(slice({taint(now)}));
  cluster.put(claim());
  api::Pod marked = pod();
  marked.conditions.push_back({"DisruptionTarget", "True", "DeletionByDeviceTaintManager", ""});
  cluster.refuse = nullptr;
  cluster.put(marked);
  EXPECT_EQ(cluster.restart(), "event Marking for deletion, evict p");
}

TEST_F(TaintEviction, ATaintWithoutATime) {
  api::DeviceTaint timeless = taint(now);
  timeless.time_added = "";
  cluster.put(slice({timeless}));
  cluster.put(claim({tolerate(10)}));
  cluster.put(pod());
  EXPECT_EQ(cluster.settle(), "") << "nothing to count from";
  EXPECT_EQ(cluster.advance(1h), "");
  cluster.put(claim());
  EXPECT_EQ(cluster.settle(), kEvicted);
}

// ---- beside kube-controller-manager's own controller

class Observer : public TaintEviction {
 protected:
  Observer() : TaintEviction(Options{30s, {}, false}) {}
};

TEST_F(Observer, ReportsOnceWhatWasLeftAndDeletesNothing) {
  cluster.put(slice({taint(now)}));
  cluster.put(claim({tolerate(10)}));
  cluster.put(pod());
  EXPECT_EQ(cluster.settle(), "") << "announcing is the other one's";
  EXPECT_EQ(cluster.advance(39s), "");
  cluster.advance(1s);
  ASSERT_EQ(cluster.notes.size(), 1u);
  EXPECT_NE(cluster.notes[0].find("should have been evicted at "), std::string::npos) << cluster.notes[0];
  cluster.put(claim({tolerate(10)}));
  cluster.advance(1h);
  EXPECT_EQ(cluster.notes.size(), 1u);
  EXPECT_TRUE(cluster.writes.empty());
}

TEST_F(Observer, SaysNothingWhenTheOtherOneDidIt) {
  cluster.put(slice({taint(now)}));
  cluster.put(claim());
  cluster.put(pod());
  EXPECT_EQ(cluster.advance(1s), "");
  api::Pod evicted = pod();
  evicted.metadata.deletion_timestamp = "2026-01-01T00:00:00Z";
  cluster.put(evicted);
  EXPECT_EQ(cluster.advance(1h), "");
  cluster.remove_pod("default/p");
  EXPECT_EQ(cluster.advance(1h), "");
}

}  // namespace dra::tainteviction::tainteviction_test
