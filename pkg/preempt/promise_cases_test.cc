// Cases about promises that random clusters hardly ever contain.
#include <gtest/gtest.h>

#include "pkg/preempt/preempt.h"
#include "pkg/preempt/testing/build.h"
#include "pkg/preempt/testing/twin.h"

namespace dra::preempt {
namespace {

using testing::Built;
using testing::Model;
using testing::ModelPod;
using testing::ModelPromise;

Model one_node(int cpu) {
  Model model;
  model.cpu = {cpu};
  model.cordoned = {false};
  return model;
}

int add_pod(Model& model, int priority, int cpu, int node) {
  ModelPod pod;
  pod.priority = priority;
  pod.cpu = cpu;
  pod.node = node;
  model.pods.push_back(pod);
  return static_cast<int>(model.pods.size()) - 1;
}

Answer asked(const Model& model) {
  Built built(model);
  return who_must_go(built.world());
}

// Four CPUs are held by a pod that terminates and promised to another one: eight at once, but never together.
TEST(PreemptPromises, APlaceMayBeFreeNowAndLaterForDifferentReasons) {
  Model model = one_node(8);
  const int leaving = add_pod(model, 0, 4, 0);
  model.pods[static_cast<size_t>(leaving)].terminates = true;
  const int promised = add_pod(model, 100, 4, -1);
  model.pending = {add_pod(model, 100, 4, -1)};
  ModelPromise promise;
  promise.places[promised] = 0;
  promise.victims = {leaving};
  model.promises = {promise};
  EXPECT_EQ(testing::slow_answer(model).verdict, Verdict::kFits);
  const Answer answer = asked(model);
  EXPECT_EQ(answer.verdict, Verdict::kFits);
  EXPECT_EQ(answer.placements, (std::map<std::string, std::string>{{"ns/p2", "n0"}}));
}

// Of a group that needs two members one terminates for the promise: the other one goes, too, although nobody needs it.
TEST(PreemptPromises, TheRestOfAGroupFollows) {
  Model model = one_node(4);
  model.groups = {{2, false}};
  const int leaving = add_pod(model, 0, 2, 0), rest = add_pod(model, 0, 2, 0);
  model.pods[static_cast<size_t>(leaving)].terminates = true;
  for (const int pod : {leaving, rest}) model.pods[static_cast<size_t>(pod)].group = 0;
  model.pending = {add_pod(model, 100, 2, -1)};
  ModelPromise promise;
  promise.places[model.pending.front()] = 0;
  promise.victims = {leaving, rest};
  model.promises = {promise};
  const Answer answer = asked(model);
  EXPECT_EQ(answer.verdict, Verdict::kEvict);
  EXPECT_EQ(answer.pods, std::vector<uint32_t>{static_cast<uint32_t>(rest)});
  EXPECT_TRUE(answer.fixed);
  // Where the group runs on without the first one, the second one stays.
  model.groups = {{1, false}};
  EXPECT_EQ(asked(model).verdict, Verdict::kWait);
}

TEST(PreemptBudget, ASpentBudgetEvictsNobodyAndShowsASet) {
  Model model = one_node(4);
  add_pod(model, 0, 2, 0);
  add_pod(model, 10, 2, 0);
  model.pending = {add_pod(model, 100, 2, -1)};
  Built built(model);
  Options options;
  options.max_checks = 1;
  const Answer answer = who_must_go(built.world(), options);
  EXPECT_EQ(answer.verdict, Verdict::kUndecided);
  EXPECT_EQ(answer.pods, std::vector<uint32_t>{0});
  EXPECT_TRUE(answer.placements.empty());
  EXPECT_EQ(who_must_go(built.world()).verdict, Verdict::kEvict);
}

}  // namespace
}  // namespace dra::preempt
