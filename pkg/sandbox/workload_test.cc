#include "pkg/sandbox/workload.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

namespace dra::sandbox::workload_test {

const WallTime kNow = WallTime{std::chrono::seconds{1'800'000'000}};

// Just enough of an API server for passes to act on: pods and sets by name, and the owner.
struct World {
  Json owner;
  std::map<std::string, Json> pods;
  std::map<std::string, Json> sets;
  SeededRandom random{1};

  static std::vector<const Json*> list(const std::map<std::string, Json>& objects) {
    std::vector<const Json*> out;
    for (const auto& [name, object] : objects) out.push_back(&object);
    return out;
  }
  std::vector<const Json*> owned() const { return list(pods); }

  void perform(const Step& step) {
    for (const ApiCall& call : step.calls) {
      const bool of_set = call.path.find("/replicasets") != std::string::npos;
      auto& objects = of_set ? sets : pods;
      const std::string name = call.path.substr(call.path.rfind('/') + 1);
      if (call.method == "POST") {
        Json object = Json::parse(call.body);
        object["metadata"]["uid"] = object["metadata"]["name"];
        if (!of_set) object["status"]["phase"] = "Pending";
        ASSERT_TRUE(objects.emplace(object["metadata"]["name"], object).second);
      } else if (call.method == "DELETE") {
        ASSERT_EQ(objects.erase(name), 1U);
      } else if (of_set) {
        const std::string path = call.path.ends_with("/status") ? call.path.substr(0, call.path.size() - 7) : call.path;
        sets.at(path.substr(path.rfind('/') + 1)).merge_patch(Json::parse(call.body));
      } else {
        owner.merge_patch(Json::parse(call.body));
      }
    }
  }
  void set_phase(const char* phase) {
    for (auto& [name, pod] : pods) set_phase(pod, phase);
  }
  static void set_phase(Json& pod, const char* phase) {
    pod["status"] = {{"phase", phase}};
    if (std::string_view(phase) == "Running") pod["status"]["conditions"] = {{{"type", "Ready"}, {"status", "True"}}};
  }
  int64_t ready_pods() const {
    return std::count_if(pods.begin(), pods.end(),
                         [](const auto& entry) { return text_at(entry.second, "/status/phase") == "Running"; });
  }
};

World workload(const char* name, int replicas) {
  World world;
  world.owner = {
      {"metadata", {{"name", name}, {"namespace", "ns"}, {"uid", "o1"}, {"generation", 3}}},
      {"spec",
       {{"replicas", replicas},
        {"selector", {{"matchLabels", {{"app", "web"}}}}},
        {"template", {{"metadata", {{"labels", {{"app", "web"}}}}}, {"spec", {{"containers", Json::array()}}}}}}}};
  return world;
}

// One round for a Deployment and its sets: every pass runs once, and `starting` pods become ready.
void run_deployment(World& world, size_t starting) {
  world.perform(deployment_pass(world.owner, World::list(world.sets), kNow));
  const auto sets = world.sets;
  for (const auto& [name, set] : sets) {
    std::vector<const Json*> owned;
    for (const auto& [unused, pod] : world.pods)
      if (controlled_by(pod, name)) owned.push_back(&pod);
    world.perform(replica_set_pass(set, owned, world.random));
  }
  for (auto& [name, pod] : world.pods) {
    if (starting == 0 || text_at(pod, "/status/phase") == "Running") continue;
    World::set_phase(pod, "Running");
    --starting;
  }
}

TEST(DeploymentTest, MakesASetWhichMakesReplicasAndReportsThem) {
  World world = workload("web", 3);
  for (int round = 0; round < 6; ++round) run_deployment(world, 100);
  ASSERT_EQ(world.sets.size(), 1U);
  ASSERT_EQ(world.pods.size(), 3U);
  const auto& [name, set] = *world.sets.begin();
  EXPECT_EQ(name, "web-" + text_at(set, "/metadata/labels/pod-template-hash"));
  const Json& pod = world.pods.begin()->second;
  EXPECT_EQ(pod["metadata"]["labels"]["app"], "web");
  EXPECT_TRUE(controlled_by(pod, name));
  EXPECT_EQ(world.owner["status"]["readyReplicas"], 3);
  EXPECT_EQ(world.owner["status"]["conditions"][0]["status"], "True");
  EXPECT_EQ(world.owner["status"]["conditions"][1]["reason"], "NewReplicaSetAvailable");
  EXPECT_TRUE(deployment_pass(world.owner, World::list(world.sets), kNow).calls.empty())
      << "a settled deployment is written again";
}

// Whatever the strategy and however slowly pods start: never more pods than allowed, never fewer ready ones, and at the
// end only the new template.
TEST(DeploymentTest, ARolloutKeepsTheBoundsOfItsStrategy) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    SeededRandom random(seed);
    const int replicas = 1 + static_cast<int>(random.below(9));
    const auto surge = static_cast<int64_t>(random.below(3)), unavailable = static_cast<int64_t>(random.below(3));
    World world = workload("web", replicas);
    world.owner["spec"]["strategy"] = {{"type", "RollingUpdate"},
                                       {"rollingUpdate", {{"maxSurge", surge}, {"maxUnavailable", unavailable}}}};
    for (int round = 0; round < 12; ++round) run_deployment(world, 100);
    ASSERT_EQ(world.ready_pods(), replicas) << "seed " << seed;
    world.owner["spec"]["template"]["spec"]["priority"] = 7;
    const int64_t least = replicas - (surge == 0 && unavailable == 0 ? 1 : unavailable);
    for (int round = 0; round < 60; ++round) {
      run_deployment(world, random.below(3));
      EXPECT_LE(static_cast<int64_t>(world.pods.size()), replicas + surge) << "seed " << seed;
      EXPECT_GE(world.ready_pods(), least) << "seed " << seed;
    }
    for (int round = 0; round < 40; ++round) run_deployment(world, 100);
    for (const auto& [name, pod] : world.pods) EXPECT_EQ(number_at(pod, "/spec/priority", 0), 7) << "seed " << seed;
    EXPECT_EQ(world.ready_pods(), replicas) << "seed " << seed;
  }
}

TEST(DeploymentTest, RecreateEmptiesTheOldSetFirst) {
  World world = workload("web", 2);
  world.owner["spec"]["strategy"] = {{"type", "Recreate"}};
  for (int round = 0; round < 6; ++round) run_deployment(world, 100);
  world.owner["spec"]["template"]["spec"]["priority"] = 7;
  bool empty = false;
  for (int round = 0; round < 12; ++round) {
    run_deployment(world, 100);
    std::set<int64_t> templates;
    for (const auto& [name, pod] : world.pods) templates.insert(number_at(pod, "/spec/priority", 0));
    EXPECT_LE(templates.size(), 1U) << "two templates run at once";
    empty = empty || world.pods.empty();
  }
  EXPECT_TRUE(empty);
  EXPECT_EQ(world.ready_pods(), 2);
}

TEST(ReplicaSetTest, CreatesAtMostSoManyAtOnce) {
  World world = workload("web", 1000);
  EXPECT_LE(replica_set_pass(world.owner, world.owned(), world.random).calls.size(), kMaxPodsPerPass + 1);
}

TEST(StatefulSetTest, OrderedOneAfterTheOtherAndParallelAtOnce) {
  for (const bool parallel : {false, true}) {
    World world = workload("db", 3);
    if (parallel) world.owner["spec"]["podManagementPolicy"] = "Parallel";
    world.perform(stateful_set_pass(world.owner, world.owned()));
    EXPECT_EQ(world.pods.size(), parallel ? 3U : 1U);
    EXPECT_TRUE(world.pods.contains("db-0"));
    world.perform(stateful_set_pass(world.owner, world.owned()));
    EXPECT_EQ(world.pods.size(), parallel ? 3U : 1U) << "db-0 is not ready yet";
    for (int round = 0; round < 4; ++round) {
      world.set_phase("Running");
      world.perform(stateful_set_pass(world.owner, world.owned()));
    }
    EXPECT_EQ(world.pods.size(), 3U);
    EXPECT_EQ(world.owner["status"]["readyReplicas"], 3);
    EXPECT_EQ(world.owner["status"]["currentRevision"], world.owner["status"]["updateRevision"]);
    EXPECT_EQ(text_at(world.pods.at("db-2"), "/spec/hostname"), "db-2");
    EXPECT_TRUE(stateful_set_pass(world.owner, world.owned()).calls.empty());
  }
}

TEST(StatefulSetTest, RollsFromTheHighestNumberAndShrinksThere) {
  World world = workload("db", 3);
  for (int round = 0; round < 5; ++round) {
    world.perform(stateful_set_pass(world.owner, world.owned()));
    world.set_phase("Running");
  }
  world.owner["spec"]["template"]["spec"]["priority"] = 7;
  world.owner["spec"]["updateStrategy"] = {{"type", "RollingUpdate"}, {"rollingUpdate", {{"partition", 1}}}};
  world.perform(stateful_set_pass(world.owner, world.owned()));
  EXPECT_FALSE(world.pods.contains("db-2"));
  EXPECT_EQ(world.pods.size(), 2U) << "one at a time";
  for (int round = 0; round < 8; ++round) {
    world.perform(stateful_set_pass(world.owner, world.owned()));
    world.set_phase("Running");
  }
  EXPECT_EQ(number_at(world.pods.at("db-2"), "/spec/priority", 0), 7);
  EXPECT_EQ(number_at(world.pods.at("db-1"), "/spec/priority", 0), 7);
  EXPECT_EQ(number_at(world.pods.at("db-0"), "/spec/priority", 0), 0) << "below the partition";
  world.owner["spec"]["replicas"] = 1;
  world.perform(stateful_set_pass(world.owner, world.owned()));
  EXPECT_FALSE(world.pods.contains("db-2"));
  EXPECT_TRUE(world.pods.contains("db-1")) << "one at a time";
}

TEST(StatefulSetTest, VolumeClaimsComeBeforeTheirPod) {
  World world = workload("db", 1);
  world.owner["spec"]["volumeClaimTemplates"] = {
      {{"metadata", {{"name", "data"}}}, {"spec", {{"storageClassName", "x"}}}}};
  const Step step = stateful_set_pass(world.owner, world.owned());
  ASSERT_GE(step.calls.size(), 2U);
  EXPECT_EQ(step.calls[0].path, "/api/v1/namespaces/ns/persistentvolumeclaims");
  EXPECT_EQ(Json::parse(step.calls[0].body)["metadata"]["name"], "data-db-0");
  const Json pod = Json::parse(step.calls[1].body);
  EXPECT_EQ(pod["spec"]["volumes"][0]["persistentVolumeClaim"]["claimName"], "data-db-0");
}

Json node(const char* name, const Json& labels, const Json& taints = Json::array()) {
  return {{"metadata", {{"name", name}, {"labels", labels}}}, {"spec", {{"taints", taints}}}};
}

TEST(DaemonSetTest, OnePodForEachNodeThatFits) {
  World world = workload("agent", 0);
  const Json n1 = node("n1", {{"gpu", "yes"}}), n2 = node("n2", Json::object()),
             n3 = node("n3", {{"gpu", "yes"}}, {{{"key", "k"}, {"effect", "NoSchedule"}}}),
             n4 = node("n4", {{"gpu", "yes"}},
                       {{{"key", "node.kubernetes.io/unschedulable"}, {"effect", "NoSchedule"}}});
  world.owner["spec"]["template"]["spec"]["nodeSelector"] = {{"gpu", "yes"}};
  const std::vector<const Json*> nodes = {&n1, &n2, &n3, &n4};
  for (int round = 0; round < 3; ++round) {
    world.perform(daemon_set_pass(world.owner, world.owned(), nodes, world.random));
    world.set_phase("Running");
  }
  ASSERT_EQ(world.pods.size(), 2U) << "n2 lacks the label, n3's taint is not tolerated";
  std::set<std::string> names;
  for (const auto& [name, pod] : world.pods)
    names.insert(pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
                    ["nodeSelectorTerms"][0]["matchFields"][0]["values"][0]);
  EXPECT_EQ(names, (std::set<std::string>{"n1", "n4"}));
  world.perform(daemon_set_pass(world.owner, world.owned(), nodes, world.random));
  EXPECT_EQ(world.owner["status"]["numberReady"], 2);
  EXPECT_EQ(world.owner["status"]["desiredNumberScheduled"], 2);
  EXPECT_TRUE(daemon_set_pass(world.owner, world.owned(), nodes, world.random).calls.empty());
  world.perform(daemon_set_pass(world.owner, world.owned(), {&n4}, world.random));
  EXPECT_EQ(world.pods.size(), 1U) << "the pod of a node that is gone goes";
  // A new template replaces one pod at a time.
  world.perform(daemon_set_pass(world.owner, world.owned(), nodes, world.random));
  world.set_phase("Running");
  world.owner["spec"]["template"]["spec"]["priority"] = 7;
  world.perform(daemon_set_pass(world.owner, world.owned(), nodes, world.random));
  EXPECT_EQ(world.pods.size(), 1U);
}

World job(int parallelism, int completions) {
  World world;
  world.owner = {{"metadata", {{"name", "train"}, {"namespace", "ns"}, {"uid", "j1"}}},
                 {"spec",
                  {{"parallelism", parallelism},
                   {"completions", completions},
                   {"backoffLimit", 1},
                   {"template", {{"spec", Json::object()}}}}}};
  return world;
}

TEST(JobTest, RunsToCompletion) {
  World world = job(2, 3);
  for (int round = 0; round < 6; ++round) {
    world.perform(job_pass(world.owner, world.owned(), world.random, kNow));
    for (auto& [name, pod] : world.pods)
      if (text_at(pod, "/status/phase") == "Pending") pod["status"] = {{"phase", "Succeeded"}};
  }
  EXPECT_EQ(world.pods.size(), 3U);
  EXPECT_EQ(world.owner["status"]["succeeded"], 3);
  EXPECT_EQ(world.owner["status"]["conditions"][1]["type"], "Complete");
  EXPECT_TRUE(job_pass(world.owner, world.owned(), world.random, kNow).calls.empty());
}

TEST(JobTest, GivesUpAfterItsBackoffLimit) {
  World world = job(1, 1);
  for (int round = 0; round < 6; ++round) {
    world.perform(job_pass(world.owner, world.owned(), world.random, kNow));
    for (auto& [name, pod] : world.pods)
      if (text_at(pod, "/status/phase") == "Pending") pod["status"] = {{"phase", "Failed"}};
  }
  EXPECT_EQ(world.pods.size(), 2U);
  EXPECT_EQ(world.owner["status"]["conditions"][1]["type"], "Failed");
}

TEST(JobTest, SuspendedMakesNoPods) {
  World world = job(1, 1);
  world.owner["spec"]["suspend"] = true;
  world.perform(job_pass(world.owner, world.owned(), world.random, kNow));
  EXPECT_TRUE(world.pods.empty());
}

}  // namespace dra::sandbox::workload_test
