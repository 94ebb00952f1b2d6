// Claims of PodGroups: one serves all pods of the group, so none is made for each member.
#include "controllers/claimtemplate/claimtemplate_fixture.h"

namespace dra::claimtemplate::group_claims_test {

using namespace protocol;
using namespace reconcile;

class GroupClaims : public ClaimTemplate {
 protected:
  GroupClaims() {
    pod = make_pod("p", {"r0"});
    pod.pod_group_name = "g";
    view.put(pod);
    view.put(make_template("tpl"));
    group = test::named<api::PodGroup>("g");
  }
  void put_group() { view.groups[GroupApi::kCore].insert_or_assign("default/g", group); }

  api::Pod pod;
  api::PodGroup group;
};

TEST_F(GroupClaims, NoneIsMadeForAMemberWhoseEntryIsTheGroups) {
  group.resource_claims = {{"r0", std::nullopt, "tpl"}};
  put_group();
  const ReconcileResult outcome = pass();
  EXPECT_TRUE(writes(outcome).empty());
  const std::vector<Event> events = only<Event>(outcome);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_NE(events[0].note.find("is a claim of PodGroup default/g as a whole"), std::string::npos) << events[0].note;
}

TEST_F(GroupClaims, AnEntryThatDiffersIsThePodsOwn) {
  group.resource_claims = {{"r0", std::nullopt, "another"}, {"r1", std::nullopt, "tpl"}};
  put_group();
  EXPECT_EQ(writes(pass()).size(), 2u);
}

// Kube-controller-manager made it and published its name.
TEST_F(GroupClaims, AClaimOfTheGroupThatIsPublishedIsNotReplaced) {
  auto claim = test::named<api::ResourceClaim>("g-r0-x");
  claim.metadata.owner_references = {{"scheduling.k8s.io/v1alpha2", "PodGroup", "g", group.metadata.uid, true}};
  view.put(claim);
  pod.resource_claim_statuses = {{"r0", "g-r0-x"}};
  view.put(pod);
  put_group();  // without entries: read before they were known
  const ReconcileResult outcome = pass();
  EXPECT_TRUE(writes(outcome).empty());
  EXPECT_TRUE(only<Event>(outcome).empty());
}

TEST_F(GroupClaims, NothingIsMadeBeforeThePodGroupIsKnown) {
  EXPECT_TRUE(writes(pass()).empty()) << "it does not exist";
  view.known_groups[GroupApi::kCore] = {GroupsKnown::State::kListing, ""};
  EXPECT_TRUE(writes(pass()).empty());
  view.known_groups[GroupApi::kCore] = {GroupsKnown::State::kCannot, "the API server does not serve them"};
  EXPECT_EQ(writes(pass()).size(), 2u) << "there are no claims of groups";
  view.known_groups.clear();
  put_group();
  EXPECT_EQ(writes(pass()).size(), 2u);
  EnqueueRequests out;
  reconciler.on_group(view, "core:default/g", out);
  ASSERT_EQ(out.keys.size(), 1u);
  EXPECT_EQ(out.keys[0].object, "default/p");
}

}  // namespace dra::claimtemplate::group_claims_test
