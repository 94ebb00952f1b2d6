// The situations of upstream's unit tests of its resourceclaim controller, against a whole control plane
// (docs/experiments.md lists those that do not apply).
#include "test/integration/world.h"

namespace dra::integration::situations_test {

using namespace std::chrono_literals;
using Names = std::vector<std::string>;

class Situation : public World {
 protected:
  // A pod that waits for another gate: its claims are created, and nothing is allocated.
  void held(const std::string& name, const std::vector<Entry>& entries) {
    api().create(pod(name, entries, {.gates = {"ext/hold"}}));
  }
  // A bound pod that uses a handmade claim allocated by others.
  Json user_of(const std::string& name, const std::string& claim) {
    PodOptions options;
    options.gated = false;
    options.node = "n0";
    return api().create(pod(name, {from_claim("gpu", claim)}, options));
  }
  // The equivalent of our generated claim for a pod's entry, made by another controller.
  Json made_by_others(const Json& owner, const std::string& entry, const std::string& name) {
    Json object = claim(name);
    object["metadata"]["annotations"] = {{"resource.kubernetes.io/pod-claim-name", entry}};
    object["metadata"]["ownerReferences"] = {{{"apiVersion", "v1"},
                                              {"kind", "Pod"},
                                              {"name", owner["metadata"]["name"]},
                                              {"uid", owner["metadata"]["uid"]},
                                              {"controller", true}}};
    return object;
  }
  bool cleared(const std::string& name) {
    const auto known = get_claim(name);
    return known && !known->status.allocation && known->status.reserved_for.empty() &&
           known->metadata.finalizers.empty();
  }
};

TEST_F(Situation, Create) {
  begin();
  held("p", {from_template("gpu", "one-gpu")});
  ASSERT_TRUE(soon([&] { return !generated("p").empty(); }));
  EXPECT_EQ(cluster().watchdog().claims(), 1u);
}

TEST_F(Situation, CreateWithAdmin) {
  begin();
  api().merge(Api::path("Namespace", "default"),
              {{"metadata", {{"labels", {{"resource.kubernetes.io/admin-access", "true"}}}}}});
  Json admin = claim_template("admin");
  admin["spec"]["spec"]["devices"]["requests"][0]["exactly"]["adminAccess"] = true;
  api().create(admin);
  held("p", {from_template("gpu", "admin")});
  ASSERT_TRUE(soon([&] { return !generated("p").empty(); }));
  const Json made = api().get(Api::path("ResourceClaim", generated("p")));
  EXPECT_EQ(made["spec"]["devices"]["requests"][0]["exactly"]["adminAccess"], true);
}

TEST_F(Situation, Nop) {
  begin();
  held("p", {from_template("gpu", "one-gpu")});
  ASSERT_TRUE(soon([&] { return !generated("p").empty(); }));
  pass(1s);
  const auto before = manager().guard().seen();
  api().merge(Api::path("Pod", "p"), {{"metadata", {{"labels", {{"a", "b"}}}}}});
  pass(30s);
  EXPECT_EQ(manager().guard().seen(), before);
}

TEST_F(Situation, Recreate) {
  begin(Claims::kOwn, /*manager=*/false);
  held("p", {from_template("gpu", "one-gpu")});
  api().merge(Api::path("Pod", "p") + "/status",
              {{"status", {{"resourceClaimStatuses", {{{"name", "gpu"}, {"resourceClaimName", "gone"}}}}}}});
  start_manager();
  EXPECT_TRUE(soon([&] { return get_claim(generated("p")) != nullptr; }));
}

TEST_F(Situation, MissingTemplate) {
  begin();
  held("p", {from_template("gpu", "later")});
  EXPECT_TRUE(soon([&] { return reasons().contains("FailedResourceClaimCreation"); }));
  const auto before = manager().guard().seen();
  pass(5min);
  EXPECT_EQ(manager().guard().seen(), before) << "reported once, and waited for without a timer";
  api().create(claim_template("later"));
  EXPECT_TRUE(soon([&] { return !generated("p").empty(); }));
}

TEST_F(Situation, FindExistingClaimByLabel) {
  begin(Claims::kOwn, /*manager=*/false);
  held("p", {from_template("gpu", "one-gpu")});
  api().create(made_by_others(api().get(Api::path("Pod", "p")), "gpu", "p-gpu-abcde"));
  start_manager();
  EXPECT_TRUE(soon([&] { return generated("p") == "p-gpu-abcde"; }));
  EXPECT_EQ(cluster().watchdog().claims(), 1u);
}

TEST_F(Situation, FindCreatedClaimInCache) {
  begin(Claims::kOwn, /*manager=*/false);
  start_manager();
  // The publication is refused once while the watch of claims is stopped: the claim is known only from the answer.
  int refusals = 1;
  manager().network().set_plan([&](const client::Request& request, bool) {
    client::Fault fault;
    if (request.method != "PATCH" || request.target.find("/pods/p/status") == std::string::npos || refusals == 0)
      return fault;
    --refusals;
    fault.kind = client::Fault::Kind::kAnswer;
    fault.answer.status = 500;
    return fault;
  });
  held("p", {from_template("gpu", "one-gpu")});
  EXPECT_TRUE(soon([&] { return !generated("p").empty(); }));
  EXPECT_EQ(writes("claimtemplate/create-claim"), 1u);
  EXPECT_EQ(writes("claimtemplate/publish-claim-names"), 2u);
}

TEST_F(Situation, PodDeleted) {
  begin(Claims::kOwn, /*manager=*/false);
  Json deleted = pod("p", {from_template("gpu", "one-gpu")}, {.gates = {"ext/hold"}});
  deleted["metadata"]["finalizers"] = {"ops.example.com/wait"};
  api().create(deleted);
  api().remove(Api::path("Pod", "p"));
  start_manager();
  pass(5s);
  EXPECT_EQ(cluster().watchdog().claims(), 0u);
}

TEST_F(Situation, NoVolumes) {
  begin();
  held("p", {});
  api().create(pod("q", {}));
  EXPECT_TRUE(soon([&] { return bound("q"); })) << "our gate on a pod without claims has nothing to wait for";
  EXPECT_EQ(cluster().watchdog().claims(), 0u);
}

TEST_F(Situation, CreateWithOtherClaim) {
  begin();
  api().create(claim("unrelated"));
  held("p", {from_template("gpu", "one-gpu")});
  ASSERT_TRUE(soon([&] { return !generated("p").empty(); }));
  EXPECT_EQ(cluster().watchdog().claims(), 2u);
  EXPECT_NE(generated("p"), "unrelated");
}

TEST_F(Situation, WrongClaimOwner) {
  begin();
  held("other", {});
  const Json other = api().get(Api::path("Pod", "other"));
  api().create(pod("p", {from_template("gpu", "later")}, {.gates = {"ext/hold"}}));
  const auto name = "p-gpu-owned";
  pass(1s);
  api().create(made_by_others(other, "gpu", name));
  pass(5s);
  EXPECT_EQ(generated("p"), "") << "another pod's claim is not adopted";
}

TEST_F(Situation, CreateConflict) {
  begin(Claims::kOwn, /*manager=*/false);
  start_manager();
  int refusals = 3;
  manager().network().set_plan([&](const client::Request& request, bool) {
    client::Fault fault;
    if (request.method != "POST" || request.target.find("/resourceclaims") == std::string::npos || refusals == 0)
      return fault;
    --refusals;
    fault.kind = client::Fault::Kind::kAnswer;
    fault.answer.status = 409;
    fault.answer.body = R"({"kind":"Status","status":"Failure","reason":"Conflict","code":409})";
    return fault;
  });
  held("p", {from_template("gpu", "one-gpu")});
  EXPECT_TRUE(soon([&] { return !generated("p").empty(); }));
  EXPECT_EQ(cluster().watchdog().claims(), 1u);
}

TEST_F(Situation, StayReservedSeen) {
  begin();
  api().create(claim("c"));
  api().create(pod("p", {from_claim("gpu", "c")}));
  ASSERT_TRUE(soon([&] { return bound("p"); }));
  api().merge(Api::path("ResourceClaim", "c"), {{"metadata", {{"labels", {{"a", "b"}}}}}});
  pass(10s);
  EXPECT_EQ(consumers("c"), Names{"p"});
}

TEST_F(Situation, StayReservedNotSeen) {
  begin(Claims::kOwn, /*manager=*/false);
  start_manager();
  manager().network().set_plan([](const client::Request& request, bool streamed) {
    client::Fault fault;
    if (streamed && request.target.find("/pods?") != std::string::npos) fault.delay_answer = 20s;
    return fault;
  });
  manager().network().cut_all_streams();
  pass(25s);
  api().create(claim("c"));
  const Json made = user_of("p", "c");
  allocate("c", allocation("n0", {"gpu-0"}, now()), Json::array({pod_reference(made)}));
  pass(15s);
  EXPECT_EQ(consumers("c"), Names{"p"}) << "the server was asked";
}

TEST_F(Situation, ClearReservedStructured) {
  begin();
  api().create(claim("c"));
  api().create(pod("p", {from_claim("gpu", "c")}));
  ASSERT_TRUE(soon([&] { return bound("p"); }));
  api().remove(Api::path("Pod", "p"));
  EXPECT_TRUE(soon([&] { return cleared("c"); }));
}

TEST_F(Situation, DontClearReservedStructured) {
  begin();
  api().create(claim("c"));
  api().create(pod("p", {from_claim("gpu", "c")}));
  ASSERT_TRUE(soon([&] { return bound("p"); }));
  api().create(pod("q", {from_claim("gpu", "c")}));
  ASSERT_TRUE(soon([&] { return bound("q"); }));
  api().remove(Api::path("Pod", "p"));
  ASSERT_TRUE(soon([&] { return consumers("c") == Names{"q"}; }));
  pass(10s);
  EXPECT_TRUE(allocated("c"));
  EXPECT_TRUE(get_claim("c")->metadata.has_finalizer(api::kDeleteProtectionFinalizer));
}

TEST_F(Situation, ClearReservedStructuredDeleted) {
  begin();
  api().create(claim("c"));
  api().create(pod("p", {from_claim("gpu", "c")}));
  ASSERT_TRUE(soon([&] { return bound("p"); }));
  api().remove(Api::path("ResourceClaim", "c"));
  pass(5s);
  EXPECT_TRUE(allocated("c")) << "in use, whatever its deletionTimestamp";
  api().remove(Api::path("Pod", "p"));
  EXPECT_TRUE(soon([&] { return !get_claim("c"); }));
}

TEST_F(Situation, StructuredDeleted) {
  begin();
  api().create(claim("c"));
  allocate("c", allocation("n0", {"gpu-0"}, now()));
  api().remove(Api::path("ResourceClaim", "c"));
  EXPECT_TRUE(soon([&] { return !get_claim("c"); }));
}

TEST_F(Situation, ClearReservedWhenDone) {
  begin();
  api().create(claim("c"));
  const Json made = user_of("p", "c");
  allocate("c", allocation("n0", {"gpu-0"}, now()), Json::array({pod_reference(made)}), /*finalizer=*/false);
  pass(1s);
  finish_pod("p");
  EXPECT_TRUE(soon([&] { return consumers("c").empty(); }));
  pass(5s);
  EXPECT_TRUE(get_claim("c")->status.allocation) << "it is its author's to remove";
}

TEST_F(Situation, RemoveReserved) {
  begin();
  api().create(claim("c"));
  const Json made = user_of("p", "c");
  const Json replaced{{"resource", "pods"}, {"name", "p"}, {"uid", "an-older-uid"}};
  allocate("c", allocation("n0", {"gpu-0"}, now()), Json::array({replaced, pod_reference(made)}));
  EXPECT_TRUE(soon([&] { return consumers("c").size() == 1; }));
  EXPECT_EQ(get_claim("c")->status.reserved_for.front().uid, made["metadata"]["uid"]);
}

TEST_F(Situation, DeleteClaimWhenDone) {
  begin();
  PodOptions job;
  job.restart_policy = "Never";
  api().create(pod("p", {from_template("gpu", "one-gpu")}, job));
  ASSERT_TRUE(soon([&] { return get_pod("p") && get_pod("p")->terminal(); }));
  EXPECT_TRUE(soon([&] { return cluster().watchdog().claims() == 0; })) << "although the pod object stays";
  EXPECT_TRUE(get_pod("p"));
}

TEST_F(Situation, AddReserved) {
  begin();
  api().create(claim("c"));
  user_of("p", "c");
  allocate("c", allocation("n0", {"gpu-0"}, now()));
  EXPECT_TRUE(soon([&] { return consumers("c") == Names{"p"}; }));
}

TEST_F(Situation, CleanUpPodReservationWithNonPodReservationPresent) {
  begin();
  api().create(claim("c"));
  const Json made = user_of("p", "c");
  const Json foreign{{"apiGroup", "foo.com"}, {"resource", "bars"}, {"name", "bar"}, {"uid", "bar-uid"}};
  allocate("c", allocation("n0", {"gpu-0"}, now()), Json::array({pod_reference(made), foreign}));
  pass(1s);
  finish_pod("p");
  EXPECT_TRUE(soon([&] { return consumers("c") == Names{"bar"}; }));
  pass(10s);
  EXPECT_TRUE(allocated("c"));
}

TEST_F(Situation, TemplateEvents) {
  begin();
  held("p", {from_template("gpu", "later")});
  held("q", {from_template("gpu", "never")});
  pass(2s);
  api().create(claim_template("later"));
  EXPECT_TRUE(soon([&] { return !generated("p").empty(); }));
  EXPECT_EQ(generated("q"), "");
  api().remove(Api::path("ResourceClaimTemplate", "later"));
  pass(5s);
  EXPECT_TRUE(get_claim(generated("p"))) << "a deleted template takes nothing back";
}

TEST_F(Situation, ExtendedResourceClaimOfAFinishedPod) {
  begin();
  PodOptions options;
  options.gated = false;
  options.node = "n0";
  Json wanting = pod("p", {}, options);
  wanting["spec"]["containers"][0]["resources"] = {{"requests", {{"example.com/gpu", "1"}}},
                                                   {"limits", {{"example.com/gpu", "1"}}}};
  const Json owner = api().create(wanting);
  Json extended = made_by_others(owner, "", "p-extended-resources-abcde");
  extended["metadata"]["annotations"] = {{"resource.kubernetes.io/extended-resource-claim", "true"}};
  api().create(extended);
  allocate("p-extended-resources-abcde", allocation("n0", {"gpu-0"}, now()), Json::array({pod_reference(owner)}));
  api().merge(Api::path("Pod", "p") + "/status",
              {{"status",
                {{"extendedResourceClaimStatus",
                  {{"resourceClaimName", "p-extended-resources-abcde"},
                   {"requestMappings",
                    {{{"containerName", "main"}, {"resourceName", "example.com/gpu"}, {"requestName", "gpu"}}}}}}}}});
  pass(2s);
  EXPECT_TRUE(allocated("p-extended-resources-abcde"));
  finish_pod("p");
  EXPECT_TRUE(soon([&] { return cluster().watchdog().claims() == 0; }));
}

// Some drivers publish each node's devices under one pool name, with a generation of its own: the slices of a node are
// its pool. A device is still driver, pool and name: while gpu-0 of one node is held, gpu-0 of the other is not free.
TEST_F(Situation, OnePoolNameOnTwoNodes) {
  begin();
  api().create({{"apiVersion", "resource.k8s.io/v1"},
                {"kind", "DeviceClass"},
                {"metadata", {{"name", "net"}}},
                {"spec", {{"selectors", {{{"cel", {{"expression", "device.driver == \"net.test\""}}}}}}}}});
  for (const int node : {0, 1}) {
    Json published = slice(node_name(static_cast<size_t>(node)), 1);
    published["metadata"]["name"] = "net-" + std::to_string(node);
    published["spec"]["driver"] = "net.test";
    published["spec"]["pool"] = {{"name", "blue"}, {"generation", 1 + 2 * node}, {"resourceSliceCount", 1}};
    api().create(published);
  }
  api().create(claim_template("net", "net"));
  api().create(pod("first", {from_template("gpu", "net")}));
  ASSERT_TRUE(soon([&] { return bound("first"); }));
  api().create(pod("second", {from_template("gpu", "net")}));
  EXPECT_TRUE(never([&] { return bound("second"); }, 20s));
  api().remove(Api::path("Pod", "first"));
  EXPECT_TRUE(soon([&] { return bound("second"); }));
  EXPECT_EQ(cluster().verdict(), "");
}

}  // namespace dra::integration::situations_test
