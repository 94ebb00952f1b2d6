// How the manager handles servers that serve other versions of resource.k8s.io, or none, and a rival that makes claims
// from templates.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "pkg/base/timestamp.h"
#include "test/integration/cluster.h"

namespace dra::integration::discovery_test {

using namespace std::chrono_literals;

const std::vector<std::string> kVersions = {"v1", "v1beta2", "v1beta1"};

// Only a server, which serves exactly one version of the API, or none.
struct Bare {
  explicit Bare(const std::string& served) : plane(options(served)), api(plane, plane.transport()), version(served) {}

  static SimOptions options(const std::string& served) {
    SimOptions chosen;
    chosen.withdrawn_versions.push_back("resource.k8s.io/v1alpha3");  // has only DeviceTaintRules
    for (const std::string& known : kVersions)
      if (known != served) chosen.withdrawn_versions.push_back("resource.k8s.io/" + known);
    return chosen;
  }

  Process& start() {
    ProcessOptions chosen;
    chosen.manager = Cluster::manager_options();
    process = std::make_unique<Process>(plane.reactor(), plane.transport(), std::move(chosen));
    process->start();
    return *process;
  }

  void post(const std::string& collection, Json object) {
    const bool core = object.at("kind") == "Node" || object.at("kind") == "Pod";
    object["apiVersion"] = core ? "v1" : "resource.k8s.io/" + version;
    const std::string root = core ? "/api/v1/" : "/apis/resource.k8s.io/" + version + "/";
    const Answer made = api.call("POST", root + collection, object.dump());
    ASSERT_EQ(made.status, 201) << made.body;
  }

  // In v1beta1 a request has no `exactly`, and a device has its attributes under `basic`.
  void add_world() {
    post("nodes", node("n0"));
    post("deviceclasses", device_class());
    Json one_slice = slice("n0", 1);
    if (version == "v1beta1")
      for (Json& device : one_slice["spec"]["devices"])
        device = {{"name", device["name"]}, {"basic", {{"attributes", device.value("attributes", Json::object())}}}};
    post("resourceslices", one_slice);
    Json one_claim = claim("c");
    if (version == "v1beta1") {
      Json& request = one_claim["spec"]["devices"]["requests"][0];
      Json flat = request["exactly"];
      flat["name"] = request["name"];
      request = flat;
    }
    post("namespaces/default/resourceclaims", one_claim);
    post("namespaces/default/pods", pod("p", {from_claim("gpu", "c")}));
  }

  SimControlPlane plane;
  Api api;
  std::string version;
  std::unique_ptr<Process> process;
};

class Versions : public ::testing::TestWithParam<const char*> {};

TEST_P(Versions, WhateverIsServedIsSpoken) {
  Bare world(GetParam());
  world.add_world();
  Process& process = world.start();
  world.plane.pass(10s);
  EXPECT_TRUE(process.manager().ready());
  const Json claim = world.api.get("/apis/resource.k8s.io/" + world.version + "/namespaces/default/resourceclaims/c");
  EXPECT_EQ(claim["status"]["allocation"]["devices"]["results"].size(), 1u) << claim;
  const Json lifted = world.api.get("/api/v1/namespaces/default/pods/p");
  EXPECT_FALSE(lifted["spec"].contains("schedulingGates")) << lifted;
}

INSTANTIATE_TEST_SUITE_P(All, Versions, ::testing::Values("v1", "v1beta2", "v1beta1"),
                         [](const auto& version) { return version.param; });

TEST(Discovery, WithoutTheApiItWaitsAndSaysWhy) {
  Bare world("none");
  Process& process = world.start();
  world.plane.pass(10min);
  EXPECT_FALSE(process.manager().ready());
  const auto checks = process.manager().checks();
  ASSERT_EQ(checks.size(), 1u);
  EXPECT_EQ(checks[0].name, "api-discovery");
  EXPECT_NE(checks[0].message.find("does not serve resource.k8s.io"), std::string::npos) << checks[0].message;
}

// A server that serves PodGroups as a later release would: in another version of scheduling.k8s.io only.
class LaterGroups : public client::Transport {
 public:
  explicit LaterGroups(client::Transport& server) : server_(server) {}

  Handle send(client::Request request, Done done) override {
    if (translate(request.target, "/v1beta1", "/v1alpha2", request.target)) asked_for_it = true;
    return server_.send(std::move(request), [done = std::move(done)](Result<client::Response> answer) {
      if (answer) translate(answer->body, "v1alpha2", "v1beta1", answer->body);
      done(std::move(answer));
    });
  }
  Handle stream(client::Request request, client::StreamCallbacks callbacks) override {
    translate(request.target, "/v1beta1", "/v1alpha2", request.target);
    return server_.stream(std::move(request), std::move(callbacks));
  }
  bool asked_for_it = false;

 private:
  // In texts about scheduling.k8s.io alone.
  static bool translate(const std::string& text, const std::string& from, const std::string& to, std::string& out) {
    std::string made = text;
    bool any = false;
    if (text.find("scheduling.k8s.io/v1") != std::string::npos)
      for (size_t at = made.find(from); at != std::string::npos; at = made.find(from, at + to.size())) {
        made.replace(at, from.size(), to);
        any = true;
      }
    out = std::move(made);
    return any;
  }
  client::Transport& server_;
};

TEST(Discovery, PodGroupsOfALaterVersionAreFound) {
  SimOptions chosen;
  chosen.pod_groups = true;
  SimControlPlane plane(chosen);
  Api api(plane, plane.transport());
  LaterGroups later(plane.transport());
  api.create(node("n0"));
  api.create(device_class());
  api.create(slice("n0", 2));
  api.create(claim_template("one-gpu"));
  const auto add_member = [&](const std::string& name) {
    Json member = pod(name, {from_template("gpu", "one-gpu")});
    member["spec"]["schedulingGroup"] = {{"podGroupName", "g"}};
    api.create(member);
  };
  const Answer made = api.call("POST", "/apis/scheduling.k8s.io/v1alpha2/namespaces/default/podgroups",
                               Json{{"apiVersion", "scheduling.k8s.io/v1alpha2"},
                                    {"kind", "PodGroup"},
                                    {"metadata", {{"name", "g"}}},
                                    {"spec", {{"schedulingPolicy", {{"gang", {{"minCount", 2}}}}}}}}
                                   .dump());
  ASSERT_EQ(made.status, 201) << made.body;
  ProcessOptions options;
  options.manager = Cluster::manager_options();
  Process process(plane.reactor(), later, std::move(options));
  process.start();
  const auto gated = [&](const std::string& name) {
    return api.get("/api/v1/namespaces/default/pods/" + name)["spec"].contains("schedulingGates");
  };
  add_member("a");
  plane.pass(20s);
  EXPECT_TRUE(later.asked_for_it);
  EXPECT_TRUE(gated("a")) << "alone it waits for the other member";
  add_member("b");
  plane.pass(20s);
  EXPECT_FALSE(gated("a"));
  EXPECT_FALSE(gated("b"));
}

// --claim-templates=own beside kube-controller-manager, on an empty cluster.
class OwnModeBeside : public ::testing::Test {
 protected:
  void begin(bool its_claim_controller_is_on) {
    ClusterOptions options;
    options.embedded = true;
    options.components.claim_controller = its_claim_controller_is_on;
    options.components.scheduler_allocates = false;
    cluster = std::make_unique<Cluster>(options);
    lease("kube-controller-manager_1");
    cluster->api().create(claim_template("one-gpu"));
    ProcessOptions process;
    process.manager = Cluster::manager_options();
    process.manager.claim_controller_is_off = false;
    process.manager.lease = manager::ManagerOptions::LeaseRef{"kube-system", "dra-controller-manager"};
    manager = &cluster->start("m1", process);
  }
  // kube-controller-manager's lease, renewed now. Empty holder: released.
  void lease(const std::string& holder) {
    const std::string path = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-controller-manager";
    Json made{{"apiVersion", "coordination.k8s.io/v1"},
              {"kind", "Lease"},
              {"metadata", {{"name", "kube-controller-manager"}, {"namespace", "kube-system"}}},
              {"spec",
               {{"holderIdentity", holder},
                {"leaseDurationSeconds", 15},
                {"renewTime", format_rfc3339_micro(cluster->plane().reactor().clock().wall_now())}}}};
    if (std::exchange(leased, true))
      cluster->api().merge(path, {{"spec", made["spec"]}});
    else
      cluster->api().create(made);
  }
  void pass(Duration time) {
    for (; time > Duration::zero(); time -= 5s) {
      lease("kube-controller-manager_1");
      cluster->pass(5s);
    }
  }
  size_t events(const std::string& reason) {
    size_t count = 0;
    for (const Json& event : cluster->api().list("Event"))
      if (event["reason"] == reason && event["regarding"]["kind"] == "Lease") ++count;
    return count;
  }
  std::string claim_check() {
    for (const manager::HealthCheck& check : manager->manager().checks())
      if (check.name == "claim-templates") return check.ok ? "ok" : check.message;
    return "none";
  }

  std::unique_ptr<Cluster> cluster;
  Process* manager = nullptr;
  bool leased = false;
};

TEST_F(OwnModeBeside, ARunningClaimControllerMakesNothingAndIsNotReady) {
  begin(true);
  pass(30s);
  EXPECT_NE(claim_check().find("resourceclaim-controller may be on"), std::string::npos) << claim_check();
  EXPECT_FALSE(manager->manager().ready());
  EXPECT_EQ(events("ClaimTemplatesDisputed"), 1u);
  for (int i = 0; i < 5; ++i) cluster->api().create(pod("p" + std::to_string(i), {from_template("gpu", "one-gpu")}));
  pass(2min);
  EXPECT_EQ(cluster->api().list("ResourceClaim").size(), 5u) << "one for each, by the other";
  EXPECT_EQ(cluster->watchdog().bound_pods(), 5u) << "what is not disputed goes on";
  EXPECT_FALSE(manager->manager().ready());
}

TEST_F(OwnModeBeside, APodThatWaitsShowsThatTheClaimControllerIsOff) {
  begin(false);
  pass(30s);
  EXPECT_FALSE(manager->manager().ready());
  // Not evidence: no controller can create a claim from a template that does not exist.
  cluster->api().create(pod("forged", {from_template("gpu", "no-such-template")}));
  pass(1min);
  EXPECT_FALSE(manager->manager().ready());
  cluster->api().create(pod("p", {from_template("gpu", "one-gpu")}));
  pass(30s);
  EXPECT_TRUE(manager->manager().ready()) << claim_check();
  EXPECT_EQ(events("ClaimTemplatesSettled"), 1u);
  EXPECT_EQ(cluster->watchdog().bound_pods(), 1u);
}

TEST_F(OwnModeBeside, AReleasedLeaseSettlesItAndANewOneDisputesItAgain) {
  begin(false);
  pass(30s);
  EXPECT_FALSE(manager->manager().ready());
  lease("");
  cluster->pass(20s);
  EXPECT_TRUE(manager->manager().ready()) << claim_check();
  pass(20s);
  EXPECT_FALSE(manager->manager().ready());
}

// Any user who may create claims can fake a rival's claims: they are not evidence.
TEST_F(OwnModeBeside, ForgedClaimsChangeNothing) {
  ClusterOptions options;
  options.embedded = true;
  options.components.scheduler_allocates = false;
  cluster = std::make_unique<Cluster>(options);
  cluster->api().create(claim_template("one-gpu"));
  const Json owner = cluster->api().create(pod("owner", {from_template("gpu", "one-gpu")}));
  Json forged = claim("owner-gpu-abcde");
  forged["metadata"]["annotations"] = {{"resource.kubernetes.io/pod-claim-name", "gpu"}};
  forged["metadata"]["ownerReferences"] = Json::array({{{"apiVersion", "v1"},
                                                        {"kind", "Pod"},
                                                        {"name", "owner"},
                                                        {"uid", owner["metadata"]["uid"]},
                                                        {"controller", true}}});
  cluster->api().create(forged);
  ProcessOptions process;
  process.manager = Cluster::manager_options();
  process.manager.claim_controller_is_off = false;
  manager = &cluster->start("m1", process);
  cluster->api().create(pod("p", {from_template("gpu", "one-gpu")}));
  cluster->pass(10s);
  EXPECT_TRUE(manager->manager().ready()) << claim_check();
  EXPECT_EQ(cluster->watchdog().bound_pods(), 2u);
}

}  // namespace dra::integration::discovery_test
