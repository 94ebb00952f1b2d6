#include "pkg/sandbox/workload.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

namespace dra::sandbox::workload_test {

const WallTime kNow = WallTime{std::chrono::seconds{1'800'000'000}};

// Just enough of an API server to let passes act on: pods by name, and the owner.
struct World {
  Json owner;
  std::map<std::string, Json> pods;
  SeededRandom random{1};

  std::vector<const Json*> owned() const {
    std::vector<const Json*> list;
    for (const auto& [name, pod] : pods) list.push_back(&pod);
    return list;
  }
  void perform(const Step& step) {
    for (const ApiCall& call : step.calls) {
      if (call.method == "POST") {
        Json pod = Json::parse(call.body);
        pod["status"]["phase"] = "Pending";
        ASSERT_TRUE(pods.emplace(pod["metadata"]["name"], pod).second);
      } else if (call.method == "DELETE") {
        ASSERT_EQ(pods.erase(call.path.substr(call.path.rfind('/') + 1)), 1U);
      } else {
        owner.merge_patch(Json::parse(call.body));
      }
    }
  }
  void set_phase(const char* phase) {
    for (auto& [name, pod] : pods) {
      pod["status"] = {{"phase", phase}};
      if (std::string_view(phase) == "Running") pod["status"]["conditions"] = {{{"type", "Ready"}, {"status", "True"}}};
    }
  }
};

World deployment(int replicas) {
  World world;
  world.owner = {
      {"metadata", {{"name", "web"}, {"namespace", "ns"}, {"uid", "d1"}, {"generation", 3}}},
      {"spec",
       {{"replicas", replicas},
        {"template", {{"metadata", {{"labels", {{"app", "web"}}}}}, {"spec", {{"containers", Json::array()}}}}}}}};
  return world;
}

TEST(DeploymentTest, MakesReplicasAndReportsThem) {
  World world = deployment(3);
  world.perform(deployment_pass(world.owner, world.owned(), world.random));
  ASSERT_EQ(world.pods.size(), 3U);
  const Json& pod = world.pods.begin()->second;
  EXPECT_EQ(pod["metadata"]["labels"]["app"], "web");
  EXPECT_TRUE(controlled_by(pod, "d1"));
  world.set_phase("Running");
  world.perform(deployment_pass(world.owner, world.owned(), world.random));
  EXPECT_EQ(world.owner["status"]["readyReplicas"], 3);
  EXPECT_EQ(world.owner["status"]["conditions"][0]["status"], "True");
  EXPECT_TRUE(deployment_pass(world.owner, world.owned(), world.random).calls.empty())
      << "a settled deployment is written again";
}

TEST(DeploymentTest, ScalesDownAndReplacesOldTemplates) {
  World world = deployment(4);
  world.perform(deployment_pass(world.owner, world.owned(), world.random));
  world.owner["spec"]["replicas"] = 1;
  world.perform(deployment_pass(world.owner, world.owned(), world.random));
  EXPECT_EQ(world.pods.size(), 1U);
  const std::string old = world.pods.begin()->first;
  world.owner["spec"]["template"]["spec"]["priority"] = 7;
  world.perform(deployment_pass(world.owner, world.owned(), world.random));
  ASSERT_EQ(world.pods.size(), 1U);
  EXPECT_NE(world.pods.begin()->first, old);
}

TEST(DeploymentTest, CreatesAtMostSoManyAtOnce) {
  World world = deployment(1000);
  EXPECT_LE(deployment_pass(world.owner, world.owned(), world.random).calls.size(), kMaxPodsPerPass + 1);
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
