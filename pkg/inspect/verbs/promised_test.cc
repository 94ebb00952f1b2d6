// explain and who say what was promised to whom (--preemption=on).
#include "pkg/inspect/verbs/promised.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "pkg/inspect/verbs/explain.h"
#include "pkg/inspect/verbs/two_nodes_fixture.h"
#include "pkg/inspect/verbs/who.h"

namespace dra::inspect::promised_test {
namespace {

using nlohmann::json;

// Both devices of node b are free, and "high" was promised one of them and one of node a, which "run" holds.
struct World : TwoNodes {
  World() {
    objects.namespaces["ml"] = named_object<api::Namespace>("", "ml");
    label("true");
    add_pod("high", "", {});
    promise(pod("high").metadata.uid);
    add_pod("waits", "", {});
    pod("waits").conditions.push_back({"PodScheduled", "False", "Unschedulable", "1 device is promised", "", 0});
  }
  api::Pod& pod(const std::string& name) { return const_cast<api::Pod&>(*objects.pods.at("ml/" + name)); }
  void label(const std::string& value) {
    const_cast<api::Namespace&>(*objects.namespaces.at("ml")).metadata.labels["dra-controller-manager/preemption"] =
        value;
  }
  void promise(const std::string& uid, bool proven = true) {
    const auto device = [](const char* pool) {
      return json{{"request", "r"}, {"driver", "gpu.example.com"}, {"pool", pool}, {"device", "gpu-0"}};
    };
    const json record{{"pod", uid},
                      {"node", "b"},
                      {"since", "2026-03-01T11:59:00Z"},
                      {"victims", {"ml/run/" + pod("run").metadata.uid, "ml/gone/another"}},
                      {"victimClaims", json::array()},
                      {"allocations", {{"ml/high-g", {{"devices", {{"results", {device("a"), device("b")}}}}}}}}};
    pod("high").priority = 100;
    pod("high").conditions = {
        {std::string(protocol::kPromiseCondition), proven ? "True" : "Unknown", "Promised", record.dump(), "", 0}};
  }
  std::string asked(const std::string& verb, const std::string& target, Status status) {
    State state(objects, {});
    const auto answer =
        verb == "who" ? who(state, target, {"ml", true}) : explain(state, target, {"ml", "", 200, false});
    if (!answer) return answer.error().message();
    EXPECT_EQ(answer->status, status) << render(*answer, {});
    return render(*answer, {});
  }
};

bool says(const std::string& text, const std::string& words) {
  return text.find(words) != std::string::npos;
}

TEST(Promised, ThePodIsToldWhatItGetsAndWhoGoes) {
  World world;
  const std::string words =
      "Node b with gpu.example.com/a/gpu-0, gpu.example.com/b/gpu-0 was promised to pod ml/high 60s ago, in the place "
      "of ml/run.";
  EXPECT_TRUE(says(world.asked("explain", "pod/high", Status::kYes), words))
      << world.asked("explain", "pod/high", Status::kYes);
  EXPECT_TRUE(says(world.asked("who", "pod/high", Status::kNo), words));
  world.promise(world.pod("high").metadata.uid, false);
  EXPECT_TRUE(says(world.asked("explain", "pod/high", Status::kYes), "not proven yet"));
}

TEST(Promised, OthersAreToldWhatIsKeptAndForWhom) {
  World world;
  const std::string words = "1 device is free and kept for pod ml/high (priority 100)";
  EXPECT_TRUE(says(world.asked("explain", "pod/waits", Status::kNo), words));
  world.pod("waits").priority = 101;
  EXPECT_FALSE(says(world.asked("explain", "pod/waits", Status::kYes), words)) << "a promise does not bind it";
}

TEST(Promised, ADeviceSaysForWhomItIsKept) {
  World world;
  EXPECT_TRUE(says(world.asked("who", "b", Status::kYes), "gpu-0    promised   -       ml/high"))
      << world.asked("who", "b", Status::kYes);
  EXPECT_TRUE(says(world.asked("who", "a", Status::kYes),
                   "gpu-0 is promised to pod ml/high, once those who hold it have gone"));
}

TEST(Promised, WhatCannotStandIsNotShown) {
  World world;
  const auto shown = [&] { return says(world.asked("who", "b", Status::kYes), "promised"); };
  EXPECT_TRUE(shown());
  world.promise("another");
  EXPECT_FALSE(shown()) << "copied from another pod";
  world.promise(world.pod("high").metadata.uid);
  world.label("false");
  EXPECT_FALSE(shown()) << "no administrator labelled the namespace";
  world.label("true");
  world.pod("high").node_name = "b";
  EXPECT_FALSE(shown()) << "bound";
}

}  // namespace
}  // namespace dra::inspect::promised_test
