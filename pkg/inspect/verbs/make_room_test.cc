// whatif make-room.
#include "pkg/inspect/verbs/make_room.h"

#include <gtest/gtest.h>

#include "pkg/inspect/verbs/preempt_fixture.h"

namespace dra::inspect::make_room_test {
namespace {

constexpr const char* kAsksForTwo = R"(
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: pair}
spec: {spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu, count: 2}}]}}}
---
apiVersion: v1
kind: Pod
metadata: {name: train}
spec:
  containers: [{name: c, image: x}]
  resourceClaims: [{name: g, resourceClaimTemplateName: pair}]
)";

Answer ask(const Objects& objects, const std::string& text = kAsksForTwo,
           std::optional<uint32_t> max_moves = std::nullopt) {
  const auto manifest = read_manifest(text, "ml");
  if (!manifest) return Answer{"error", {manifest.error().message()}};
  RoomOptions options;
  options.max_moves = max_moves;
  const auto answer = make_room(objects, *manifest, options);
  return answer ? *answer : Answer{"error", {answer.error().message()}};
}

// One GPU of each node is in use.
Priorities halves() {
  Priorities world;
  world.add("left", 0, "a", {"gpu-0"});
  world.add("right", 0, "b", {"gpu-1"});
  return world;
}

TEST(MakeRoom, NamesTheMovesAndTheNewPlaces) {
  Priorities world = halves();
  world.change("left", [](api::Pod& pod) { pod.metadata.annotations["dra-controller-manager/do-not-move"] = "true"; });
  const Answer answer = ask(world.objects);
  EXPECT_EQ(codes_of(answer), "Moves AdviceOnly");
  EXPECT_EQ(answer.statements.at(0).message,
            "1 pod has to move so that pod ml/train fits, and each finds another place: ml/right (replicaset/right-rs, "
            "priority 0). With fewer moves it is impossible.");
  EXPECT_EQ(rows_of(answer, 0, {0, 1, 2, 3}), "ml/right>b>a>gpu-1;");
  EXPECT_EQ(rows_of(answer, 1, {0, 1, 2}), "ml/train>b>gpu-0;gpu-1;");
  EXPECT_EQ(answer.notes.at(0),
            "1 pod of a priority that would allow it does not move: 1 with the annotation "
            "dra-controller-manager/do-not-move");
}

TEST(MakeRoom, NeverWhateverMoves) {
  Priorities world = halves();
  for (const char* name : {"left", "right"})
    world.change(name, [](api::Pod& pod) { pod.metadata.owner_references.clear(); });
  const Answer answer = ask(world.objects);
  EXPECT_EQ(codes_of(answer), "NeverWhateverMoves");
  EXPECT_EQ(answer.status, Status::kNo);
  EXPECT_EQ(codes_of(ask(halves().objects, kAsksForTwo, 0)), "NeverWhateverMoves");
  // Budgets bind.
  Priorities guarded = halves();
  guarded.add_budget("l", "left", 0);
  guarded.add_budget("r", "right", 0);
  EXPECT_EQ(codes_of(ask(guarded.objects)), "NeverWhateverMoves");
}

TEST(MakeRoom, SaysWhoAllowsFewerMovesInAnHour) {
  Priorities world = halves();
  auto ns = std::make_shared<api::Namespace>(*world.objects.namespaces.at("ml"));
  ns->metadata.annotations["dra-controller-manager/moves-per-hour"] = "0";
  world.objects.namespaces["ml"] = ns;
  for (const char* name : {"left", "right"})
    world.change(name,
                 [](api::Pod& pod) { pod.metadata.annotations["dra-controller-manager/moves-per-hour"] = "many"; });
  const Answer answer = ask(world.objects);
  EXPECT_EQ(codes_of(answer), "Moves AdviceOnly MovesPerHour MovesPerHour");
}

TEST(MakeRoom, APodTakesThePriorityOfItsClass) {
  Priorities world = halves();
  for (const char* name : {"left", "right"}) world.change(name, [](api::Pod& pod) { pod.priority = 7; });
  const std::string with_class = std::string(kAsksForTwo) + "  priorityClassName: high\n";
  EXPECT_EQ(codes_of(ask(world.objects, with_class)), "NeverWhateverMoves") << "both are higher than 0";
  auto high = named_object<api::PriorityClass>("", "high");
  high->value = 7;
  world.objects.evictions.priority_classes["high"] = high;
  EXPECT_EQ(codes_of(ask(world.objects, with_class)), "Moves AdviceOnly");
}

TEST(MakeRoom, AClaimAlone) {
  const Answer answer = ask(halves().objects, R"(
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: pair}
spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu, count: 2}}]}}
)");
  EXPECT_EQ(codes_of(answer), "Moves AdviceOnly");
  EXPECT_EQ(answer.tables.at(1).rows.size(), 1u);
}

TEST(MakeRoom, RefusesWhatItCannotPlace) {
  const Objects objects = halves().objects;
  EXPECT_NE(ask(objects, "{apiVersion: v1, kind: Service, metadata: {name: x}}").lines.at(0).find("no pod, workload"),
            std::string::npos);
  const std::string
      head = "apiVersion: apps/v1\nkind: ",
      tail = "\nmetadata: {name: x}\nspec: {replicas: 99, selector: {}, template: {spec: {containers: [{name: c}]}}}\n";
  EXPECT_NE(ask(objects, head + "DaemonSet" + tail).lines.at(0).find("a DaemonSet has a pod on each node"),
            std::string::npos);
  EXPECT_NE(ask(objects, head + "Deployment" + tail).lines.at(0).find("64 at most"), std::string::npos);
  const std::string text = kAsksForTwo;
  EXPECT_NE(ask(objects, text.substr(text.find("---") + 4)).lines.at(0).find("neither in the file nor in the cluster"),
            std::string::npos);
}

}  // namespace
}  // namespace dra::inspect::make_room_test
