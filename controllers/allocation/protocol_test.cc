// P2 to P6 of the protocol (docs/design/arbitration.md), as what one reconcile returns for a given state, and the whole
// course of a gated pod.
#include <nlohmann/json.hpp>

#include "controllers/allocation/allocation_fixture.h"

namespace dra::allocation::protocol_test {

using namespace protocol;
using namespace reconcile;
using namespace std::chrono_literals;
using Json = nlohmann::json;

using Protocol = AllocationTest;

// ---- P2, P3

TEST_F(Protocol, ProvesOnTheStreamAndMarksByCompareAndSwap) {
  view.put(make_pod("p", {"c"}));
  const api::ResourceClaim claim = allocated("c", "n1", "gpu-0", true, {"p"});
  api::ResourceClaim older = claim;
  older.metadata.resource_version = "4";
  view.streamed_claims.emplace("default/c", older);
  EXPECT_EQ(pass(), "") << "an answer alone proves nothing";
  view.streamed_claims.clear();
  ASSERT_EQ(pass(), "prove c");
  EXPECT_EQ(body()["metadata"]["resourceVersion"], "5");
  EXPECT_EQ(body()["metadata"]["finalizers"], Json::parse(R"(["resource.kubernetes.io/delete-protection"])"));
  EXPECT_EQ(body()["metadata"]["annotations"]["dra-controller-manager/proven"],
            proof_value("p-uid", *claim.status.allocation));
}

TEST_F(Protocol, AMarkForAnotherAllocationIsNoProof) {
  view.put(make_pod("p", {"c"}));
  api::ResourceClaim claim = proven(allocated("c", "n1", "gpu-0", true, {"p"}), "p");
  EXPECT_EQ(pass(), "lift-gate p");
  claim.status.allocation = on("n1", "gpu-1");
  put(claim);
  EXPECT_EQ(pass(), "prove c");
}

TEST_F(Protocol, AMarkCountsInEveryPhase) {
  struct Phase {
    const char* name;
    bool gated, reserved, listed, bound, deleting, replaced;
    const char* does;
  };
  const Phase phases[] = {
      {"gated, proven and listed", true, true, true, false, false, false, "lift-gate p"},
      {"gated and proven, not listed", true, true, false, false, false, false, "enlist c"},
      {"gated, and the allocation was replaced under the mark", true, true, true, false, false, true, "prove c"},
      {"ungated", false, true, true, false, false, false, ""},
      {"ungated and bound", false, true, true, true, false, false, ""},
      {"ungated, and kube-scheduler took the reservation back", false, false, true, false, false, false, ""},
      {"on its way out", true, true, true, false, true, false, ""},
  };
  for (const Phase& phase : phases) {
    SCOPED_TRACE(phase.name);
    api::Pod pod = make_pod("p", {"c"}, phase.gated);
    if (phase.bound) pod.node_name = "n1";
    if (phase.deleting) pod.metadata.deletion_timestamp = "2026-01-01T00:00:10Z";
    view.put(pod);
    api::ResourceClaim claim = proven(allocated("c", "n1", "gpu-0", true, {"p"}), "p");
    if (!phase.listed) claim.metadata.annotations.erase(std::string(kProvenForAnnotation));
    if (!phase.reserved) claim.status.reserved_for.clear();
    if (phase.replaced) claim.status.allocation = on("n1", "gpu-1");
    put(claim);
    EXPECT_EQ(pass(), phase.does);
  }
}

// ---- claims that the pod's status does not name yet

TEST_F(Protocol, OwnClaimsAreUsedBeforeTheyArePublishedButDoNotLetThePodGo) {
  api::Pod pod = make_pod("p", {});
  pod.resource_claims.push_back({"gpu", std::nullopt, "tpl"});
  view.put(pod);
  const std::string name = generated_claim_name("p", "gpu", "p-uid");
  api::ResourceClaim claim = make_claim(name);
  put(claim);
  options.own_claims = true;
  EXPECT_EQ(pass(), "") << "somebody else's claim of that name";
  claim.metadata.owner_references = {{"v1", "Pod", "p", "p-uid", true}};
  put(claim);
  options.own_claims = false;
  EXPECT_EQ(pass(), "") << "which claim it will be is up to whoever publishes it";
  options.own_claims = true;
  api::ResourceClaim another = make_claim("of-another-controller");
  another.metadata.owner_references = claim.metadata.owner_references;
  another.metadata.annotations[std::string(api::kPodClaimNameAnnotation)] = "gpu";
  view.put(another);
  EXPECT_EQ(pass(), "") << "either may be published";
  view.claims.erase("default/of-another-controller");
  EXPECT_EQ(pass(), "allocate " + name);
  claim.status.allocation = on("n1", "gpu-0");
  claim.status.reserved_for = {{"", "pods", "p", "p-uid"}};
  claim.metadata.managed_fields.push_back({std::string(kAllocationManager), "Update", "status"});
  put(claim);
  EXPECT_EQ(pass(), "prove " + name);
  proven(claim, "p");
  EXPECT_EQ(pass(), "");
  pod.resource_claim_statuses = {{"gpu", name}};
  view.put(pod);
  EXPECT_EQ(pass(), "lift-gate p");
}

TEST_F(Protocol, TheGateGoesOnceTheStreamShowsTheReservations) {
  view.put(make_pod("p", {"c"}));
  const api::ResourceClaim claim = allocated("c", "n1", "gpu-0", false, {});
  ASSERT_EQ(pass(), "reserve c");
  api::ResourceClaim reserved = claim;
  reserved.status.reserved_for = {{"", "pods", "p", "p-uid"}};
  put(reserved);
  view.streamed_claims.emplace("default/c", claim);
  EXPECT_EQ(pass(), "enlist c") << "its users are listed whoever allocated it";
  reserved.metadata.annotations[std::string(kProvenForAnnotation)] = "p/p-uid";
  put(reserved);
  EXPECT_EQ(pass(), "") << "kube-scheduler would write a reservation of its own";
  options.release_gates = true;
  EXPECT_EQ(pass(), "lift-gate p");
  options.release_gates = false;
  view.streamed_claims.clear();
  EnqueueRequests enqueued;
  test::WholeController(parts(options, inventory, allocator, nodes))
      .on_streamed_claim(view, &claim, &reserved, enqueued);
  EXPECT_EQ(enqueued.keys, std::vector<Key>{pod_key("default/p")});
  EXPECT_EQ(pass(), "lift-gate p");
}

// ---- P5, P6

TEST_F(Protocol, YieldsToAnOverlapWhileUnmarked) {
  view.put(make_pod("p", {"c"}));
  allocated("c", "n1", "gpu-0", true, {"p"});
  allocated("theirs", "n1", "gpu-0", false, {"other"});
  ASSERT_EQ(pass(), "withdraw c");
  EXPECT_TRUE(last.min_interval) << "rivals must not meet again at once";
  EXPECT_GE(*last.min_interval, 20ms);
  EXPECT_EQ(write().release_pod, "p-uid");
}

TEST_F(Protocol, SiblingsAreWithdrawnTogether) {
  view.put(make_pod("p", {"c", "d"}));
  allocated("c", "n1", "gpu-0", true, {"p"});
  allocated("d", "n1", "gpu-1", true, {"p"});
  allocated("theirs", "n1", "gpu-0", false, {"other"});
  EXPECT_EQ(pass(), "withdraw c, withdraw d");
}

// The shared one of two claims has a lasting conflict: withdrawing and reallocating the other would never end.
TEST_F(Protocol, AnInnocentSiblingIsNotWithdrawnForAConflictThatStays) {
  quiet_claims = true;
  view.put(make_pod("p", {"c1", "c2"}));
  allocated("x", "n1", "gpu-0", false, {"other"});
  struct Case {
    const char* name;
    bool ours;
    bool marked;
  };
  for (const Case& c : {Case{"foreign", false, false}, Case{"marked", true, true}}) {
    SCOPED_TRACE(c.name);
    const api::ResourceClaim shared = allocated("c1", "n1", "gpu-0", c.ours, {"p"});
    if (c.marked) proven(shared, "p");
    allocated("c2", "n1", "gpu-1", true, {"p"});
    const std::string expected = c.marked ? "announce-leaving p" : "event DeviceConflict";
    EXPECT_EQ(pass(), expected);
    EXPECT_TRUE(c.marked || last.requeue_after);
    put(make_claim("c2"));
    EXPECT_EQ(pass(), expected) << "nothing is allocated beside it";
    EXPECT_TRUE(c.marked || event().note.find("gpu-0") != std::string::npos);
  }
}

// A client that does not follow the protocol allocated the device after the mark and before the gate was lifted.
TEST_F(Protocol, AConflictSeenAfterTheMarkKeepsTheGate) {
  view.put(make_pod("p", {"c", "d"}));
  proven(allocated("c", "n1", "gpu-0", true, {"p"}), "p");
  proven(allocated("d", "n1", "gpu-1", true, {"p"}), "p");
  ASSERT_EQ(pass(), "lift-gate p");
  allocated("theirs", "n1", "gpu-0", false, {"other"});
  ASSERT_EQ(pass(), "announce-leaving p") << "the other pod may run: ours goes elsewhere";
  EXPECT_EQ(body()["metadata"]["annotations"]["dra-controller-manager/leaving"], "c-uid@5");
  options.release_gates = true;
  EXPECT_EQ(pass(), "lift-gate p") << "before an uninstall the gate goes in any case";
  options.release_gates = false;
  // Of two allocations of ours the one without a mark gives way, unless its mark is being written: in that case a
  // tenant wrote our mark.
  allocated("theirs", "n1", "gpu-0", true, {"other"});
  EXPECT_EQ(pass(), "") << "it is not gone yet";
  EXPECT_TRUE(last.requeue_after);
  put(make_claim("theirs"));
  EXPECT_EQ(pass(), "lift-gate p");
}

TEST_F(Protocol, AConflictSeenAfterTheMarkKeepsAPodFromBeingBound) {
  options.mode = Mode::kBind;
  api::Pod pod = make_pod("p", {"c"}, false);
  pod.scheduler_name = "ours";
  view.put(pod);
  proven(allocated("c", "n1", "gpu-0", true, {"p"}), "p");
  ASSERT_EQ(pass(), "bind p");
  allocated("theirs", "n1", "gpu-0", false, {"other"});
  EXPECT_EQ(pass(), "announce-unbound p") << "the other pod may run: ours goes elsewhere";
}

TEST_F(Protocol, AMarkedClaimIsNeverWithdrawn) {
  view.put(make_pod("p", {"c", "d"}));
  proven(allocated("c", "n1", "gpu-0", true, {"p"}), "p");
  allocated("d", "n1", "gpu-1", true, {"p"});
  allocated("theirs", "n1", "gpu-1", false, {"other"});
  EXPECT_EQ(pass(), "withdraw d");
}

// A claim that another pod uses stays where it is, although this pod could go elsewhere: the event says what keeps it
// there.
TEST_F(Protocol, WhatAClaimInUsePinsThePodToIsSaid) {
  quiet_claims = true;
  options.mode = Mode::kBind;
  api::Pod pod = make_pod("p", {"c", "d"}, false);
  pod.scheduler_name = "ours";
  view.put(pod);
  api::Pod user = make_pod("user", {"c"}, false);
  user.node_name = "n1";
  view.put(user);
  proven(allocated("c", "n1", "gpu-0", true, {"user"}), "user");
  put(make_claim("d"));
  const std::string pinned =
      "; claim \"default/c\" pins this pod to node n1 and is not taken back, since it is in use by others; to free it, "
      "delete the pods that it is reserved for (user)";
  nodes.refused = {"n1"};
  EXPECT_EQ(pass(), "event FailedScheduling, parked");
  EXPECT_EQ(event().note, "0/2 nodes are available: 2 Insufficient cpu" + pinned);
  nodes.refused = {};
  nodes.names = {"n2"};
  EXPECT_EQ(pass(), "event FailedScheduling, parked");
  EXPECT_EQ(event().note, "no node satisfies the node selectors of the allocated claims of this pod" + pinned);
  nodes.names = {"n1", "n2"};
  allocated("theirs", "n1", "gpu-1", false, {"other"});
  EXPECT_EQ(pass(), "event FailedAllocation, parked") << "n2 would have had one";
  EXPECT_EQ(event().note,
            "no node can provide 1 x gpu: 2 devices free on nodes that the pod cannot use, 2 in use by claim default/c "
            "(pod default/user), default/theirs (pod default/other)" +
                pinned);
  remember();
  EXPECT_EQ(pass(), "parked");
  allocated("c", "n1", "gpu-0", false, {"q", "r", "s", "t"});
  EXPECT_EQ(pass(), "event FailedAllocation, parked");
  EXPECT_NE(event().note.find("since others allocated it; to free it, delete the pods that it is reserved for (q, r, s "
                              "and 1 more)"),
            std::string::npos)
      << event().note;
  allocated("c", "n1", "gpu-0", false, {});
  EXPECT_EQ(pass(), "event FailedAllocation, parked");
  EXPECT_NE(event().note.find("to free it, delete the claim"), std::string::npos) << event().note;
}

// Others wrote it. The pod goes to no node, whichever the selector meant, and the device goes to no other pod.
TEST_F(Protocol, AClaimWhoseNodeSelectorIsTooLongToReadIsUsableNowhereAndKeepsItsDevices) {
  quiet_claims = true;
  options.mode = Mode::kBind;
  for (const char* name : {"p", "q"}) {
    api::Pod pod = make_pod(name, {name[0] == 'p' ? "theirs" : "mine"}, false);
    pod.scheduler_name = "ours";
    view.put(pod);
  }
  nodes.names = {"n1"};
  api::ResourceClaim theirs = allocated("theirs", "n1", "gpu-0", false, {});
  theirs.status.allocation->node_selector.emplace();
  theirs.status.allocation->selector_bytes_dropped = 300 << 10;
  put(theirs);
  put(make_claim("mine"));
  EXPECT_EQ(pass(), "event FailedScheduling, parked");
  EXPECT_NE(event().note.find(
                "claim \"default/theirs\": status.allocation.nodeSelector takes 300 KiB, and at most 64 KiB are "
                "checked, so no node is known to reach its devices: whoever allocated it has to name"),
            std::string::npos)
      << event().note;
  allocated("second", "n1", "gpu-1", false, {"other"});
  EXPECT_EQ(pass("q"), "event FailedAllocation, parked") << "gpu-0 is in use";
}

TEST_F(Protocol, NotWithdrawnWhileAReservedPodMayRun) {
  api::Pod running = make_pod("other", {"c"}, false);
  running.node_name = "n1";
  view.put(running);
  view.put(make_pod("p", {"c"}));
  allocated("c", "n1", "gpu-0", true, {"p", "other"});
  allocated("theirs", "n1", "gpu-0", false, {});
  EXPECT_EQ(pass(), "event DeviceConflict");
}

// Anybody can clear managed fields: what is not certainly ours is proven before it is used, and never withdrawn.
TEST_F(Protocol, WhatNobodyCanAttributeIsProvenAndNeverGivenBack) {
  view.put(make_pod("p", {"c"}));
  api::ResourceClaim claim = allocated("c", "n1", "gpu-0", true, {"p"});
  claim.metadata.managed_fields.clear();
  put(claim);
  EXPECT_EQ(pass(), "prove c");
  allocated("theirs", "n1", "gpu-0", false, {});
  EXPECT_EQ(pass(), "event DeviceConflict");
  inventory.remove_claim("theirs-uid");
  put(make_claim("d", 3));
  view.put(make_pod("p", {"c", "d"}));
  quiet_claims = true;
  EXPECT_EQ(pass(), "event FailedAllocation, parked") << "not even when it stands in the way of a sibling";
}

TEST_F(Protocol, ClaimsWithoutACommonNodeAreGivenBack) {
  view.put(make_pod("p", {"c", "theirs"}));
  allocated("c", "n1", "gpu-0", true, {"p"});
  allocated("theirs", "n2", "gpu-0", false, {});
  EXPECT_EQ(pass(), "withdraw c");
}

TEST_F(Protocol, ANodeThatFilledUpMeanwhileIsGivenUp) {
  view.put(make_pod("p", {"c"}));
  allocated("c", "n1", "gpu-0", true, {"p"});
  nodes.refused = {"n1"};
  EXPECT_EQ(pass(), "withdraw c");
}

// ---- P4

TEST_F(Protocol, NarrowsAndLiftsTheGateInOnePatch) {
  api::Pod pod = make_pod("p", {"c"});
  api::NodeSelectorTerm zone;
  zone.match_expressions.push_back({"zone", "In", {"a"}});
  api::NodeSelectorTerm rack;
  rack.match_expressions.push_back({"rack", "Exists", {}});
  pod.node_affinity.emplace();
  pod.node_affinity->required = api::NodeSelector{{zone, rack, {}}};
  view.put(pod);
  proven(allocated("c", "n1", "gpu-0", true, {"p"}), "p");
  ASSERT_EQ(pass(), "lift-gate p");
  EXPECT_EQ(body()["metadata"], Json::parse(R"({"uid":"p-uid","resourceVersion":"11"})"));
  EXPECT_TRUE(body()["spec"]["schedulingGates"].is_null());
  const Json terms =
      body()["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"];
  ASSERT_EQ(terms.size(), 3u);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(terms[i]["matchFields"][0]["values"][0], "n1");
    EXPECT_EQ(terms[i]["matchExpressions"].size(), 1u);
  }
  EXPECT_TRUE(terms[2].empty()) << "a term that matches nothing must not begin to match";
}

TEST_F(Protocol, NoNarrowingForDevicesThatCanBeUsedEverywhere) {
  view.put(make_pod("p", {"c"}));
  api::ResourceClaim claim = allocated("c", "n1", "gpu-0", true, {"p"});
  claim.status.allocation->node_selector.reset();
  proven(claim, "p");
  ASSERT_EQ(pass(), "lift-gate p");
  EXPECT_FALSE(body()["spec"].contains("affinity"));
}

TEST_F(Protocol, ASharedClaimGetsThePodBeforeItGoes) {
  view.put(make_pod("p", {"c"}));
  proven(allocated("c", "n1", "gpu-0", true, {"other"}), "other");
  EXPECT_EQ(pass(), "reserve c");
  EXPECT_EQ(body()["status"]["reservedFor"].size(), 2u);
  EXPECT_FALSE(body()["status"].contains("allocation"));
  // Then it is listed as a user: reservedFor may lose it again while it runs.
  api::ResourceClaim reserved = view.claims.at("default/c");
  reserved.status.reserved_for.push_back({"", "pods", "p", "p-uid"});
  put(reserved);
  ASSERT_EQ(pass(), "enlist c");
  EXPECT_EQ(body()["metadata"]["annotations"]["dra-controller-manager/proven-for"], "other/other-uid,p/p-uid");
  EXPECT_EQ(body()["metadata"]["resourceVersion"], "5");
  proven(reserved, "other");
  EXPECT_EQ(pass(), "lift-gate p");
}

TEST_F(Protocol, TheProofIsMadeAgainWhereSomebodyTookTheFinalizerOff) {
  view.put(make_pod("p", {"c"}));
  api::ResourceClaim claim = proven(allocated("c", "n1", "gpu-0", true, {"p"}), "p");
  claim.metadata.annotations[std::string(kProvenForAnnotation)] = "x/x-uid";
  claim.metadata.finalizers.clear();
  put(claim);
  ASSERT_EQ(pass(), "prove c");
  EXPECT_EQ(body()["metadata"]["annotations"]["dra-controller-manager/proven-for"], "p/p-uid,x/x-uid")
      << "x was ungated with this allocation";
  nodes.refused = {"n1"};
  EXPECT_NE(pass(), "withdraw c");
}

TEST_F(Protocol, TheWholeWayOfAGatedPod) {
  view.put(make_pod("p", {"c"}));
  put(make_claim("c"));
  ASSERT_EQ(pass(), "allocate c");
  allocated("c", "n1", "gpu-0", true, {"p"});
  ASSERT_EQ(pass(), "prove c");
  proven(view.claims.at("default/c"), "p");
  ASSERT_EQ(pass(), "lift-gate p");
  api::Pod pod = view.pods.at("default/p");
  pod.scheduling_gates.clear();
  view.put(pod);
  EXPECT_EQ(pass(), "") << "kube-scheduler's turn";
}

}  // namespace dra::allocation::protocol_test
