// A claim that a template makes and that does not exist: ordinary for some seconds, then said with what helps.
#include "controllers/allocation/allocation_fixture.h"
#include "controllers/allocation/members/group_members.h"
#include "pkg/base/timestamp.h"
#include "pkg/protocol/groups.h"

namespace dra::allocation::missing_claim_test {

using namespace protocol;
using namespace reconcile;
using namespace std::chrono_literals;

class MissingClaimTest : public AllocationTest {
 protected:
  // Entry "r0" of a template; `name`: what the pod's status says, if anything.
  api::Pod put_pod(const std::string& name, const std::string& pod_name = "p") {
    api::Pod pod = make_pod(pod_name, {});
    pod.resource_claims.push_back({"r0", std::nullopt, "a-template"});
    if (!name.empty()) pod.resource_claim_statuses = {{"r0", name}};
    pod.metadata.creation_timestamp = format_rfc3339(view.time);
    view.put(pod);
    return pod;
  }
  // One reconcile; its notes and events are kept.
  std::string step(const std::string& pod = "p") {
    const std::string did = pass(pod);
    remember();
    for (const Effect& effect : last.effects)
      if (const Note* note = std::get_if<Note>(&effect)) {
        if (note->text.empty())
          view.notes.erase({note->uid, note->topic});
        else
          view.notes[{note->uid, note->topic}] = {note->text, view.time};
      }
    return did;
  }
  // Runs whenever the reconciler asks for it, until it says something; returns how long that took.
  Duration until_said(const std::string& pod = "p") {
    const WallTime began = view.time;
    while (view.time - began < 2min) {
      const std::string did = step(pod);
      if (did.find("event") != std::string::npos) return std::chrono::duration_cast<Duration>(view.time - began);
      EXPECT_FALSE(last.has_writes()) << "nothing is allocated or ungated meanwhile";
      if (!last.requeue_after) break;
      view.time += *last.requeue_after;
    }
    ADD_FAILURE() << "never said";
    return {};
  }
};

// dra_pending_pods counts it once the wait is no longer ordinary.
TEST_F(MissingClaimTest, ThePodIsCountedAsOneThatWaits) {
  const auto counted = [&] {
    for (const Effect& effect : last.effects)
      if (const auto* metric = std::get_if<Metric>(&effect); metric && metric->name == "dra_pending_pods")
        return metric->labels.back().second;
    return std::string();
  };
  put_pod("");
  step();
  EXPECT_EQ(counted(), "");
  until_said();
  EXPECT_EQ(counted(), "ClaimMissing");
}

TEST_F(MissingClaimTest, ADeletedOneIsSaidAfterTenSeconds) {
  put_pod("p-r0-x");
  EXPECT_EQ(until_said(), 10s);
  EXPECT_EQ(event().note,
            "ResourceClaim default/p-r0-x (entry r0) does not exist any more; kube-controller-manager may take an hour "
            "or a restart to make it anew: restart kube-controller-manager, or apply the pod's manifest again after "
            "deleting it");
  EXPECT_EQ(step(), "") << "once";
  EXPECT_FALSE(last.has_writes());
}

TEST_F(MissingClaimTest, OnlyWhatAControllerMakesAgainIsToBeDeleted) {
  api::Pod pod = put_pod("p-r0-x");
  pod.metadata.owner_references.push_back({"apps/v1", "ReplicaSet", "web", "rs-uid", true});
  view.put(pod);
  until_said();
  EXPECT_TRUE(event().note.ends_with(": delete the pod, its ReplicaSet/web makes it again")) << event().note;
}

TEST_F(MissingClaimTest, OneThatWasNeverMadeAfterThirtySeconds) {
  put_pod("");
  EXPECT_EQ(until_said(), 30s);
  EXPECT_NE(event().note.find("nobody has made a ResourceClaim for entry r0 for 30 s"), std::string::npos);
  EXPECT_NE(event().note.find("resourceclaim-controller seems to be off"), std::string::npos) << event().note;
  // Made by somebody who does not say so in the pod's status.
  auto made = make_claim("p-r0-y");
  made.metadata.owner_references.push_back({"v1", "Pod", "p", "p-uid", true});
  made.metadata.annotations[std::string(api::kPodClaimNameAnnotation)] = "r0";
  put(made);
  view.emitted.clear();
  step();
  EXPECT_NE(event().note.find("default/p-r0-y was made for entry r0, but the pod's status does not name it"),
            std::string::npos)
      << event().note;
}

TEST_F(MissingClaimTest, AnAbsenceOfSecondsIsOrdinaryAndEachIsMeasuredAnew) {
  put_pod("p-r0-x");
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(step(), "");
    view.time += 9s;
    EXPECT_EQ(step(), "");
    auto made = make_claim("p-r0-x", 9);
    made.metadata.owner_references.push_back({"v1", "Pod", "p", "p-uid", true});
    put(made);
    EXPECT_NE(step(), "");
    EXPECT_TRUE(view.notes.find({"p-uid", std::string(kMissingNote)}) == view.notes.end());
    view.claims.clear();
    view.emitted.clear();
  }
}

// The condition of before ("no node can provide ...") is replaced.
TEST_F(MissingClaimTest, TheConditionSaysItToo) {
  options.mode = Mode::kBind;
  api::Pod pod = put_pod("p-r0-x");
  pod.scheduling_gates.clear();
  pod.scheduler_name = "ours";
  pod.conditions.push_back({"PodScheduled", "False", "Unschedulable", "no node can provide 3 x gpu", "", 0});
  view.put(pod);
  // Written a moment ago: no other reason for the wait would replace it so soon.
  view.notes[{"p-uid", "condition"}] = {"what was written before", view.time - 1s};
  EXPECT_EQ(until_said(), 10s);
  const auto says_it = [&] {
    return std::any_of(last.effects.begin(), last.effects.end(), [](const Effect& effect) {
      const Write* one = std::get_if<Write>(&effect);
      return one && one->body.find("does not exist any more") != std::string::npos;
    });
  };
  EXPECT_TRUE(says_it()) << "with the event";
  step();
  EXPECT_FALSE(says_it()) << "once, until the pod shows it";
}

TEST_F(MissingClaimTest, WhereThisManagerMakesThemItsOwnEventsSayWhy) {
  test::WholeController reconciler(parts(options, inventory, allocator, nodes));
  options.own_claims = true;
  put_pod("p-r0-x");
  until_said();
  EXPECT_EQ(event().note.find("kube-controller-manager"), std::string::npos) << event().note;
}

TEST_F(MissingClaimTest, OfAGroupTheWaitNamesTheMember) {
  const auto member = [&](const std::string& name) {
    api::Pod pod = put_pod(name == "b" ? "b-r0-x" : "", name);
    pod.metadata.creation_timestamp = format_rfc3339(view.time - 1min);
    pod.metadata.owner_references.push_back({"batch/v1", "Job", "train", "job-uid", true});
    pod.metadata.annotations[std::string(kGroupAnnotation)] = "2";
    if (name == "a") {
      pod.resource_claims = {{"c", "ca", std::nullopt}};
      put(make_claim("ca"));
    }
    view.put(pod);
  };
  member("a");
  member("b");
  step("a");
  view.time += 10s;
  step("a");
  EXPECT_NE(event().note.find("b: ResourceClaim default/b-r0-x (entry r0) does not exist any more"), std::string::npos)
      << event().note;
}

// E10: kubelet has what the pod uses; the real ones say nothing.
TEST_F(MissingClaimTest, OfABoundPodNothingIsSaidWhenItsClaimIsDeletedWhileInUse) {
  options.mode = Mode::kBind;
  api::Pod pod = make_pod("p", {"c"}, false);
  pod.node_name = "n1";
  pod.phase = "Running";
  view.put(pod);
  api::ResourceClaim claim = proven(allocated("c", "n1", "gpu-0", true, {"p"}), "p");
  claim.metadata.deletion_timestamp = "2026-01-01T00:00:00Z";
  put(claim);
  EXPECT_EQ(pass(), "");
}

}  // namespace dra::allocation::missing_claim_test
