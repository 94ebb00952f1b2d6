// NodeTracker: assumed pods count on their node with their volumes; nominated pods count for pods of no higher
// priority; avoided nodes come back.
#include "pkg/manager/node_tracker.h"

#include <gtest/gtest.h>

#include <map>

#include "pkg/base/random.h"
#include "pkg/manager/choice_cache.h"

namespace dra::manager::node_tracker_test {

using namespace std::chrono_literals;

class NodeTrackerTest : public testing::Test {
 protected:
  NodeTrackerTest() : tracker(clock) {
    tracker.set_known(Facts::kVolumes, true, "");
    for (const char* name : {"n1", "n2"}) add_node(name);
    api::StorageClass local;
    local.metadata.name = "local";
    local.provisioner = "kubernetes.io/no-provisioner";
    local.volume_binding_mode = "WaitForFirstConsumer";
    tracker.storage().classes.set(std::make_shared<api::StorageClass>(local));
    local.metadata.name = "fast";
    local.provisioner = "fast.example.com";
    tracker.storage().classes.set(std::make_shared<api::StorageClass>(local));
  }
  void add_node(const std::string& name) {
    auto node = std::make_shared<api::Node>();
    node->metadata.name = name;
    node->metadata.labels["kubernetes.io/hostname"] = name;
    node->allocatable = {{"cpu", "2"}, {"memory", "1Gi"}, {"pods", "10"}};
    tracker.set_node(node);
  }
  static api::Pod pod(const std::string& name, const std::string& claim = "", const std::string& cpu = "1") {
    api::Pod made;
    made.metadata.ns = "default";
    made.metadata.name = made.metadata.uid = name;
    made.phase = "Pending";
    api::Container container;
    container.requests["cpu"] = cpu;
    made.containers.push_back(container);
    if (!claim.empty()) {
      api::PodVolume volume;
      volume.name = "data";
      volume.claim_name = claim;
      made.volumes.push_back(volume);
    }
    return made;
  }
  void add_claim(const std::string& name, const std::string& storage_class, const std::string& volume = "") {
    auto claim = std::make_shared<api::PersistentVolumeClaim>();
    claim->metadata.ns = "default";
    claim->metadata.name = claim->metadata.uid = name;
    claim->storage_class_name = storage_class;
    claim->storage = "1Gi";
    claim->phase = volume.empty() ? "Pending" : "Bound";
    claim->volume_name = volume;
    if (!volume.empty()) claim->metadata.annotations["pv.kubernetes.io/bind-completed"] = "yes";
    tracker.volumes().set(claim);
  }
  std::shared_ptr<api::PersistentVolume> add_volume(const std::string& name, const std::string& node) {
    auto volume = std::make_shared<api::PersistentVolume>();
    volume->metadata.name = name;
    volume->storage_class_name = "local";
    volume->storage = "1Gi";
    volume->phase = "Available";
    volume->node_affinity = api::NodeSelector{{api::NodeSelectorTerm{{{"kubernetes.io/hostname", "In", {node}}}, {}}}};
    tracker.volumes().set(std::shared_ptr<const api::PersistentVolume>(volume));
    return volume;
  }
  std::string chosen(const api::Pod& pod) {
    std::string names;
    for (const std::string_view name : tracker.choose(pod, {}).nodes)
      names += (names.empty() ? "" : " ") + std::string(name);
    return names;
  }

  ManualClock clock;
  NodeTracker tracker;
};

TEST_F(NodeTrackerTest, AVolumeThatIsPromisedToOneIsNotPromisedToAnother) {
  add_volume("pv", "n1");
  add_claim("a", "local");
  add_claim("b", "local");
  EXPECT_EQ(chosen(pod("p", "a")), "n1");
  tracker.assume(pod("p", "a"), "n1");
  EXPECT_EQ(tracker.choose(pod("q", "b"), {}).why_none,
            "0/2 nodes are available: 2 node(s) didn't find available persistent volumes to bind.");
  const allocation::VolumeNeeds needs = tracker.volumes(pod("p", "a"), "n1");
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
  EXPECT_EQ(chosen(nominated), "n1 n2") << "it is no obstacle to itself, and its node comes first";
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
  tracker.avoid("job-uid", {"n2"}, 600s, "refused there");
  const allocation::NodeChoice none = tracker.choose(owned, {});
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
  const allocation::NodeChoice all = tracker.choose(owned, {});
  EXPECT_EQ(all.cpu_milli, 1000);
  ASSERT_EQ(all.facts.size(), 3u);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(all.facts[i].free_cpu_milli, all.nodes[i] == "n1" ? 1500 : 2000);
  tracker.avoid("p", {std::string(all.nodes[1])}, 1min, "it failed");
  const std::string last(all.nodes[2]), gone(all.nodes[1]);
  owned.nominated_node_name = last;
  const allocation::NodeChoice some = tracker.choose(owned, {});
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
  const auto check = [&](const allocation::NodeChoice& choice) {
    ASSERT_EQ(choice.numbers.size(), choice.nodes.size());
    for (size_t i = 0; i < choice.nodes.size(); ++i)
      EXPECT_EQ(inventory.node_name(choice.numbers[i]), choice.nodes[i]) << i;
  };
  tracker.number_by(inventory);
  add_node("n3");
  api::Pod owned = pod("p");
  const allocation::NodeChoice all = tracker.choose(owned, {});
  check(all);
  owned.nominated_node_name = std::string(all.nodes[2]);
  tracker.avoid("p", {std::string(all.nodes[1])}, 1min, "it failed");
  check(tracker.choose(owned, {}));
  tracker.remove_node("n1");
  add_node("n9");
  const allocation::NodeChoice others = tracker.choose(pod("q"), {});
  ASSERT_EQ(others.nodes.size(), 3u);
  check(others);
}

// Several nodes at once count as one time: a pin by labels holds a pod to all of them.
TEST_F(NodeTrackerTest, NodesThatAreAvoidedTogetherCountOnce) {
  add_node("n3");
  tracker.avoid("p", {"n1", "n3", "n1"}, 60s, "no space");
  EXPECT_EQ(chosen(pod("p")), "n2");
  EXPECT_EQ(tracker.times_avoided("p"), 1u);
  tracker.avoid("p", {"n1"}, 120s, "no space");
  EXPECT_EQ(tracker.times_avoided("p"), 2u);
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
  const allocation::NodeChoice none = tracker.choose(pod("p", "waits"), {});
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
    const allocation::NodeChoice none = tracker.choose(pod("p", name), {});
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
  tracker.avoid("uid", {"n1"}, 1min, "refused");
  api::Pod avoids = pod("p");
  avoids.metadata.owner_references.push_back({"apps/v1", "ReplicaSet", "set", "uid", true});
  EXPECT_TRUE(tracker.choose(avoids, {}).depends_on_capacity) << "a node was dropped for another reason";
}

// ---- choices that are kept for pods of one shape (choice_cache.h)

std::string text_of(const allocation::NodeChoice& choice) {
  std::string text;
  for (size_t i = 0; i < choice.nodes.size(); ++i)
    text += std::string(choice.nodes[i]) + "/" + std::to_string(choice.facts.at(i).free_cpu_milli) + "/" +
            std::to_string(choice.facts.at(i).preferred) + " ";
  return text + std::to_string(choice.cpu_milli) + choice.why_none + (choice.depends_on_capacity ? " room" : "") +
         (choice.depends_on_pods ? " pods" : "");
}

class KeptChoices : public NodeTrackerTest {
 protected:
  KeptChoices() {
    tracker.set_known(Facts::kNamespaces, true, "");
    tracker.set_known(Facts::kWorkloads, true, "");
    for (int i = 0; i < 24; ++i) nodes[node_name(i)] = fresh_node(node_name(i));
    for (const auto& [name, node] : nodes) tracker.set_node(node);
  }
  static std::string node_name(int i) { return "w" + std::to_string(100 + i); }
  static std::shared_ptr<const api::Node> fresh_node(const std::string& name) {
    api::Node node;
    node.metadata.name = name;
    node.metadata.labels = {{"kubernetes.io/hostname", name}, {"disk", "hdd"}};
    node.allocatable = {{"cpu", "8"}, {"memory", "4Gi"}, {"pods", "6"}};
    return std::make_shared<const api::Node>(node);
  }
  static api::Pod shaped(int shape, const std::string& name) {
    api::Pod made = pod(name, "", std::to_string(shape % 3 + 1));
    made.metadata.labels["shape"] = std::to_string(shape);
    if (shape % 2 == 1) made.node_selector["disk"] = "ssd";
    if (shape >= 4) made.containers[0].image = "image-" + std::to_string(shape % 2);
    if (shape == 5) made.tolerations.push_back({"dedicated", "Exists", "", "NoSchedule", {}});
    return made;
  }
  void change_a_node(api::Node node) {
    switch (random.below(7)) {
      case 0:
        node.unschedulable = !node.unschedulable;
        break;
      case 1:
        node.metadata.labels["disk"] = random.below(2) == 0 ? "ssd" : "hdd";
        break;
      case 2:
        node.taints = {{"dedicated", "x", "NoSchedule", ""}};
        break;
      case 3:
        node.taints.clear();
        break;
      case 4:
        node.allocatable["cpu"] = std::to_string(4 + random.below(8));
        break;
      case 5:
        node.images = {{api::image_hash("image-" + std::to_string(random.below(2)) + ":latest"), 400 << 20}};
        break;
      default:
        if (random.below(10) == 0) node.taints = {{"slow", "x", "PreferNoSchedule", ""}};
    }
    nodes[node.metadata.name] = std::make_shared<const api::Node>(node);
    tracker.set_node(nodes[node.metadata.name]);
  }
  void change_something() {
    const std::string node = node_name(static_cast<int>(random.below(26)));
    const uint64_t what = random.below(20);
    if (what < 8) {
      tracker.assume(shaped(static_cast<int>(random.below(7)), "p" + std::to_string(random.below(200))), node);
    } else if (what < 14) {
      tracker.remove_pod("p" + std::to_string(random.below(200)));
    } else if (what < 18) {
      change_a_node(nodes.contains(node) ? *nodes[node] : *fresh_node(node));
    } else if (what == 18) {
      nodes.erase(node);
      tracker.remove_node(node);
    } else {
      api::Pod repels = pod("r" + std::to_string(random.below(3)));
      repels.metadata.labels["app"] = "r";
      api::PodAffinityTerm term;
      term.topology_key = random.below(2) == 0 ? "kubernetes.io/hostname" : "disk";
      term.label_selector = api::LabelSelector{{{"shape", "2"}}, {}};
      repels.pod_anti_affinity.required.push_back(term);
      random.below(2) == 0 ? tracker.assume(repels, node) : tracker.remove_pod(repels.metadata.uid);
    }
  }
  SeededRandom random{17};
  std::map<std::string, std::shared_ptr<const api::Node>> nodes;
};

// Who keeps a decision keeps it as it was; while nobody does, it is brought up to date in place.
TEST_F(KeptChoices, ADecisionThatWasHandedOutNeverChanges) {
  placement::Cluster cluster;
  for (const auto& [name, node] : nodes) cluster.set_node(node);
  const auto cordon = [&](const std::string& name, bool cordoned) {
    api::Node changed = *nodes.at(name);
    changed.unschedulable = cordoned;
    cluster.set_node(std::make_shared<const api::Node>(changed));
  };
  const api::Pod pod = shaped(0, "p");  // the needs refer to it
  const Result<placement::PodNeeds> needs = placement::PodNeeds::of(pod);
  ASSERT_TRUE(needs);
  ChoiceCache cache;
  const auto now = [&] { return cache.of(cluster, *needs, "shape", nullptr); };
  ASSERT_NE(now(), nullptr);
  auto handed_out = now()->decision;
  EXPECT_EQ(handed_out->nodes.size(), nodes.size());
  cordon(node_name(3), true);
  ASSERT_NE(now(), nullptr);
  EXPECT_EQ(now()->decision->nodes.size(), nodes.size() - 1);
  EXPECT_EQ(handed_out->nodes.size(), nodes.size());
  handed_out.reset();
  const placement::Decision* const where = now()->decision.get();
  cordon(node_name(3), false);
  EXPECT_EQ(now()->decision->nodes.size(), nodes.size());
  EXPECT_EQ(now()->decision.get(), where) << "nobody has it: no copy";
}

TEST_F(KeptChoices, AreWhatAWholeDecisionWouldSay) {
  size_t some = 0;
  for (int round = 0; round < 4000; ++round) {
    for (uint64_t changes = random.below(4); changes > 0; --changes) change_something();
    // All seven shapes take turns, more than are kept; mostly few of them.
    const int shape = static_cast<int>(random.below(10) == 0 ? random.below(7) : random.below(3));
    const api::Pod wanted = shaped(shape, "new");
    const allocation::NodeChoice kept = tracker.choose(wanted, {});
    const std::string text = text_of(kept);
    some += kept.nodes.empty() ? 0 : 1;
    ASSERT_EQ(text, text_of(tracker.choose(wanted, tracker.all_nodes()))) << "round " << round << ", shape " << shape;
  }
  EXPECT_GT(some, 2000u);
}

// What lets a search skip the question about a node (NodeTracker::still_takes).
TEST_F(KeptChoices, ANodeThatStillTakesAPodIsOneThatWouldBeChosen) {
  struct Accepted {
    api::Pod pod;
    std::string node;
    uint64_t version;
  };
  std::vector<Accepted> accepted;
  size_t taken = 0, unknown = 0;
  for (int round = 0; round < 12'000; ++round) {
    clock.advance(1s);
    change_something();
    const std::string somewhere = node_name(static_cast<int>(random.below(24)));
    const uint64_t what = random.below(200);
    if (what == 0) {
      tracker.avoid("new-" + std::to_string(random.below(3)), {somewhere}, 10s, "refused");
    } else if (what == 1) {
      api::Pod nominated = shaped(0, "nominated-" + std::to_string(random.below(5)));
      if (random.below(2) == 0) nominated.nominated_node_name = somewhere;
      tracker.set_pod(nominated);
    } else if (what < 50) {
      const api::Pod supposed = shaped(2, "supposed");
      const uint64_t before = tracker.version();
      tracker.suppose(supposed, somewhere);
      tracker.stop_supposing(supposed);
      ASSERT_EQ(tracker.version(), before);
    }
    std::erase_if(accepted, [&](const Accepted& one) {
      if (!tracker.still_takes(one.pod, one.node, one.version)) return ++unknown, true;
      ++taken;
      EXPECT_FALSE(tracker.choose(one.pod, {one.node}).nodes.empty()) << "round " << round << ", " << one.node;
      return false;
    });
    const api::Pod wanted = shaped(static_cast<int>(random.below(7)), "new-" + std::to_string(random.below(3)));
    if (accepted.size() < 40 && !tracker.choose(wanted, {somewhere}).nodes.empty())
      accepted.push_back({wanted, somewhere, tracker.version()});
  }
  EXPECT_GT(taken, 5'000u);
  EXPECT_GT(unknown, 500u);
}

TEST_F(KeptChoices, AfterChangesOfVeryManyNodesNothingIsSaidAboutAnOldVersion) {
  const api::Pod wanted = shaped(0, "new");
  const uint64_t version = tracker.version();
  const std::string node = node_name(0);
  EXPECT_TRUE(tracker.still_takes(wanted, node, version));
  for (size_t i = 0; i < NodeTracker::kMaxChanged - 26; ++i) tracker.set_node(fresh_node("other-" + std::to_string(i)));
  EXPECT_TRUE(tracker.still_takes(wanted, node, version));
  tracker.set_node(fresh_node("one-more"));
  EXPECT_FALSE(tracker.still_takes(wanted, node, version));
  EXPECT_TRUE(tracker.still_takes(wanted, node, tracker.version()));
}

TEST_F(KeptChoices, ChangesThatWereForgottenAreNotMissed) {
  const api::Pod wanted = shaped(0, "new");
  EXPECT_EQ(tracker.choose(wanted, {}).nodes.size(), 26u) << "24, n1 and n2";
  // More changes of one node than the cluster remembers, after one of another.
  tracker.assume(shaped(2, "big-1"), "w100");
  tracker.assume(shaped(2, "big-2"), "w100");
  tracker.assume(shaped(2, "big-3"), "w100");
  for (size_t i = 0; i < placement::Cluster::kMaxLog; ++i) {
    tracker.assume(shaped(0, "p"), "w101");
    tracker.remove_pod("p");
  }
  EXPECT_EQ(text_of(tracker.choose(wanted, {})), text_of(tracker.choose(wanted, tracker.all_nodes())));
}

}  // namespace dra::manager::node_tracker_test
