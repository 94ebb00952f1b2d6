// Pods whose devices cannot be prepared (--recover-failed-prepares=on), and nodes whose kubelet is gone, on a whole
// control plane with a kubelet of the test's own: one that fails on some devices, and says so by events as kubelet
// does.
#include <nlohmann/json.hpp>

#include "test/integration/world.h"

namespace dra::integration::recovery_test {

using namespace std::chrono_literals;

// What kubelet tries again about every ten seconds.
constexpr Duration kAttempt = 10s;

class Recovered : public World {
 protected:
  void begin_recovering(const std::string& label = "true", const std::string& ns = "default") {
    kubelets_ = false;
    nodes_ = 1;
    begin(Claims::kOwn, /*manager=*/false);
    api().merge(Api::path("Namespace", ns), {{"metadata", {{"labels", {{"dra-controller-manager/recover", label}}}}}});
    start_manager([](manager::ManagerOptions& options) { options.settings.flags["recover-failed-prepares"] = "on"; });
    owner_ = api().create({{"apiVersion", "apps/v1"},
                           {"kind", "ReplicaSet"},
                           {"metadata", {{"name", "set"}, {"namespace", "default"}}},
                           {"spec",
                            {{"replicas", 0},
                             {"selector", {{"matchLabels", {{"app", "set"}}}}},
                             {"template",
                              {{"metadata", {{"labels", {{"app", "set"}}}}},
                               {"spec", {{"containers", {{{"name", "c"}, {"image", "i"}}}}}}}}}}});
  }
  Json owned(const std::string& name, const Entry& entry = from_template("gpu", "one-gpu")) {
    Json made = pod(name, {entry});
    made["metadata"]["ownerReferences"] = {{{"apiVersion", "apps/v1"},
                                            {"kind", "ReplicaSet"},
                                            {"name", "set"},
                                            {"uid", owner_["metadata"]["uid"]},
                                            {"controller", true}}};
    return api().create(made);
  }
  // "gpu-0", "" without an allocation.
  std::string device_of(const std::string& claim) {
    const auto known = get_claim(claim);
    return known && known->status.allocation ? known->status.allocation->results.at(0).device : "";
  }
  // One round of kubelet: pods of broken devices stay, with an event; the others run; deleted ones go.
  void kubelet() {
    for (const Json& one : api().list("Pod")) {
      const std::string name = one["metadata"]["name"];
      if (one["metadata"].contains("deletionTimestamp")) {
        api().call("DELETE", Api::path("Pod", name), R"({"gracePeriodSeconds":0})");
        continue;
      }
      if (one["spec"].value("nodeName", "").empty() || one["status"].value("phase", "") != "Pending") continue;
      const std::string device = device_of(claim_of(one));
      if (device.empty()) continue;
      if (!broken_.contains(device))
        api().merge(Api::path("Pod", name) + "/status", {{"status", {{"phase", "Running"}}}});
      else
        say(one);
    }
  }
  std::string claim_of(const Json& one) {
    for (const Json& entry : one["spec"].value("resourceClaims", Json::array()))
      if (entry.contains("resourceClaimName")) return entry["resourceClaimName"];
    for (const Json& entry : one["status"].value("resourceClaimStatuses", Json::array()))
      return entry.value("resourceClaimName", "");
    return "";
  }
  // As kubelet does in the status of the pod.
  void say_unhealthy(const std::string& name, const std::string& device) {
    const Json health{{"resourceID", std::string(kDriver) + "/" + node_name(0) + "/" + device},
                      {"health", "Unhealthy"}};
    const Json of_claim{{"name", "claim:gpu"}, {"resources", {health}}};
    const Json container{{"name", "c"},
                         {"image", "i"},
                         {"imageID", ""},
                         {"restartCount", 0},
                         {"ready", false},
                         {"state", Json::object()},
                         {"lastState", Json::object()},
                         {"allocatedResourcesStatus", {of_claim}}};
    api().merge(Api::path("Pod", name) + "/status", {{"status", {{"containerStatuses", {container}}}}});
  }
  // A pod is evicted because of its device, which is in quarantine then; four others want the four devices.
  void begin_with_an_unhealthy_one() {
    begin_recovering();
    owned("a");
    ASSERT_TRUE(soon([&] { return bound("a"); }));
    say_unhealthy("a", device_of(generated("a")));
    ASSERT_TRUE(within(60s, [&] { return writes("recovery/recover") == 1; }));
    kubelet();
    for (const char* other : {"b", "c", "d", "e"}) api().create(pod(other, {from_template("gpu", "one-gpu")}));
  }
  // As kubelet does: one event, whose count grows.
  void say(const Json& one, int more = 1) {
    const std::string name = one["metadata"]["name"].get<std::string>() + ".prepare";
    const std::string path = "/api/v1/namespaces/default/events";
    const int count = counts_[one["metadata"]["uid"]] += more;
    const Json event{{"apiVersion", "v1"},
                     {"kind", "Event"},
                     {"metadata", {{"name", name}, {"namespace", "default"}}},
                     {"involvedObject",
                      {{"kind", "Pod"},
                       {"namespace", "default"},
                       {"name", one["metadata"]["name"]},
                       {"uid", one["metadata"]["uid"]}}},
                     {"reason", "FailedPrepareDynamicResources"},
                     {"message", "Failed to prepare dynamic resources: rpc error"},
                     {"type", "Warning"},
                     {"count", count},
                     {"source", {{"component", "kubelet"}}}};
    if (api().call("POST", path, event.dump()).status == 409)
      api().call("PATCH", path + "/" + name, Json{{"count", count}}.dump(), "application/merge-patch+json");
  }
  // Rounds of kubelet until it happens, at most so many.
  bool in_rounds(size_t most, const std::function<bool()>& done) {
    for (size_t i = 0; i < most; ++i) {
      kubelet();
      if (within(kAttempt, done)) return true;
    }
    return false;
  }
  bool is_running(const std::string& name) {
    const auto known = get_pod(name);
    return known && known->phase == "Running";
  }

  Json owner_;
  std::set<std::string> broken_;
  std::map<std::string, int> counts_;
};

TEST_F(Recovered, APodOfABrokenDeviceRunsOnAnother) {
  begin_recovering();
  owned("a");
  ASSERT_TRUE(soon([&] { return bound("a"); }));
  const std::string first = device_of(generated("a"));
  broken_ = {first};
  ASSERT_TRUE(in_rounds(3, [&] { return writes("recovery/recover") == 1; }));
  ASSERT_TRUE(in_rounds(1, [&] { return get_pod("a") == nullptr; }));
  owned("b");
  EXPECT_TRUE(within(20s, [&] { return bound("b"); })) << "with the 10 s of the last round: 30 s";
  EXPECT_NE(device_of(generated("b")), first);
  ASSERT_TRUE(in_rounds(1, [&] { return is_running("b"); }));
  EXPECT_TRUE(reasons().contains("PodRecovered"));
  EXPECT_EQ(cluster().verdict(), "");
  // The device is not taken from others: whoever else asks for all that is left gets it.
  for (const char* other : {"c", "d", "e"}) api().create(pod(other, {from_template("gpu", "one-gpu")}));
  EXPECT_TRUE(soon([&] { return bound("c") && bound("d") && bound("e"); }));
}

// Kubelet says so itself, which no tenant can: no owner gets the device, until half an hour is over.
TEST_F(Recovered, WhatKubeletCallsUnhealthyNobodyGetsForHalfAnHour) {
  begin_with_an_unhealthy_one();
  const auto all_bound = [&] { return bound("b") && bound("c") && bound("d") && bound("e"); };
  EXPECT_FALSE(within(60s, all_bound)) << "one of four devices is in quarantine";
  if (cluster().plane().simulated()) {
    EXPECT_TRUE(within(31min, all_bound)) << "it ends by itself";
  }
}

TEST_F(Recovered, WhoMayWriteTheLeaseReleasesFromQuarantine) {
  elect_ = true;
  begin_with_an_unhealthy_one();
  const auto waiting = [&] {
    std::string names;
    for (const char* other : {"b", "c", "d", "e"})
      if (!bound(other)) names += other;
    return names;
  };
  const std::string lease = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/dra-controller-manager";
  const auto listed = [&] {
    return api().get(lease)["metadata"]["annotations"].value("dra-controller-manager/quarantine", "");
  };
  ASSERT_TRUE(within(30s, [&] { return waiting().size() == 1 && !listed().empty(); }));
  api().merge(lease, {{"metadata", {{"annotations", {{"example.com/note", "somebody else's"}}}}}});
  EXPECT_FALSE(within(60s, [&] { return waiting().empty() || listed().empty(); })) << "it is still in the list";
  api().merge(lease, {{"metadata", {{"annotations", {{"dra-controller-manager/quarantine", nullptr}}}}}});
  EXPECT_TRUE(within(10s, [&] { return waiting().empty(); }));
  pass(10s);
  EXPECT_EQ(listed(), "");
}

// A StatefulSet's pod with its named claim: the claim is freed before the next pod gets it.
TEST_F(Recovered, ANamedClaimGetsAnotherDevice) {
  begin_recovering();
  api().create(claim("kept"));
  owned("a", from_claim("gpu", "kept"));
  ASSERT_TRUE(soon([&] { return bound("a"); }));
  const std::string first = device_of("kept");
  broken_ = {first};
  ASSERT_TRUE(in_rounds(3, [&] { return writes("recovery/recover") == 1; }));
  // The owner is quick: its next pod comes while the claim still has the device.
  owned("b", from_claim("gpu", "kept"));
  pass(2s);
  EXPECT_FALSE(bound("b"));
  ASSERT_TRUE(in_rounds(4, [&] { return is_running("b"); }));
  EXPECT_NE(device_of("kept"), first);
  EXPECT_EQ(cluster().verdict(), "");
}

TEST_F(Recovered, WithoutTheLabelNobodyIsEvicted) {
  begin_recovering("false");
  owned("a");
  ASSERT_TRUE(soon([&] { return bound("a"); }));
  broken_ = {device_of(generated("a"))};
  EXPECT_FALSE(in_rounds(6, [&] { return writes("recovery/recover") > 0; }));
  EXPECT_FALSE(reasons().contains("NotRecovered"));
}

// A tenant who may write events and pods: about pods of others, with the uid of another owner, about pods that run. The
// API server refuses an event whose object is in another namespace.
TEST_F(Recovered, WhatATenantWritesChangesNothingForOthers) {
  begin_recovering();
  api().create({{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", "tenant"}}}});
  owned("theirs");
  ASSERT_TRUE(soon([&] { return bound("theirs"); }));
  ASSERT_TRUE(in_rounds(1, [&] { return is_running("theirs"); }));
  const Json victim = api().get(Api::path("Pod", "theirs"));
  owned("pending");
  ASSERT_TRUE(soon([&] { return bound("pending"); }));
  const Json waiting = api().get(Api::path("Pod", "pending"));
  Json event{{"apiVersion", "v1"},
             {"kind", "Event"},
             {"metadata", {{"name", "forged"}, {"namespace", "tenant"}}},
             {"reason", "FailedPrepareDynamicResources"},
             {"message", "gpu.example.com/n0/gpu-0 is broken"},
             {"type", "Warning"},
             {"count", 1'000'000}};
  for (const std::string ns : {"default", "tenant"}) {
    event["involvedObject"] = {
        {"kind", "Pod"}, {"namespace", ns}, {"name", "pending"}, {"uid", waiting["metadata"]["uid"]}};
    const int status = api().call("POST", "/api/v1/namespaces/tenant/events", event.dump()).status;
    EXPECT_EQ(status, ns == "tenant" ? 201 : 422) << ns;
  }
  EXPECT_TRUE(never([&] { return writes("recovery/recover") > 0; }, 30s)) << "no pod of another namespace goes";
  // In the own namespace: a pod that runs stays, whatever is said of it.
  say(victim, 1'000'000);
  EXPECT_TRUE(never([&] { return writes("recovery/recover") > 0; }, 30s));
  // Its own pod that has not begun goes, and its owner avoids the device; others do not.
  const std::string device = device_of(generated("pending"));
  say(waiting, 3);
  ASSERT_TRUE(soon([&] { return writes("recovery/recover") == 1; }));
  kubelet();
  ASSERT_TRUE(soon([&] { return get_pod("pending") == nullptr; }));
  for (const char* other : {"c", "d", "e"}) api().create(pod(other, {from_template("gpu", "one-gpu")}));
  EXPECT_TRUE(soon([&] { return bound("c") && bound("d") && bound("e"); })) << "all free devices, " << device << " too";
}

// A node whose kubelet is not heard, before kube-controller-manager taints it.
TEST_F(Recovered, ANodeThatIsNotReadyGetsNoNewPodUntilItIs) {
  kubelets_ = false;
  nodes_ = 1;
  begin();
  const auto says = [&](const char* status) {
    api().merge(Api::path("Node", "n0", "") + "/status",
                {{"status", {{"conditions", {{{"type", "Ready"}, {"status", status}}}}}}});
  };
  says("Unknown");
  pass(1s);
  api().create(pod("a", {from_template("gpu", "one-gpu")}));
  EXPECT_TRUE(never([&] { return allocated(generated("a")); }, 5s));
  says("True");
  EXPECT_TRUE(soon([&] { return bound("a"); })) << "the condition alone brings the pod back";
}

}  // namespace dra::integration::recovery_test
