// Experiments made on a real 1.36 control plane, E2 to E35, each as a test of this project's behaviour in the same
// situation (docs/experiments.md has the observations and says why some do not apply).
#include "pkg/base/timestamp.h"
#include "test/integration/world.h"

namespace dra::integration::experiments_test {

using namespace std::chrono_literals;
using Names = std::vector<std::string>;

class Experiment : public World {
 protected:
  static Json foreign_consumer() {
    return {{"apiGroup", "ops.example.com"}, {"resource", "reservations"}, {"name", "guard"}, {"uid", "guard-uid"}};
  }
  static PodOptions ungated(const std::string& node = "") {
    PodOptions options;
    options.gated = false;
    options.node = node;
    return options;
  }
  void cordon(const std::string& node, bool cordoned = true) {
    api().merge(Api::path("Node", node), {{"spec", {{"unschedulable", cordoned ? Json(true) : Json(nullptr)}}}});
  }
};

TEST_F(Experiment, E2_GatedPodIsAllocatedUngatedAndBound) {
  begin(Claims::kObserve);
  api().create(pod("p", {from_template("gpu", "one-gpu")}));
  ASSERT_TRUE(within(2s, [&] { return bound("p"); }));
  const auto claim = get_claim(generated("p"));
  EXPECT_EQ(consumers(claim->metadata.name), Names{"p"});
  EXPECT_TRUE(claim->metadata.has_finalizer(api::kDeleteProtectionFinalizer));
  EXPECT_EQ(scheduler().stats().claim_writes, 0u);
  EXPECT_EQ(cluster().verdict(), "");
}

TEST_F(Experiment, E3_AllocationWithoutTimestampNeverBindsWithoutUs) {
  begin(Claims::kOwn, /*manager=*/false);
  api().create(claim("c"));
  allocate("c", allocation("n1", {"gpu-0"}, ""));
  api().create(pod("p", {from_claim("gpu", "c")}, ungated()));
  EXPECT_TRUE(never([&] { return bound("p"); }, 25s));
  EXPECT_NE(scheduler().stats().last_failure.find("field is immutable"), std::string::npos)
      << scheduler().stats().last_failure;
  EXPECT_GE(scheduler().stats().failures, 3u);
}

TEST_F(Experiment, E3b_AReservationHealsIt) {
  begin(Claims::kOwn, /*manager=*/false);
  api().create(claim("c"));
  allocate("c", allocation("n1", {"gpu-0"}, ""));
  const Json made = api().create(pod("p", {from_claim("gpu", "c")}, ungated()));
  pass(5s);
  EXPECT_EQ(status_code("c", {{"reservedFor", {pod_reference(made)}}}), 200);
  EXPECT_TRUE(soon([&] { return bound("p"); }, 25s));
}

TEST_F(Experiment, E4_WeReserveForeignAllocationsBeforeTheGateGoes) {
  begin();
  api().create(claim("c"));
  allocate("c", allocation("n1", {"gpu-0"}, ""));
  api().create(pod("p", {from_claim("gpu", "c")}));
  ASSERT_TRUE(soon([&] { return bound("p"); }));
  EXPECT_EQ(node_of("p"), "n1");
  EXPECT_EQ(scheduler().stats().claim_writes, 0u);
}

TEST_F(Experiment, E5_GeneratedClaimWithoutFinalizerGoesWithItsPod) {
  begin();
  api().create(pod("p", {from_template("gpu", "one-gpu")}, {.gates = {"ext/hold"}}));
  ASSERT_TRUE(soon([&] { return !generated("p").empty(); }));
  const std::string name = generated("p");
  const Json made = api().get(Api::path("Pod", "p"));
  allocate(name, allocation("n0", {"gpu-0"}, now()), Json::array({pod_reference(made)}), /*finalizer=*/false);
  api().remove_now(Api::path("Pod", "p"));
  EXPECT_TRUE(soon([&] { return cluster().watchdog().claims() == 0; }));
}

TEST_F(Experiment, E5b_UserClaimWithoutFinalizerKeepsItsAllocation) {
  begin();
  api().create(claim("c"));
  const Json made = api().create(pod("p", {from_claim("gpu", "c")}, ungated("n0")));
  allocate("c", allocation("n0", {"gpu-0"}, now()), Json::array({pod_reference(made)}), /*finalizer=*/false);
  pass(1s);
  api().remove_now(Api::path("Pod", "p"));
  EXPECT_TRUE(soon([&] { return consumers("c").empty(); }));
  pass(5s);
  EXPECT_TRUE(allocated("c")) << "it is its author's to remove";
}

TEST_F(Experiment, E5c_UserClaimWithFinalizerIsCleanedUp) {
  begin();
  api().create(claim("c"));
  api().create(pod("p", {from_claim("gpu", "c")}));
  ASSERT_TRUE(soon([&] { return bound("p"); }));
  api().remove(Api::path("Pod", "p"));
  EXPECT_TRUE(soon([&] { return !allocated("c") && get_claim("c")->metadata.finalizers.empty(); }));
  EXPECT_EQ(cluster().empty_verdict({"default/c"}), "");
}

TEST_F(Experiment, E6_ThePodsNodeSelectorIsObeyed) {
  begin();
  PodOptions options;
  options.node_selector_host = "n1";
  api().create(pod("p", {from_template("gpu", "one-gpu")}, options));
  ASSERT_TRUE(soon([&] { return bound("p"); }));
  EXPECT_EQ(node_of("p"), "n1");
  EXPECT_EQ(scheduler().stats().deallocations, 0u);
}

TEST_F(Experiment, E7_AnAllocationThatDoesNotNarrowThePodIsMovedByTheScheduler) {
  begin(Claims::kOwn, /*manager=*/false);
  cordon("n0");
  api().create(claim("c"));
  allocate("c", allocation("n0", {"gpu-0"}, now()));
  api().create(pod("p", {from_claim("gpu", "c")}, ungated()));
  ASSERT_TRUE(soon([&] { return bound("p"); }, 30s));
  EXPECT_EQ(node_of("p"), "n1");
  EXPECT_EQ(scheduler().stats().deallocations, 1u);
}

TEST_F(Experiment, E7b_OursIsNarrowedAndWaitsForItsNode) {
  begin(Claims::kOwn, true, /*scheduler=*/false);
  api().create(pod("p", {from_template("gpu", "one-gpu")}));
  ASSERT_TRUE(soon([&] { return get_pod("p") && !gated("p"); }));
  const auto before = get_claim(generated("p"))->status.allocation;
  const std::string node = before->results.front().pool;
  cordon(node);
  start_scheduler();
  EXPECT_TRUE(never([&] { return bound("p"); }, 30s));
  EXPECT_EQ(get_claim(generated("p"))->status.allocation, before);
  EXPECT_EQ(scheduler().stats().deallocations, 0u);
  cordon(node, false);
  EXPECT_TRUE(soon([&] { return bound("p"); }, 30s));
  EXPECT_EQ(node_of("p"), node);
}

TEST_F(Experiment, E8_AForeignConsumerIsKeptAndStopsNothing) {
  begin();
  api().create(claim("c"));
  const Json made = api().create(pod("p", {from_claim("gpu", "c")}, ungated("n0")));
  allocate("c", allocation("n0", {"gpu-0"}, now()), Json::array({foreign_consumer(), pod_reference(made)}));
  pass(1s);
  api().remove_now(Api::path("Pod", "p"));
  EXPECT_TRUE(soon([&] { return consumers("c") == Names{"guard"}; }));
  pass(30s);
  EXPECT_TRUE(allocated("c"));
  EXPECT_EQ(status_code("c", {{"reservedFor", nullptr}, {"allocation", nullptr}}), 200);
  EXPECT_TRUE(soon([&] { return get_claim("c")->metadata.finalizers.empty(); }))
      << "the guard's end is ours to clean up";
}

TEST_F(Experiment, E9_MissingBindingPermissionIsConfiguration) {
  begin(Claims::kOwn, /*manager=*/false);
  DRA_NEEDS_TIME(50s);
  start_manager();
  size_t tries = 0;
  manager().network().set_plan([&](const client::Request& request, bool) {
    client::Fault fault;
    if (request.method != "PATCH" ||
        request.target.find("/status?fieldManager=dra-controller-manager-allocation") == std::string::npos)
      return fault;
    ++tries;
    fault.kind = client::Fault::Kind::kAnswer;
    fault.answer.status = 422;
    fault.answer.body =
        R"({"kind":"Status","status":"Failure","reason":"Invalid","code":422,"message":"changing status.allocation or )"
        R"(status.reservedFor requires resourceclaims/binding permission: Forbidden"})";
    return fault;
  });
  api().create(pod("p", {from_template("gpu", "one-gpu")}));
  pass(50s);
  // The name is published with the event of an outage, after 15 s; that it was due after 30 s is a try of its own.
  EXPECT_LE(tries, 15u) << "after 50 ms doubling to 8 s, when the claim's name was published, and after 30 s";
  const size_t before = tries;
  pass(30s);
  EXPECT_GE(tries, before + 3) << "at least once in 8 s";
  EXPECT_LE(tries, before + 4) << "and not more often";
  manager().network().set_plan(nullptr);
  EXPECT_TRUE(soon([&] { return bound("p"); }, 70s));
}

TEST_F(Experiment, E10_ADeviceThatDoesNotExistIsTheOthersDecision) {
  begin();
  api().create(claim("c"));
  allocate("c", allocation("n1", {"no-such-device"}, now()));
  api().create(pod("p", {from_claim("gpu", "c")}));
  EXPECT_TRUE(soon([&] { return bound("p"); }));
  const uint64_t before = revision(Api::path("ResourceClaim", "c"));
  pass(60s);
  EXPECT_EQ(revision(Api::path("ResourceClaim", "c")), before) << "a stable state";
}

TEST_F(Experiment, E11_ADeviceHandedOutTwiceIsReportedWithinTenSeconds) {
  begin();
  for (const char* name : {"a", "b"}) {
    api().create(claim(name));
    const Json made = api().create(pod(std::string("p") + name, {from_claim("gpu", name)}, ungated("n0")));
    allocate(name, allocation("n0", {"gpu-0"}, now()), Json::array({pod_reference(made)}));
  }
  EXPECT_TRUE(within(10s, [&] { return reasons().contains("DeviceOverCommitted"); }));
  EXPECT_TRUE(allocated("a") && allocated("b")) << "never repaired by guessing";
  // Our allocations avoid it.
  api().create(pod("p", {from_template("gpu", "one-gpu")}));
  ASSERT_TRUE(soon([&] { return bound("p"); }));
  const auto ours = get_claim(generated("p"))->status.allocation->results.front();
  EXPECT_FALSE(ours.pool == "n0" && ours.device == "gpu-0");
}

TEST_F(Experiment, E12_OurAllocationNamesItsNodeInTheExactForm) {
  begin();
  api().create(pod("p", {from_template("gpu", "one-gpu")}));
  ASSERT_TRUE(soon([&] { return bound("p"); }));
  const Json claim = api().get(Api::path("ResourceClaim", generated("p")));
  EXPECT_EQ(claim["status"]["allocation"]["nodeSelector"], allocation(node_of("p"), {"x"}, "")["nodeSelector"]);
}

TEST_F(Experiment, E12b_AnUnknownRequestIsRefused) {
  begin(Claims::kOwn, false);
  api().create(claim("c"));
  EXPECT_EQ(status_code("c", {{"allocation", allocation("n0", {"gpu-0"}, now(), true, "other")}}), 422);
}

TEST_F(Experiment, E12c_AnEmptyAllocationIsAcceptedAndHarmless) {
  begin();
  api().create(claim("c"));
  EXPECT_EQ(status_code("c", {{"allocation", Json::object()}}), 200);
  api().create(pod("p", {from_claim("gpu", "c")}));
  EXPECT_TRUE(soon([&] { return bound("p"); }));
}

TEST_F(Experiment, E12d_ReservationWithoutAllocationIsRefusedAndMetadataInAStatusWriteIgnored) {
  begin(Claims::kOwn, false);
  api().create(claim("c"));
  const Json made = api().create(pod("p", {from_claim("gpu", "c")}));
  EXPECT_EQ(status_code("c", {{"reservedFor", {pod_reference(made)}}}), 422);
  const Answer answer = api().call("PATCH", Api::path("ResourceClaim", "c") + "/status",
                                   R"({"metadata":{"finalizers":["a.example/b"],"annotations":{"x":"y"}}})",
                                   "application/merge-patch+json");
  EXPECT_TRUE(answer.ok());
  EXPECT_FALSE(api().get(Api::path("ResourceClaim", "c"))["metadata"].contains("finalizers"));
}

TEST_F(Experiment, E15_ADeletedGatedPodLeavesNothingWithinFourSeconds) {
  for (const bool reserved : {true, false}) {
    begin();
    api().create(pod("p", {from_template("gpu", "one-gpu")}, {.gates = {"ext/hold"}}));
    ASSERT_TRUE(soon([&] { return !generated("p").empty(); }));
    const Json made = api().get(Api::path("Pod", "p"));
    allocate(generated("p"), allocation("n0", {"gpu-0"}, now()),
             reserved ? Json::array({pod_reference(made)}) : Json(nullptr));
    api().remove(Api::path("Pod", "p"));
    EXPECT_TRUE(within(4s, [&] { return cluster().watchdog().claims() == 0; })) << "reserved: " << reserved;
  }
}

TEST_F(Experiment, E16_OurTimestampIsNow) {
  begin();
  pass(1h);  // at most; but longer than the toleration below
  api().create(pod("p", {from_template("gpu", "one-gpu")}));
  ASSERT_TRUE(within(2s, [&] { return bound("p"); }));
  Timestamp stamped;
  ASSERT_TRUE(parse_rfc3339(get_claim(generated("p"))->status.allocation->allocation_timestamp, stamped));
  EXPECT_LT(cluster().plane().clock().wall_now() - stamped, 4s);
}

TEST_F(Experiment, E17_APodBoundByOthersIsReservedAndAGatedOneCannotBeBound) {
  begin();
  api().create(claim("c"));
  allocate("c", allocation("n0", {"gpu-0"}, ""));
  PodOptions other = ungated();
  other.scheduler = "another";
  api().create(pod("p", {from_claim("gpu", "c")}, other));
  const Json binding{{"apiVersion", "v1"},
                     {"kind", "Binding"},
                     {"metadata", {{"name", "p"}}},
                     {"target", {{"kind", "Node"}, {"name", "n0"}}}};
  EXPECT_TRUE(api().call("POST", Api::path("Pod", "p") + "/binding", binding.dump()).ok());
  EXPECT_TRUE(soon([&] { return consumers("c") == Names{"p"}; }));
  api().create(pod("g", {}, {.gates = {"ext/hold"}}));
  Json gated_binding = binding;
  gated_binding["metadata"]["name"] = "g";
  EXPECT_EQ(api().call("POST", Api::path("Pod", "g") + "/binding", gated_binding.dump()).status, 409);
}

TEST_F(Experiment, E18_ADeletedClaimOfThreeIsMadeAgainOnce) {
  begin();
  api().create(pod("p", {from_template("a", "one-gpu"), from_template("b", "one-gpu"), from_template("c", "one-gpu")},
                   {.gates = {"ext/hold"}}));
  ASSERT_TRUE(soon([&] { return !generated("p", "c").empty(); }));
  const size_t before = writes("claimtemplate/publish-claim-names");
  api().remove(Api::path("ResourceClaim", generated("p", "b")));
  ASSERT_TRUE(soon([&] { return cluster().watchdog().claims() == 3; }));
  pass(12s);
  EXPECT_LE(writes("claimtemplate/publish-claim-names") - before, 1u);
  EXPECT_TRUE(get_claim(generated("p", "a")) && get_claim(generated("p", "b")) && get_claim(generated("p", "c")));
}

TEST_F(Experiment, E20_ANoScheduleTaintKeepsOurAllocationsAway) {
  begin();
  for (const char* node : {"n0", "n1"}) {
    const std::string path = Api::path("ResourceSlice", std::string(node) + "-" + kDriver);
    Json devices = api().get(path)["spec"]["devices"];
    for (int i = 0; i < 3; ++i)
      devices[static_cast<size_t>(i)]["taints"] = {{{"key", "k"}, {"value", "v"}, {"effect", "NoSchedule"}}};
    api().merge(path, {{"spec", {{"devices", devices}}}});
  }
  for (int i = 0; i < 3; ++i) api().create(pod("p" + std::to_string(i), {from_template("gpu", "one-gpu")}));
  EXPECT_TRUE(soon([&] { return cluster().watchdog().bound_pods() == 2; }));
  pass(5s);
  EXPECT_EQ(cluster().watchdog().bound_pods(), 2u) << "two devices are untainted";
  for (const auto& held : cluster().watchdog().all_claims()) {
    if (held->status.allocation) {
      EXPECT_EQ(held->status.allocation->results.front().device, "gpu-3");
    }
  }
}

TEST_F(Experiment, E21_ANoExecuteTaintEvictsAndTheDeviceIsLeftAlone) {
  begin(Claims::kOwn, false);
  start_manager([](manager::ManagerOptions& options) {
    options.settings.device_taint_eviction = manager::DeviceTaintEviction::kOwn;
    options.settings.controllers.push_back("tainteviction");
  });
  api().create(pod("p", {from_template("gpu", "one-gpu")}));
  ASSERT_TRUE(soon([&] { return bound("p"); }));
  const auto result = get_claim(generated("p"))->status.allocation->results.front();
  const std::string path = Api::path("ResourceSlice", result.pool + "-" + kDriver);
  Json devices = api().get(path)["spec"]["devices"];
  for (Json& device : devices)
    if (device["name"] == result.device) device["taints"] = {{{"key", "k"}, {"value", "v"}, {"effect", "NoExecute"}}};
  api().merge(path, {{"spec", {{"devices", devices}}}});
  EXPECT_TRUE(soon([&] { return !get_pod("p"); }, 5s));
  api().create(pod("q", {from_template("gpu", "one-gpu")}));
  ASSERT_TRUE(soon([&] { return bound("q"); }));
  const auto other = get_claim(generated("q"))->status.allocation->results.front();
  EXPECT_FALSE(other.pool == result.pool && other.device == result.device);
}

TEST_F(Experiment, E22_AClassThatIsGoneStopsNoAllocatedPod) {
  begin();
  api().create(claim("c"));
  allocate("c", allocation("n0", {"gpu-0"}, now()));
  api().remove(Api::path("DeviceClass", "gpu"));
  pass(1s);
  api().create(pod("p", {from_claim("gpu", "c")}));
  EXPECT_TRUE(soon([&] { return bound("p"); }));
}

TEST_F(Experiment, E23_ASelectorThatFailsIsToldAndAnAllocationByOthersHelps) {
  begin();
  Json failing = claim("c");
  failing["spec"]["devices"]["requests"][0]["exactly"]["selectors"] = {
      {{"cel", {{"expression", "device.attributes['gpu.example.com'].nothing == 'x'"}}}}};
  api().create(failing);
  api().create(pod("p", {from_claim("gpu", "c")}));
  EXPECT_TRUE(soon([&] { return reasons().contains("FailedAllocation"); }));
  EXPECT_TRUE(gated("p"));
  allocate("c", allocation("n0", {"gpu-0"}, now()));
  EXPECT_TRUE(soon([&] { return bound("p"); }));
}

TEST_F(Experiment, E26_OnlyTheMissingPodIsPruned) {
  begin();
  api().create(claim("c"));
  const Json missing{{"resource", "pods"}, {"name", "missing"}, {"uid", "missing-uid"}};
  allocate("c", allocation("n0", {"gpu-0"}, now()), Json::array({missing, foreign_consumer()}));
  EXPECT_TRUE(soon([&] { return consumers("c") == Names{"guard"}; }));
  pass(30s);
  EXPECT_TRUE(allocated("c"));
}

TEST_F(Experiment, E27_ADeletedGeneratedClaimIsMadeAgain) {
  begin();
  api().create(pod("p", {from_template("gpu", "one-gpu")}, {.gates = {"ext/hold"}}));
  ASSERT_TRUE(soon([&] { return !generated("p").empty(); }));
  const std::string uid = get_claim(generated("p"))->metadata.uid;
  api().remove(Api::path("ResourceClaim", generated("p")));
  EXPECT_TRUE(soon([&] { return get_claim(generated("p")) && get_claim(generated("p"))->metadata.uid != uid; }));
}

TEST_F(Experiment, E28b_LongNamesWithADotAtTheCutGetTheirClaim) {
  begin();
  for (size_t length = 36; length <= 44; ++length) {
    const std::string name = std::string(length, 'a') + "." + std::string(66 - length, 'b');
    api().create(pod(name, {from_template("an-entry-with-29-characters-x", "one-gpu")}, {.gates = {"ext/hold"}}));
    EXPECT_TRUE(soon([&] { return !generated(name, "an-entry-with-29-characters-x").empty(); })) << name;
  }
}

TEST_F(Experiment, E29_AForeignClaimWithoutTimestampBesideOursCostsNoReservation) {
  begin();
  api().create(claim("a"));
  api().create(claim("b"));
  allocate("b", allocation("n1", {"gpu-0"}, ""));
  api().create(pod("p", {from_claim("one", "a"), from_claim("two", "b")}));
  ASSERT_TRUE(soon([&] { return bound("p"); }));
  EXPECT_EQ(node_of("p"), "n1") << "narrowed to where the other claim can be";
  EXPECT_EQ(consumers("a"), Names{"p"});
  EXPECT_EQ(consumers("b"), Names{"p"});
  EXPECT_EQ(scheduler().stats().failures, 0u) << scheduler().stats().last_failure;
}

TEST_F(Experiment, E30_UngatedPodsAreTheSchedulers) {
  begin();
  api().create(claim("c"));
  api().create(pod("p", {from_claim("gpu", "c")}, ungated()));
  ASSERT_TRUE(soon([&] { return bound("p"); }));
  EXPECT_EQ(scheduler().stats().allocations, 1u);
  EXPECT_EQ(writes("allocation/allocate"), 0u);
  const Json refusal = status_patch("c", {{"allocation", allocation("n1", {"gpu-3"}, now())}});
  EXPECT_EQ(refusal.value("code", 0), 422);
  EXPECT_NE(refusal.value("message", "").find("field is immutable"), std::string::npos);
}

TEST_F(Experiment, E31_NoFlappingStatusAfterAClaimOfThreeWasDeleted) {
  begin();
  api().create(pod("p", {from_template("a", "one-gpu"), from_template("b", "one-gpu"), from_template("c", "one-gpu")},
                   {.gates = {"ext/hold"}}));
  ASSERT_TRUE(soon([&] { return !generated("p", "c").empty(); }));
  api().remove(Api::path("ResourceClaim", generated("p", "b")));
  pass(2s);
  const uint64_t before = revision(Api::path("Pod", "p"));
  pass(12s);
  EXPECT_EQ(revision(Api::path("Pod", "p")), before) << "upstream: 250 updates";
}

TEST_F(Experiment, E32_AFinishedPodDoesNotOscillateInReservedFor) {
  begin();
  api().create(claim("c"));
  api().create(pod("live", {from_claim("gpu", "c")}));
  ASSERT_TRUE(soon([&] { return bound("live"); }));
  api().create(pod("dead", {from_claim("gpu", "c")}, ungated(node_of("live"))));
  ASSERT_TRUE(soon([&] { return consumers("c").size() == 2; }));
  finish_pod("dead");
  ASSERT_TRUE(soon([&] { return consumers("c") == Names{"live"}; }));
  const uint64_t before = revision(Api::path("ResourceClaim", "c"));
  pass(10s);
  EXPECT_EQ(revision(Api::path("ResourceClaim", "c")), before) << "upstream: 210 updates";
}

TEST_F(Experiment, E33_AFinishedPodIsNeverReservedAndWipesNothing) {
  begin();
  api().create(claim("c"));
  api().create(pod("dead", {from_claim("gpu", "c")}, ungated("n0")));
  finish_pod("dead");
  pass(1s);
  allocate("c", allocation("n0", {"gpu-0"}, now()));
  const uint64_t before = revision(Api::path("ResourceClaim", "c"));
  pass(10s);
  EXPECT_TRUE(allocated("c"));
  EXPECT_EQ(revision(Api::path("ResourceClaim", "c")), before);
}

TEST_F(Experiment, E34_OurAllocationOfAClaimOfADeadPodSurvives) {
  begin();
  api().create(claim("c"));
  api().create(pod("dead", {from_claim("gpu", "c")}, ungated("n0")));
  finish_pod("dead");
  pass(1s);
  api().create(pod("live", {from_claim("gpu", "c")}));
  ASSERT_TRUE(soon([&] { return bound("live"); }));
  const uint64_t before = revision(Api::path("ResourceClaim", "c"));
  pass(10s);
  EXPECT_EQ(consumers("c"), Names{"live"});
  EXPECT_EQ(revision(Api::path("ResourceClaim", "c")), before);
}

TEST_F(Experiment, E35_AMissingClaimDoesNotHoldUpTheOthers) {
  begin();
  api().create(claim("there"));
  allocate("there", allocation("n0", {"gpu-0"}, now()));
  api().create(pod("p", {from_claim("one", "missing"), from_claim("two", "there")}, ungated("n0")));
  EXPECT_TRUE(soon([&] { return consumers("there") == Names{"p"}; }));
}

}  // namespace dra::integration::experiments_test
