// Bind mode (P7), observe mode, and uninstalling: --release-gates.
#include <nlohmann/json.hpp>

#include "controllers/allocation/allocation_fixture.h"

namespace dra::allocation::modes_test {

using namespace protocol;
using namespace reconcile;
using namespace std::chrono_literals;
using Json = nlohmann::json;

class Modes : public AllocationTest {
 protected:
  // A pod of bind mode without a gate: ours to bind, unless it names a node already.
  api::Pod put_ungated(std::vector<std::string> claims, const std::string& node = "") {
    options.mode = Mode::kBind;
    api::Pod pod = make_pod("p", std::move(claims), false);
    pod.scheduler_name = "ours";
    pod.node_name = node;
    view.put(pod);
    return pod;
  }
};

// ---- bind mode, P7

TEST_F(Modes, BindsOnlyAfterTheProof) {
  put_ungated({"c"});
  put(make_claim("c"));
  ASSERT_EQ(pass(), "allocate c");
  const api::ResourceClaim claim = allocated("c", "n2", "gpu-0", true, {"p"});
  ASSERT_EQ(pass(), "prove c");
  EXPECT_EQ(write().success_event->note, "allocated gpu.example.com/n2/gpu-0 on node n2");
  proven(claim, "p");
  ASSERT_EQ(pass(), "bind p");
  EXPECT_EQ(write().subresource, "binding");
  EXPECT_EQ(body()["target"]["name"], "n2");
  EXPECT_EQ(body()["metadata"]["uid"], "p-uid");
  EXPECT_TRUE(last.min_interval);
}

// One event per pod says which devices it got, even if reconciles of another pod proved all of its claims.
TEST_F(Modes, SaysAllocatedWhereOthersProved) {
  put_ungated({"c"});
  proven(allocated("c", "n2", "gpu-0", true, {"q", "p"}), "q");
  ASSERT_EQ(pass(), "bind p, event Allocated");
  EXPECT_EQ(event().note, "allocated gpu.example.com/n2/gpu-0 on node n2");
  remember();
  EXPECT_EQ(pass(), "bind p") << "once";
}

TEST_F(Modes, BindsPodsWithoutClaims) {
  put_ungated({});
  nodes.refused = {"n1"};
  ASSERT_EQ(pass(), "bind p");
  EXPECT_EQ(body()["target"]["name"], "n2");
}

TEST_F(Modes, APodBoundByOthersIsAllocatedThereUnreserved) {
  put_ungated({"c"}, "n2");
  put(make_claim("c"));
  ASSERT_EQ(pass(), "allocate c");
  EXPECT_EQ(body()["status"]["allocation"]["devices"]["results"][0]["pool"], "n2");
  EXPECT_TRUE(body()["status"]["reservedFor"].is_null());
  const api::ResourceClaim claim = allocated("c", "n2", "gpu-0", true, {});
  ASSERT_EQ(pass(), "prove c");
  proven(claim, "p");
  EXPECT_EQ(pass(), "") << "the lifecycle controller reserves";
}

TEST_F(Modes, ObserveExplainsAndWritesNothing) {
  options.mode = Mode::kObserve;
  view.put(make_pod("p", {"c"}, false));
  put(make_claim("c"));
  EXPECT_EQ(pass(), "");
  put(make_claim("c", 5));
  EXPECT_EQ(pass(), "event FailedAllocation, event FailedAllocation, parked");
}

// Nobody lifts the gate in this mode: without an event the pod would wait without a word.
TEST_F(Modes, ObserveSaysThatNobodyLiftsTheGate) {
  options.mode = Mode::kObserve;
  view.put(make_pod("p", {"c"}));
  put(make_claim("c"));
  ASSERT_EQ(pass(), "event GateStays");
  EXPECT_NE(event().note.find("--scheduling=gate"), std::string::npos) << event().note;
  remember();
  EXPECT_EQ(pass(), "") << "once";
  api::Pod without_claims = make_pod("p", {});
  without_claims.scheduling_gates.emplace_back("example.com/quota");
  view.put(without_claims);
  options.mode = Mode::kGate;
  EXPECT_EQ(pass(), "") << "in gate mode another gate has its turn";
}

TEST_F(Modes, ObserveSaysItToPodsWithoutClaimsToo) {
  options.mode = Mode::kObserve;
  view.put(make_pod("p", {}));
  EXPECT_EQ(pass(), "event GateStays");
}

// Allocations left by an earlier gate or bind mode are checked, but neither marked nor withdrawn.
TEST_F(Modes, ObserveNeitherProvesNorWithdraws) {
  quiet_claims = true;
  options.mode = Mode::kObserve;
  for (const std::vector<std::string>& pods : {std::vector<std::string>{"p"}, std::vector<std::string>{}}) {
    view.put(make_pod("p", {"c"}, false));
    nodes.refused = {};
    inventory.remove_claim("theirs-uid");
    allocated("c", "n1", "gpu-0", true, pods);
    EXPECT_EQ(pass(), "");
    nodes.refused = {"n1"};
    EXPECT_EQ(pass(), "event FailedScheduling, parked");
    nodes.refused = {};
    allocated("theirs", "n1", "gpu-0", false, {"other"});
    EXPECT_EQ(pass(), "event DeviceConflict");
    inventory.remove_claim("theirs-uid");
    put(make_claim("d", 5));
    view.put(make_pod("p", {"c", "d"}, false));
    EXPECT_EQ(pass(), "event FailedAllocation, parked");
  }
}

// ---- before an uninstall

TEST_F(Modes, ReleasingLiftsEveryGateAndAllocatesNothing) {
  options.release_gates = true;
  view.put(make_pod("p", {"c"}));
  put(make_claim("c"));
  EXPECT_EQ(pass(), "lift-gate p");
  api::ResourceClaim claim = allocated("c", "n1", "gpu-0", true, {"p"});
  EXPECT_EQ(pass(), "prove c") << "what is allocated is proven first";
  proven(claim, "p");
  EXPECT_EQ(pass(), "lift-gate p");
}

// Nor for pods without our gate: those of bind mode, and those that others have bound.
TEST_F(Modes, ReleasingTakesNothingNewForAnyPod) {
  api::Pod pod = put_ungated({"c"});
  put(make_claim("c"));
  ASSERT_EQ(pass(), "allocate c");
  options.release_gates = true;
  EXPECT_EQ(pass(), "");
  pod.node_name = "n2";
  view.put(pod);
  EXPECT_EQ(pass(), "");
  pod.node_name.clear();
  view.put(pod);
  const api::ResourceClaim claim = allocated("c", "n2", "gpu-0", true, {"p"});
  EXPECT_EQ(pass(), "prove c") << "what is allocated is used";
  proven(claim, "p");
  EXPECT_EQ(pass(), "bind p");
}

// Claims that are missing, being deleted, not created or owned by somebody else do not keep the gate.
TEST_F(Modes, ReleasingDoesNotWaitForClaims) {
  options.release_gates = true;
  view.put(make_pod("p", {"missing"}));
  EXPECT_EQ(pass(), "lift-gate p");
  api::ResourceClaim claim = make_claim("c");
  claim.metadata.deletion_timestamp = "2026-01-01T00:00:00Z";
  put(claim);
  view.put(make_pod("p", {"c"}));
  EXPECT_EQ(pass(), "lift-gate p");
  api::Pod pod = make_pod("p", {});
  pod.resource_claims.push_back({"gpu", std::nullopt, "tpl"});
  view.put(pod);
  EXPECT_EQ(pass(), "lift-gate p") << "not created";
  pod.resource_claim_statuses = {{"gpu", "d"}};
  put(make_claim("d"));
  view.put(pod);
  EXPECT_EQ(pass(), "lift-gate p") << "not for this pod";
  view.put(make_pod("p", {"missing", "e"}));
  const api::ResourceClaim mine = allocated("e", "n1", "gpu-0", true, {"p"});
  EXPECT_EQ(pass(), "withdraw e") << "what is ours and unproven goes back first";
  proven(mine, "p");
  EXPECT_EQ(pass(), "lift-gate p");
}

TEST_F(Modes, ReleasingTakesOurGateFromAmongOthers) {
  api::Pod pod = make_pod("p", {"c"});
  pod.scheduling_gates = {"a/b", std::string(kAllocationGate), "c/d"};
  view.put(pod);
  put(make_claim("c"));
  EXPECT_EQ(pass(), "") << "otherwise such pods are left alone";
  options.release_gates = true;
  ASSERT_EQ(pass(), "lift-gate p");
  EXPECT_EQ(body()["spec"]["schedulingGates"], Json::parse(R"([{"name":"a/b"},{"name":"c/d"}])"));
}

// P2 and P3 apply to an uninstall, too: what another gated pod allocated is proven before this pod may use it.
TEST_F(Modes, ReleasingProvesWhatIsNotThisPodsToGiveBack) {
  options.release_gates = true;
  view.put(make_pod("p", {"shared", "c"}));
  view.put(make_pod("q", {"shared"}));
  const api::ResourceClaim shared = allocated("shared", "n1", "gpu-0", true, {"q"});
  put(make_claim("c"));
  nodes.refused = {"n1"};
  EXPECT_EQ(pass(), "prove shared") << "whether or not there is room on its node";
  allocated("theirs", "n1", "gpu-0", false, {"other"});
  EXPECT_EQ(pass(), "event DeviceConflict");
  inventory.remove_claim("theirs-uid");
  proven(shared, "q");
  EXPECT_EQ(pass(), "lift-gate p");
}

TEST_F(Modes, ReleasingNeedsNoRoom) {
  options.release_gates = true;
  view.put(make_pod("p", {"c"}));
  nodes.refused = {"n1", "n2"};
  const api::ResourceClaim claim = allocated("c", "n1", "gpu-0", true, {"p"});
  EXPECT_EQ(pass(), "withdraw c") << "kube-scheduler allocates it where there is room";
  api::ResourceClaim either = proven(claim, "p");
  either.status.allocation->node_selector->terms.push_back({{}, {{"metadata.name", "In", {"n2"}}}});
  proven(either, "p");
  ASSERT_EQ(pass(), "lift-gate p");
  EXPECT_FALSE(body()["spec"].contains("affinity"));
}

}  // namespace dra::allocation::modes_test
