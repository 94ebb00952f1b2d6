// explain without an object, and of owners of every kind.
#include "pkg/inspect/verbs/explain_causes.h"

#include <gtest/gtest.h>

#include <map>

#include "pkg/base/random.h"
#include "pkg/base/strings.h"
#include "pkg/inspect/source/label_filter.h"
#include "pkg/inspect/verbs/explain.h"
#include "pkg/inspect/verbs/pod_owners.h"
#include "pkg/inspect/verbs/two_nodes_fixture.h"

namespace dra::inspect::explain_causes_test {
namespace {

api::Pod& pod_of(TwoNodes& world, const std::string& name) {
  return const_cast<api::Pod&>(*world.objects.pods.at("ml/" + name));
}

// A row of the causes, by its code.
std::map<std::string, std::vector<std::string>> by_cause(const Answer& answer) {
  std::map<std::string, std::vector<std::string>> found;
  for (const Row& row : answer.tables.at(0).rows)
    for (const std::string& pod : row.cells.at(6).items) found[row.cells.at(2).text].push_back(pod);
  return found;
}

Answer all_that_waits(const TwoNodes& world, const WaitingScope& scope = {}) {
  State state(world.objects, {});
  return explain_waiting(state, scope, {.width = 0});
}

TEST(ExplainAll, HasARowACauseWithItsCounts) {
  TwoNodes world;
  for (int i = 0; i < 12; ++i) world.add_pod("busy-" + std::to_string(i), "", {});
  world.add_pod("lost", "", {});
  pod_of(world, "lost").resource_claim_statuses.clear();
  pod_of(world, "lost").resource_claims[0].resource_claim_template_name = "gone";
  world.add_pod("on-b", "b", {"gpu-0", "gpu-1"});
  const Answer answer = all_that_waits(world);
  EXPECT_EQ(answer.status, Status::kNo);
  EXPECT_EQ(answer.lines, std::vector<std::string>{"13 pods wait for devices, for 2 causes."});
  const auto found = by_cause(answer);
  ASSERT_EQ(found.size(), 2u) << render(answer, {});
  EXPECT_EQ(found.at("DeviceHeld").size(), 12u);
  EXPECT_EQ(found.at("TemplateMissing"), std::vector<std::string>{"ml/lost"});
  EXPECT_EQ(answer.tables[0].rows[0].cells[0].text, "12") << "the most pods come first";
}

TEST(ExplainAll, IsDoneWhereNothingWaits) {
  const TwoNodes world;
  const Answer answer = all_that_waits(world);
  EXPECT_EQ(answer.status, Status::kYes);
  EXPECT_EQ(answer.statements.at(0).code, "NothingWaits");
}

TEST(ExplainAll, SaysWhereNothingWaits) {
  TwoNodes world;
  world.add_pod("w1", "", {});
  EXPECT_EQ(all_that_waits(world, {"web", *parse_label_selector("app=x")}).lines,
            std::vector<std::string>{"Nothing in namespace web with these labels waits for devices."});
  for (const char* wrong : {"a in b", "a in (b", "(((", "a b", "=x", "!"})
    EXPECT_FALSE(parse_label_selector(wrong)) << wrong;
  for (const char* right : {"a", "!a", "a=b", "a==b", "x.io/a!=b", "a in (b,c)", "a notin (b)", "a="})
    EXPECT_TRUE(parse_label_selector(right)) << right;
}

TEST(ExplainAll, TakesANamespaceAndLabels) {
  TwoNodes world;
  world.add_pod("w1", "", {});
  world.add_pod("w2", "", {});
  pod_of(world, "w2").metadata.labels["app"] = "x";
  EXPECT_EQ(by_cause(all_that_waits(world, {"web", {}})).size(), 0u);
  const auto found = by_cause(all_that_waits(world, {"ml", *parse_label_selector("app=x")}));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found.begin()->second, std::vector<std::string>{"ml/w2"});
}

TEST(ExplainAll, CountsClaimsThatNoPodWaitsFor) {
  TwoNodes world;
  auto claim = named_object<api::ResourceClaim>("ml", "lonely");
  claim->spec = TwoNodes::spec(3);
  world.objects.claims["ml/lonely"] = claim;
  const Answer answer = all_that_waits(world);
  ASSERT_EQ(answer.tables.at(0).rows.size(), 1u);
  EXPECT_EQ(answer.tables[0].rows[0].cells[2].text, "NeverFits") << render(answer, {});
  EXPECT_EQ(answer.tables[0].rows[0].cells[7].items, std::vector<std::string>{"ml/lonely"});
}

TEST(ExplainAll, CallsNothingAbsentThatMayNotBeSeen) {
  TwoNodes world;
  world.objects.pods.clear();
  world.objects.hidden.push_back({"pods", "you may not list them"});
  const Answer answer = all_that_waits(world);
  EXPECT_EQ(answer.status, Status::kUnknown);
  EXPECT_EQ(answer.statements.at(0).code, "NotVisible");
}

// Random clusters: each pod that waits is in one row, under a code that explaining it alone gives, too.
TEST(ExplainAll, AgreesWithTheAnswerAboutEachPod) {
  SeededRandom random(5);
  size_t waiting = 0;
  for (int round = 0; round < 60; ++round) {
    TwoNodes world;
    if (random.next() % 2 == 0) world.add_pod("on-b", "b", {"gpu-0", "gpu-1"});
    if (random.next() % 3 == 0) const_cast<api::Node&>(*world.objects.nodes.at("b")).unschedulable = true;
    for (int i = 0; i < 6; ++i) {
      const std::string name = "p" + std::to_string(i);
      world.add_pod(name, "", {});
      api::Pod& pod = pod_of(world, name);
      if (random.next() % 2 == 0) pod.metadata.owner_references.clear();
      if (random.next() % 4 == 0) pod.resource_claims[0] = {"g", "no-such-claim", std::nullopt};
      if (random.next() % 3 == 0)
        const_cast<api::ResourceClaim&>(*world.objects.claims.at("ml/" + name + "-g")).spec = TwoNodes::spec(3);
    }
    State state(world.objects, {});
    const auto found = by_cause(explain_waiting(state, {"ml", {}}, {.width = 0}));
    size_t rows = 0;
    for (const auto& [code, pods] : found) {
      rows += pods.size();
      for (const std::string& key : pods) {
        const Answer alone = explain_pod(state, *world.objects.pods.at(key), {.ns = "ml", .width = 0});
        EXPECT_TRUE(std::any_of(alone.statements.begin(), alone.statements.end(),
                                [&wanted = code](const Statement& one) { return one.code == wanted; }))
            << key << " is under " << code << ":\n"
            << render(alone, {});
      }
    }
    EXPECT_EQ(rows, 6u);
    waiting += rows;
  }
  std::cout << waiting << " waiting pods\n";
}

TEST(ExplainAll, AsksAboutSoManyAndCountsTheRest) {
  TwoNodes world;
  for (size_t i = 0; i < kMostAskedAbout + 5; ++i) {
    world.add_pod("p" + std::to_string(i), "", {});
    pod_of(world, "p" + std::to_string(i)).metadata.owner_references.clear();
  }
  size_t asked = 0;
  State state(world.objects, {});
  const auto pods = waiting_pods(state, {});
  const Answer answer = explain_causes(state, pods, {},
                                       {[&](const api::Pod&) {
                                          ++asked;
                                          Answer one;
                                          one.say("DeviceHeld", "in use");
                                          one.status = Status::kNo;
                                          return one;
                                        },
                                        {}});
  EXPECT_EQ(asked, kMostAskedAbout);
  EXPECT_EQ(by_cause(answer).at("NotLookedAt").size(), 5u);
}

TEST(ExplainAll, PodsOfOneTemplateAreOneQuestion) {
  TwoNodes world;
  for (int i = 0; i < 50; ++i) world.add_pod("p" + std::to_string(i), "", {});
  size_t asked = 0;
  State state(world.objects, {});
  const auto pods = waiting_pods(state, {});
  const auto ask = [&](const api::Pod&) {
    ++asked;
    return Answer{};
  };
  explain_causes(state, pods, {}, {ask, {}});
  EXPECT_EQ(asked, 1u);
}

// ---- owners

struct OwnedPod {
  std::string pod, kind, name;  // of the owner
  api::StringMap labels;
};

Objects owned(const std::vector<OwnedPod>& pods) {
  Objects objects;
  for (const OwnedPod& one : pods) {
    auto pod = named_object<api::Pod>("ml", one.pod);
    pod->metadata.owner_references = {{"v1", one.kind, one.name, "uid-" + one.name, true}};
    pod->metadata.labels = one.labels;
    objects.pods["ml/" + one.pod] = pod;
  }
  return objects;
}

TEST(PodOwners, EveryKindAndItsShortNamesFindTheirPods) {
  const Objects objects = owned({{"d", "ReplicaSet", "web-7c9", {}},
                                 {"s", "StatefulSet", "db", {}},
                                 {"ds", "DaemonSet", "agent", {}},
                                 {"j", "Job", "batch-1", {}},
                                 {"c", "Job", "nightly-29384", {}},
                                 {"js", "Job", "train-worker-0", {{"jobset.sigs.k8s.io/jobset-name", "train"}}},
                                 {"l", "StatefulSet", "llm-0", {{"leaderworkerset.sigs.k8s.io/name", "llm"}}},
                                 {"r", "RayCluster", "ray", {}},
                                 {"wf", "Workflow", "flow", {}},
                                 {"pol", "Policy", "p", {}}});
  const std::map<std::string, std::string> expected{{"deploy/web", "d"},
                                                    {"deployment/web", "d"},
                                                    {"Deployments/web", "d"},
                                                    {"deployments.apps/web", "d"},
                                                    {"rs/web-7c9", "d"},
                                                    {"sts/db", "s"},
                                                    {"statefulset/db", "s"},
                                                    {"ds/agent", "ds"},
                                                    {"job/batch-1", "j"},
                                                    {"jobs.batch/batch-1", "j"},
                                                    {"cj/nightly", "c"},
                                                    {"cronjob/nightly", "c"},
                                                    {"jobset/train", "js"},
                                                    {"jobsets.jobset.x-k8s.io/train", "js"},
                                                    {"lws/llm", "l"},
                                                    {"raycluster/ray", "r"},
                                                    {"rayclusters.ray.io/ray", "r"},
                                                    {"workflow/flow", "wf"},
                                                    {"policies/p", "pol"}};
  for (const auto& [target, pod] : expected) {
    const size_t slash = target.find('/');
    const auto pods = pods_of_owner(objects, "ml", owner_kind(target.substr(0, slash)), target.substr(slash + 1));
    ASSERT_EQ(pods.size(), 1u) << target;
    EXPECT_EQ(pods[0]->metadata.name, pod) << target;
    EXPECT_TRUE(names_a_kind(objects, target.substr(0, slash))) << target;
  }
  EXPECT_TRUE(pods_of_owner(objects, "ml", "cronjob", "batch").size() == 1u) << "batch-1 may be one of a CronJob";
  EXPECT_TRUE(pods_of_owner(objects, "ml", "cronjob", "train-worker").size() == 1u);
  EXPECT_TRUE(pods_of_owner(objects, "web", "deployment", "web").empty()) << "of this namespace alone";
}

TEST(PodOwners, ErrorsNameOwnersThatHavePods) {
  const Objects objects = owned({{"a", "RayCluster", "ray-one", {}}, {"b", "ReplicaSet", "web-7c9", {}}});
  EXPECT_EQ(why_no_owner(objects, "ml", "raycluster", "ray-on").message(),
            "a pod of raycluster \"ray-on\" is not known in namespace ml; did you mean \"ray-one\"?");
  EXPECT_EQ(why_no_owner(objects, "ml", "deployment", "xyz").message(),
            "a pod of deployment \"xyz\" is not known in namespace ml; there are pods of web");
  EXPECT_EQ(why_no_owner(objects, "ml", "rayclutser", "x").message(),
            "kind \"rayclutser\" cannot be explained; did you mean \"raycluster\"?");
}

std::string explained(const TwoNodes& world, const std::string& target) {
  State state(world.objects, {});
  const auto answer = explain(state, target, {.ns = "ml", .width = 0});
  return answer ? render(*answer, {}) : answer.error().message();
}

TEST(PodOwners, SaysWhichOfSeveralPodsItIsAbout) {
  TwoNodes world;
  world.add_pod("run2", "b", {"gpu-0", "gpu-1"});
  const std::string text = explained(world, "deploy/set");
  EXPECT_NE(text.find("2 pods on nodes, 0 waiting. This is about pod run; the devices are those of all."),
            std::string::npos)
      << text;
  for (const char* pod : {"run-g", "run2-g"}) EXPECT_NE(text.find(pod), std::string::npos) << text;
}

TEST(PodOwners, SeveralCausesAreATable) {
  TwoNodes world;
  world.add_pod("on-b", "b", {"gpu-0", "gpu-1"});
  world.add_pod("w1", "", {});
  world.add_pod("w2", "", {});
  EXPECT_NE(explained(world, "rs/set-1").find("This is about pod w1."), std::string::npos)
      << explained(world, "rs/set-1");
  pod_of(world, "w2").resource_claims[0] = {"g", "no-such-claim", std::nullopt};
  const std::string text = explained(world, "rs/set-1");
  for (const char* part : {"2 pods on nodes, 2 waiting.", "DeviceHeld", "ClaimMissing"})
    EXPECT_NE(text.find(part), std::string::npos) << text;
}

}  // namespace
}  // namespace dra::inspect::explain_causes_test
