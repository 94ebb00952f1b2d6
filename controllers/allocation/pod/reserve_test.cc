// One write of a claim carries all pods that have come to it.
#include "controllers/allocation/pod/reserve.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "controllers/allocation/allocation_fixture.h"
#include "pkg/protocol/leaving.h"
#include "pkg/protocol/proof.h"

namespace dra::allocation::reserve_test {

using namespace std::chrono_literals;
using namespace protocol;

class Reserving : public AllocationTest {
 protected:
  // The claim "c", proven for pod "first".
  api::ResourceClaim shared(std::vector<std::string> consumers = {"first"}) {
    return proven(allocated("c", "n1", "gpu-0", true, std::move(consumers)), "first");
  }
  // The pod came to the point where the claim is reserved for it, and its write waits for another one.
  void ready(const std::string& pod) {
    view.put(make_pod(pod, {"c"}));
    ASSERT_EQ(pass(pod), "reserve c");
    keep_notes();
    forget_batch();
    view.notes.erase({pod + "-uid", "took-along"});
  }
  void forget_batch() { view.notes.erase({"c-uid", "reserved"}); }
  std::string consumers() {
    std::string names;
    const nlohmann::json patch = body();
    for (const auto& consumer : patch["status"]["reservedFor"]) names += consumer["name"].get<std::string>() + " ";
    return names;
  }
  std::string users() { return body()["metadata"]["annotations"][kProvenForAnnotation].get<std::string>(); }
};

TEST_F(Reserving, TakesAlongThoseWhoCameToTheSamePoint) {
  shared();
  for (const char* pod : {"a", "b", "z"}) ready(pod);
  view.put(make_pod("not-yet", {"c"}));  // nobody has found a node for it
  ASSERT_EQ(pass("b"), "reserve c");
  EXPECT_EQ(consumers(), "first b a z ");
  EXPECT_EQ(write().assume_pod->pod.name, "b");
  ASSERT_EQ(write().assume_beside.size(), 2u);
  EXPECT_EQ(write().assume_beside[1].pod.name, "z");
  EXPECT_EQ(write().assume_beside[1].node, "n1");
}

TEST_F(Reserving, TakesNobodyAlongWhoMayHaveChanged) {
  shared();
  for (const char* pod : {"gone", "bound", "leaves", "late", "a"}) ready(pod);
  view.pods.erase("default/gone");
  api::Pod bound = make_pod("bound", {"c"}, false);
  bound.node_name = "n1";
  view.put(bound);
  api::Pod leaves = make_pod("leaves", {"c"});
  leaves.metadata.annotations[std::string(kLeavingAnnotation)] = "c-uid@5";
  view.put(leaves);
  view.notes[{"late-uid", "ready-to-reserve"}].second -= 3s;
  ASSERT_EQ(pass("a"), "reserve c");
  EXPECT_EQ(consumers(), "first a ");
}

TEST_F(Reserving, TakesNobodyAlongForAnotherAllocation) {
  shared();
  ready("a");
  ready("b");
  inventory.remove_claim("c-uid");
  proven(allocated("c", "n1", "gpu-1", true, {"first"}), "first");
  ASSERT_EQ(pass("a"), "reserve c");
  EXPECT_EQ(consumers(), "first a ");
}

TEST_F(Reserving, OfMorePodsThanAClaimTakesThoseOfHighPriorityAreFirst) {
  std::vector<std::string> consumers_before;
  for (size_t i = 0; i < api::kMaxReservedFor - 2; ++i) consumers_before.push_back("o" + std::to_string(i));
  consumers_before[0] = "first";
  shared(consumers_before);
  for (const char* pod : {"a", "b", "c"}) ready(pod);
  view.pods.at("default/c").priority = 7;
  ASSERT_EQ(pass("a"), "reserve c");
  const nlohmann::json written = body()["status"]["reservedFor"];
  ASSERT_EQ(written.size(), api::kMaxReservedFor);
  EXPECT_EQ(written[api::kMaxReservedFor - 2]["name"], "a");
  EXPECT_EQ(written[api::kMaxReservedFor - 1]["name"], "c");
}

TEST_F(Reserving, AWriteThatWasRefusedTakesNobodyAlongAgain) {
  shared();
  ready("a");
  view.put(make_pod("b", {"c"}));
  ASSERT_EQ(pass("b"), "reserve c");
  EXPECT_EQ(consumers(), "first b a ");
  keep_notes();
  forget_batch();
  ASSERT_EQ(pass("b"), "reserve c") << "the claim has the same version";
  EXPECT_EQ(consumers(), "first b ");
  api::ResourceClaim newer = view.claims.at("default/c");
  newer.metadata.resource_version = "6";
  put(newer);
  ASSERT_EQ(pass("b"), "reserve c");
  EXPECT_EQ(consumers(), "first b a ");
}

TEST_F(Reserving, ManyConsumersAreReservedWithPauses) {
  shared({"first", "b", "d", "e"});
  view.put(make_pod("a", {"c"}));
  view.notes[{"c-uid", "reserved"}] = {"a reservation", view.time - 100ms};
  EXPECT_EQ(pass("a"), "");
  EXPECT_EQ(last.requeue_after, Duration(500ms));
  EXPECT_TRUE(std::any_of(last.effects.begin(), last.effects.end(), [](const reconcile::Effect& effect) {
    const auto* hold = std::get_if<reconcile::HoldPlace>(&effect);
    return hold && hold->pod.node == "n1" && hold->pod.pod.name == "a";
  }));
  view.time += 500ms;
  EXPECT_EQ(pass("a"), "reserve c");
}

TEST_F(Reserving, OneListingTakesAlongAllThatAreReserved) {
  const api::ResourceClaim claim = shared({"first", "a", "b", "leaves", "bound", "stranger", "left", "pairs"});
  api::ResourceClaim listed = claim;
  listed.metadata.annotations[std::string(kProvenForAnnotation)] = "first/first-uid,left/~left-uid";
  put(listed);
  for (const char* pod : {"a", "b", "left"}) view.put(make_pod(pod, {"c"}));
  api::Pod leaves = make_pod("leaves", {"c"});
  leaves.metadata.annotations[std::string(kLeavingAnnotation)] = "c-uid@4";
  view.put(leaves);
  api::Pod bound = make_pod("bound", {"c"}, false);
  bound.node_name = "n1";
  view.put(bound);
  api::Pod pairs = make_pod("pairs", {"c"});  // its own reconcile looks whether they are pairs, before it is listed
  pairs.metadata.annotations["dra-controller-manager/pairs"] = "gpu+gpu by example.com/root";
  view.put(pairs);
  ASSERT_EQ(pass("b"), "enlist c");
  EXPECT_EQ(users(), "first/first-uid,left/~left-uid,b/b-uid,a/a-uid");
}

}  // namespace dra::allocation::reserve_test
