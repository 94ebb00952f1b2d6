// Decisions about others keep what the manager promised to a pod (--preemption=on): fits, whatif in all its forms.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "pkg/inspect/verbs/fits.h"
#include "pkg/inspect/verbs/make_room.h"
#include "pkg/inspect/verbs/preempt.h"
#include "pkg/inspect/verbs/preempt_fixture.h"
#include "pkg/inspect/verbs/promised.h"

namespace dra::inspect::kept_promises_test {
namespace {

using nlohmann::json;

// "left" holds both GPUs of node a. Those of node b are free, and so are its 8 CPUs: they were promised to "high"
// (priority 100), whose victim is gone.
struct World : Priorities {
  World() {
    add("left", 0, "a", {"gpu-0", "gpu-1"});
    add("high", 100, "", {}, 2);
    change("high", [](api::Pod& pod) {
      pod.metadata.creation_timestamp = "2026-03-01T11:00:00Z";
      pod.containers.resize(1);
      pod.containers[0].requests["cpu"] = "6";
    });
    promise("True");
  }
  // The condition's status; nothing: without a promise.
  void promise(const std::string& status) {
    json results = json::array();
    for (const char* device : {"gpu-0", "gpu-1"})
      results.push_back({{"request", "r"}, {"driver", "gpu.example.com"}, {"pool", "b"}, {"device", device}});
    change("high", [&](api::Pod& pod) {
      const json record{
          {"pod", pod.metadata.uid},         {"node", "b"},
          {"since", "2026-03-01T11:59:00Z"}, {"victims", {"ml/gone/uid-gone"}},
          {"victimClaims", json::array()},   {"allocations", {{"ml/high-g", {{"devices", {{"results", results}}}}}}}};
      pod.conditions.clear();
      if (!status.empty())
        pod.conditions.push_back({std::string(protocol::kPromiseCondition), status, "Promised", record.dump(), "", 0});
    });
  }
  std::string fit(const std::string& file, bool on_empty = false) const {
    const auto manifest = read_manifest(file, "ml");
    if (!manifest) return manifest.error().message();
    FitsOptions options;
    options.on_empty = on_empty;
    const auto found = fits(objects, *manifest, options);
    if (!found) return found.error().message();
    return std::string(fit_name(found->front().fit)) + (found->front().why.empty() ? "" : ": " + found->front().why);
  }
  Answer who_goes(const std::string& pod) const {
    State state(objects, {});
    const auto answer = whatif_preempt(state, "pod/" + pod, "ml", {});
    return answer ? *answer : Answer{"error", {answer.error().message()}};
  }
  Answer room(const std::string& file) const {
    const auto manifest = read_manifest(file, "ml");
    if (!manifest) return Answer{"error", {manifest.error().message()}};
    const auto answer = make_room(objects, *manifest, {});
    return answer ? *answer : Answer{"error", {answer.error().message()}};
  }
};

std::string asks(const std::string& priority, const std::string& more = "") {
  return "apiVersion: v1\nkind: Pod\nmetadata: {name: train}\nspec:\n  " + priority +
         "\n  containers: [{name: c, image: x}]\n  resourceClaims: [{name: g, resourceClaimTemplateName: one}]\n" +
         more;
}

bool says(const std::string& text, const std::string& words) {
  return text.find(words) != std::string::npos;
}

TEST(KeptPromises, AFileFitsBesideWhatIsPromised) {
  World world;
  for (const char* priority : {"priority: 0", "priority: 100"}) {
    const std::string found = world.fit(asks(priority));
    EXPECT_TRUE(says(found, "when empty: ")) << found;
    EXPECT_TRUE(says(found, "2 promised to a pod that takes the place of others")) << found;
  }
  EXPECT_EQ(world.fit(asks("priority: 101")), "now") << "a higher one looks through a promise";
  EXPECT_EQ(world.fit(asks("priority: 0"), true), "when empty") << "nothing is promised on an empty cluster";
  world.promise("Unknown");
  EXPECT_EQ(world.fit(asks("priority: 0")), "now") << "not proven: it may be withdrawn before anybody goes";
  world.promise("");
  EXPECT_EQ(world.fit(asks("priority: 0")), "now");
}

TEST(KeptPromises, AClaimWithoutAPodLeavesThem) {
  World world;
  const std::string claim =
      "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: alone}\nspec: {devices: {requests: "
      "[{name: r, exactly: {deviceClassName: gpu}}]}}\n";
  EXPECT_TRUE(says(world.fit(claim), "when empty: ")) << world.fit(claim);
  world.promise("");
  EXPECT_EQ(world.fit(claim), "now");
}

TEST(KeptPromises, APriorityClassDecidesWhomTheyBind) {
  World world;
  auto top = named_object<api::PriorityClass>("", "top");
  top->value = 1000;
  world.objects.evictions.priority_classes["top"] = top;
  EXPECT_EQ(world.fit(asks("priorityClassName: top")), "now");
  EXPECT_TRUE(says(world.fit(asks("priorityClassName: unknown")), "when empty: "));
}

TEST(KeptPromises, AGroupLeavesThem) {
  World world;
  const std::string group =
      "---\napiVersion: scheduling.x-k8s.io/v1alpha1\nkind: PodGroup\nmetadata: {name: g}\nspec: {minMember: 1}\n";
  std::string pod = asks("priority: 0", group);
  pod.replace(pod.find("{name: train}"), 13, "{name: train, labels: {scheduling.x-k8s.io/pod-group: g}}");
  EXPECT_TRUE(says(world.fit(pod), "when empty: ")) << world.fit(pod);
  world.promise("");
  EXPECT_EQ(world.fit(pod), "now");
}

TEST(KeptPromises, CpuOfThePromisedNodeIsKept) {
  World world;
  auto node = std::make_shared<api::Node>(*world.objects.nodes.at("a"));
  node->unschedulable = true;
  world.objects.nodes["a"] = node;
  const auto pod = [](const char* cpu) {
    return "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers: [{name: c, image: x, resources: "
           "{requests: {cpu: " +
           std::string(cpu) + "}}}]\n";
  };
  EXPECT_EQ(world.fit(pod("2")), "now");
  EXPECT_TRUE(says(world.fit(pod("3")), "when empty: ")) << world.fit(pod("3"));
  world.promise("");
  EXPECT_EQ(world.fit(pod("3")), "now");
}

// "waits" is older and of the same priority, so its turn comes first: it leaves what is promised, and the owner gets
// it.
TEST(KeptPromises, PodsThatWaitLeaveThemToTheOwner) {
  World world;
  world.add("waits", 100, "", {}, 2);
  world.change("waits", [](api::Pod& pod) { pod.metadata.creation_timestamp = "2026-03-01T10:00:00Z"; });
  Change change;
  change.kind = Change::Kind::kCordon;
  change.target = "a";
  EXPECT_EQ(world.after(change), (std::vector<std::string>{"ml/high starts anyway >b", "ml/waits stays waiting >"}));
  world.promise("");
  EXPECT_EQ(world.after(change), (std::vector<std::string>{"ml/high stays waiting >", "ml/waits starts anyway >b"}));
}

// Its own promise keeps nothing from it; and what an owner got by an earlier decision is not kept once more.
TEST(KeptPromises, TheOwnerMayGoElsewhere) {
  World world;
  Change change;
  change.kind = Change::Kind::kDelete;
  change.target = "pod/left";
  world.add("waits", 100, "", {}, 2);
  world.change("waits", [](api::Pod& pod) { pod.metadata.creation_timestamp = "2026-03-01T11:30:00Z"; });
  const std::vector<std::string> fates = world.after(change);
  EXPECT_EQ(fates.at(1).substr(0, 23), "ml/high starts anyway >") << fates.at(1);
  EXPECT_EQ(fates.at(2).substr(0, 17), "ml/waits starts >") << fates.at(2);
}

TEST(KeptPromises, OthersTakeThePlaceOfSomebodyElse) {
  World world;
  world.add("waits", 50, "", {}, 2);
  const Answer answer = world.who_goes("waits");
  EXPECT_EQ(rows_of(answer, 0, {0}), "ml/left") << codes_of(answer);
  EXPECT_TRUE(std::any_of(answer.notes.begin(), answer.notes.end(), [](const std::string& note) {
    return note == "kept: what the manager promised to pod ml/high (priority 100), which takes the place of others";
  }));
  world.change("waits", [](api::Pod& pod) { pod.priority = 101; });
  EXPECT_EQ(codes_of(world.who_goes("waits")), "Fits");
  world.change("waits", [](api::Pod& pod) { pod.priority = 50; });
  world.promise("");
  EXPECT_EQ(codes_of(world.who_goes("waits")), "Fits");
}

TEST(KeptPromises, MovesLeaveAllOfThem) {
  World world;
  for (const char* priority : {"priority: 0", "priority: 1000"}) {
    const Answer answer = world.room(asks(priority));
    EXPECT_EQ(codes_of(answer), "NeverWhateverMoves") << priority;
  }
  world.promise("");
  EXPECT_EQ(codes_of(world.room(asks("priority: 0"))), "Fits");
}

// "left" has a GPU of node a and moves to node b, so that "wide" gets both of node a.
struct Plan : World {
  Plan() {
    objects.pods.clear();
    add("left", 0, "a", {"gpu-0"});
    add("other", 0, "b", {"gpu-1"});
    add("wide", 100, "", {}, 2);
    const auto devices = [](const char* pool, const std::vector<std::string>& names) {
      json results = json::array();
      for (const std::string& name : names)
        results.push_back({{"request", "r"}, {"driver", "gpu.example.com"}, {"pool", pool}, {"device", name}});
      return json{{"devices", {{"results", results}}}};
    };
    const auto& left = *objects.pods.at("ml/left");
    const json record{
        {"pod", objects.pods.at("ml/wide")->metadata.uid},
        {"node", "a"},
        {"since", "2026-03-01T11:59:00Z"},
        {"victims", {"ml/left/" + left.metadata.uid}},
        {"victimClaims", json::array()},
        {"moves", {{{"controller", "uid-rs-left"}, {"node", "b"}, {"claims", {"ml/left-g"}}}}},
        {"allocations", {{"ml/wide-g", devices("a", {"gpu-0", "gpu-1"})}, {"ml/left-g", devices("b", {"gpu-0"})}}}};
    change("wide", [&](api::Pod& pod) {
      pod.conditions = {{std::string(protocol::kPromiseCondition), "True", "Promised", record.dump(), "", 0}};
    });
  }
  // "left" is gone, and "wide" has its place.
  void bind() {
    const auto& claim = objects.claims.at("ml/left-g");
    objects.claim_by_uid.erase(claim->metadata.uid);
    objects.claims.erase("ml/left-g");
    objects.pods.erase("ml/left");
    const std::vector<api::Condition> conditions = objects.pods.at("ml/wide")->conditions;
    add("wide", 100, "a", {"gpu-0", "gpu-1"});
    change("wide", [&](api::Pod& pod) { pod.conditions = conditions; });
  }
  void next() {
    add("next", 0, "", {}, 1);
    change("next", [](api::Pod& pod) { pod.metadata.owner_references.front().uid = "uid-rs-left"; });
  }
};

TEST(KeptPromises, ThePlaceOfAPodThatMovesIsForTheNextOneOfItsController) {
  Plan plan;
  plan.objects.namespaces.begin()->second = named_object<api::Namespace>("", "ml");  // moves need no label
  EXPECT_NE(plan.fit(asks("priority: 0")), "now");
  EXPECT_EQ(codes_of(plan.room(asks("priority: 0"))), "NeverWhateverMoves");
  plan.add("waits", 100, "", {}, 1);
  EXPECT_NE(codes_of(plan.who_goes("waits")), "Fits");
  plan.change("waits", [](api::Pod& pod) { pod.priority = 101; });
  EXPECT_EQ(codes_of(plan.who_goes("waits")), "Fits");
  plan.objects.pods.erase("ml/waits");
  Answer answer{"DRAExplain"};
  say_promise(answer, plan.objects, *plan.objects.pods.at("ml/wide"));
  ASSERT_EQ(codes_of(answer), "Promised");
  EXPECT_TRUE(says(answer.statements[0].message, "when these have moved, each to a place of its own: ml/left"))
      << answer.statements[0].message;
  EXPECT_FALSE(says(answer.statements[0].message, "/b/")) << "that is for the next one";
  // Who reads of the device that it gets, hears for whom it is.
  const std::vector<Promised> all = promised_pods(plan.objects);
  const auto to = promised_devices(all);
  EXPECT_EQ(shown(to.at({"gpu.example.com", "b", "gpu-0"})), "next of ml/left");
  EXPECT_EQ(in_words(to.at({"gpu.example.com", "b", "gpu-0"})),
            "the next pod of the controller of ml/left, which moves for pod ml/wide");
  EXPECT_EQ(in_words(to.at({"gpu.example.com", "a", "gpu-1"})), "pod ml/wide");
  // The place is still kept.
  plan.bind();
  EXPECT_NE(plan.fit(asks("priority: 0")), "now");
  plan.next();
  EXPECT_EQ(codes_of(plan.who_goes("next")), "Fits");
}

// A next pod had the place: it is anybody's, whatever else the record says.
TEST(KeptPromises, APlaceIsKeptOnce) {
  Plan plan;
  plan.bind();
  EXPECT_NE(plan.fit(asks("priority: 0")), "now");
  plan.change("wide", [](api::Pod& pod) {
    json record = json::parse(pod.conditions.front().message);
    record["moves"][0]["next"] = "uid-of-next";
    pod.conditions.front().message = record.dump();
  });
  EXPECT_EQ(plan.fit(asks("priority: 0")), "now");
  const std::vector<Promised> all = promised_pods(plan.objects);
  EXPECT_FALSE(promised_devices(all).contains({"gpu.example.com", "b", "gpu-0"}));
}

}  // namespace
}  // namespace dra::inspect::kept_promises_test
