// Claims of PodGroups (KEP-5729, P9): one claim for all pods of a group, proven like any other and then reserved for
// the PodGroup.
#include <nlohmann/json.hpp>

#include "controllers/allocation/allocation_fixture.h"
#include "pkg/base/timestamp.h"
#include "pkg/protocol/leaving.h"
#include "pkg/protocol/users.h"

namespace dra::allocation::group_claims_test {

using namespace protocol;
using namespace reconcile;

namespace {

class GroupClaims : public AllocationTest {
 protected:
  // PodGroup "g" has the claim "r0"; its pods repeat the entry. kube-controller-manager made the claim g-r0-x.
  GroupClaims() {
    quiet_claims = true;
    group = test::named<api::PodGroup>("g");
    group.resource_claims = {{"r0", std::nullopt, "t"}};
    put_group();
    made_for(group);
  }
  void put_group() { view.groups[GroupApi::kCore].insert_or_assign("default/g", group); }
  void made_for(const api::PodGroup& owner) {
    api::ResourceClaim claim = make_claim("g-r0-x");
    claim.metadata.owner_references = {{"scheduling.k8s.io/v1alpha2", "PodGroup", "g", owner.metadata.uid, true}};
    put(claim);
  }
  api::Pod member(const std::string& name, bool gated = true) {
    api::Pod pod = make_pod(name, {}, gated);
    pod.metadata.creation_timestamp = format_rfc3339(view.time - std::chrono::seconds(15));
    pod.pod_group_name = "g";
    pod.resource_claims = {{"r0", std::nullopt, "t"}};
    pod.resource_claim_statuses = {{"r0", "g-r0-x"}};
    return pod;
  }
  // Allocated by us on n1, with these consumers.
  api::ResourceClaim held(std::vector<api::ResourceClaimConsumerReference> consumers,
                          const std::string& proven_for = "", const std::string& users = "") {
    api::ResourceClaim claim = *view.shared_claim("default/g-r0-x");
    claim.status.allocation = on("n1", "gpu-0");
    claim.status.reserved_for = std::move(consumers);
    claim.metadata.managed_fields = {{std::string(kAllocationManager), "Update", "status"}};
    if (!proven_for.empty()) {
      claim.metadata.finalizers = {std::string(api::kDeleteProtectionFinalizer)};
      claim.metadata.annotations[std::string(kProofAnnotation)] =
          proof_value(proven_for + "-uid", *claim.status.allocation);
      if (!users.empty()) claim.metadata.annotations[std::string(kProvenForAnnotation)] = users;
    }
    put(claim);
    return claim;
  }
  api::ResourceClaimConsumerReference for_pod(const std::string& name) { return {"", "pods", name, name + "-uid"}; }
  api::ResourceClaimConsumerReference for_group() {
    return {"scheduling.k8s.io", "podgroups", "g", group.metadata.uid};
  }
  nlohmann::json reserved() { return body()["status"]["reservedFor"]; }
  std::string users() { return body()["metadata"]["annotations"][kProvenForAnnotation].get<std::string>(); }

  api::PodGroup group;
};

TEST_F(GroupClaims, AreReservedForOnePodUntilTheyAreProvenAndThenForTheGroup) {
  view.put(member("a"));
  view.put(member("b"));
  EXPECT_EQ(pass("a"), "allocate g-r0-x");
  EXPECT_EQ(reserved().size(), 1u);
  EXPECT_EQ(reserved()[0]["resource"], "pods");
  held({for_pod("a")});
  EXPECT_EQ(pass("a"), "prove g-r0-x");
  held({for_pod("a")}, "a", "a/a-uid");
  EXPECT_EQ(pass("a"), "reserve g-r0-x");
  ASSERT_EQ(reserved().size(), 1u) << reserved();
  EXPECT_EQ(reserved()[0]["resource"], "podgroups");
  EXPECT_EQ(reserved()[0]["apiGroup"], "scheduling.k8s.io");
  EXPECT_EQ(reserved()[0]["uid"], group.metadata.uid);
  held({for_group()}, "a", "a/a-uid");
  EXPECT_EQ(pass("a"), "lift-gate a");
  EXPECT_EQ(pass("b"), "enlist g-r0-x") << "a group's reservation lists nobody";
  held({for_group()}, "a", "a/a-uid,b/b-uid");
  EXPECT_EQ(pass("b"), "lift-gate b");
}

// Others reserve by the same rule: kube-scheduler, or kube-controller-manager for a pod that is bound.
TEST_F(GroupClaims, ListingOnePodListsAllThatWait) {
  for (const char* name : {"a", "b", "c", "d"}) view.put(member(name));
  held({for_group()}, "a");
  EXPECT_EQ(pass("a"), "enlist g-r0-x");
  for (const char* name : {"a/", "b/", "c/", "d/"}) EXPECT_NE(users().find(name), std::string::npos) << users();
}

TEST_F(GroupClaims, AMemberThatFitsNowhereDoesNotTakeBackWhatIsHeldForAnother) {
  view.put(member("a"));
  view.put(member("b"));
  held({for_pod("a")});
  nodes.refused = {"n1"};
  EXPECT_EQ(pass("b"), "event FailedScheduling, parked");
  EXPECT_EQ(pass("a"), "withdraw g-r0-x");
}

// P9: the group's reservation goes when no pod is listed and none has started.
TEST_F(GroupClaims, WhereNoMemberFitsAnyMoreTheyLeaveAndThenTheReservationGoes) {
  view.put(member("a"));
  view.put(member("b"));
  held({for_group()}, "a", "a/a-uid,b/b-uid");
  nodes.refused = {"n1"};
  EXPECT_EQ(pass("a"), "announce-leaving a");
  api::Pod leaving = member("a");
  leaving.metadata.annotations[std::string(kLeavingAnnotation)] = "g-r0-x-uid@5";
  view.put(leaving);
  EXPECT_EQ(pass("a"), "unlist g-r0-x");
  api::ResourceClaim claim = held({for_group()}, "a", "b/b-uid");
  claim.metadata.resource_version = "6";
  put(claim);
  EXPECT_EQ(pass("a").find("leave"), std::string::npos) << "b is listed";
  claim.metadata.annotations.erase(std::string(kProvenForAnnotation));
  put(claim);
  EXPECT_EQ(pass("a"), "leave g-r0-x");
  EXPECT_TRUE(reserved().is_null() || reserved().empty()) << reserved();
  EXPECT_FALSE(body()["status"].contains("allocation")) << "a pod may have been bound before";
  // kube-scheduler has started one.
  api::Pod runs = member("c", false);
  runs.node_name = "n1";
  view.put(runs);
  EXPECT_EQ(pass("a").find("leave"), std::string::npos);
}

TEST_F(GroupClaims, TheClaimOfAnEarlierPodGroupIsNotUsed) {
  api::PodGroup old = group;
  old.metadata.uid = "older-uid";
  made_for(old);
  view.put(member("a"));
  EXPECT_EQ(pass("a"), "");
  made_for(group);
  EXPECT_EQ(pass("a"), "allocate g-r0-x");
  // Nor its reservation.
  held({{"scheduling.k8s.io", "podgroups", "g", "older-uid"}}, "a", "a/a-uid");
  EXPECT_EQ(pass("a"), "reserve g-r0-x");
  EXPECT_EQ(reserved().size(), 2u) << "the other one is kube-controller-manager's to remove";
}

TEST_F(GroupClaims, WithoutTheClaimKubeControllerManagerIsNamed) {
  view.claims.clear();
  api::Pod waits = member("a");
  waits.resource_claim_statuses.clear();
  view.put(waits);
  EXPECT_EQ(pass("a"), "");
  keep_notes();
  view.time += std::chrono::seconds(31);
  pass("a");
  EXPECT_NE(event().note.find("has not made the claim of PodGroup default/g for entry r0"), std::string::npos)
      << event().note;
  options.own_claims = true;
  view.emitted.clear();
  pass("a");
  EXPECT_NE(event().note.find("does not make with --claim-templates=own"), std::string::npos) << event().note;
}

TEST_F(GroupClaims, TheClaimThatThePodGroupNamesIsTheGroupsToo) {
  group.resource_claims = {{"r0", "shared", std::nullopt}};
  put_group();
  put(make_claim("shared"));
  api::Pod pod = member("a");
  pod.resource_claims = group.resource_claims;
  pod.resource_claim_statuses.clear();
  view.put(pod);
  EXPECT_EQ(pass("a"), "allocate shared");
  api::ResourceClaim claim = allocated("shared", "n1", "gpu-0", true, {"a"});
  proven(claim, "a");
  EXPECT_EQ(pass("a"), "reserve shared");
  EXPECT_EQ(reserved()[0]["resource"], "podgroups");
  // Another entry that names the same claim is the pod's own.
  pod.resource_claims[0].name = "mine";
  view.put(pod);
  EXPECT_EQ(pass("a"), "lift-gate a");
}

TEST_F(GroupClaims, AGangIsDecidedOnOneClaim) {
  group.min_count = 3;
  put_group();
  for (const char* name : {"a", "b", "c"}) view.put(member(name));
  EXPECT_EQ(pass("a"), "allocate g-r0-x");
  EXPECT_EQ(reserved().size(), 1u) << reserved();
  held({for_pod("a")});
  EXPECT_EQ(pass("a"), "prove g-r0-x");
  held({for_pod("a")}, "a", "a/a-uid");
  EXPECT_EQ(pass("a"), "reserve g-r0-x");
  EXPECT_EQ(reserved()[0]["resource"], "podgroups");
  held({for_group()}, "a", "a/a-uid");
  EXPECT_EQ(pass("a"), "enlist g-r0-x");
  held({for_group()}, "a", "a/a-uid,b/b-uid,c/c-uid");
  EXPECT_EQ(pass("a"), "lift-gate a, lift-gate b, lift-gate c");
}

TEST_F(GroupClaims, NothingIsSaidOfPodsThatKubeSchedulerRuns) {
  api::ResourceClaim claim = *view.shared_claim("default/g-r0-x");
  claim.status.allocation = on("n1", "gpu-0");
  claim.status.reserved_for = {for_group()};
  claim.metadata.managed_fields = {{"kube-scheduler", "Update", "status"}};
  put(claim);
  api::Pod pod = member("a", false);
  pod.scheduler_name = "default-scheduler";
  for (const Mode mode : {Mode::kGate, Mode::kBind, Mode::kObserve})
    for (const char* node : {"", "n1"}) {
      options.mode = mode;
      pod.node_name = node;
      view.put(pod);
      EXPECT_EQ(pass("a"), "") << static_cast<int>(mode) << " on " << node;
    }
}

}  // namespace
}  // namespace dra::allocation::group_claims_test
