// lint, cel, migrate, doctor, whatif, taint and replay on small worlds.
#include <gtest/gtest.h>

#include "pkg/inspect/lint/lint.h"
#include "pkg/inspect/source/server_source.h"
#include "pkg/inspect/verbs/cel_query.h"
#include "pkg/inspect/verbs/doctor.h"
#include "pkg/inspect/verbs/explain.h"
#include "pkg/inspect/verbs/fits.h"
#include "pkg/inspect/verbs/migrate.h"
#include "pkg/inspect/verbs/replay.h"
#include "pkg/inspect/verbs/taint.h"
#include "pkg/inspect/verbs/top.h"
#include "pkg/inspect/verbs/two_nodes_fixture.h"
#include "pkg/inspect/verbs/whatif.h"
#include "pkg/inspect/verbs/who.h"
#include "test/support/schema_places.h"

namespace dra::inspect {
namespace {

using Texts = std::vector<std::string>;

TEST(WhatIf, DrainMovesWhatFitsElsewhere) {
  const TwoNodes world;
  EXPECT_EQ(world.after({Change::Kind::kDrain, "a", {}, 1}), Texts{"ml/run moves a>b"});
  EXPECT_EQ(world.after({Change::Kind::kDrain, "b", {}, 1}), Texts{});
}

// In gate mode the manager pinned the pod to its node when it lifted the gate.
TEST(WhatIf, APodOfGateModeComesAgainWithoutItsPin) {
  TwoNodes world;
  const auto pin = [&](const std::string& key, const std::string& node) {
    auto pod = std::make_shared<api::Pod>(*world.objects.pods.at(key));
    pod->node_affinity = api::NodeAffinity{api::NodeSelector{{{{}, {{"metadata.name", "In", {node}}}}}}, {}};
    pod->metadata.managed_fields = {{"dra-controller-manager", "Update", "", false}};
    world.objects.pods[key] = pod;
  };
  pin("ml/run", "a");
  EXPECT_EQ(world.after({Change::Kind::kDrain, "a", {}, 1}), Texts{"ml/run moves a>b"});
  EXPECT_EQ(world.after({Change::Kind::kTaint, "a/gpu-1", {"k", "", "NoExecute", ""}, 1}), Texts{"ml/run moves a>b"});
  EXPECT_EQ(world.after({Change::Kind::kScale, "deployment/set", {}, 2}), Texts{"ml/set-new-1 starts >b"});
  const TaintQuestion question{"a", false, {"k", "v", "NoExecute", ""}, 1, false, false};
  const auto plan = plan_taint(world.objects, question, {});
  ASSERT_TRUE(plan && plan->evicted.size() == 1);
  EXPECT_EQ(plan->evicted[0].after, "b");
  // `replay` decides for all nodes again, and comes to the same.
  EXPECT_EQ(replay(world.objects, "pod/run", "ml", {})->status, Status::kYes);
  // A dump of the pod, as `kubectl get pod -o yaml` writes it.
  Manifest dump;
  Workload& dumped = dump.workloads.emplace_back();
  dumped.kind = "Pod";
  dumped.name = "run";
  dumped.pod = *world.objects.pods.at("ml/run");
  FitsOptions options;
  options.copies = 1;
  const auto fits_now = fits(world.objects, dump, options);
  ASSERT_TRUE(fits_now);
  EXPECT_EQ(fits_now->at(0).fit, Fit::kNow) << fits_now->at(0).why;
  EXPECT_EQ(fits_now->at(0).nodes, Texts{"b"});
}

// Its owner's template asks for what no node has; and one with a gate of another program is not decided.
TEST(WhatIf, TheTemplateOfTheOwnerWins) {
  TwoNodes world;
  const Change drain{Change::Kind::kDrain, "a", {}, 1};
  const std::vector<OwnerToRead> owners = owners_of_change(world.objects, drain, "ml");
  ASSERT_EQ(owners.size(), 1u);
  EXPECT_EQ(owners[0].owner.name, "set-1");
  const auto set = [](const std::string& spec) {
    return R"({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "set-1", "namespace": "ml",
      "uid": "uid-set"}, "spec": {"template": {"spec": )" +
           spec + "}}}";
  };
  ASSERT_TRUE(add_owner(world.objects, owners[0], set(R"({"nodeSelector": {"zone": "mars"}, "containers": [],
      "resourceClaims": [{"name": "g", "resourceClaimTemplateName": "two"}]})")));
  EXPECT_EQ(world.after(drain), Texts{"ml/run waits a>"});
  ASSERT_TRUE(add_owner(world.objects, owners[0], set(R"({"schedulingGates": [{"name": "other/gate"}], "containers": [],
      "resourceClaims": [{"name": "g", "resourceClaimTemplateName": "two"}]})")));
  for (const Change& change : {drain, Change{Change::Kind::kScale, "deployment/set", {}, 2}}) {
    const auto fates = whatif(world.objects, change, {}, "ml");
    ASSERT_TRUE(fates && fates->size() == 1);
    EXPECT_EQ(fates->front().fate, Fate::kWaits);
    EXPECT_EQ(fates->front().why, "it waits at its gate \"other/gate\", which another program lifts");
  }
}

TEST(WhatIf, DrainSaysWhatWaits) {
  TwoNodes world;
  world.add_pod("other", "b", {"gpu-0"});
  EXPECT_EQ(world.after({Change::Kind::kDrain, "a", {}, 1}), Texts{"ml/run waits a>"});
}

TEST(WhatIf, DeleteFreesDevicesForThoseWhoWait) {
  TwoNodes world;
  world.add_pod("other", "b", {"gpu-0"});
  world.add_pod("waits", "", {});
  // The pod is recreated, but the older waiting pod is first.
  EXPECT_EQ(world.after({Change::Kind::kDelete, "pod/run", {}, 1}), (Texts{"ml/run waits a>", "ml/waits starts >a"}));
  EXPECT_EQ(world.after({Change::Kind::kDelete, "pod/none", {}, 1}),
            Texts{"pod \"none\" is not known in namespace ml"});
}

TEST(WhatIf, CordonKeepsPodsAndStopsStarts) {
  TwoNodes world;
  world.add_pod("waits", "", {});
  EXPECT_EQ(world.after({Change::Kind::kCordon, "b", {}, 1}), Texts{"ml/waits starts no longer >"});
  EXPECT_EQ(world.after({Change::Kind::kCordon, "a", {}, 1}), Texts{"ml/waits starts anyway >b"});
}

// A pod that is asked for and does not start is a no, as one that has to leave is.
TEST(WhatIf, ANewPodThatDoesNotFitIsANo) {
  const TwoNodes world;
  const auto fates = whatif(world.objects, {Change::Kind::kScale, "deployment/set", {}, 3}, {}, "ml");
  ASSERT_TRUE(fates);
  EXPECT_EQ(whatif_answer(*fates, world.objects).status, Status::kNo);
  const auto fits = whatif(world.objects, {Change::Kind::kScale, "deployment/set", {}, 2}, {}, "ml");
  ASSERT_TRUE(fits);
  EXPECT_EQ(whatif_answer(*fits, world.objects).status, Status::kYes);
}

// As in explain and who: short names, plurals, and any kind that owns pods.
TEST(WhatIf, OwnersAreNamedAsElsewhere) {
  const TwoNodes world;
  for (const char* owner : {"deployment/set", "deploy/set", "deployments.apps/set", "rs/set-1", "ReplicaSet/set-1"}) {
    EXPECT_EQ(world.after({Change::Kind::kDelete, owner, {}, 1}), Texts{"ml/run gone a>"}) << owner;
    EXPECT_TRUE(whatif(world.objects, {Change::Kind::kScale, owner, {}, 2}, {}, "ml")) << owner;
  }
  EXPECT_EQ(world.after({Change::Kind::kDelete, "po/run", {}, 1}), world.after({Change::Kind::kDelete, "run", {}, 1}));
  EXPECT_EQ(
      world.after({Change::Kind::kScale, "deploy/sett", {}, 2}),
      Texts{"a pod of deployment \"sett\" is not known in namespace ml; did you mean \"set\"? (whatif scale makes "
            "pods like one that is there)"});
  EXPECT_EQ(world.after({Change::Kind::kScale, "pod/run", {}, 2}),
            Texts{"a pod cannot be scaled; name what owns the pods: scale deployment/X 5"});
}

// A pool that belongs to no node is in a row of its own, and a node that can use it says so.
TEST(Top, ANodeNamesWhatItSharesAndLabelsWithoutNodesAreNotAnEmptyCluster) {
  TwoNodes world;
  auto shared = named_object<api::ResourceSlice>("", "shared");
  shared->driver = "fpga.example.com";
  shared->pool = {"shared", 1, 1};
  shared->all_nodes = true;
  shared->devices.emplace_back().name = "fpga-0";
  world.objects.slices["shared"] = shared;
  world.objects.nodes["c"] = named_object<api::Node>("", "c");
  State state(world.objects, {});
  const std::string also =
      "c can use 1 device of pools that belong to no node, too; kubectl dra who c lists what it has";
  const Answer of_c = top_nodes(state, {"", {}, "c"});
  EXPECT_EQ(of_c.lines, Texts{"no devices are published for node c alone"});
  EXPECT_EQ(of_c.after, Texts{also});
  api::LabelSelector none;
  none.match_expressions.push_back({"zone", "In", {"mars"}});
  EXPECT_EQ(top_nodes(state, {"", none, ""}).lines, Texts{"no node with these labels has devices of its own"});
  // A node with devices of two drivers has two rows and one name.
  auto more = std::make_shared<api::ResourceSlice>(*world.objects.slices.at("a-gpus"));
  more->metadata.name = "a-nics";
  more->driver = "nic.example.com";
  world.objects.slices["a-nics"] = more;
  State two(world.objects, {});
  EXPECT_EQ(render(top_nodes(two, {}), {Format::kName}), "node/a\nnode/b\n");
}

TEST(WhatIf, NoExecuteTaintEvicts) {
  const TwoNodes world;
  EXPECT_EQ(world.after({Change::Kind::kTaint, "a/gpu-1", {"k", "", "NoExecute", ""}, 1}), Texts{"ml/run moves a>b"});
  EXPECT_EQ(world.after({Change::Kind::kTaint, "a/gpu-1", {"k", "", "NoSchedule", ""}, 1}), Texts{});
  EXPECT_EQ(world.after({Change::Kind::kTaint, "a/gpu-9", {"k", "", "NoSchedule", ""}, 1}),
            Texts{"no device \"a/gpu-9\" is published"});
}

TEST(WhatIf, AddNodeBringsItsDevices) {
  TwoNodes world;
  world.add_pod("other", "b", {"gpu-0"});
  world.add_pod("waits", "", {});
  EXPECT_EQ(world.after({Change::Kind::kAddNode, "a", {}, 1}), Texts{"ml/waits starts >a-new-1"});
}

TEST(WhatIf, ScaleUpAndDown) {
  const TwoNodes world;
  EXPECT_EQ(world.after({Change::Kind::kScale, "deployment/set", {}, 3}),
            (Texts{"ml/set-new-1 starts >b", "ml/set-new-2 waits >"}));
  EXPECT_EQ(world.after({Change::Kind::kScale, "deployment/set", {}, 0}), Texts{"ml/run gone a>"});
}

// A pod that asks for an extended resource of a class waits for a device as one with a claim does.
TEST(Top, PodsThatAskByAnExtendedResourceWait) {
  TwoNodes world;
  auto gpu = std::make_shared<api::DeviceClass>(*world.objects.classes.at("gpu"));
  gpu->extended_resource_name = "example.com/gpu";
  world.objects.classes["gpu"] = gpu;
  auto pod = named_object<api::Pod>("ml", "extended");
  pod->phase = "Pending";
  pod->metadata.creation_timestamp = "2026-03-01T11:00:00Z";
  pod->containers.emplace_back().limits = {{"example.com/gpu", "1"}};
  pod->containers[0].requests = pod->containers[0].limits;
  world.objects.pods["ml/extended"] = pod;
  const State state(world.objects, {});
  const Answer answer = top_namespaces(state, {});
  EXPECT_EQ(answer.tables.at(0).rows.at(0).cells.at(4).text, "1") << render(answer, {});
  EXPECT_EQ(diagnosed(world.objects, "waiting pods"), "pod ml/extended has waited for 60m");
}

// A rolling update that waits for devices of its own older pods: with fewer replicas the older ones go, and it
// proceeds.
TEST(WhatIf, FewerReplicasDuringARollingUpdateTakeTheOlderPods) {
  TwoNodes world;
  world.add_pod("run-2", "b", {"gpu-0", "gpu-1"});
  world.add_pod("new", "", {});
  auto pod = std::make_shared<api::Pod>(*world.objects.pods.at("ml/new"));
  pod->metadata.owner_references[0].name = "set-2";
  pod->metadata.owner_references[0].uid = "uid-set-2";
  pod->metadata.creation_timestamp = "2026-03-01T11:59:00Z";
  world.objects.pods["ml/new"] = pod;
  EXPECT_EQ(world.after({Change::Kind::kScale, "deployment/set", {}, 1}),
            (Texts{"ml/run gone a>", "ml/run-2 gone b>", "ml/new starts >a"}));
  EXPECT_EQ(world.after({Change::Kind::kScale, "deployment/set", {}, 2}).size(), 2u);
}

// Each member wants both GPUs of a node.
TEST(WhatIf, AGroupStartsWholeOrNotAtAll) {
  TwoNodes world;
  const auto add_member = [&](const std::string& name, const std::string& node,
                              const std::vector<std::string>& devices) {
    world.add_pod(name, node, devices);
    auto pod = std::make_shared<api::Pod>(*world.objects.pods.at("ml/" + name));
    pod->metadata.owner_references = {{"batch/v1", "Job", "train", "uid-train", true}};
    pod->metadata.annotations["dra-controller-manager/group"] = "2";
    world.objects.pods["ml/" + name] = pod;
  };
  add_member("m-0", "", {});
  add_member("m-1", "", {});
  const Change nothing{Change::Kind::kCordon, "a", {}, 1};
  EXPECT_EQ(world.after(nothing), (Texts{"ml/m-0 stays waiting >", "ml/m-1 stays waiting >"})) << "b takes one alone";
  const Change remove{Change::Kind::kDelete, "deployment/set", {}, 1};
  EXPECT_EQ(world.after(remove), (Texts{"ml/run gone a>", "ml/m-0 starts >a", "ml/m-1 starts >b"}));
  const auto why = whatif(world.objects, nothing, {}, "ml");
  ASSERT_TRUE(why);
  EXPECT_NE(why->front().why.find("job ml/train: 2 members must be placed together: "), std::string::npos)
      << why->front().why;
  // Once a member runs, the others join one by one; a recreated one comes first, as its group is older.
  TwoNodes started;
  std::swap(world, started);
  world.objects.pods.erase("ml/run");
  world.objects.claims.erase("ml/run-g");
  add_member("m-0", "a", {"gpu-0", "gpu-1"});
  add_member("m-1", "b", {"gpu-0", "gpu-1"});
  world.add_pod("waits", "", {});
  for (const char* name : {"ml/m-1", "ml/waits"}) {
    auto pod = std::make_shared<api::Pod>(*world.objects.pods.at(name));
    pod->metadata.creation_timestamp = "2026-03-01T11:30:00Z";
    world.objects.pods[name] = pod;
  }
  EXPECT_EQ(world.after({Change::Kind::kDelete, "pod/m-1", {}, 1}),
            (Texts{"ml/m-1 moves b>b", "ml/waits stays waiting >"}));
}

TEST(WhatIf, ChangesNothing) {
  const TwoNodes world;
  const auto before = world.objects.pods;
  world.after({Change::Kind::kDrain, "a", {}, 1});
  EXPECT_EQ(world.objects.pods, before) << "the same objects";
  EXPECT_EQ(world.objects.pods.at("ml/run")->node_name, "a");
}

TEST(Replay, OnlyPodsAreDecided) {
  const TwoNodes world;
  const auto refused = [&](const std::string& target) {
    const auto answer = replay(world.objects, target, "ml", {});
    return answer ? "" : answer.error().message();
  };
  EXPECT_EQ(
      refused("claim/run-g"),
      "replay makes the decision about a pod again, and \"claim/run-g\" is no pod; this claim is used by pod/run");
  EXPECT_EQ(
      refused("deployment/set"),
      "replay makes the decision about a pod again, and \"deployment/set\" is no pod; name one of its pods: replay "
      "pod/NAME");
  EXPECT_EQ(refused("po/run"), "");
  EXPECT_EQ(refused("rum"), "pod \"rum\" is not known in namespace ml; did you mean \"run\"?");
}

// --node about a pod that is on another one: as if it were decided anew.
TEST(Explain, AnotherNodeForAPodThatRuns) {
  const TwoNodes world;
  State state(world.objects, {});
  const auto about = [&](const char* node) {
    const auto answer = explain(state, "run", {.ns = "ml", .node = node, .width = 0});
    EXPECT_TRUE(answer) << answer.error().message();
    EXPECT_EQ(answer->status, Status::kYes) << "it runs";
    return answer ? render(*answer, {}) : "";
  };
  EXPECT_NE(about("b").find("If it were decided anew, for node b alone:\nFits on node b."), std::string::npos)
      << about("b");
  EXPECT_EQ(about("a").find("decided anew"), std::string::npos);
}

TEST(Replay, TheSameDecisionAndOthers) {
  TwoNodes world;
  auto same = replay(world.objects, "pod/run", "ml", {});
  ASSERT_TRUE(same) << same.error().message();
  EXPECT_EQ(same->status, Status::kYes) << render(*same, {});
  world.add_pod("second", "b", {"gpu-1", "gpu-0"});
  EXPECT_EQ(replay(world.objects, "second", "ml", {})->status, Status::kYes);
  // On node a alone: then node b has none of what it asks for.
  auto claim = std::make_shared<api::ResourceClaim>(*world.objects.claims.at("ml/second-g"));
  claim->spec.requests[0].exactly->selectors = {"device.attributes[\"gpu.example.com\"].model == \"A100\""};
  world.objects.claims["ml/second-g"] = claim;
  EXPECT_EQ(replay(world.objects, "second", "ml", {})->status, Status::kNo);
}

TEST(Taint, RefusesWhereKubeSchedulerWouldPanic) {
  const TwoNodes world;
  TaintQuestion question{"a/gpu-0", false, {"k", "v", "NoSchedule", ""}, 0, true, false};
  auto plan = plan_taint(world.objects, question, {});
  ASSERT_TRUE(plan);
  EXPECT_NE(plan->refusal.find("139651"), std::string::npos) << plan->refusal;
  question.scheduler_runs = std::nullopt;
  EXPECT_FALSE(plan_taint(world.objects, question, {})->refusal.empty()) << "nobody knows";
  question.scheduler_runs = false;
  EXPECT_EQ(plan_taint(world.objects, question, {})->refusal, "");
  question.scheduler_runs = true;
  question.scheduler_is_safe = true;
  EXPECT_EQ(plan_taint(world.objects, question, {})->refusal, "");
  TwoNodes newer;
  newer.objects.server_version = "v1.37.0";
  question.scheduler_is_safe = false;
  EXPECT_EQ(plan_taint(newer.objects, question, {})->refusal, "");
  newer.objects.taint_rules_served = false;
  EXPECT_NE(plan_taint(newer.objects, question, {})->refusal.find("does not serve"), std::string::npos);
}

TEST(Taint, PreviewsEvictionsAndHoldsToTheirLimit) {
  const TwoNodes world;
  TaintQuestion question{"a", false, {"k", "v", "NoExecute", ""}, 0, false, false};
  auto plan = plan_taint(world.objects, question, {});
  ASSERT_TRUE(plan);
  ASSERT_EQ(plan->evicted.size(), 1u);
  EXPECT_EQ(plan->evicted[0].pod, "ml/run");
  EXPECT_EQ(plan->refusal, "1 pod would be evicted; allow that with --max-evictions 1");
  question.max_evictions = 1;
  plan = plan_taint(world.objects, question, {});
  EXPECT_EQ(plan->refusal, "");
  ASSERT_EQ(plan->rules.size(), 1u);
  EXPECT_NE(plan->rules[0].find(R"("deviceSelector":{"driver":"gpu.example.com","pool":"a"})"), std::string::npos)
      << plan->rules[0];
  for (const char* nothing : {"", "nowhere", "a/", "/", "..", "a/gpu-0/x"}) {
    question.target = nothing;
    EXPECT_FALSE(plan_taint(world.objects, question, {})) << quote(nothing);
  }
  question.all = true;
  question.max_evictions = 0;
  plan = plan_taint(world.objects, question, {});
  EXPECT_EQ(plan->evicted.size(), 1u) << "every device";
  EXPECT_NE(plan->rules[0].find(R"("deviceSelector":{})"), std::string::npos) << plan->rules[0];
}

TEST(Taint, EvictsFromDevicesThatNoNodeHas) {
  TwoNodes world;
  auto slice = std::make_shared<api::ResourceSlice>(*world.objects.slices.begin()->second);
  slice->node_name.clear();
  slice->all_nodes = true;
  world.objects.slices.begin()->second = slice;
  const TaintQuestion question{"", true, {"k", "v", "NoExecute", ""}, 0, false, false};
  const auto plan = plan_taint(world.objects, question, {});
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->evicted.size(), 1u);
  EXPECT_EQ(plan->refusal, "1 pod would be evicted; allow that with --max-evictions 1");
}

TEST(Taint, ARuleThatIsThereIsNotWrittenAgain) {
  TwoNodes world;
  TaintQuestion question{"a/gpu-1", false, {"k", "v", "NoSchedule", ""}, 0, false, false};
  const auto plan = plan_taint(world.objects, question, {});
  ASSERT_TRUE(plan && plan->names.size() == 1);
  EXPECT_TRUE(plan->there.empty());
  auto rule = named_object<api::DeviceTaintRule>("", plan->names[0]);
  rule->taint = question.taint;
  world.objects.taint_rules[plan->names[0]] = rule;
  EXPECT_EQ(plan_taint(world.objects, question, {})->there, std::set<std::string>{plan->names[0]});
  question.taint.value = "other";
  EXPECT_NE(plan_taint(world.objects, question, {})->refusal.find("gives this taint the value \"v\" already"),
            std::string::npos);
}

TEST(Taint, UntaintFindsItsRules) {
  TwoNodes world;
  auto rule = named_object<api::DeviceTaintRule>("", "mine");
  rule->has_selector = true;
  rule->driver = "gpu.example.com";
  rule->pool = "a";
  rule->device = "gpu-0";
  rule->taint = {"k", "v", "NoSchedule", ""};
  world.objects.taint_rules["mine"] = rule;
  EXPECT_EQ(rules_to_remove(world.objects, "a/gpu-0", "k", ""), Texts{"mine"});
  EXPECT_EQ(rules_to_remove(world.objects, "a/gpu-0", "k", "NoExecute"), Texts{});
  EXPECT_EQ(rules_to_remove(world.objects, "a", "k", ""), Texts{});
  EXPECT_EQ(rules_to_remove(world.objects, "a/gpu-1", "k", ""), Texts{});
  EXPECT_EQ(rules_to_remove(world.objects, "", "k", ""), Texts{}) << "an unset variable names nothing";
  auto all = named_object<api::DeviceTaintRule>("", "all");
  all->has_selector = true;
  all->taint = {"k", "v", "NoSchedule", ""};
  world.objects.taint_rules["all"] = all;
  EXPECT_EQ(rules_to_remove(world.objects, std::nullopt, "k", ""), Texts{"all"});
  EXPECT_EQ(rules_to_remove(world.objects, "", "k", ""), Texts{});
}

TEST(Taint, TextsOfTaints) {
  EXPECT_EQ(*parse_taint("a.b/c=d:NoExecute"), (api::DeviceTaint{"a.b/c", "d", "NoExecute", ""}));
  EXPECT_EQ(*parse_taint("k:None"), (api::DeviceTaint{"k", "", "None", ""}));
  for (const char* bad : {"", "k", ":NoExecute", "k=v", "k=v:Evict", "=v:None"}) EXPECT_FALSE(parse_taint(bad)) << bad;
}

// What cannot be found out is not fine, and not wrong.
TEST(Doctor, UnknownIsNotFine) {
  TwoNodes world;
  world.objects.feature_gates.clear();
  const auto health_of = [&](const std::string& check) {
    const State state(world.objects, {});
    const Answer answer = doctor_answer(diagnose(state), world.objects);
    EXPECT_EQ(answer.status, Status::kYes);
    for (const Row& row : answer.tables.at(0).rows)
      if (row.cells.at(0).text == check) return row.cells.at(1).text;
    return std::string("absent");
  };
  for (const char* check : {"feature gates", "driver pods", "manager"}) EXPECT_EQ(health_of(check), "unknown") << check;
  world.objects.feature_gates["DynamicResourceAllocation"] = true;
  world.objects.managers.asked = true;
  auto daemon = std::make_shared<api::Pod>(*world.objects.pods.at("ml/run"));
  daemon->metadata.owner_references = {{"apps/v1", "DaemonSet", "driver", "uid-driver", true}};
  for (const char* node : {"a", "b"}) {
    daemon->metadata.name = std::string("driver-") + node;
    daemon->node_name = node;
    daemon->resource_claims.clear();
    world.objects.pods[daemon->metadata.key()] = std::make_shared<const api::Pod>(*daemon);
  }
  for (const char* check : {"feature gates", "driver pods", "manager"}) EXPECT_EQ(health_of(check), "fine") << check;
}

TEST(Doctor, FineWhereNothingIsWrong) {
  const TwoNodes world;
  const State state(world.objects, {});
  for (const Diagnosis& one : diagnose(state))
    EXPECT_TRUE(one.health == Health::kFine || one.health == Health::kUnknown) << one.check << ": " << one.finding;
  EXPECT_EQ(doctor_answer(diagnose(state), world.objects).status, Status::kYes);
}

// What may not be listed is neither gone nor fine.
TEST(Hidden, IsNeverCalledGoneOrFine) {
  TwoNodes world;
  world.objects.claims.clear();
  world.objects.claim_by_uid.clear();
  world.objects.slices.clear();
  for (const char* plural : {"resourceslices", "resourceclaims"})
    world.objects.hidden.push_back({plural, "you may not list them"});
  EXPECT_EQ(diagnosed(world.objects, "waiting pods"), "not known: resourceclaims cannot be listed");
  EXPECT_EQ(diagnosed(world.objects, "pools"), "not known: resourceslices cannot be listed");
  EXPECT_EQ(diagnosed(world.objects, "double allocations"),
            "not known: resourceslices, resourceclaims cannot be listed");
  EXPECT_EQ(diagnosed(world.objects, "device classes"), "fine");
  State state(world.objects, {});
  EXPECT_EQ(doctor_answer(diagnose(state), world.objects).status, Status::kUnknown);
  const auto of_pod = explain(state, "pod/run", {.ns = "ml"});
  ASSERT_TRUE(of_pod);
  EXPECT_EQ(of_pod->status, Status::kUnknown);
  EXPECT_EQ(of_pod->lines, (Texts{"Pod ml/run is Running on a.",
                                  "Its claims are not visible: you may not list resourceclaims in namespace ml."}));
  const auto manifest = read_manifest(
      "{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: c}, spec: "
      "{devices: {requests: [{name: r, exactly: {deviceClassName: gpu}}]}}}",
      "ml");
  ASSERT_TRUE(manifest);
  const auto fit = fits(world.objects, *manifest, {});
  ASSERT_TRUE(fit);
  EXPECT_EQ(fit->front().fit, Fit::kUnknown) << "not never: the devices may be there";
  const Answer top = top_nodes(state, {});
  EXPECT_EQ(top.status, Status::kUnknown);
  EXPECT_EQ(top.lines, Texts{"devices are not visible: you may not list resourceslices"});
  const auto devices = who(state, "a");
  ASSERT_TRUE(devices);
  EXPECT_EQ(devices->status, Status::kUnknown);
  const auto fates = whatif(world.objects, {Change::Kind::kDrain, "b", {}, 1}, {}, "ml");
  ASSERT_TRUE(fates);
  EXPECT_EQ(whatif_answer(*fates, world.objects).status, Status::kUnknown);
}

TEST(Explain, ANodeThatIsNotThereIsAnError) {
  TwoNodes world;
  world.add_pod("waits", "", {});
  State state(world.objects, {});
  const auto there = explain(state, "pod/waits", {.ns = "ml", .node = "a"});
  EXPECT_TRUE(there);
  const auto absent = explain(state, "pod/waits", {.ns = "ml", .node = "c"});
  ASSERT_FALSE(absent);
  EXPECT_TRUE(absent.error().message().starts_with("node \"c\" is not known")) << absent.error().message();
}

TEST(Hidden, ClaimsOfOtherNamespacesDoNotHideThoseOfThisOne) {
  TwoNodes world;
  world.objects.hidden = {{"resourceclaims outside namespace ml", "you may not list them"}};
  world.objects.claims.clear();
  State state(world.objects, {});
  const auto of_pod = explain(state, "pod/run", {.ns = "ml"});
  ASSERT_TRUE(of_pod);
  EXPECT_EQ(of_pod->status, Status::kNo) << "it was listed, and is not there";
  EXPECT_TRUE(world.objects.hides_in("resourceclaims", "web"));
  EXPECT_FALSE(world.objects.hides_in("resourceclaims", "ml"));
  world.objects.hidden = {{"nodes", "you may not list them"}};
  world.objects.nodes.clear();
  const auto fates = whatif(world.objects, {Change::Kind::kDrain, "a", {}, 1}, {}, "ml");
  ASSERT_FALSE(fates);
  EXPECT_EQ(fates.error().code(), Code::kPermissionDenied);
}

TEST(Doctor, ReadsTheFeatureGatesOfTheServersMetrics) {
  const std::string metrics =
      "# TYPE kubernetes_feature_enabled gauge\n"
      "kubernetes_feature_enabled{name=\"APIListChunking\",stage=\"\"} 1\n"
      "kubernetes_feature_enabled{name=\"DRADeviceTaints\",stage=\"BETA\"} 1\n"
      "kubernetes_feature_enabled{name=\"DRAExtendedResource\",stage=\"ALPHA\"} 0\n"
      "kubernetes_feature_enabled{name=\"DynamicResourceAllocation\",stage=\"\"} "
      "0\nkubernetes_feature_enabled{name=\"DRA";
  TwoNodes world;
  EXPECT_EQ(diagnosed(world.objects, "feature gates"), "unknown");
  world.objects.feature_gates = device_gates(metrics);
  world.objects.feature_gates.erase("DRA");  // cut off in the middle of a name
  EXPECT_EQ(world.objects.feature_gates,
            (std::map<std::string, bool>{
                {"DRADeviceTaints", true}, {"DRAExtendedResource", false}, {"DynamicResourceAllocation", false}}));
  EXPECT_EQ(diagnosed(world.objects, "feature gates"), "the gate DynamicResourceAllocation is off in the API server");
}

TEST(Doctor, MissesTheDaemonsOfANode) {
  TwoNodes world;
  const auto daemon = [&](const std::string& node) {
    auto pod = std::make_shared<api::Pod>();
    pod->metadata.ns = "kube-system";
    pod->metadata.name = "driver-" + node;
    pod->metadata.owner_references.push_back({"apps/v1", "DaemonSet", "driver", "d", true});
    pod->phase = "Running";
    pod->node_name = node;
    world.objects.pods[pod->metadata.key()] = pod;
  };
  EXPECT_EQ(diagnosed(world.objects, "driver pods"), "unknown") << "no DaemonSet is known";
  daemon("a");
  EXPECT_NE(diagnosed(world.objects, "driver pods").find("of node b, where no pod of a DaemonSet runs"),
            std::string::npos)
      << diagnosed(world.objects, "driver pods");
  daemon("b");
  EXPECT_EQ(diagnosed(world.objects, "driver pods"), "fine");
}

TEST(Doctor, NamesWhatIsIll) {
  {
    TwoNodes world;
    world.objects.dra_versions = {"v1beta1"};
    EXPECT_EQ(diagnosed(world.objects, "served versions"), "resource.k8s.io is served in v1beta1 only, not in v1");
  }
  {
    TwoNodes world;
    world.add_pod("twice", "a", {"gpu-0"});
    EXPECT_NE(diagnosed(world.objects, "double allocations").find("ml/run-g"), std::string::npos)
        << diagnosed(world.objects, "double allocations");
    const State state(world.objects, {});
    EXPECT_EQ(doctor_answer(diagnose(state), world.objects).status, Status::kNo);
  }
  {
    TwoNodes world;
    auto node = std::make_shared<api::Node>(*world.objects.nodes.at("a"));
    node->allocatable["example.com/gpu"] = "2";
    world.objects.nodes["a"] = node;
    EXPECT_NE(diagnosed(world.objects, "device plugins").find("example.com/gpu"), std::string::npos);
    // The class says that they are the same devices: both are held by claims.
    auto serving = std::make_shared<api::DeviceClass>(*world.objects.classes.at("gpu"));
    serving->extended_resource_name = "example.com/gpu";
    world.objects.classes["gpu"] = serving;
    EXPECT_EQ(diagnosed(world.objects, "device plugins"),
              "node a: the device plugin serves example.com/gpu (allocatable 2, 0 pods), and claims hold 2 devices of "
              "driver gpu.example.com there: one device may be in use both ways; --device-plugin gpu.example.com is "
              "plugin");
    world.objects.claims.clear();
    EXPECT_EQ(diagnosed(world.objects, "device plugins"),
              "node a: the device plugin serves example.com/gpu (allocatable 2, 0 pods): no claim gets devices of "
              "driver gpu.example.com there; --device-plugin gpu.example.com is plugin");
  }
  {
    TwoNodes world;
    world.objects.nodes.erase("b");
    EXPECT_EQ(diagnosed(world.objects, "drivers"),
              "driver gpu.example.com publishes devices of node b, which does not exist");
  }
  {
    TwoNodes world;
    world.objects.pods.erase("ml/run");
    EXPECT_EQ(diagnosed(world.objects, "stuck claims"),
              "ResourceClaim ml/run-g is reserved for pod run, which is gone");
  }
  {
    TwoNodes world;
    world.add_pod("waits", "", {});
    EXPECT_EQ(diagnosed(world.objects, "waiting pods"), "pod ml/waits has waited for 60m");
  }
  {
    TwoNodes world;
    auto broken = std::make_shared<api::DeviceClass>(*world.objects.classes.at("gpu"));
    broken->selectors = {"device.driver ="};
    world.objects.classes["gpu"] = broken;
    EXPECT_TRUE(diagnosed(world.objects, "device classes").starts_with("selector 1 of class gpu does not compile"));
  }
  {
    TwoNodes world;
    auto slice = std::make_shared<api::ResourceSlice>(*world.objects.slices.at("a-gpus"));
    slice->pool.resource_slice_count = 3;
    world.objects.slices["a-gpus"] = slice;
    EXPECT_TRUE(diagnosed(world.objects, "pools").starts_with("pool gpu.example.com/a is incomplete"));
  }
}

TEST(Lint, NamesFieldsThatAreOutOfPlace) {
  const auto findings = lint(
      "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: a}\nspec:\n  devices:\n    requests:\n    "
      "- name: r\n      deviceClassName: gpu\n      exaclty: {}\n",
      nullptr, {}, "default");
  ASSERT_TRUE(findings);
  ASSERT_EQ(findings->size(), 2u);
  EXPECT_EQ((*findings)[0].line, 8u);
  EXPECT_EQ((*findings)[0].text, "unknown field \"deviceClassName\"; put deviceClassName under exactly");
  EXPECT_EQ((*findings)[1].text, "unknown field \"exaclty\"; did you mean \"exactly\"?");
}

// What is a field comes from the schema tables: an object with all of them has none that is unknown, and one more is.
TEST(Lint, KnowsTheFieldsOfTheTables) {
  const auto unknown = [](const test::json& object) {
    Texts all;
    const auto findings = lint(object.dump(), nullptr, {}, "default");
    for (const Finding& one : *findings)
      if (one.text.starts_with("unknown field")) all.push_back(one.path);
    return all;
  };
  for (const std::string kind : {"ResourceClaim", "ResourceClaimTemplate", "DeviceClass"}) {
    const api::schema::ObjectType& type = *test::all_schemas().find("resource/v1", kind);
    test::json object = test::full_object(type);
    object["apiVersion"] = "resource.k8s.io/v1";
    object["kind"] = kind;
    EXPECT_EQ(unknown(object), Texts{}) << kind;
    size_t places = 0;
    test::each_place(object, type, {}, [&](const test::Place& place) {
      test::json more = object;
      more[place.at]["newField"] = 1;
      EXPECT_EQ(unknown(more).size(), 1u) << kind << " " << place.place;
      ++places;
    });
    EXPECT_GT(places, 5u) << kind;
  }
}

TEST(Lint, PlacesAreThoseOfTheFileInLaterDocuments) {
  const auto findings = lint(
      "kind: ConfigMap\napiVersion: v1\nmetadata: {name: a}\n---\napiVersion: resource.k8s.io/v1beta1\nkind: "
      "DeviceClass\nmetadata: {name: b}\n---\n{broken\n",
      nullptr, {}, "default");
  ASSERT_TRUE(findings);
  ASSERT_EQ(findings->size(), 2u);
  EXPECT_EQ((*findings)[0].line, 5u);
  EXPECT_EQ((*findings)[0].severity, Severity::kWarning);
  EXPECT_EQ((*findings)[1].line, 9u);
}

// A file that kubectl would refuse, or whose objects no check covers, is not reported as clean.
TEST(Lint, WhatIsNoObjectOfAKnownKindIsFound) {
  const auto texts = [](const std::string& text) {
    Texts all;
    const auto findings = lint(text, nullptr, {}, "default");
    if (!findings) return Texts{findings.error().message()};
    for (const Finding& one : *findings) all.push_back(std::to_string(one.line) + " " + one.path + ": " + one.text);
    return all;
  };
  EXPECT_EQ(texts("kind: Pod\n---\napiVersion: v1\n"), (Texts{"1 : apiVersion is missing", "3 : kind is missing"}));
  EXPECT_EQ(texts("[1, 2]"), Texts{"1 : this is not an object, which has apiVersion and kind"});
  EXPECT_EQ(texts("# a comment\n---\n"), Texts{"0 : the file has no object in it"});
  EXPECT_EQ(texts("apiVersion: resource.k8s.io/v1\nkind: ResourceClam\n"),
            Texts{"2 kind: resource.k8s.io/v1 has no kind \"ResourceClam\"; did you mean \"ResourceClaim\"?"});
  // As kubectl get prints several.
  EXPECT_EQ(
      texts("apiVersion: v1\nkind: List\nitems:\n- apiVersion: resource.k8s.io/v1\n  kind: DeviceClass\n  spec: "
            "{selector: []}\n  metadata: {name: a}\n- apiVersion: resource.k8s.io/v1beta1\n  kind: DeviceClass\n  "
            "metadata: {name: b}\n- 7\n"),
      (Texts{"6 items[0].spec.selector: unknown field \"selector\"; did you mean \"selectors\"?",
             "8 items[1].apiVersion: resource.k8s.io/v1beta1 is off by default on new servers; kubectl dra migrate "
             "-f FILE makes v1 of it",
             "11 items[2]: this is not an object, which has apiVersion and kind"}));
}

// Servers without the gate drop them, and each pod of the group gets a claim of its own.
TEST(Lint, ClaimsOfAPodGroupAreNamed) {
  auto findings = lint(
      "apiVersion: scheduling.k8s.io/v1alpha2\nkind: PodGroup\nspec:\n  resourceClaims:\n  - name: a\n---\n"
      "apiVersion: scheduling.k8s.io/v1alpha2\nkind: Workload\nspec:\n  podGroupTemplates:\n  - name: w\n  - name: x\n"
      "    resourceClaims: [{name: a}]\n---\napiVersion: scheduling.k8s.io/v1alpha2\nkind: PodGroup\nspec: "
      "{resourceClaims: []}\n",
      nullptr, {}, "default");
  ASSERT_TRUE(findings);
  // What the API server refuses besides is no matter here.
  std::erase_if(*findings, [](const Finding& one) { return one.severity != Severity::kWarning; });
  ASSERT_EQ(findings->size(), 2u);
  EXPECT_EQ((*findings)[0].line, 5u);
  EXPECT_EQ((*findings)[0].severity, Severity::kWarning);
  EXPECT_EQ((*findings)[0].path, "spec.resourceClaims");
  EXPECT_NE((*findings)[0].text.find("DRAWorkloadResourceClaims"), std::string::npos);
  EXPECT_EQ((*findings)[1].path, "spec.podGroupTemplates[1].resourceClaims");
}

// The form of Kubernetes 1.30, which newer API servers refuse or drop.
TEST(Lint, ClaimsOfPodsBelowSourceAreNamedWithWhatToWriteInstead) {
  auto findings = lint(
      "apiVersion: v1\nkind: Pod\nspec:\n  resourceClaims:\n  - name: a\n    resourceClaimName: fine\n  - name: b\n"
      "    source:\n      resourceClaimTemplateName: gpu\n---\napiVersion: batch/v1\nkind: CronJob\nspec: "
      "{jobTemplate: "
      "{spec: {template: {spec: {resourceClaims: [{name: c, source: 7}]}}}}}\n",
      nullptr, {}, "default");
  ASSERT_TRUE(findings);
  std::erase_if(*findings, [](const Finding& one) { return !one.path.ends_with(".source"); });
  ASSERT_EQ(findings->size(), 2u);
  EXPECT_EQ((*findings)[0].line, 9u);
  EXPECT_EQ((*findings)[0].severity, Severity::kError);
  EXPECT_EQ((*findings)[0].path, "spec.resourceClaims[1].source");
  EXPECT_EQ((*findings)[0].text,
            "Kubernetes 1.31 and newer have no source; write resourceClaimTemplateName: gpu in its place (kubectl dra "
            "migrate -f FILE does)");
  EXPECT_EQ((*findings)[1].path, "spec.jobTemplate.spec.template.spec.resourceClaims[0].source");
  EXPECT_NE((*findings)[1].text.find("write resourceClaimName or resourceClaimTemplateName"), std::string::npos);
}

TEST(Lint, AcceptsEveryFieldOfV1) {
  const TwoNodes world;
  const auto findings = lint(R"(
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: t, labels: {a: b}}
spec:
  metadata: {labels: {x: z}}
  spec:
    devices:
      requests:
      - name: a
        exactly:
          deviceClassName: gpu
          selectors: [{cel: {expression: "device.driver == 'gpu.example.com'"}}]
          allocationMode: ExactCount
          count: 1
          adminAccess: false
          tolerations: [{key: k, operator: Equal, value: v, effect: NoExecute, tolerationSeconds: 3}]
      - name: b
        firstAvailable: [{name: x, deviceClassName: gpu}]
      constraints: [{requests: [a], matchAttribute: gpu.example.com/model}]
      config: [{requests: [a], opaque: {driver: gpu.example.com, parameters: {anything: {at: all}}}}]
)",
                             &world.objects, {}, "default");
  ASSERT_TRUE(findings);
  for (const Finding& finding : *findings) ADD_FAILURE() << finding.path << " " << finding.text;
}

TEST(Lint, SelectorsAreTriedOnTheDevices) {
  const TwoNodes world;
  const auto trial = [&](const std::string& expression) { return try_selector(world.objects, expression, {}); };
  EXPECT_EQ(trial("device.driver == 'gpu.example.com'").matched, 4u);
  EXPECT_EQ(trial("device.attributes['gpu.example.com'].modle == 'x'").unknown_names,
            Texts{"no device has attribute \"gpu.example.com/modle\"; did you mean \"model\"?"});
  EXPECT_EQ(trial("device.attributes['gpu.example.com'].modle == 'x'").failed, 4u);
  EXPECT_EQ(trial("device.attributes['gpu.exmaple.com'].model == 'x'").unknown_names,
            Texts{"no device has attributes of domain \"gpu.exmaple.com\"; did you mean \"gpu.example.com\"?"});
  EXPECT_FALSE(trial("device.driver").compile_error.empty());
  EXPECT_EQ(cel_answer(world.objects, "device.driver == 'none'", {}).status, Status::kNo);
  EXPECT_EQ(cel_answer(world.objects, "1 +", {}).status, Status::kUsage);
  const Answer answer = cel_answer(world.objects, "device.attributes['gpu.example.com'].model == 'H100'", {});
  ASSERT_EQ(answer.tables.at(0).rows.size(), 2u);
  EXPECT_EQ(answer.tables[0].rows[0].cells[3].text, "model=H100");
}

std::string migrated_text(const std::string& text, Texts* lost = nullptr) {
  auto migrated = migrate(text);
  if (!migrated) return migrated.error().message();
  if (lost) *lost = migrated->lost;
  return migrated->text;
}

TEST(Migrate, RenamesBeta2AndKeepsEverythingElse) {
  EXPECT_EQ(migrated_text("# who made it\napiVersion: resource.k8s.io/v1beta2  # old\nkind: DeviceClass\nmetadata:\n  "
                          "name: a   # name\n"),
            "# who made it\napiVersion: resource.k8s.io/v1  # old\nkind: DeviceClass\nmetadata:\n  name: a   # name\n");
  const std::string rule = "apiVersion: resource.k8s.io/v1beta2\nkind: DeviceTaintRule\n";
  EXPECT_EQ(migrated_text(rule), rule) << "it is not served in v1";
  const std::string other = "kind: ConfigMap\n---\n# nothing\n---\nkind: Service\n";
  EXPECT_EQ(migrated_text(other), other);
}

TEST(Migrate, PutsBeta1RequestsUnderExactly) {
  EXPECT_EQ(migrated_text("# keep me\napiVersion: resource.k8s.io/v1beta1\nkind: ResourceClaim\nmetadata: {name: "
                          "a}\nspec: {devices: {requests: [{name: r, deviceClassName: gpu, count: 2}]}}\n"),
            "# keep me\napiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata:\n  name: a\nspec:\n  devices:\n "
            "   requests:\n    - exactly:\n        count: 2\n        deviceClassName: gpu\n      name: r\n");
}

TEST(Migrate, SaysWhatAlpha2Loses) {
  Texts lost;
  const std::string text = migrated_text(
      "apiVersion: resource.k8s.io/v1alpha2\nkind: ResourceClass\nmetadata: {name: c}\ndriverName: "
      "gpu.example.com\nparametersRef: {name: x}\n---\napiVersion: resource.k8s.io/v1alpha2\nkind: "
      "ResourceClaim\nmetadata: {name: a}\nspec: {resourceClassName: c, parametersRef: {name: p}}\n",
      &lost);
  EXPECT_EQ(lost.size(), 2u);
  EXPECT_NE(text.find("kind: DeviceClass"), std::string::npos) << text;
  EXPECT_NE(text.find("device.driver =="), std::string::npos) << text;
  EXPECT_NE(text.find("deviceClassName: c"), std::string::npos) << text;
  // The result is right.
  const auto findings = lint(text, nullptr, {}, "default");
  ASSERT_TRUE(findings);
  for (const Finding& finding : *findings) ADD_FAILURE() << finding.path << " " << finding.text;
}

TEST(Migrate, FlattensDevicesAndPods) {
  const std::string slice = migrated_text(
      "apiVersion: resource.k8s.io/v1alpha3\nkind: ResourceSlice\nmetadata: {name: s}\nspec: {driver: d, devices: "
      "[{name: x, basic: {capacity: {memory: 1Gi}}}]}\n");
  EXPECT_EQ(slice.find("basic"), std::string::npos);
  EXPECT_NE(slice.find("value: 1Gi"), std::string::npos) << slice;
  const std::string pod =
      migrated_text("apiVersion: v1\nkind: Pod\nspec: {resourceClaims: [{name: g, source: {resourceClaimName: c}}]}\n");
  EXPECT_EQ(pod.find("source:"), std::string::npos) << pod;
}

TEST(Migrate, IsIdempotent) {
  for (const char* text :
       {"apiVersion: resource.k8s.io/v1beta1\nkind: ResourceClaim\nspec: {devices: {requests: [{name: r, "
        "deviceClassName: gpu}]}}\n",
        "apiVersion: resource.k8s.io/v1alpha2\nkind: ResourceClass\nmetadata: {name: c}\ndriverName: d\n"}) {
    const std::string once = migrated_text(text);
    EXPECT_EQ(migrated_text(once), once);
  }
  EXPECT_TRUE(migrated_text("[").starts_with("the document at line 1"));
}

}  // namespace
}  // namespace dra::inspect
