// What the manager makes of servers that serve other versions of resource.k8s.io, or none, and of a rival that makes
// claims from templates.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "test/integration/cluster.h"

namespace dra::integration::discovery_test {

using namespace std::chrono_literals;

const std::vector<std::string> kVersions = {"v1", "v1beta2", "v1beta1"};

// A server alone, which serves exactly one version of the API, or none.
struct Bare {
  explicit Bare(const std::string& served) : plane(options(served)), api(plane, plane.transport()), version(served) {}

  static SimOptions options(const std::string& served) {
    SimOptions chosen;
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

  // In v1beta1 a request has no `exactly` and a device keeps its attributes under `basic`.
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
  EXPECT_EQ(process.fatal(), "");
  EXPECT_FALSE(process.manager().ready());
  const auto checks = process.manager().checks();
  ASSERT_EQ(checks.size(), 1u);
  EXPECT_EQ(checks[0].name, "api-discovery");
  EXPECT_NE(checks[0].message.find("does not serve resource.k8s.io"), std::string::npos) << checks[0].message;
}

TEST(Discovery, OwnModeRefusesBesideARivalAndNamesTheClaim) {
  ClusterOptions options;
  options.components.claim_controller = true;
  Cluster cluster(options);
  cluster.api().create(claim_template("one-gpu"));
  cluster.api().create(pod("p", {from_template("gpu", "one-gpu")}));
  cluster.pass(5s);
  const auto claims = cluster.api().list("ResourceClaim");
  ASSERT_EQ(claims.size(), 1u);
  const std::string name = claims[0]["metadata"]["name"];
  Process& process = cluster.start();
  cluster.pass(5s);
  EXPECT_NE(process.fatal().find("\"default/" + name + "\""), std::string::npos) << process.fatal();
  EXPECT_NE(process.fatal().find("-resourceclaim-controller"), std::string::npos) << process.fatal();
  EXPECT_FALSE(cluster.api().list("ResourceClaim")[0].value("status", Json::object()).contains("allocation"));
}

}  // namespace dra::integration::discovery_test
