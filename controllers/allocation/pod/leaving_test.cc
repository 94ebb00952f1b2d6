// The node is judged again before a reservation and before the gate is lifted; and P8: what a pod that cannot run
// releases although it is proven.
#include <nlohmann/json.hpp>

#include "controllers/allocation/allocation_fixture.h"
#include "pkg/api/decode/decode.h"
#include "pkg/protocol/leaving.h"
#include "pkg/protocol/pod_claims.h"
#include "pkg/protocol/proof.h"

namespace dra::allocation::leaving_test {

using namespace protocol;
using namespace reconcile;
using namespace std::chrono_literals;
using Json = nlohmann::json;

class LeavingClaims : public AllocationTest {
 protected:
  LeavingClaims() { quiet_claims = true; }
  // The server has accepted the last announcement.
  void announced(const std::string& name = "p") {
    api::Pod pod = view.pods.at("default/" + name);
    pod.metadata.annotations[std::string(kLeavingAnnotation)] =
        body()["metadata"]["annotations"][kLeavingAnnotation].get<std::string>();
    pod.metadata.resource_version = "12";
    view.put(pod);
  }
  // The server has accepted the last "leave".
  void left(api::ResourceClaim claim) {
    const Json status = body()["status"];
    if (status.contains("allocation")) claim.status.allocation.reset();
    claim.status.reserved_for.clear();
    if (status["reservedFor"].is_array())
      for (const Json& consumer : status["reservedFor"])
        claim.status.reserved_for.push_back({"", "pods", consumer["name"], consumer["uid"]});
    claim.metadata.resource_version = "6";
    put(claim);
  }
  // The server has accepted the last "unlist".
  api::ResourceClaim unlisted(api::ResourceClaim claim) {
    const Json value = body()["metadata"]["annotations"][kProvenForAnnotation];
    claim.metadata.annotations[std::string(kProvenForAnnotation)] = value.is_null() ? "" : value.get<std::string>();
    claim.metadata.resource_version = "6";
    put(claim);
    return claim;
  }
  void run_on_n1(const std::string& name, std::vector<std::string> claims) {
    api::Pod pod = make_pod(name, std::move(claims), false);
    pod.node_name = "n1";
    view.put(pod);
  }
};

TEST_F(LeavingClaims, ASecondConsumerIsNotReservedWhereItsNodeRefusesIt) {
  run_on_n1("first", {"c"});
  const api::ResourceClaim shared = proven(allocated("c", "n1", "gpu-0", true, {"first"}), "first");
  view.put(make_pod("p", {"c"}));
  nodes.refused = {"n1"};
  EXPECT_EQ(pass(), "event FailedScheduling, parked");
  EXPECT_NE(event().note.find("pins this pod to node n1"), std::string::npos) << event().note;
  nodes.names = {"n2"};
  EXPECT_EQ(pass(), "event FailedScheduling, parked") << "the node is gone";
  // The first pod ends and its allocation is removed: the second goes where it fits.
  api::ResourceClaim freed = shared;
  freed.status = {};
  put(freed);
  EXPECT_EQ(pass(), "allocate c");
  EXPECT_EQ(body()["status"]["allocation"]["devices"]["results"][0]["pool"], "n2");
}

TEST_F(LeavingClaims, ASecondConsumerCountsOnItsNodeOnceItIsReserved) {
  run_on_n1("first", {"c"});
  proven(allocated("c", "n1", "gpu-0", true, {"first"}), "first");
  view.put(make_pod("p", {"c"}));
  ASSERT_EQ(pass(), "reserve c");
  ASSERT_TRUE(write().assume_pod);
  EXPECT_EQ(write().assume_pod->node, "n1");
}

// Between the proof and lifting the gate the node was cordoned, tainted, filled or deleted: the pod goes elsewhere.
TEST_F(LeavingClaims, AProvenClaimIsLeftWhenItsNodeRefusesThePodBeforeTheGateGoes) {
  view.put(make_pod("p", {"c"}));
  const api::ResourceClaim claim = proven(allocated("c", "n1", "gpu-0", true, {"p"}), "p");
  ASSERT_EQ(pass(), "lift-gate p");
  nodes.refused = {"n1"};
  ASSERT_EQ(pass(), "announce-leaving p");
  EXPECT_EQ(body()["metadata"]["resourceVersion"], "11") << "no lifting that was decided before can succeed after it";
  EXPECT_EQ(body()["metadata"]["annotations"][kLeavingAnnotation], "c-uid@5");
  announced();
  nodes.refused = {};
  ASSERT_EQ(pass(), "leave c") << "what is announced is carried out";
  EXPECT_EQ(body()["metadata"]["resourceVersion"], "5");
  EXPECT_TRUE(body()["status"]["allocation"].is_null());
  EXPECT_TRUE(body()["status"]["reservedFor"].is_null());
  EXPECT_EQ(write().release_pod, "p-uid");
  EXPECT_TRUE(last.min_interval);
  left(claim);
  nodes.refused = {"n1"};
  ASSERT_EQ(pass(), "allocate c");
  EXPECT_EQ(body()["status"]["allocation"]["devices"]["results"][0]["pool"], "n2");
  api::ResourceClaim again = view.claims.at("default/c");
  again.status.allocation = on("n2", "gpu-0");
  again.status.reserved_for = {{"", "pods", "p", "p-uid"}};
  again.metadata.resource_version = "7";
  proven(again, "p");
  ASSERT_EQ(pass(), "lift-gate p");
  EXPECT_TRUE(body()["metadata"]["annotations"][kLeavingAnnotation].is_null()) << "the announcement goes with the gate";
}

// Same device, same second: without care the new allocation would equal the one that was marked as proven.
TEST_F(LeavingClaims, AMarkThatOutlivedItsAllocationDoesNotProveTheNextOne) {
  view.put(make_pod("p", {"c"}));
  api::ResourceClaim claim = make_claim("c");
  put(claim);
  const auto allocation_written = [&] {
    const Json object = {{"metadata", {{"name", "c"}}}, {"status", body()["status"]}};
    return api::decode<api::ResourceClaim>(object.dump())->status.allocation.value();
  };
  ASSERT_EQ(pass(), "allocate c");
  const api::AllocationResult first = allocation_written();
  claim.metadata.finalizers = {std::string(api::kDeleteProtectionFinalizer)};
  claim.metadata.annotations[std::string(kProofAnnotation)] = proof_value("p-uid", first);
  put(claim);
  ASSERT_EQ(pass(), "allocate c");
  claim.status.allocation = allocation_written();
  EXPECT_EQ(claim.status.allocation->results[0].device, first.results[0].device);
  EXPECT_FALSE(is_proven(claim));
}

TEST_F(LeavingClaims, NoGateIsLiftedOnAViewAsOldAsTheAnnouncement) {
  api::Pod pod = make_pod("p", {"c"});
  pod.metadata.annotations[std::string(kLeavingAnnotation)] = "c-uid@6";
  view.put(pod);
  api::ResourceClaim claim = proven(allocated("c", "n1", "gpu-0", true, {"p"}), "p");
  EXPECT_EQ(pass(), "") << "somebody may have taken the reservation back since";
  options.release_gates = true;
  EXPECT_EQ(pass(), "") << "nor before an uninstall";
  options.release_gates = false;
  claim.metadata.resource_version = "6";
  put(claim);
  EXPECT_EQ(pass(), "leave c");
  claim.metadata.resource_version = "7";
  put(claim);
  EXPECT_EQ(pass(), "lift-gate p") << "another change came first: the announcement can no longer be carried out";
}

TEST_F(LeavingClaims, OfASharedClaimOnlyTheOwnReservationIsTakenBack) {
  run_on_n1("first", {"c"});
  view.put(make_pod("p", {"c"}));
  api::ResourceClaim shared = proven(allocated("c", "n1", "gpu-0", true, {"first", "p"}), "first");
  nodes.refused = {"n1"};
  ASSERT_EQ(pass(), "announce-leaving p");
  announced();
  ASSERT_EQ(pass(), "unlist c");
  EXPECT_EQ(body()["metadata"]["resourceVersion"], "5");
  shared = unlisted(shared);
  nodes.refused = {};
  EXPECT_EQ(pass(), "enlist c") << "it fits again, and is no user before it is listed again";
  nodes.refused = {"n1"};
  ASSERT_EQ(pass(), "leave c");
  EXPECT_FALSE(body()["status"].contains("allocation"));
  EXPECT_EQ(body()["status"]["reservedFor"], Json::parse(R"([{"resource":"pods","name":"first","uid":"first-uid"}])"));
  left(shared);
  EXPECT_EQ(pass(), "event FailedScheduling, parked") << "unreserved, with the reason";
}

// kube-scheduler removed the first pod from reservedFor, and may still bind it.
TEST_F(LeavingClaims, TheLastReservationDoesNotTakeTheAllocationFromAPodThatWasLetGo) {
  view.put(make_pod("p", {"c"}));
  api::ResourceClaim shared = proven(allocated("c", "n1", "gpu-0", true, {"first", "p"}), "first");
  shared.status.reserved_for.erase(shared.status.reserved_for.begin());
  put(shared);
  nodes.refused = {"n1"};
  ASSERT_EQ(pass(), "announce-leaving p");
  announced();
  EXPECT_EQ(pass(), "") << "the first pod is not in our view: the server is asked";
  EXPECT_TRUE(last.has_live_gets());
  const Ref first{Kind::kPod, "default", "first", "first-uid"};
  view.live_get(first, Presence::kPresent);
  ASSERT_EQ(pass(), "unlist c");
  EXPECT_EQ(body()["metadata"]["annotations"][kProvenForAnnotation], "first/first-uid");
  shared = unlisted(shared);
  ASSERT_EQ(pass(), "leave c");
  EXPECT_FALSE(body()["status"].contains("allocation"));
  EXPECT_TRUE(body()["status"]["reservedFor"].is_null());
  view.live_get(first, Presence::kAbsent);
  ASSERT_EQ(pass(), "leave c");
  EXPECT_TRUE(body()["status"].contains("allocation")) << "the first pod is gone";
}

TEST_F(LeavingClaims, ClaimsOnDifferentNodesDoNotLetThePodGo) {
  run_on_n1("first", {"c"});
  proven(allocated("c", "n1", "gpu-0", true, {"first", "p"}), "first");
  proven(allocated("d", "n2", "gpu-0", true, {"p"}), "p");
  view.put(make_pod("p", {"c", "d"}));
  ASSERT_EQ(pass(), "announce-leaving p");
  EXPECT_EQ(body()["metadata"]["annotations"][kLeavingAnnotation], "c-uid@5,d-uid@5");
  announced();
  EXPECT_EQ(pass(), "unlist c, leave d");
  EXPECT_TRUE(body(1)["status"].contains("allocation"));
}

// Only the manager writes the annotation, but a tenant who may patch pods can forge it: "<claim>@<a future version>"
// would gate the pod forever.
TEST_F(LeavingClaims, AForgedAnnouncementHoldsNothing) {
  api::Pod pod = make_pod("p", {"c"});
  pod.metadata.annotations[std::string(kLeavingAnnotation)] = "c-uid@999999,other@3";
  view.put(pod);
  const api::ResourceClaim claim = proven(allocated("c", "n1", "gpu-0", true, {"p"}), "p");
  for (const bool releasing : {false, true}) {
    options.release_gates = releasing;
    view.live_answers.clear();
    EXPECT_EQ(pass(), "") << "our view may be behind: the server is asked";
    EXPECT_TRUE(last.has_live_gets());
    view.live_get({Kind::kClaim, "default", "c", "c-uid"}, Presence::kPresent);
    ASSERT_EQ(pass(), "remove-void-leaving p");
    EXPECT_EQ(body()["metadata"]["annotations"][kLeavingAnnotation], "other@3");
    ASSERT_TRUE(write().success_event);
    EXPECT_EQ(write().success_event->reason, "AnnouncementIgnored");
  }
  pod.metadata.annotations[std::string(kLeavingAnnotation)] = "other@3";
  view.put(pod);
  EXPECT_EQ(pass(), "lift-gate p");
}

TEST_F(LeavingClaims, APodThatAnnouncedTooOftenKeepsWhatItHas) {
  api::Pod pod = make_pod("p", {"c"});
  std::string& text = pod.metadata.annotations[std::string(kLeavingAnnotation)];
  for (size_t i = 0; i < kMaxLeaving; ++i) text += std::to_string(i) + "@1,";
  view.put(pod);
  proven(allocated("c", "n1", "gpu-0", true, {"p"}), "p");
  nodes.refused = {"n1"};
  EXPECT_EQ(pass(), "event FailedAllocation, event FailedScheduling, parked");
}

// Somebody removed the reservation and deleted the claim: the pod is still on the claim's list of users.
TEST_F(LeavingClaims, ADeletedClaimIsLeftThoughItIsNotReserved) {
  view.put(make_pod("p", {"c"}));
  api::ResourceClaim claim = proven(allocated("c", "n1", "gpu-0", true, {"p"}), "p");
  claim.status.reserved_for.clear();
  claim.metadata.deletion_timestamp = "2026-01-01T00:00:00Z";
  put(claim);
  ASSERT_EQ(pass(), "announce-leaving p");
  announced();
  EXPECT_EQ(pass(), "leave c");
  EXPECT_TRUE(body()["status"]["allocation"].is_null());
}

TEST_F(LeavingClaims, AProvenSiblingDoesNotKeepAPodFromTheNodeThatFits) {
  proven(allocated("c", "n1", "gpu-0", true, {"p"}), "p");
  allocated("x", "n1", "gpu-1", false, {"other"});
  put(make_claim("d"));
  view.put(make_pod("p", {"c", "d"}));
  EXPECT_EQ(pass(), "announce-leaving p") << "n1 has no second device, n2 has two";
}

// Pods without a gate that are ours to bind. Others may bind them at any moment, so they leave in single steps.
class LeavingUnbound : public LeavingClaims {
 protected:
  LeavingUnbound() { options.mode = Mode::kBind; }
  api::Pod to_bind(const std::string& name, std::vector<std::string> claims) {
    api::Pod pod = make_pod(name, std::move(claims), false);
    pod.scheduler_name = "ours";
    view.put(pod);
    return pod;
  }
  api::ResourceClaim at(const char* version, api::ResourceClaim claim) {
    claim.metadata.resource_version = version;
    put(claim);
    return claim;
  }
};

TEST_F(LeavingUnbound, ABindingIsBoundToTheVersionOfThePod) {
  to_bind("p", {"c"});
  proven(allocated("c", "n1", "gpu-0", true, {"p"}), "p");
  ASSERT_EQ(pass(), "bind p");
  EXPECT_EQ(body()["metadata"]["uid"], "p-uid");
  EXPECT_EQ(body()["metadata"]["resourceVersion"], "11");
  EXPECT_EQ(write().resource_version, "11") << "an outdated one is not sent";
}

// A pod with our gate and our scheduler name: the Binding comes after the lifting, and may have to be another one.
TEST_F(LeavingUnbound, LiftingTheGateDoesNotPinAPodThatWeBind) {
  api::Pod pod = make_pod("p", {"c"});
  pod.scheduler_name = "ours";
  pod.metadata.annotations[std::string(kLeavingAnnotation)] = "c-uid@4";
  view.put(pod);
  proven(allocated("c", "n1", "gpu-0", true, {"p"}), "p");
  ASSERT_EQ(pass(), "lift-gate p");
  EXPECT_FALSE(body()["spec"].contains("affinity"));
  EXPECT_FALSE(body()["metadata"].contains("annotations")) << "the Binding heeds the announcement";
  options.mode = Mode::kGate;
  ASSERT_EQ(pass(), "lift-gate p");
  EXPECT_TRUE(body()["spec"].contains("affinity"));
  EXPECT_TRUE(body()["metadata"]["annotations"][kLeavingAnnotation].is_null());
}

TEST_F(LeavingUnbound, APodIsListedBeforeItIsBound) {
  run_on_n1("first", {"c"});
  to_bind("p", {"c"});
  proven(allocated("c", "n1", "gpu-0", true, {"first"}), "first");
  ASSERT_EQ(pass(), "reserve c");
  api::ResourceClaim shared = proven(allocated("c", "n1", "gpu-0", true, {"first", "p"}), "first");
  shared.metadata.annotations[std::string(kProvenForAnnotation)] = "first/first-uid";
  put(shared);
  ASSERT_EQ(pass(), "enlist c");
  unlisted(shared);
  EXPECT_EQ(pass(), "bind p, event Allocated");
}

TEST_F(LeavingUnbound, ThePodLeavesStepByStepAndIsPlacedElsewhere) {
  to_bind("p", {"c"});
  api::ResourceClaim claim = proven(allocated("c", "n1", "gpu-0", true, {"p"}), "p");
  nodes.refused = {"n1"};
  ASSERT_EQ(pass(), "announce-unbound p");
  EXPECT_EQ(body()["metadata"]["resourceVersion"], "11") << "no binding that was decided before can succeed after it";
  EXPECT_EQ(body()["metadata"]["annotations"][kLeavingAnnotation], "c-uid@5");
  announced();
  nodes.refused = {};
  ASSERT_EQ(pass(), "unlist-unbound c") << "what is announced is carried out";
  EXPECT_EQ(body()["metadata"]["resourceVersion"], "5");
  EXPECT_EQ(body()["metadata"]["annotations"][kProvenForAnnotation], "p/~p-uid") << "the list keeps who left";
  claim = unlisted(claim);
  EXPECT_EQ(pass(), "enlist c") << "it fits again, and is not bound before it is listed again";
  EXPECT_EQ(body()["metadata"]["annotations"][kProvenForAnnotation], "p/p-uid");
  nodes.refused = {"n1"};
  ASSERT_EQ(pass(), "leave-unbound c");
  EXPECT_FALSE(body()["status"].contains("allocation")) << "kubelet may have read the claim: first the reservation";
  EXPECT_EQ(write().release_pod, "p-uid");
  claim.status.reserved_for.clear();
  claim = at("7", claim);
  ASSERT_EQ(pass(), "") << "the server is asked whether somebody bound the pod";
  ASSERT_TRUE(last.has_live_gets());
  const Ref pod{Kind::kPod, "default", "p", "p-uid"};
  view.live_get(pod, Presence::kPresent, "c-uid@6");
  EXPECT_EQ(pass(), "") << "an answer of before the reservation went counts for nothing";
  view.live_get(pod, Presence::kPresent);
  EXPECT_EQ(pass(), "");
  view.live_get(pod, Presence::kPresent, "c-uid@7");
  ASSERT_EQ(pass(), "free-unbound c");
  EXPECT_EQ(body()["metadata"]["resourceVersion"], "7");
  EXPECT_TRUE(body()["status"]["allocation"].is_null());
  claim.status.allocation.reset();
  at("8", claim);
  ASSERT_EQ(pass(), "allocate c");
  EXPECT_EQ(body()["status"]["allocation"]["devices"]["results"][0]["pool"], "n2");
  EXPECT_TRUE(body()["status"]["reservedFor"].is_null()) << "if others bound the pod meanwhile, it would be started";
  claim.status.allocation = on("n2", "gpu-0");
  claim.metadata.managed_fields.push_back({std::string(kAllocationManager), "Update", "status"});
  claim = at("9", claim);
  ASSERT_EQ(pass(), "prove c");
  EXPECT_EQ(body()["metadata"]["annotations"][kProvenForAnnotation], "p/p-uid");
  proven(claim, "p");
  claim.metadata = view.claims.at("default/c").metadata;
  claim.metadata.annotations[std::string(kProvenForAnnotation)] = "p/p-uid";
  put(claim);
  ASSERT_EQ(pass(), "reserve c");
  claim.status.reserved_for = {{"", "pods", "p", "p-uid"}};
  put(claim);
  EXPECT_EQ(pass(), "bind p");
}

// The marks of others do not wipe out who left.
TEST_F(LeavingUnbound, AMarkKeepsWhoLeft) {
  to_bind("p", {"c"});
  api::ResourceClaim claim = allocated("c", "n1", "gpu-0", true, {"p"});
  claim.metadata.annotations[std::string(kProvenForAnnotation)] = "old/old-uid,q/~q-uid";
  put(claim);
  ASSERT_EQ(pass(), "prove c");
  EXPECT_EQ(body()["metadata"]["annotations"][kProvenForAnnotation], "p/p-uid,q/~q-uid");
}

// Somebody else bound it between the announcement and the removal of its reservation: kubelet may run it.
TEST_F(LeavingUnbound, WhatABoundPodLeftIsNotFreed) {
  api::Pod pod = to_bind("p", {"c"});
  api::ResourceClaim claim = proven(allocated("c", "n1", "gpu-0", true, {"p"}), "p");
  claim.status.reserved_for.clear();
  claim.metadata.annotations[std::string(kProvenForAnnotation)] = "p/~p-uid";
  at("7", claim);
  nodes.refused = {"n1"};
  pod.node_name = "n1";
  view.put(pod);
  view.live_get({Kind::kPod, "default", "p", "p-uid"}, Presence::kPresent, "c-uid@7");
  EXPECT_EQ(pass(), "") << "the lifecycle controller reserves for it again";
  EXPECT_EQ(pass("nobody"), "");
}

TEST_F(LeavingUnbound, NoPodIsBoundOnAViewAsOldAsTheAnnouncement) {
  api::Pod pod = to_bind("p", {"c"});
  pod.metadata.annotations[std::string(kLeavingAnnotation)] = "c-uid@6";
  view.put(pod);
  const api::ResourceClaim claim = proven(allocated("c", "n1", "gpu-0", true, {"p"}), "p");
  EXPECT_EQ(pass(), "") << "somebody may have taken the reservation back since";
  at("6", claim);
  EXPECT_EQ(pass(), "unlist-unbound c");
  at("7", claim);
  EXPECT_EQ(pass(), "bind p") << "another change came first: the announcement can no longer be carried out";
}

TEST_F(LeavingUnbound, OfASharedClaimOnlyTheOwnPartIsGivenBack) {
  run_on_n1("first", {"c"});
  to_bind("p", {"c"});
  api::ResourceClaim shared = proven(allocated("c", "n1", "gpu-0", true, {"first", "p"}), "first");
  nodes.refused = {"n1"};
  ASSERT_EQ(pass(), "announce-unbound p");
  announced();
  ASSERT_EQ(pass(), "unlist-unbound c");
  EXPECT_EQ(body()["metadata"]["annotations"][kProvenForAnnotation], "first/first-uid,p/~p-uid");
  shared = unlisted(shared);
  ASSERT_EQ(pass(), "leave-unbound c");
  EXPECT_EQ(body()["status"]["reservedFor"], Json::parse(R"([{"resource":"pods","name":"first","uid":"first-uid"}])"));
  left(shared);
  EXPECT_EQ(pass(), "event FailedScheduling, parked") << "the first pod keeps the device, and the reason is said";
}

// A reservation without an entry in the list (another manager reserved, and stopped): who left must be remembered too.
TEST_F(LeavingUnbound, APodThatWasNeverListedIsRememberedToo) {
  run_on_n1("first", {"c"});
  to_bind("p", {"c"});
  api::ResourceClaim shared = proven(allocated("c", "n1", "gpu-0", true, {"first", "p"}), "first");
  shared.metadata.annotations[std::string(kProvenForAnnotation)] = "first/first-uid";
  put(shared);
  nodes.refused = {"n1"};
  ASSERT_EQ(pass(), "unlist-unbound c");
  EXPECT_EQ(body()["metadata"]["annotations"][kProvenForAnnotation], "first/first-uid,p/~p-uid");
  unlisted(shared);
  EXPECT_EQ(pass(), "leave-unbound c");
}

TEST_F(LeavingUnbound, ADeletedClaimIsLeftAndFreed) {
  to_bind("p", {"c"});
  api::ResourceClaim claim = proven(allocated("c", "n1", "gpu-0", true, {"p"}), "p");
  claim.metadata.deletion_timestamp = "2026-01-01T00:00:00Z";
  put(claim);
  ASSERT_EQ(pass(), "announce-unbound p");
  announced();
  ASSERT_EQ(pass(), "unlist-unbound c");
  claim = unlisted(claim);
  ASSERT_EQ(pass(), "leave-unbound c");
  claim.status.reserved_for.clear();
  at("7", claim);
  ASSERT_EQ(pass(), "");
  view.live_get({Kind::kPod, "default", "p", "p-uid"}, Presence::kPresent, "c-uid@7");
  EXPECT_EQ(pass(), "free-unbound c");
}

// A second binding would be refused: the first is in a list that is being written, or the stream is behind.
TEST_F(LeavingUnbound, APodThatIsBeingBoundIsLeftAlone) {
  to_bind("p", {"c"});
  proven(allocated("c", "n1", "gpu-0", true, {"p"}), "p");
  view.being_bound = {"p-uid"};
  EXPECT_EQ(pass(), "");
  EXPECT_TRUE(last.requeue_after);
  view.being_bound.clear();
  EXPECT_EQ(pass(), "bind p");
}

TEST_F(LeavingClaims, ADeletedClaimIsLeftByThePodThatTheGateStillHolds) {
  view.put(make_pod("p", {"c"}));
  api::ResourceClaim claim = proven(allocated("c", "n1", "gpu-0", true, {"p"}), "p");
  claim.metadata.deletion_timestamp = "2026-01-01T00:00:00Z";
  put(claim);
  ASSERT_EQ(pass(), "announce-leaving p");
  announced();
  EXPECT_EQ(pass(), "leave c");
  claim.metadata.annotations.clear();
  put(claim);
  api::Pod pod = make_pod("p", {"c"});
  view.put(pod);
  EXPECT_EQ(pass(), "withdraw c") << "what is not proven is withdrawn at once";
}

TEST_F(LeavingClaims, AClaimThatThePodNoLongerNamesIsLeft) {
  api::Pod pod = make_pod("p", {});
  pod.resource_claims.push_back({"gpu", std::nullopt, "tpl"});
  pod.resource_claim_statuses = {{"gpu", "new"}};
  view.put(pod);
  const auto of_pod = [](api::ResourceClaim claim) {
    claim.metadata.owner_references = {{"v1", "Pod", "p", "p-uid", true}};
    return claim;
  };
  put(of_pod(make_claim("new")));
  const api::ResourceClaim old = of_pod(allocated("old", "n1", "gpu-0", true, {"p"}));
  put(old);
  EXPECT_EQ(pass(), "withdraw old");
  proven(old, "p");
  ASSERT_EQ(pass(), "announce-leaving p");
  announced();
  ASSERT_EQ(pass(), "leave old");
  left(old);
  EXPECT_EQ(pass(), "allocate new");
}

TEST_F(LeavingClaims, APodWithoutClaimsNeedsNoNode) {
  view.put(make_pod("p", {}));
  nodes.refused = {"n1", "n2"};
  EXPECT_EQ(pass(), "lift-gate p") << "kube-scheduler and autoscalers do not act before the gate is gone";
}

}  // namespace dra::allocation::leaving_test
