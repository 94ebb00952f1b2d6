// Claims of PodGroups (KEP-5729): our pods wait with a true sentence, and nothing is said of pods that kube-scheduler
// runs.
#include "controllers/allocation/allocation_fixture.h"
#include "pkg/base/timestamp.h"

namespace dra::allocation::group_claims_test {

using namespace protocol;
using namespace reconcile;

namespace {

class GroupClaims : public AllocationTest {
 protected:
  // PodGroup "g" of two pods has the claim "r0"; pod "a" repeats the entry.
  GroupClaims() {
    quiet_claims = true;
    group = test::named<api::PodGroup>("g");
    group.resource_claims = {{"r0", std::nullopt, "t"}};
    view.groups[GroupApi::kCore].emplace("default/g", group);
    claim = make_claim("g-r0-x");
    claim.metadata.owner_references = {{"scheduling.k8s.io/v1alpha2", "PodGroup", "g", group.metadata.uid, true}};
  }
  api::Pod member(const std::string& name, bool gated = true) {
    api::Pod pod = make_pod(name, {}, gated);
    pod.metadata.creation_timestamp = format_rfc3339(view.time - std::chrono::seconds(15));
    pod.pod_group_name = "g";
    pod.resource_claims = {{"r0", std::nullopt, "t"}};
    return pod;
  }
  void expect_event(const std::string& pod) {
    pass(pod);
    const std::string note = event().note;
    EXPECT_NE(note.find("claim entry \"r0\" is a claim of PodGroup default/g as a whole"), std::string::npos) << note;
    EXPECT_EQ(note.find("was not created for this pod"), std::string::npos) << note;
    EXPECT_EQ(note.find("delete"), std::string::npos) << note;
    for (const Effect& effect : last.effects)
      if (const Write* write = std::get_if<Write>(&effect)) {
        EXPECT_EQ(write->purpose, "show-waiting") << "nothing is taken";
      }
  }

  api::PodGroup group;
  api::ResourceClaim claim;
};

TEST_F(GroupClaims, APodOfOursWaitsWithATrueSentenceBeforeAndAfterTheClaimIsMade) {
  view.put(member("a"));
  expect_event("a");
  put(claim);
  api::Pod published = member("a");
  published.resource_claim_statuses = {{"r0", "g-r0-x"}};
  view.put(published);
  view.emitted.clear();
  expect_event("a");
  options.mode = Mode::kBind;
  api::Pod to_bind = published;
  to_bind.scheduling_gates.clear();
  to_bind.scheduler_name = "ours";
  view.put(to_bind);
  view.emitted.clear();
  expect_event("a");
}

TEST_F(GroupClaims, TheClaimThatThePodGroupNamesIsTheGroupsToo) {
  group.resource_claims = {{"r0", "shared", std::nullopt}};
  view.groups[GroupApi::kCore].insert_or_assign("default/g", group);
  put(make_claim("shared"));
  api::Pod pod = member("a");
  pod.resource_claims = group.resource_claims;
  view.put(pod);
  expect_event("a");
  // Another entry that names the same claim is the pod's own.
  pod.resource_claims[0].name = "mine";
  view.put(pod);
  view.emitted.clear();
  EXPECT_EQ(pass("a"), "allocate shared");
}

TEST_F(GroupClaims, MembersOfAGangSayIt) {
  group.min_count = 2;
  view.groups[GroupApi::kCore].insert_or_assign("default/g", group);
  view.put(member("a"));
  view.put(member("b"));
  pass("a");
  const std::string note = event().note;
  EXPECT_NE(note.find("is a claim of PodGroup default/g as a whole"), std::string::npos) << note;
}

TEST_F(GroupClaims, NothingIsSaidOfPodsThatKubeSchedulerRuns) {
  claim.status.allocation = on("n1", "gpu-0");
  claim.status.reserved_for = {{"scheduling.k8s.io", "podgroups", "g", group.metadata.uid}};
  put(claim);
  api::Pod pod = member("a", false);
  pod.scheduler_name = "default-scheduler";
  pod.resource_claim_statuses = {{"r0", "g-r0-x"}};
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
