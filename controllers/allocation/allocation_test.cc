#include "controllers/allocation/allocation.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "controllers/allocation/protocol.h"
#include "pkg/reconcile/memory_view.h"
#include "pkg/reconcile/pod_claims.h"
#include "pkg/reconcile/proof.h"

// Each step of the protocol P1 to P7 (DESIGN.md, "Arbitration"), as what one pass returns for a given state, and the
// whole way of a pod in each mode.
namespace dra::allocation::allocation_test {

using namespace reconcile;
using namespace std::chrono_literals;
using Json = nlohmann::json;

class FakeNodes : public NodeChooser {
 public:
  std::vector<std::string> names{"n1", "n2"};
  std::set<std::string> refused;  // full, cordoned, ...
  NodeChoice choose(const api::Pod&, const std::vector<std::string>& only) override {
    NodeChoice choice;
    for (const std::string& name : names)
      if (!refused.contains(name) && (only.empty() || std::find(only.begin(), only.end(), name) != only.end()))
        choice.nodes.push_back(name);
    if (choice.nodes.empty()) choice.why_none = "0/2 nodes are available: 2 Insufficient cpu.";
    return choice;
  }
  bool matches(const api::NodeSelector& selector, const std::string& node) override {
    if (std::find(names.begin(), names.end(), node) == names.end()) return false;
    for (const api::NodeSelectorTerm& term : selector.terms)
      for (const api::NodeSelectorRequirement& field : term.match_fields)
        if (std::find(field.values.begin(), field.values.end(), node) != field.values.end()) return true;
    return false;
  }
  std::vector<std::string> all_nodes() override { return names; }
};

class Allocation : public testing::Test {
 protected:
  Allocation() : random(1), allocator(inventory, {}, random) {
    for (const char* node : {"n1", "n2"}) {
      inventory.apply_node(node, {});
      api::ResourceSlice slice;
      slice.metadata.name = std::string("slice-") + node;
      slice.driver = "gpu.example.com";
      slice.pool = {node, 1, 1};
      slice.node_name = node;
      for (int i = 0; i < 2; ++i) {
        api::Device device;
        device.name = "gpu-" + std::to_string(i);
        slice.devices.push_back(device);
      }
      inventory.apply_slice(slice);
    }
    api::DeviceClass gpu;
    gpu.metadata.name = "gpu";
    inventory.apply_class(gpu);
    options.scheduler_names = {"ours"};
  }

  api::Pod make_pod(const std::string& name, std::vector<std::string> claims, bool gated = true) {
    api::Pod pod;
    pod.metadata.ns = "default";
    pod.metadata.name = name;
    pod.metadata.uid = name + "-uid";
    pod.metadata.resource_version = "11";
    pod.phase = "Pending";
    for (const std::string& claim : claims) pod.resource_claims.push_back({claim, claim, std::nullopt});
    if (gated) pod.scheduling_gates = {std::string(kAllocationGate)};
    return pod;
  }
  api::ResourceClaim make_claim(const std::string& name, int count = 1) {
    api::ResourceClaim claim;
    claim.metadata.ns = "default";
    claim.metadata.name = name;
    claim.metadata.uid = name + "-uid";
    claim.metadata.resource_version = "5";
    claim.metadata.creation_timestamp = format_rfc3339(view.time - 2s);
    api::DeviceRequest request;
    request.name = "gpu";
    request.exactly.emplace();
    request.exactly->device_class_name = "gpu";
    request.exactly->allocation_mode = "ExactCount";
    request.exactly->count = count;
    claim.spec.requests.push_back(request);
    return claim;
  }
  api::AllocationResult on(const std::string& node, const std::string& device) {
    api::AllocationResult allocation;
    allocation.results.push_back({"gpu", "gpu.example.com", node, device});
    allocation.node_selector = api::NodeSelector{{{{}, {{"metadata.name", "In", {node}}}}}};
    allocation.allocation_timestamp = "2026-01-01T00:00:00Z";
    return allocation;
  }
  // Puts a claim that is allocated by us (or by somebody else) into view and inventory.
  api::ResourceClaim allocated(const std::string& name, const std::string& node, const std::string& device, bool ours,
                               std::vector<std::string> pods) {
    api::ResourceClaim claim = make_claim(name);
    claim.status.allocation = on(node, device);
    for (const std::string& pod : pods) claim.status.reserved_for.push_back({"", "pods", pod, pod + "-uid"});
    claim.metadata.managed_fields.push_back(
        {ours ? std::string(kAllocationManager) : "kube-scheduler", "Update", "status"});
    put(claim);
    return claim;
  }
  void put(const api::ResourceClaim& claim) {
    view.put(claim);
    inventory.apply_claim(claim);
  }
  api::ResourceClaim proven(api::ResourceClaim claim, const std::string& pod) {
    claim.metadata.finalizers = {std::string(api::kDeleteProtectionFinalizer)};
    claim.metadata.annotations[std::string(kProofAnnotation)] = proof_value(pod + "-uid", *claim.status.allocation);
    put(claim);
    return claim;
  }
  // What a pass over pod "p" does: purposes of writes and reasons of events, "parked", "retry", "look again".
  std::string pass(const std::string& pod = "p") {
    const AllocationReconciler reconciler(options, inventory, allocator, nodes);
    last = reconciler.reconcile(view, pod_key("default/" + pod));
    std::string did;
    const auto say = [&did](const std::string& what) { did += (did.empty() ? "" : ", ") + what; };
    for (const Effect& effect : last.effects) {
      if (const Write* write = std::get_if<Write>(&effect)) say(write->purpose + " " + write->object.name);
      if (const Event* event = std::get_if<Event>(&effect);
          event && !(quiet_claims && event->regarding.kind == Kind::kClaim))
        say("event " + event->reason);
    }
    if (last.park) say("parked");
    if (!last.retry.empty()) say("retry");
    return did;
  }
  // The events of the last pass were emitted.
  void remember() {
    for (const Effect& effect : last.effects)
      if (const Event* event = std::get_if<Event>(&effect))
        view.emitted[{event->regarding.uid, event->reason}] = event->signature;
  }
  const Write& write(size_t i = 0) const { return std::get<Write>(last.effects.at(i)); }
  Json body(size_t i = 0) const { return Json::parse(write(i).body); }
  const Event& event() const {
    for (const Effect& effect : last.effects)
      if (const Event* found = std::get_if<Event>(&effect)) return *found;
    throw std::logic_error("no event");
  }

  SeededRandom random;
  inventory::Inventory inventory;
  allocator::Allocator allocator;
  FakeNodes nodes;
  MemoryView view;
  Options options;
  bool quiet_claims = false;  // pass() does not tell of events about claims
  Outcome last;
};

// ---- who is ours

TEST_F(Allocation, OnlyOptedInPodsAreTouched) {
  struct Case {
    const char* name;
    Mode mode;
    void (*change)(api::Pod&);
    Role role;
  };
  const Case cases[] = {
      {"our gate, the last one", Mode::kGate, [](api::Pod&) {}, Role::kGated},
      {"no gate", Mode::kGate, [](api::Pod& p) { p.scheduling_gates.clear(); }, Role::kNone},
      {"another gate beside ours", Mode::kGate, [](api::Pod& p) { p.scheduling_gates.push_back("a/b"); }, Role::kNone},
      {"finished", Mode::kGate, [](api::Pod& p) { p.phase = "Failed"; }, Role::kNone},
      {"deleted", Mode::kGate, [](api::Pod& p) { p.metadata.deletion_timestamp = "2026"; }, Role::kNone},
      {"bound", Mode::kGate, [](api::Pod& p) { p.node_name = "n1"; }, Role::kNone},
      {"gated in bind mode", Mode::kBind, [](api::Pod&) {}, Role::kGated},
      {"our scheduler in bind mode", Mode::kBind,
       [](api::Pod& p) {
         p.scheduling_gates.clear();
         p.scheduler_name = "ours";
       },
       Role::kToBind},
      {"another scheduler in bind mode", Mode::kBind,
       [](api::Pod& p) {
         p.scheduling_gates.clear();
         p.scheduler_name = "default-scheduler";
       },
       Role::kNone},
      {"our scheduler in gate mode", Mode::kGate,
       [](api::Pod& p) {
         p.scheduling_gates.clear();
         p.scheduler_name = "ours";
       },
       Role::kNone},
      {"bound by others in bind mode", Mode::kBind, [](api::Pod& p) { p.node_name = "n1"; }, Role::kBoundBare},
      {"observe", Mode::kObserve, [](api::Pod& p) { p.scheduling_gates.clear(); }, Role::kExplain},
  };
  for (const Case& c : cases) {
    api::Pod pod = make_pod("p", {"c"});
    c.change(pod);
    options.mode = c.mode;
    EXPECT_EQ(role_of(pod, options), c.role) << c.name;
  }
}

// ---- P1

TEST_F(Allocation, AllocatesAndReservesInOneWrite) {
  view.put(make_pod("p", {"c"}));
  put(make_claim("c"));
  ASSERT_EQ(pass(), "allocate c");
  const Json status = body()["status"];
  EXPECT_EQ(status["allocation"]["devices"]["results"][0]["device"], "gpu-0");
  EXPECT_EQ(
      status["allocation"]["nodeSelector"],
      Json::parse(
          R"({"nodeSelectorTerms":[{"matchFields":[{"key":"metadata.name","operator":"In","values":["n1"]}]}]})"));
  EXPECT_EQ(status["allocation"]["allocationTimestamp"], format_rfc3339(view.time));
  EXPECT_EQ(status["reservedFor"], Json::parse(R"([{"resource":"pods","name":"p","uid":"p-uid"}])"));
  EXPECT_EQ(body()["metadata"], Json::parse(R"({"uid":"c-uid","resourceVersion":"5"})"));
  EXPECT_EQ(write().field_manager, kAllocationManager);
  ASSERT_TRUE(write().assume);
  ASSERT_TRUE(write().assume_pod);
  EXPECT_EQ(write().assume_pod->node, "n1");
  EXPECT_EQ(write().on_success.at(0).value, 2);
}

TEST_F(Allocation, AllClaimsOfAPodGoToOneNode) {
  quiet_claims = true;
  view.put(make_pod("p", {"c", "d"}));
  put(make_claim("c"));
  put(make_claim("d", 2));
  allocated("x", "n1", "gpu-0", false, {});
  EXPECT_EQ(pass(), "event FailedAllocation, parked") << "n1 has one device left and n2 two, three are wanted";
  put(make_claim("d", 1));
  ASSERT_EQ(pass(), "allocate c, allocate d");
  EXPECT_EQ(body(0)["status"]["allocation"]["devices"]["results"][0]["pool"], "n2");
  EXPECT_EQ(body(1)["status"]["allocation"]["devices"]["results"][0]["pool"], "n2");
}

TEST_F(Allocation, WhatIsAllocatedElsewhereDecidesTheNode) {
  view.put(make_pod("p", {"c", "theirs"}));
  put(make_claim("c"));
  allocated("theirs", "n2", "gpu-0", false, {});
  ASSERT_EQ(pass(), "allocate c");
  EXPECT_EQ(body()["status"]["allocation"]["devices"]["results"][0]["pool"], "n2");
}

TEST_F(Allocation, WaitsForClaimsWithoutANoise) {
  api::Pod pod = make_pod("p", {});
  pod.resource_claims.push_back({"gpu", std::nullopt, "tpl"});
  view.put(pod);
  EXPECT_EQ(pass(), "") << "not created yet: its arrival wakes the pod";
  pod.resource_claim_statuses = {{"gpu", "c"}};
  view.put(pod);
  EXPECT_EQ(pass(), "");
  put(make_claim("c"));
  EXPECT_EQ(pass(), "event FailedAllocation") << "not controlled by the pod";
  view.put(make_pod("p", {"missing"}));
  EXPECT_EQ(pass(), "event FailedAllocation");
  EXPECT_NE(event().note.find("\"missing\""), std::string::npos);
}

TEST_F(Allocation, WhatDoesNotFitParksWithItsReasonAndIsSaidOnce) {
  view.put(make_pod("p", {"c"}));
  put(make_claim("c", 3));
  ASSERT_EQ(pass(), "event FailedAllocation, event FailedAllocation, parked") << "about the pod and about the claim";
  EXPECT_EQ(event().note, "no node can provide 3 x gpu: 4 devices usable but spread over nodes");
  EXPECT_NE(std::find(last.park->causes.begin(), last.park->causes.end(), "class/gpu"), last.park->causes.end());
  remember();
  EXPECT_EQ(pass(), "parked");
}

// Tries in vain while the figures change, and the causes only now and then: nothing is said but what is news.
TEST_F(Allocation, RetriesSayNothingUntilTheCauseChanges) {
  view.put(make_pod("p", {"c"}));
  put(make_claim("c", 3));
  pass();
  remember();
  for (int round = 0; round < 20; ++round) EXPECT_EQ(pass(), "parked");
  allocated("x", "n1", "gpu-0", false, {});
  ASSERT_EQ(pass(), "event FailedAllocation, event FailedAllocation, parked");
  EXPECT_EQ(event().note, "no node can provide 3 x gpu: 3 devices usable but spread over nodes, 1 in use");
  remember();
  for (const char* device : {"gpu-1", "gpu-0"}) {
    allocated(std::string("y-") + device, device == std::string("gpu-1") ? "n1" : "n2", device, false, {});
    EXPECT_EQ(pass(), "parked") << "one more in use is no news";
  }
  nodes.refused = {"n1", "n2"};
  ASSERT_EQ(pass(), "event FailedScheduling, parked");
  remember();
  EXPECT_EQ(pass(), "parked");
  nodes.refused = {};
  EXPECT_EQ(pass(), "parked") << "the same reason as before";
}

TEST_F(Allocation, TheFirstPodSpeaksForASharedClaim) {
  view.put(make_pod("a", {"c"}));
  view.put(make_pod("b", {"c"}));
  put(make_claim("c", 3));
  EXPECT_EQ(pass("b"), "event FailedAllocation, parked");
  EXPECT_EQ(pass("a"), "event FailedAllocation, event FailedAllocation, parked");
}

TEST_F(Allocation, AMissingClassIsWaitedFor) {
  api::ResourceClaim claim = make_claim("c");
  claim.spec.requests[0].exactly->device_class_name = "tpu";
  view.put(make_pod("p", {"c"}));
  put(claim);
  ASSERT_EQ(pass(), "event FailedAllocation, event FailedAllocation, parked");
  EXPECT_NE(event().note.find("device class \"tpu\" does not exist"), std::string::npos) << event().note;
  EXPECT_NE(std::find(last.park->causes.begin(), last.park->causes.end(), "class/tpu"), last.park->causes.end());
  remember();
  EXPECT_EQ(pass(), "parked");
  api::DeviceClass tpu;
  tpu.metadata.name = "tpu";
  inventory.apply_class(tpu);
  EXPECT_EQ(pass(), "allocate c");
}

TEST_F(Allocation, NoNodeForThePodItself) {
  view.put(make_pod("p", {"c"}));
  put(make_claim("c"));
  nodes.refused = {"n1", "n2"};
  ASSERT_EQ(pass(), "event FailedScheduling, parked");
  EXPECT_EQ(event().note, "0/2 nodes are available: 2 Insufficient cpu.");
  EXPECT_EQ(last.park->causes, std::vector<Cause>{"nodes"});
}

// ---- P2, P3

TEST_F(Allocation, ProvesOnTheStreamAndMarksByCompareAndSwap) {
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

TEST_F(Allocation, AMarkForAnotherAllocationIsNoProof) {
  view.put(make_pod("p", {"c"}));
  api::ResourceClaim claim = proven(allocated("c", "n1", "gpu-0", true, {"p"}), "p");
  EXPECT_EQ(pass(), "lift-gate p");
  claim.status.allocation = on("n1", "gpu-1");
  put(claim);
  EXPECT_EQ(pass(), "prove c");
}

// ---- P5, P6

TEST_F(Allocation, YieldsToAnOverlapWhileUnmarked) {
  view.put(make_pod("p", {"c"}));
  allocated("c", "n1", "gpu-0", true, {"p"});
  allocated("theirs", "n1", "gpu-0", false, {"other"});
  ASSERT_EQ(pass(), "withdraw c");
  EXPECT_TRUE(last.hold) << "rivals must not meet again at once";
  EXPECT_GE(*last.hold, 20ms);
  EXPECT_EQ(write().release_pod, "p-uid");
}

TEST_F(Allocation, SiblingsAreWithdrawnTogether) {
  view.put(make_pod("p", {"c", "d"}));
  allocated("c", "n1", "gpu-0", true, {"p"});
  allocated("d", "n1", "gpu-1", true, {"p"});
  allocated("theirs", "n1", "gpu-0", false, {"other"});
  EXPECT_EQ(pass(), "withdraw c, withdraw d");
}

// Of two claims the shared one clashes for good: taking back the other, to allocate it anew, would never end.
TEST_F(Allocation, AnInnocentSiblingIsNotWithdrawnForAConflictThatStays) {
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
    EXPECT_EQ(pass(), "event DeviceConflict");
    EXPECT_TRUE(last.look_again);
    put(make_claim("c2"));
    EXPECT_EQ(pass(), "event DeviceConflict") << "nothing is allocated beside it";
    EXPECT_NE(event().note.find("gpu-0"), std::string::npos) << event().note;
  }
}

TEST_F(Allocation, AMarkedClaimIsNeverWithdrawn) {
  view.put(make_pod("p", {"c", "d"}));
  proven(allocated("c", "n1", "gpu-0", true, {"p"}), "p");
  allocated("d", "n1", "gpu-1", true, {"p"});
  allocated("theirs", "n1", "gpu-1", false, {"other"});
  EXPECT_EQ(pass(), "withdraw d");
}

// Nor when its node is gone or full, and the pod could go elsewhere: then it is said what keeps the pod there.
TEST_F(Allocation, WhatAMarkedClaimPinsThePodToIsSaid) {
  quiet_claims = true;
  view.put(make_pod("p", {"c", "d"}));
  proven(allocated("c", "n1", "gpu-0", true, {"p"}), "p");
  put(make_claim("d"));
  const std::string pinned =
      "; claim \"default/c\" pins this pod to node n1 and is not taken back, since its allocation is proven and may be "
      "in use; to free it, delete pod p";
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
  EXPECT_EQ(event().note, "no node can provide 1 x gpu: 2 devices in use" + pinned);
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

TEST_F(Allocation, NotWithdrawnWhileAReservedPodMayRun) {
  api::Pod running = make_pod("other", {"c"}, false);
  running.node_name = "n1";
  view.put(running);
  view.put(make_pod("p", {"c"}));
  allocated("c", "n1", "gpu-0", true, {"p", "other"});
  allocated("theirs", "n1", "gpu-0", false, {});
  EXPECT_EQ(pass(), "event DeviceConflict");
}

// Managed fields can be cleared by anybody: what is not ours for certain is proven before it is used, and never freed.
TEST_F(Allocation, WhatNobodyCanAttributeIsProvenAndNeverGivenBack) {
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

TEST_F(Allocation, ClaimsWithoutACommonNodeAreGivenBack) {
  view.put(make_pod("p", {"c", "theirs"}));
  allocated("c", "n1", "gpu-0", true, {"p"});
  allocated("theirs", "n2", "gpu-0", false, {});
  EXPECT_EQ(pass(), "withdraw c");
}

TEST_F(Allocation, ANodeThatFilledUpMeanwhileIsGivenUp) {
  view.put(make_pod("p", {"c"}));
  allocated("c", "n1", "gpu-0", true, {"p"});
  nodes.refused = {"n1"};
  EXPECT_EQ(pass(), "withdraw c");
}

// ---- P4

TEST_F(Allocation, NarrowsAndLiftsTheGateInOnePatch) {
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

TEST_F(Allocation, NoNarrowingForDevicesThatCanBeUsedEverywhere) {
  view.put(make_pod("p", {"c"}));
  api::ResourceClaim claim = allocated("c", "n1", "gpu-0", true, {"p"});
  claim.status.allocation->node_selector.reset();
  proven(claim, "p");
  ASSERT_EQ(pass(), "lift-gate p");
  EXPECT_FALSE(body()["spec"].contains("affinity"));
}

TEST_F(Allocation, ASharedClaimGetsThePodBeforeItGoes) {
  view.put(make_pod("p", {"c"}));
  proven(allocated("c", "n1", "gpu-0", true, {"other"}), "other");
  EXPECT_EQ(pass(), "reserve c");
  EXPECT_EQ(body()["status"]["reservedFor"].size(), 2u);
  EXPECT_FALSE(body()["status"].contains("allocation"));
}

TEST_F(Allocation, TheWholeWayOfAGatedPod) {
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

// ---- bind mode, P7

TEST_F(Allocation, BindsOnlyAfterTheProof) {
  options.mode = Mode::kBind;
  api::Pod pod = make_pod("p", {"c"}, false);
  pod.scheduler_name = "ours";
  view.put(pod);
  put(make_claim("c"));
  ASSERT_EQ(pass(), "allocate c");
  const api::ResourceClaim claim = allocated("c", "n2", "gpu-0", true, {"p"});
  ASSERT_EQ(pass(), "prove c");
  proven(claim, "p");
  ASSERT_EQ(pass(), "bind p");
  EXPECT_EQ(write().subresource, "binding");
  EXPECT_EQ(body()["target"]["name"], "n2");
  EXPECT_EQ(body()["metadata"]["uid"], "p-uid");
  EXPECT_TRUE(last.hold);
}

TEST_F(Allocation, BindsPodsWithoutClaims) {
  options.mode = Mode::kBind;
  api::Pod pod = make_pod("p", {}, false);
  pod.scheduler_name = "ours";
  view.put(pod);
  nodes.refused = {"n1"};
  ASSERT_EQ(pass(), "bind p");
  EXPECT_EQ(body()["target"]["name"], "n2");
}

TEST_F(Allocation, APodBoundByOthersIsAllocatedThereUnreserved) {
  options.mode = Mode::kBind;
  api::Pod pod = make_pod("p", {"c"}, false);
  pod.node_name = "n2";
  view.put(pod);
  put(make_claim("c"));
  ASSERT_EQ(pass(), "allocate c");
  EXPECT_EQ(body()["status"]["allocation"]["devices"]["results"][0]["pool"], "n2");
  EXPECT_TRUE(body()["status"]["reservedFor"].is_null());
  const api::ResourceClaim claim = allocated("c", "n2", "gpu-0", true, {});
  ASSERT_EQ(pass(), "prove c");
  proven(claim, "p");
  EXPECT_EQ(pass(), "") << "the lifecycle controller reserves";
}

TEST_F(Allocation, ObserveExplainsAndWritesNothing) {
  options.mode = Mode::kObserve;
  view.put(make_pod("p", {"c"}, false));
  put(make_claim("c"));
  EXPECT_EQ(pass(), "");
  put(make_claim("c", 5));
  EXPECT_EQ(pass(), "event FailedAllocation, event FailedAllocation, parked");
}

// What a former gate or bind mode left behind is looked at, too, but neither marked nor taken back.
TEST_F(Allocation, ObserveNeitherProvesNorWithdraws) {
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

TEST_F(Allocation, ReleasingLiftsEveryGateAndAllocatesNothing) {
  options.release_gates = true;
  view.put(make_pod("p", {"c"}));
  put(make_claim("c"));
  EXPECT_EQ(pass(), "lift-gate p");
  api::ResourceClaim claim = allocated("c", "n1", "gpu-0", true, {"p"});
  EXPECT_EQ(pass(), "prove c") << "what is allocated is proven first";
  proven(claim, "p");
  EXPECT_EQ(pass(), "lift-gate p");
}

// Claims that are missing, being deleted, not created or somebody else's keep no gate.
TEST_F(Allocation, ReleasingDoesNotWaitForClaims) {
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

TEST_F(Allocation, ReleasingTakesOurGateFromAmongOthers) {
  api::Pod pod = make_pod("p", {"c"});
  pod.scheduling_gates = {"a/b", std::string(kAllocationGate), "c/d"};
  view.put(pod);
  put(make_claim("c"));
  EXPECT_EQ(pass(), "") << "otherwise such pods are left alone";
  options.release_gates = true;
  ASSERT_EQ(pass(), "lift-gate p");
  EXPECT_EQ(body()["spec"]["schedulingGates"], Json::parse(R"([{"name":"a/b"},{"name":"c/d"}])"));
}

// P2 and P3 hold on the way out, too: what another gated pod allocated is proven before this one may use it.
TEST_F(Allocation, ReleasingProvesWhatIsNotThisPodsToGiveBack) {
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

TEST_F(Allocation, ReleasingNeedsNoRoom) {
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

// ---- waking up

TEST_F(Allocation, FreedDevicesWakeWhoCouldUseThem) {
  const AllocationReconciler reconciler(options, inventory, allocator, nodes);
  const api::ResourceClaim before = allocated("c", "n1", "gpu-0", false, {});
  api::ResourceClaim after = before;
  after.status = {};
  Triggers triggers;
  reconciler.on_streamed_claim(view, &before, &after, triggers);
  EXPECT_EQ(triggers.wakes, (std::vector<Cause>{"class/gpu", "driver/gpu.example.com"}));
  triggers = {};
  reconciler.on_streamed_claim(view, &before, nullptr, triggers);
  EXPECT_EQ(triggers.wakes.size(), 2u);
  triggers = {};
  reconciler.on_streamed_claim(view, &before, &before, triggers);
  EXPECT_TRUE(triggers.wakes.empty());
}

TEST_F(Allocation, WhatCountedOnANodeWakesWhoWaitsForRoom) {
  const AllocationReconciler reconciler(options, inventory, allocator, nodes);
  const auto wakes_when_gone = [&](const api::Pod& pod) {
    Triggers triggers;
    reconciler.on_pod(view, &pod, nullptr, triggers);
    return triggers.wakes == std::vector<Cause>{"nodes"};
  };
  put(make_claim("c"));
  EXPECT_FALSE(wakes_when_gone(make_pod("p", {"c"}))) << "waits itself";
  const api::ResourceClaim before = allocated("c", "n1", "gpu-0", true, {"p"});
  EXPECT_TRUE(wakes_when_gone(make_pod("p", {"c"})));
  api::Pod deleting = make_pod("p", {"c"});
  deleting.metadata.deletion_timestamp = "2026-01-01T00:00:00Z";
  EXPECT_TRUE(wakes_when_gone(deleting)) << "a finalizer of others kept it for a while";
  EXPECT_TRUE(wakes_when_gone(make_pod("p", {"c"}, false))) << "ungated, not bound yet";
  EXPECT_FALSE(wakes_when_gone(make_pod("p", {}, false))) << "none of ours";
  api::ResourceClaim after = before;
  after.status = {};
  Triggers triggers;
  reconciler.on_streamed_claim(view, &before, &after, triggers);
  EXPECT_EQ(triggers.wakes, (std::vector<Cause>{"class/gpu", "driver/gpu.example.com", "nodes"})) << "withdrawn";
}

TEST_F(Allocation, ANodeWakesWhenItsTaintsChangeAndNotWhenItsStatusDoes) {
  const AllocationReconciler reconciler(options, inventory, allocator, nodes);
  api::Node before;
  before.metadata.name = "n1";
  before.taints = {{"a", "b", "NoSchedule", ""}};
  api::Node after = before;
  Triggers triggers;
  reconciler.on_node(view, &before, &after, triggers);
  EXPECT_TRUE(triggers.wakes.empty());
  after.taints[0].effect = "PreferNoSchedule";
  reconciler.on_node(view, &before, &after, triggers);
  EXPECT_EQ(triggers.wakes, std::vector<Cause>{"nodes"});
}

// A class without selectors takes devices of any driver: those of the second have to wake, too.
TEST_F(Allocation, WaitsForEveryDriverThatCouldServe) {
  api::ResourceSlice slice;
  slice.metadata.name = "z-slice";
  slice.driver = "zpu.example.com";
  slice.pool = {"n1", 1, 1};
  slice.node_name = "n1";
  api::Device device;
  device.name = "zpu-0";
  slice.devices.push_back(device);
  inventory.apply_slice(slice);
  view.put(make_pod("p", {"c"}));
  put(make_claim("c", 4));
  ASSERT_EQ(pass(), "event FailedAllocation, event FailedAllocation, parked");
  for (const char* cause : {"driver/gpu.example.com", "driver/zpu.example.com"})
    EXPECT_NE(std::find(last.park->causes.begin(), last.park->causes.end(), cause), last.park->causes.end()) << cause;
}

TEST_F(Allocation, TheStreamReachingOurWriteBringsThePodBack) {
  const AllocationReconciler reconciler(options, inventory, allocator, nodes);
  view.put(make_pod("p", {"c"}));
  const api::ResourceClaim claim = allocated("c", "n1", "gpu-0", true, {"p"});
  Triggers triggers;
  reconciler.on_streamed_claim(view, nullptr, &claim, triggers);
  EXPECT_EQ(triggers.keys, std::vector<Key>{pod_key("default/p")});
}

}  // namespace dra::allocation::allocation_test
