// Evictions of pinned pods: few of an owner at a time, whatever becomes of those made in their place.
#include "pkg/protocol/recreations.h"
#include "controllers/allocation/allocation_fixture.h"
#include "controllers/allocation/pod/pinned.h"
#include "pkg/base/timestamp.h"

namespace dra::allocation::recreations_test {

using namespace protocol;
using namespace reconcile;
using namespace std::chrono_literals;

// Owners whose pods are pinned, kube-scheduler, and a server, in steps of five seconds.
class RecreationsTest : public AllocationTest {
 protected:
  RecreationsTest() {
    options.recreate_pinned_pods = true;
    nodes.labels[std::string(kRecreateLabel)] = "true";
  }
  struct Made {
    std::string owner;
    WallTime at;
  };

  api::Pod pod_of(const std::string& owner, const std::string& name) {
    api::Pod pod = make_pod(name, {"c" + name}, false);
    pod.metadata.owner_references.push_back({"apps/v1", "ReplicaSet", owner, owner + "-uid", true});
    pod.metadata.creation_timestamp = format_rfc3339(view.time);
    return pod;
  }
  void pin(const std::string& owner, int count) {
    for (int i = 0; i < count; ++i) {
      const std::string name = owner + std::to_string(next++);
      api::Pod pod = pod_of(owner, name);
      api::Condition condition{"PodScheduled", "False", "Unschedulable", "no cpu", "", 0};
      condition.last_transition_time = format_rfc3339(view.time - 10min);
      pod.conditions.push_back(condition);
      view.put(pod);
      api::ResourceClaim claim = proven(allocated("c" + name, "n1", "gpu-0", true, {name}), name);
      claim.metadata.owner_references.push_back({"v1", "Pod", name, name + "-uid", true});
      put(claim);
      pinned.insert(name);
    }
  }
  // Every pinned pod is checked; evictions take place, and the owner makes another pod, unless it does not.
  void step() {
    for (const std::string& name : std::set<std::string>(pinned)) {
      const api::Pod* pod = view.pod("default/" + name);
      const std::string owner = pod->metadata.owner_references[0].name;
      const ReconcileResult outcome = reconcile_pinned(view, *pod, options, nodes, recreations);
      const bool evicts = outcome.has_writes();
      for (const Effect& effect : outcome.effects)
        if (const Event* said = std::get_if<Event>(&effect)) words[name] = said->note;
      if (!evicts) {
        EXPECT_LE(*outcome.requeue_after, 15s);
        continue;
      }
      ++asked;
      if (refuses) continue;
      ++evicted[owner];
      pinned.erase(name);
      view.pods.erase("default/" + name);
      if (!makes) continue;
      const std::string made = owner + std::to_string(next++);
      const api::Pod another = pod_of(owner, made);
      view.put(another);
      recreations.pod_came(another);
      waiting[made] = {owner, view.time};
    }
    for (auto one = waiting.begin(); one != waiting.end();) {
      if (!starts || view.time - one->second.at < 20s) {
        ++one;
        continue;
      }
      api::Pod runs = *view.pod("default/" + one->first);
      runs.node_name = "n2";
      runs.phase = "Running";
      view.put(runs);
      one = waiting.erase(one);
    }
    std::map<std::string, size_t> under_way;
    for (const auto& [name, made] : waiting) ++under_way[made.owner];
    for (const auto& [owner, count] : under_way) EXPECT_LE(count, Recreations::kAtOnce) << owner;
    view.time += 5s;
  }

  Recreations recreations;
  int next = 0;
  bool makes = true, starts = true, refuses = false;
  std::set<std::string> pinned;
  std::map<std::string, Made> waiting;
  std::map<std::string, size_t> evicted;
  std::map<std::string, std::string> words;
  size_t asked = 0;
};

TEST_F(RecreationsTest, ThirtySixGoThreeAtATimeAndAllGo) {
  pin("web", 36);
  pin("db", 2);
  step();
  EXPECT_EQ(evicted["web"], 3u);
  EXPECT_EQ(evicted["db"], 2u) << "another owner's";
  int steps = 1;
  for (; !pinned.empty() && steps < 1000; ++steps) step();
  EXPECT_TRUE(pinned.empty());
  EXPECT_LE(steps * 5, 12 * 30) << "each turn as long as its pods take to run";
}

TEST_F(RecreationsTest, WhileThoseMadeAnewDoNotRunNoOtherGoesAndEachSaysWhy) {
  pin("web", 36);
  starts = false;
  for (int i = 0; i < 500; ++i) step();
  EXPECT_EQ(evicted["web"], 3u);
  ASSERT_EQ(pinned.size(), 33u);
  for (const std::string& name : pinned) {
    EXPECT_NE(
        words[name].find("it is evicted later: 3 pods of ReplicaSet/web are evicted for this at a time, and those "
                         "made in their place do not all run yet: web36, web37, web38"),
        std::string::npos)
        << words[name];
  }
  starts = true;
  for (int i = 0; i < 100; ++i) step();
  EXPECT_TRUE(pinned.empty());
}

TEST_F(RecreationsTest, AnOwnerThatMakesNoneLosesTheNextAfterTenMinutes) {
  pin("web", 7);
  makes = false;
  for (int i = 0; i < 10 * 12; ++i) step();
  EXPECT_EQ(evicted["web"], 3u);
  for (int i = 0; i < 3; ++i) step();
  EXPECT_EQ(evicted["web"], 6u);
}

// A PodDisruptionBudget: the same pods are asked for again, and when they cannot go, others.
TEST_F(RecreationsTest, ARefusedEvictionIsNotUnderWay) {
  pin("web", 5);
  refuses = true;
  step();
  EXPECT_EQ(asked, 3u);
  for (int i = 0; i < 5; ++i) step();
  EXPECT_LE(asked, 3u * 6);
  refuses = false;
  for (int i = 0; i < 20; ++i) step();
  EXPECT_TRUE(pinned.empty());
}

TEST_F(RecreationsTest, OlderPodsOfTheOwnerAreNotMadeInPlaceOfOthers) {
  pin("web", 4);
  step();
  ASSERT_EQ(evicted["web"], 3u);
  // The owner's pods are delivered again, as after a new list.
  api::Pod old = pod_of("web", "old");
  old.metadata.creation_timestamp = format_rfc3339(view.time - 1h);
  view.put(old);
  recreations.pod_came(old);
  for (int i = 0; i < 8; ++i) step();
  EXPECT_TRUE(pinned.empty()) << "it waits for nobody who was there before";
}

TEST_F(RecreationsTest, OwnersAreBounded) {
  makes = starts = false;
  for (size_t i = 0; i < Recreations::kMostOwners + 5; ++i) {
    api::Pod pod = pod_of("o" + std::to_string(i), "p" + std::to_string(i));
    view.put(pod);
    const std::string why = recreations.why_later(view, pod);
    EXPECT_EQ(why.empty(), i < Recreations::kMostOwners) << why;
    if (why.empty()) recreations.begin(pod, view.time);
  }
  view.pods.clear();
  view.time += Recreations::kNoneComes + 1s;
  EXPECT_EQ(recreations.why_later(view, pod_of("last", "last")), "");
}

}  // namespace dra::allocation::recreations_test
