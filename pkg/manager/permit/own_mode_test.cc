#include "pkg/manager/permit/own_mode.h"

#include <gtest/gtest.h>

#include "pkg/protocol/memory_view.h"

namespace dra::manager::own_mode_test {

using namespace std::chrono_literals;

const MonoTime kStart{};

TEST(ClaimMakerDispute, IsJudgedByTheLease) {
  ClaimMakerDispute dispute;
  EXPECT_FALSE(dispute.may_make()) << "nobody looked yet";
  EXPECT_FALSE(dispute.disputed());
  dispute.saw(ComponentPresence::kAbsent);
  EXPECT_TRUE(dispute.may_make());
  EXPECT_EQ(dispute.why_not(), "");
  dispute.saw(ComponentPresence::kPresent);
  EXPECT_TRUE(dispute.disputed());
  EXPECT_NE(dispute.why_not().find("-resourceclaim-controller"), std::string::npos);
  dispute.saw(ComponentPresence::kUnknown);
  EXPECT_TRUE(dispute.may_make()) << "the lease must not be read: nothing is known against it";
}

TEST(ClaimMakerDispute, OnePodThatWaitsLongEnoughSettlesIt) {
  ClaimMakerDispute dispute;
  dispute.saw(ComponentPresence::kPresent);
  dispute.saw_waiting({"a"}, kStart);
  dispute.saw_waiting({"b"}, kStart + 6s);  // a got its claim
  dispute.saw_waiting({"a", "b"}, kStart + 12s);
  EXPECT_TRUE(dispute.disputed()) << "each waited less than 10 s at a stretch";
  dispute.saw(ComponentPresence::kPresent);
  dispute.saw_waiting({"b"}, kStart + 16s);
  EXPECT_FALSE(dispute.disputed());
  dispute.saw(ComponentPresence::kPresent);
  EXPECT_TRUE(dispute.may_make()) << "settled as long as that component runs";
  dispute.saw(ComponentPresence::kAbsent);
  dispute.saw(ComponentPresence::kPresent);
  EXPECT_TRUE(dispute.disputed()) << "it was started anew";
}

TEST(ClaimMakerDispute, RemembersABoundedNumberOfPods) {
  ClaimMakerDispute dispute;
  dispute.saw(ComponentPresence::kPresent);
  std::vector<std::string> many;
  for (size_t i = 0; i < 10 * ClaimMakerDispute::kMostPods; ++i) many.push_back(std::to_string(10'000 + i));
  dispute.saw_waiting(many, kStart);
  dispute.saw_waiting({many.back()}, kStart + 10s);
  EXPECT_TRUE(dispute.disputed()) << "that one was beyond the bound";
  dispute.saw_waiting({many.back()}, kStart + 20s);
  EXPECT_FALSE(dispute.disputed());
}

class Waiting : public testing::Test {
 protected:
  Waiting() {
    pod.metadata.ns = "d";
    pod.metadata.name = "p";
    pod.metadata.uid = "p-uid";
    pod.resource_claims.push_back({"gpu", std::nullopt, "one-gpu"});
    made.metadata.ns = "d";
    made.metadata.name = "one-gpu";
  }
  bool waits() { return !pods_without_claims(view, {&pod}, 10).empty(); }

  protocol::MemoryView view;
  api::Pod pod;
  api::ResourceClaimTemplate made;
};

TEST_F(Waiting, OnlyPodsThatTheOtherControllerWouldServe) {
  EXPECT_FALSE(waits()) << "no such template: nobody can make the claim";
  view.put(made);
  EXPECT_TRUE(waits());
  pod.resource_claim_statuses.push_back({"gpu", "p-gpu-x"});
  EXPECT_FALSE(waits()) << "made and published";
  pod.resource_claim_statuses.clear();
  pod.metadata.deletion_timestamp = "2024-01-01T00:00:00Z";
  EXPECT_FALSE(waits());
  pod.metadata.deletion_timestamp.clear();
  pod.phase = "Failed";
  EXPECT_FALSE(waits());
  pod.phase.clear();
  api::ResourceClaim claim;
  claim.metadata.ns = "d";
  claim.metadata.name = "p-gpu-x";
  claim.metadata.uid = "c-uid";
  claim.metadata.annotations[std::string(api::kPodClaimNameAnnotation)] = "gpu";
  claim.metadata.owner_references.push_back({"v1", "Pod", "p", "p-uid", true});
  view.put(claim);
  EXPECT_FALSE(waits()) << "made, not published yet";
  pod.resource_claims = {{"shared", "by-name", std::nullopt}};
  EXPECT_FALSE(waits());
}

TEST_F(Waiting, AreCountedUpToALimit) {
  view.put(made);
  const std::vector<const api::Pod*> pods(100, &pod);
  EXPECT_EQ(pods_without_claims(view, pods, 7).size(), 7u);
}

}  // namespace dra::manager::own_mode_test
