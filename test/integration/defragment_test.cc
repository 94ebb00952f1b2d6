// --defragment=advice: a pod that fits nowhere is told which pods would have to move, and where to. Nobody is moved.
#include <gtest/gtest.h>

#include "test/integration/world.h"

namespace dra::integration::defragment_test {

using namespace std::chrono_literals;

// Eight pods of eight controllers fill two nodes of four devices; then one of each node goes. "wide" wants two devices
// of one node: it fits if one pod moves.
class Defragment : public World {
 protected:
  void begin_advising(reconcile::Scheduling mode, const std::function<void(manager::ManagerOptions&)>& change = {}) {
    mode_ = mode;
    begin(Claims::kOwn, /*manager=*/false);
    start_manager([&](manager::ManagerOptions& options) {
      options.settings.scheduling = mode;
      if (binds()) options.settings.scheduler_names = {kOurScheduler};
      options.settings.flags["defragment"] = "advice";
      options.settings.move_after = 5s;
      if (change) change(options);
    });
    api().create(claim_template("two-gpu", "gpu", 2));
  }
  bool binds() const { return mode_ == reconcile::Scheduling::kBind; }
  void create(const std::string& name, const char* from = "one-gpu", const Json& annotations = Json::object()) {
    PodOptions options;
    options.gated = !binds();
    options.scheduler = binds() ? kOurScheduler : "";
    options.run_seconds = 100'000;
    Json made = pod(name, {from_template("gpu", from)}, options);
    made["metadata"]["ownerReferences"] = {{{"apiVersion", "example.com/v1"},
                                            {"kind", "Trainer"},
                                            {"name", name + "-rs"},
                                            {"uid", "uid-rs-" + name},
                                            {"controller", true}}};
    made["metadata"]["annotations"] = annotations;
    api().create(made);
  }
  void halve(const Json& annotations = Json::object()) {
    for (int i = 0; i < 8; ++i) create("p" + std::to_string(i), "one-gpu", annotations);
    ASSERT_TRUE(soon([&] { return on("n0").size() == 4 && on("n1").size() == 4; }));
    for (const char* node : {"n0", "n1"}) api().remove_now(Api::path("Pod", on(node).front()));
    ASSERT_TRUE(soon([&] { return on("n0").size() == 3 && on("n1").size() == 3; }));
    pass(6s);  // longer than --move-after
  }
  // Pods that run on the node.
  std::vector<std::string> on(const std::string& node) {
    std::vector<std::string> names;
    for (int i = 0; i < 8; ++i) {
      const auto known = get_pod("p" + std::to_string(i));
      if (known && known->node_name == node && known->phase == "Running") names.push_back(known->metadata.name);
    }
    return names;
  }
  std::string note(const std::string& reason) {
    for (const Json& event : api().list("Event"))
      if (event.value("reason", "") == reason) return event.value("note", event.value("message", ""));
    return "";
  }

  reconcile::Scheduling mode_ = reconcile::Scheduling::kBind;
};

TEST_F(Defragment, InBindModeTheEventNamesTheMoveAndItsPlace) {
  begin_advising(reconcile::Scheduling::kBind);
  halve();
  create("wide", "two-gpu");
  pass(60s);
  ASSERT_TRUE(reasons().contains("MovesAdvised"));
  const std::string said = note("MovesAdvised");
  EXPECT_NE(said.find("if 1 pod moved: pod default/p"), std::string::npos) << said;
  EXPECT_TRUE(said.find("from node n0 to node n1 with gpu-") != std::string::npos ||
              said.find("from node n1 to node n0 with gpu-") != std::string::npos)
      << said;
  EXPECT_TRUE(never([&] { return bound("wide") || on("n0").size() + on("n1").size() != 6; }, 120s)) << "nobody moves";
}

TEST_F(Defragment, InGateModeToo) {
  begin_advising(reconcile::Scheduling::kGate);
  halve();
  create("wide", "two-gpu");
  pass(120s);
  ASSERT_TRUE(reasons().contains("MovesAdvised"));
  EXPECT_NE(note("MovesAdvised").find("if 1 pod moved: pod default/p"), std::string::npos) << note("MovesAdvised");
}

TEST_F(Defragment, AClassMayBeLeftOut) {
  begin_advising(reconcile::Scheduling::kBind);
  for (const char* value : {"off", "none"}) {  // malformed counts as off
    api().merge(Api::path("DeviceClass", "gpu"),
                {{"metadata", {{"annotations", {{"dra-controller-manager/defragment", value}}}}}});
    if (std::string(value) == "off") {
      halve();
      create("wide", "two-gpu");
    }
    pass(60s);
    EXPECT_FALSE(reasons().contains("MovesAdvised")) << value;
  }
  api().merge(Api::path("DeviceClass", "gpu"),
              {{"metadata", {{"annotations", {{"dra-controller-manager/defragment", "on"}}}}}});
  pass(60s);
  EXPECT_TRUE(reasons().contains("MovesAdvised")) << "the lesser of the two: advice";
}

TEST_F(Defragment, WhoMayNotMoveIsNotNamed) {
  begin_advising(reconcile::Scheduling::kBind);
  halve({{"dra-controller-manager/do-not-move", "true"}});
  create("wide", "two-gpu");
  pass(60s);
  EXPECT_FALSE(reasons().contains("MovesAdvised") || reasons().contains("MovesHeldBack"));
}

TEST_F(Defragment, YoungPodsStay) {
  begin_advising(reconcile::Scheduling::kBind,
                 [](manager::ManagerOptions& options) { options.settings.move_after = std::chrono::minutes(5); });
  halve();
  create("wide", "two-gpu");
  pass(200s);
  EXPECT_FALSE(reasons().contains("MovesAdvised"));
  pass(200s);
  EXPECT_TRUE(reasons().contains("MovesAdvised"));
}

TEST_F(Defragment, LimitsAnHourKeepAdviceBack) {
  begin_advising(reconcile::Scheduling::kBind);
  halve({{"dra-controller-manager/moves-per-hour", "0"}});
  create("wide", "two-gpu");
  pass(60s);
  ASSERT_TRUE(reasons().contains("MovesHeldBack"));
  EXPECT_NE(note("MovesHeldBack").find("-rs allows 0 moves in an hour"), std::string::npos) << note("MovesHeldBack");
  EXPECT_FALSE(reasons().contains("MovesAdvised"));
}

TEST_F(Defragment, ANamespaceHasALimitOfItsOwn) {
  begin_advising(reconcile::Scheduling::kBind);
  api().merge(Api::path("Namespace", "default"),
              {{"metadata", {{"annotations", {{"dra-controller-manager/moves-per-hour", "0"}}}}}});
  halve();
  create("wide", "two-gpu");
  pass(60s);
  ASSERT_TRUE(reasons().contains("MovesHeldBack"));
  EXPECT_NE(note("MovesHeldBack").find("namespace default allows 0 moves"), std::string::npos);
}

}  // namespace dra::integration::defragment_test
