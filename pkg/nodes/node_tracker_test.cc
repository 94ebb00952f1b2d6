// NodeTracker: assumed pods count on their node with their volumes; nominated pods count for pods of no higher
// priority; avoided nodes come back.
#include "pkg/nodes/node_tracker.h"

#include <gtest/gtest.h>

#include <map>

#include "pkg/base/random.h"
#include "pkg/nodes/choice_cache.h"
#include "pkg/nodes/node_tracker_fixture.h"
#include "pkg/nodes/unready.h"

namespace dra::nodes::node_tracker_test {

using namespace std::chrono_literals;

TEST_F(NodeTrackerTest, AVolumeThatIsPromisedToOneIsNotPromisedToAnother) {
  add_volume("pv", "n1");
  add_claim("a", "local");
  add_claim("b", "local");
  EXPECT_EQ(chosen(pod("p", "a")), "n1");
  tracker.assume(pod("p", "a"), "n1");
  EXPECT_EQ(tracker.choose(pod("q", "b"), {}).why_none,
            "0/2 nodes are available: 2 node(s) didn't find available persistent volumes to bind.");
  const VolumeNeeds needs = tracker.volumes(pod("p", "a"), "n1");
  ASSERT_EQ(needs.bind.size(), 1u);
  EXPECT_EQ(needs.bind[0].volume->metadata.name, "pv");
  EXPECT_FALSE(needs.bind[0].volume->claim_ref) << "as the server has it, not as it is assumed";
  tracker.forget("p");
  EXPECT_EQ(chosen(pod("q", "b")), "n1");
  EXPECT_EQ(tracker.volumes().size(), 0u);
}

TEST_F(NodeTrackerTest, AClaimIsMadeForOneNodeOnly) {
  add_claim("shared", "fast");
  tracker.assume(pod("p", "shared"), "n2");
  EXPECT_EQ(chosen(pod("q", "shared")), "n2");
  ASSERT_EQ(tracker.volumes(pod("q", "shared"), "n2").provision.size(), 1u);
  tracker.assume(pod("q", "shared"), "n2");
  tracker.forget("p");
  EXPECT_EQ(chosen(pod("r", "shared")), "n2") << "q still waits for it there";
  tracker.remove_pod("q");
  EXPECT_EQ(chosen(pod("r", "shared")), "n1 n2");
}

// What the server reports afterwards takes precedence, whoever wrote it.
TEST_F(NodeTrackerTest, AnAssumptionYieldsToTheServer) {
  auto volume = add_volume("pv", "n1");
  add_claim("a", "local");
  add_claim("b", "local");
  tracker.assume(pod("p", "a"), "n1");
  auto taken = std::make_shared<api::PersistentVolume>(*volume);
  taken->claim_ref = {"default", "b", "b"};
  tracker.volumes().set(std::shared_ptr<const api::PersistentVolume>(taken));
  EXPECT_EQ(chosen(pod("q", "b")), "n1");
  EXPECT_EQ(chosen(pod("p", "a")), "");
}

// The claim's watch may be ahead of the volume's.
TEST_F(NodeTrackerTest, ABoundClaimMayBeKnownBeforeItsVolume) {
  add_claim("a", "fast");
  tracker.assume(pod("p", "a"), "n1");
  add_claim("a", "fast", "made");
  EXPECT_TRUE(tracker.choose(pod("p", "a"), {}).watch_lags);
  clock.advance(11s);
  EXPECT_FALSE(tracker.choose(pod("p", "a"), {}).watch_lags) << "then it is lost";
  add_volume("made", "n1");
  EXPECT_EQ(chosen(pod("p", "a")), "n1");
  EXPECT_TRUE(tracker.volumes(pod("p", "a"), "n1").done());
}

TEST_F(NodeTrackerTest, PodsWithVolumesWaitUntilVolumesAreKnown) {
  tracker.set_known(Facts::kVolumes, false, "");
  int asked = 0;
  tracker.on_needed([&](Facts facts) { asked += facts == Facts::kVolumes; });
  EXPECT_EQ(chosen(pod("p")), "n1 n2");
  EXPECT_EQ(asked, 0);
  EXPECT_TRUE(tracker.choose(pod("q", "a"), {}).watch_lags) << "nothing is given back for that";
  EXPECT_EQ(asked, 1);
  tracker.set_known(Facts::kVolumes, false, "bind the role");
  EXPECT_EQ(tracker.choose(pod("q", "a"), {}).why_none, "bind the role");
  EXPECT_FALSE(tracker.choose(pod("q", "a"), {}).watch_lags);
}

TEST_F(NodeTrackerTest, NominatedPodsCountForTheirEqualsAndThoseBelow) {
  api::Pod nominated = pod("p", "", "2");
  nominated.priority = 5;
  nominated.nominated_node_name = "n1";
  tracker.set_pod(nominated);
  EXPECT_EQ(chosen(nominated), "n1 n2") << "it does not obstruct itself, and its node comes first";
  api::Pod other = pod("q");
  EXPECT_EQ(chosen(other), "n2");
  other.priority = 5;
  EXPECT_EQ(chosen(other), "n2");
  other.priority = 6;
  EXPECT_EQ(chosen(other), "n1 n2");
  nominated.metadata.managed_fields.push_back({"dra-controller-manager", "Apply", "status", true});
  tracker.set_pod(nominated);
  other.priority = 0;
  EXPECT_EQ(chosen(other), "n1 n2") << "this program's own nominations are not counted twice";
  nominated.metadata.managed_fields.clear();
  nominated.nominated_node_name.clear();
  tracker.set_pod(nominated);
  other.priority = 0;
  EXPECT_EQ(chosen(other), "n1 n2");
}

TEST_F(NodeTrackerTest, WhatIsLeftForPodsLeavesOutThemAndThoseNominated) {
  const api::Pod a = pod("a"), b = pod("b");
  const auto cpu_left = [&](std::vector<const api::Pod*> pods) {
    std::vector<int64_t> left;
    for (const gang::Resources& one : tracker.left_for(pods, {"n1", "n2", "none"})) left.push_back(one.cpu_milli);
    return left;
  };
  EXPECT_EQ(tracker.takes(a)->cpu_milli, 1000);
  EXPECT_EQ(tracker.takes(a)->pods, 1);
  EXPECT_EQ(cpu_left({&a}), (std::vector<int64_t>{2000, 2000, 0}));
  tracker.assume(a, "n1");
  EXPECT_EQ(cpu_left({&b}), (std::vector<int64_t>{1000, 2000, 0}));
  EXPECT_EQ(cpu_left({&a, &b}), (std::vector<int64_t>{2000, 2000, 0})) << "a may go there again";
  api::Pod nominated = pod("c");
  nominated.nominated_node_name = "n2";
  tracker.set_pod(nominated);
  EXPECT_EQ(cpu_left({&b}), (std::vector<int64_t>{1000, 2000, 0})) << "a higher priority takes its place";
}

TEST_F(NodeTrackerTest, ShapesHaveAVersionAndPodsTheNodeOnWhichTheyCount) {
  const api::Pod waiting = pod("p");
  EXPECT_EQ(tracker.counts_on(waiting), "");
  tracker.assume(waiting, "n2");
  EXPECT_EQ(tracker.counts_on(waiting), "n2");
  const uint64_t version = tracker.shapes_version();
  EXPECT_NE(tracker.shape(waiting), "");
  tracker.avoid("p", {"n2"}, 10s, "");
  EXPECT_EQ(tracker.shape(waiting), "");
  EXPECT_GT(tracker.shapes_version(), version);
  EXPECT_EQ(tracker.counts_on(waiting), "");
}

TEST_F(NodeTrackerTest, AnAvoidedNodeComesBack) {
  api::Pod owned = pod("p");
  owned.metadata.owner_references.push_back({"batch/v1", "Job", "job", "job-uid", true});
  tracker.assume(owned, "n1");
  tracker.avoid("p", {"n1"}, 60s, "no space");
  EXPECT_EQ(chosen(owned), "n2");
  EXPECT_EQ(tracker.shape(owned), "") << "it is like no other for that time";
  tracker.avoid("default/job-uid", {"n2"}, 600s, "refused there");
  const NodeChoice none = tracker.choose(owned, {});
  EXPECT_TRUE(none.nodes.empty());
  EXPECT_EQ(none.ask_again, Duration(60s));
  EXPECT_NE(none.why_none.find("is avoided for a while"), std::string::npos);
  clock.advance(60s);
  EXPECT_EQ(chosen(owned), "n1");
  clock.advance(540s);
  EXPECT_EQ(chosen(owned), "n1 n2");
}

// Strategies weigh all nodes by these facts: reordered nodes keep their facts.
TEST_F(NodeTrackerTest, FactsFollowTheirNodes) {
  add_node("n3");
  tracker.assume(pod("on-n1", "", "500m"), "n1");
  api::Pod owned = pod("p");
  const NodeChoice all = tracker.choose(owned, {});
  EXPECT_EQ(all.cpu_milli, 1000);
  ASSERT_EQ(all.facts.size(), 3u);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(all.facts[i].free_cpu_milli, all.nodes[i] == "n1" ? 1500 : 2000);
  tracker.avoid("p", {std::string(all.nodes[1])}, 1min, "it failed");
  const std::string last(all.nodes[2]), gone(all.nodes[1]);
  owned.nominated_node_name = last;
  const NodeChoice some = tracker.choose(owned, {});
  ASSERT_EQ(some.facts.size(), 2u);
  EXPECT_EQ(some.nodes[0], last);
  EXPECT_NE(some.nodes[1], gone);
  for (size_t i = 0; i < 2; ++i) EXPECT_EQ(some.facts[i].free_cpu_milli, some.nodes[i] == "n1" ? 1500 : 2000);
  EXPECT_GT(some.facts[0].preferred, some.facts[1].preferred) << "the promised node before all others";
}

// So do the inventory's numbers, also when a node takes the slot of a deleted one.
TEST_F(NodeTrackerTest, NumbersFollowTheirNodes) {
  inventory::Inventory inventory;
  for (const char* name : {"n9", "n2", "n1", "n3", "n4"}) inventory.apply_node(name, {});
  const auto check = [&](const NodeChoice& choice) {
    ASSERT_EQ(choice.numbers.size(), choice.nodes.size());
    for (size_t i = 0; i < choice.nodes.size(); ++i)
      EXPECT_EQ(inventory.node_name(choice.numbers[i]), choice.nodes[i]) << i;
  };
  tracker.number_by(inventory);
  add_node("n3");
  api::Pod owned = pod("p");
  const NodeChoice all = tracker.choose(owned, {});
  check(all);
  owned.nominated_node_name = std::string(all.nodes[2]);
  tracker.avoid("p", {std::string(all.nodes[1])}, 1min, "it failed");
  check(tracker.choose(owned, {}));
  tracker.remove_node("n1");
  add_node("n9");
  const NodeChoice others = tracker.choose(pod("q"), {});
  ASSERT_EQ(others.nodes.size(), 3u);
  check(others);
}

// A pin by labels holds a pod to several nodes.
TEST_F(NodeTrackerTest, NodesThatAreAvoidedTogetherComeBackOneByOne) {
  add_node("n3");
  tracker.avoid("p", {"n1", "n3", "n1"}, 60s, "no space");
  EXPECT_EQ(chosen(pod("p")), "n2");
  tracker.avoid("p", {"n1"}, 120s, "no space");
  clock.advance(60s);
  EXPECT_EQ(chosen(pod("p")), "n2 n3");
}

// Without permission to bind volumes, only pods whose volumes would be bound here report it.
TEST_F(NodeTrackerTest, VolumesThatMayNotBeBoundConcernTheirPodsAlone) {
  add_claim("waits", "fast");
  add_claim("bound", "local", "pv");
  add_claim("absent-class", "no-such-class");
  auto volume = add_volume("pv", "n2");
  tracker.set_volumes_unbindable("this manager may not patch persistentvolumes");
  const NodeChoice none = tracker.choose(pod("p", "waits"), {});
  EXPECT_TRUE(none.nodes.empty());
  EXPECT_EQ(none.why_none, "this manager may not patch persistentvolumes");
  EXPECT_FALSE(none.watch_lags);
  api::Pod gated = pod("p", "waits");
  gated.scheduling_gates.push_back("some/gate");
  EXPECT_EQ(chosen(gated), "n1 n2") << "kube-scheduler binds these";
  EXPECT_EQ(chosen(pod("q")), "n1 n2");
  EXPECT_EQ(tracker.choose(pod("r", "bound"), {}).why_none.find("may not"), std::string::npos);
  EXPECT_EQ(tracker.choose(pod("s", "absent-class"), {}).why_none.find("may not"), std::string::npos);
  tracker.set_volumes_unbindable("");
  EXPECT_EQ(chosen(pod("p", "waits")), "n1 n2");
}

// Affinities that no node can match or that cannot be parsed give their own pod a reason and affect no other pod.
TEST_F(NodeTrackerTest, VolumesWithABrokenAffinityConcernTheirPodsAlone) {
  const std::string host = "kubernetes.io/hostname";
  const std::vector<api::NodeSelector> broken = {
      {},                                                               // no terms
      {{api::NodeSelectorTerm{}}},                                      // a term without requirements
      {{api::NodeSelectorTerm{{{host, "Near", {"n1"}}}, {}}}},          // an unknown operator
      {{api::NodeSelectorTerm{{{host, "In", {}}}, {}}}},                // In without values
      {{api::NodeSelectorTerm{{{host, "Gt", {"n1"}}}, {}}}},            // Gt with a value that is not a number
      {{api::NodeSelectorTerm{{{host, "Exists", {"n1"}}}, {}}}},        // Exists with values
      {{api::NodeSelectorTerm{{{host, "In", {"not a value!"}}}, {}}}},  // not a label value
      {{api::NodeSelectorTerm{{}, {{"metadata.uid", "In", {"n1"}}}}}},  // an unknown field
      {std::vector<api::NodeSelectorTerm>(5000)},                       // thousands of them
  };
  for (size_t i = 0; i < broken.size(); ++i) {
    const std::string name = "v" + std::to_string(i);
    auto volume = std::make_shared<api::PersistentVolume>(*add_volume(name, "n1"));
    volume->node_affinity = broken[i];
    volume->claim_ref = api::PersistentVolume::ClaimRef{"default", name, name};
    tracker.volumes().set(std::shared_ptr<const api::PersistentVolume>(volume));
    add_claim(name, "local", name);
    const NodeChoice none = tracker.choose(pod("p", name), {});
    EXPECT_TRUE(none.nodes.empty()) << i;
    EXPECT_EQ(none.why_none, "0/2 nodes are available: 2 node(s) didn't match PersistentVolume's node affinity.") << i;
    EXPECT_EQ(chosen(pod("q")), "n1 n2") << i;
  }
  // The one term that can be read counts, at any position.
  auto volume = std::make_shared<api::PersistentVolume>(*add_volume("good", "n1"));
  volume->node_affinity = broken.back();
  volume->node_affinity->terms.push_back({{{host, "In", {"n2"}}}, {}});
  volume->claim_ref = api::PersistentVolume::ClaimRef{"default", "good", "good"};
  tracker.volumes().set(std::shared_ptr<const api::PersistentVolume>(volume));
  add_claim("good", "local", "good");
  EXPECT_EQ(chosen(pod("p", "good")), "n2");
}

TEST_F(NodeTrackerTest, SupposedPodsDoNotChangeTheVersionOfVolumes) {
  add_claim("c", "local");
  add_volume("v", "n1");
  const uint64_t before = tracker.volumes_version();
  EXPECT_EQ(chosen(pod("p", "c")), "n1");
  tracker.suppose(pod("p", "c"), "n1");
  EXPECT_EQ(tracker.volumes_version(), before);
  tracker.stop_supposing(pod("p", "c"));
  EXPECT_EQ(tracker.volumes_version(), before);
  add_volume("w", "n2");
  const uint64_t changed = tracker.volumes_version();
  EXPECT_GT(changed, before);
  tracker.assume(pod("q", "c"), "n2");
  EXPECT_GT(tracker.volumes_version(), changed) << "its volumes are taken";
}

TEST_F(NodeTrackerTest, FactsForScoresAreWaitedForOnceAndNotLong) {
  api::Pod replica = pod("p");
  replica.metadata.owner_references.push_back({"apps/v1", "ReplicaSet", "rs", "rs-uid", true});
  const auto waits = [&] { return tracker.choose(replica, {}).watch_lags; };
  EXPECT_FALSE(waits()) << "nobody lists them";
  size_t asked = 0;
  tracker.on_needed([&](Facts facts) { asked += facts == Facts::kWorkloads; });
  EXPECT_TRUE(waits());
  EXPECT_EQ(asked, 1u);
  EXPECT_FALSE(tracker.choose(replica, {"n1"}).watch_lags) << "one node has no score to win by";
  clock.advance(NodeTracker::kScoreWait - 1ms);
  EXPECT_TRUE(waits());
  tracker.set_known(Facts::kWorkloads, false, "may not list replicasets");
  EXPECT_FALSE(waits());
  tracker.set_known(Facts::kWorkloads, false, "");
  EXPECT_TRUE(waits());
  clock.advance(1ms);
  EXPECT_FALSE(waits());
  EXPECT_EQ(asked, 5u) << "asked for until they are known";
  tracker.set_known(Facts::kWorkloads, true, "");
  EXPECT_FALSE(waits());
  EXPECT_EQ(asked, 5u);
}

TEST_F(NodeTrackerTest, JobsAreReadOnDemand) {
  std::vector<Facts> asked;
  tracker.on_needed([&](Facts facts) { asked.push_back(facts); });
  const auto policy = [&] { return tracker.job_policy("default", "j", "j-uid"); };
  EXPECT_EQ(policy().pod_replacement_policy + "|" + policy().why_unknown, "|");
  EXPECT_EQ(asked, (std::vector<Facts>{Facts::kJobs, Facts::kJobs}));
  tracker.set_known(Facts::kJobs, false, "may not list jobs");
  EXPECT_EQ(policy().why_unknown, "may not list jobs");
  tracker.set_known(Facts::kJobs, true, "");
  auto job = std::make_shared<api::Job>();
  job->metadata.ns = "default";
  job->metadata.name = "j";
  job->metadata.uid = "j-uid";
  job->pod_replacement_policy = "Failed";
  EXPECT_EQ(policy().pod_replacement_policy, "") << "it has not come yet";
  tracker.jobs().set(job);
  EXPECT_EQ(policy().pod_replacement_policy, "Failed");
  EXPECT_EQ(policy().failures_left, 6);
  auto later = std::make_shared<api::Job>(*job);
  later->failed = 4;
  tracker.jobs().set(later);
  EXPECT_EQ(policy().failures_left, 2);
  later = std::make_shared<api::Job>(*later);
  later->backoff_limit_per_index = true;
  tracker.jobs().set(later);
  EXPECT_EQ(policy().failures_left, 0);
  later = std::make_shared<api::Job>(*later);
  later->ignores_disruption = true;
  tracker.jobs().set(later);
  EXPECT_EQ(policy().failures_left, std::nullopt);
  EXPECT_EQ(tracker.job_policy("default", "j", "another-uid").pod_replacement_policy, "");
}

// A pod may name any owner: what is avoided for one namespace's is not for another's.
TEST_F(NodeTrackerTest, AvoidedNodesAreThoseOfOneNamespacesOwner) {
  api::Pod one = pod("p"), other = pod("q");
  one.metadata.owner_references = other.metadata.owner_references = {{"apps/v1", "ReplicaSet", "set", "uid", true}};
  other.metadata.ns = "other";
  tracker.avoid("default/uid", {"n1"}, 1min, "refused");
  EXPECT_EQ(chosen(one), "n2");
  EXPECT_EQ(chosen(other), "n1 n2");
}

TEST_F(NodeTrackerTest, AvoidedNodesAreBounded) {
  for (size_t i = 0; i < NodeTracker::kMaxAvoided + 10; ++i)
    tracker.avoid("p", {"node-" + std::to_string(i)}, Duration(600s) + i * 1s, "");
  tracker.avoid("p", {"n1"}, 900s, "");
  EXPECT_EQ(chosen(pod("p")), "n2");
}

TEST_F(NodeTrackerTest, TheNodeThatAPodWasPromisedStaysFirst) {
  EXPECT_EQ(chosen(pod("p")), "n1 n2");
  tracker.assume(pod("p"), "n2");
  EXPECT_EQ(chosen(pod("p")), "n2 n1");
}

// Nodes n1 and n2 have 2 cpu each.
TEST_F(NodeTrackerTest, WhatPodsWerePromisedTogetherIsKeptFromOthersAndNotFromEachOther) {
  api::Pod a = pod("a", "", "2"), b = pod("b", "", "2");
  a.priority = b.priority = 5;
  a.pod_group_name = b.pod_group_name = "gang";
  api::Pod third = pod("c", "", "2");
  third.priority = 5;
  const api::Pod other = pod("other", "", "2");
  api::Pod higher = other;
  higher.priority = 6;
  const std::vector<NodeChooser::PromisedPlace> places{{"a", "n1"}, {"b", "n2"}};
  tracker.set_pod(a);
  EXPECT_EQ(chosen(other), "n1 n2");
  tracker.set_places("owner", places, {&a});
  EXPECT_EQ(chosen(other), "n2");
  tracker.set_pod(b);  // the stream shows it later
  EXPECT_EQ(chosen(other), "");
  EXPECT_EQ(chosen(higher), "n1 n2");
  EXPECT_EQ(chosen(a), "n1 n2") << "what b was promised does not keep a from it";
  EXPECT_EQ(chosen(b), "n2 n1") << "its own place comes first";
  EXPECT_EQ(chosen(third), "");
  third.pod_group_name = "gang";
  EXPECT_EQ(chosen(third), "n1 n2") << "a member without a place of its own";
  // A search that supposes one of them elsewhere counts it there, and then as before.
  tracker.suppose(b, "n1");
  EXPECT_EQ(chosen(a), "n2");
  tracker.stop_supposing(b);
  EXPECT_EQ(chosen(a), "n1 n2");
  EXPECT_EQ(chosen(other), "");
  // Two owners, for a moment: what the one that stays says counts again.
  tracker.set_places("later", {{"a", "n2"}}, {&a});
  tracker.set_places("later", {}, {&a});
  EXPECT_EQ(chosen(other), "");
  api::Pod bound = b;
  bound.node_name = "n1";
  tracker.set_pod(bound);
  tracker.set_places("owner", {}, {&a});
  EXPECT_EQ(chosen(other), "n2") << "b runs on n1";
}

// A pod that leaves a node frees cpu, but removes no taint.
TEST_F(NodeTrackerTest, OnlyWhatOthersHaveOnANodeDependsOnRoom) {
  EXPECT_FALSE(tracker.choose(pod("p"), {}).depends_on_capacity);
  EXPECT_TRUE(tracker.choose(pod("p", "", "3"), {}).depends_on_capacity);
  auto tainted = std::make_shared<api::Node>();
  tainted->metadata.name = "n3";
  tainted->allocatable = {{"cpu", "2"}, {"memory", "1Gi"}, {"pods", "10"}};
  tainted->taints = {{"a", "b", "NoSchedule", ""}};
  tracker.set_node(tainted);
  EXPECT_FALSE(tracker.choose(pod("p"), {}).depends_on_capacity);
  tracker.avoid("default/uid", {"n1"}, 1min, "refused");
  api::Pod avoids = pod("p");
  avoids.metadata.owner_references.push_back({"apps/v1", "ReplicaSet", "set", "uid", true});
  EXPECT_TRUE(tracker.choose(avoids, {}).depends_on_capacity) << "a node was dropped for another reason";
}

// As kube-controller-manager will taint it, from the condition on.
TEST_F(NodeTrackerTest, ANodeThatIsNotReadyTakesOnlyPodsThatTolerateThat) {
  const auto node_says = [](const std::string& ready) {
    auto node = std::make_shared<api::Node>();
    node->metadata.name = "n1";
    node->allocatable = {{"cpu", "2"}, {"memory", "1Gi"}, {"pods", "10"}};
    node->conditions = {{"MemoryPressure", "False", "", "", "", 0}, {"Ready", ready, "", "", "", 0}};
    return node;
  };
  api::Pod tolerant = pod("p");
  for (const std::string status : {"False", "Unknown"}) {
    const std::string key = std::string("node.kubernetes.io/") + (status == "False" ? "not-ready" : "unreachable");
    tracker.set_node(node_says(status));
    EXPECT_EQ(chosen(pod("p")), "n2") << status;
    EXPECT_EQ(tracker.choose(pod("p"), {"n1"}).why_none,
              "0/1 nodes are available: 1 node(s) had untolerated taint(s).");
    tolerant.tolerations = {{key, "Exists", "", "NoSchedule", std::nullopt}};
    EXPECT_EQ(chosen(tolerant), "n1 n2") << status;
    // Once the taint is there, it counts once.
    auto tainted = node_says(status);
    tainted->taints = {{key, "", "NoExecute", ""}, {key, "", "NoSchedule", "2026-01-01T00:00:00Z"}};
    EXPECT_EQ(taints_in_force(*tainted), tainted->taints);
  }
  tracker.set_node(node_says("True"));
  EXPECT_EQ(chosen(pod("p")), "n1 n2");
}

}  // namespace dra::nodes::node_tracker_test
