// Extended resources of a DeviceClass in bind mode: from the first reconcile of the pod to its binding, and what can
// prevent it.
#include <nlohmann/json.hpp>

#include "controllers/allocation/allocation_fixture.h"
#include "pkg/base/timestamp.h"
#include "pkg/protocol/extended_claim.h"

namespace dra::allocation::bind_extended_test {

using namespace protocol;
using namespace reconcile;
using namespace std::chrono_literals;
using Json = nlohmann::json;

class BindExtended : public AllocationTest {
 protected:
  BindExtended() {
    options.mode = Mode::kBind;
    quiet_claims = true;
    api::DeviceClass gpu;
    gpu.metadata.name = "gpu";
    gpu.extended_resource_name = "example.com/gpu";
    view.put(gpu);
    for (const char* node : {"n1", "n2"}) put_node(node, "");
    ask("1");
  }
  void put_node(const std::string& node_name, const std::string& plugin_devices) {
    api::Node node;
    node.metadata.name = node_name;
    if (!plugin_devices.empty()) node.allocatable = {{"example.com/gpu", plugin_devices}};
    view.put(node);
  }
  void ask(const std::string& amount) {
    api::Pod pod = make_pod("p", {}, false);
    pod.scheduler_name = "ours";
    pod.containers.emplace_back();
    pod.containers[0].name = "main";
    pod.containers[0].requests = {{"example.com/gpu", amount}};
    name = extended_claim_name(pod);
    view.put(pod);
  }
  // The claim that the last reconcile created, as the API server stores it.
  void create() {
    const Json made = body();
    api::ResourceClaim claim = make_claim(name);
    claim.metadata.uid = "x-uid";
    claim.metadata.annotations = {{std::string(api::kExtendedResourceClaimAnnotation), "true"}};
    claim.metadata.owner_references = {{"v1", "Pod", "p", "p-uid", true}};
    claim.spec.requests.clear();
    for (const Json& request : made["spec"]["devices"]["requests"]) {
      api::DeviceRequest& one = claim.spec.requests.emplace_back();
      one.name = request["name"];
      one.exactly.emplace();
      one.exactly->device_class_name = request["exactly"]["deviceClassName"];
      one.exactly->allocation_mode = request["exactly"]["allocationMode"];
      one.exactly->count = request["exactly"]["count"];
    }
    put(claim);
  }
  api::ResourceClaim the_claim() { return view.claims.at("default/" + name); }
  void allocate() {
    api::ResourceClaim claim = the_claim();
    claim.status.allocation = write().assume;
    claim.status.reserved_for = {{"", "pods", "p", "p-uid"}};
    claim.metadata.managed_fields.push_back({std::string(kAllocationManager), "Update", "status"});
    put(claim);
  }
  void publish() {
    const Json status = body()["status"]["extendedResourceClaimStatus"];
    api::Pod pod = view.pods.at("default/p");
    pod.extended_resource_claim_status.emplace();
    pod.extended_resource_claim_status->resource_claim_name = status["resourceClaimName"];
    for (const Json& mapping : status["requestMappings"])
      pod.extended_resource_claim_status->request_mappings.push_back(
          {mapping["containerName"], mapping["resourceName"], mapping["requestName"]});
    view.put(pod);
  }

  std::string name;
};

TEST_F(BindExtended, TheWayOfAPod) {
  EXPECT_EQ(pass(), "create-extended-claim " + name);
  EXPECT_EQ(body()["metadata"],
            Json({{"name", name},
                  {"namespace", "default"},
                  {"annotations", {{"resource.kubernetes.io/extended-resource-claim", "true"}}},
                  {"ownerReferences",
                   {{{"apiVersion", "v1"}, {"kind", "Pod"}, {"name", "p"}, {"uid", "p-uid"}, {"controller", true}}}}}));
  EXPECT_EQ(body()["spec"], Json::parse(R"({"devices":{"requests":[{"name":"container-0-request-0","exactly":
      {"deviceClassName":"gpu","allocationMode":"ExactCount","count":1}}]}})"));
  create();
  EXPECT_EQ(pass(), "allocate " + name);
  allocate();
  EXPECT_EQ(pass(), "prove " + name) << "with the finalizer, as kube-scheduler's: it comes after the creation";
  proven(the_claim(), "p");
  EXPECT_EQ(pass(), "publish-extended-claim p");
  EXPECT_EQ(body()["status"], Json({{"extendedResourceClaimStatus",
                                     {{"resourceClaimName", name},
                                      {"requestMappings",
                                       {{{"containerName", "main"},
                                         {"resourceName", "example.com/gpu"},
                                         {"requestName", "container-0-request-0"}}}}}}}));
  publish();
  EXPECT_EQ(pass(), "bind p");
  EXPECT_NE(body()["target"]["name"], "");
}

TEST_F(BindExtended, WhereADevicePluginAdvertisesNoClaimIsMade) {
  put_node("n2", "4");
  EXPECT_EQ(pass(), "bind p");
  EXPECT_EQ(body()["target"]["name"], "n2");
  // The node of the plugin is full: the devices of the other one are used.
  nodes.refused = {"n2"};
  EXPECT_EQ(pass(), "create-extended-claim " + name);
  create();
  EXPECT_EQ(pass(), "allocate " + name);
  EXPECT_EQ(write().assume_pod->node, "n1");
}

TEST_F(BindExtended, APodThatFitsNowhereHasNoClaim) {
  ask("3");
  EXPECT_EQ(pass(), "event FailedAllocation, parked");
  EXPECT_TRUE(event().note.starts_with("for \"example.com/gpu\" (DeviceClass \"gpu\"): no node can provide 3 x gpu"))
      << event().note;
}

// Autoscalers and users read the condition, whether devices were requested by a claim or by a resource name.
TEST_F(BindExtended, APodThatFitsNowhereHasItsCondition) {
  ask("3");
  api::Pod pod = view.pods.at("default/p");
  pod.metadata.creation_timestamp = format_rfc3339(view.now() - 1h);
  view.put(pod);
  pass();
  const auto condition = std::find_if(last.effects.begin(), last.effects.end(), [](const Effect& effect) {
    const auto* one = std::get_if<Write>(&effect);
    return one && one->purpose == "show-waiting";
  });
  ASSERT_NE(condition, last.effects.end());
  const Json status = Json::parse(std::get<Write>(*condition).body)["status"]["conditions"][0];
  EXPECT_EQ(status["type"], "PodScheduled");
  EXPECT_EQ(status["reason"], "Unschedulable");
  EXPECT_EQ(status["message"], event().note);
}

// The devices are taken before the claim is allocated: the claim is deleted, and the nodes are tried anew.
TEST_F(BindExtended, AClaimThatFitsNoMoreGoes) {
  ask("2");
  pass();
  create();
  for (const char* node : {"n1", "n2"}) allocated(std::string("other-") + node, node, "gpu-0", false, {"q"});
  EXPECT_EQ(pass(), "delete-extended-claim " + name);
  EXPECT_EQ(write().object.uid, "x-uid");
  view.claims.erase("default/" + name);
  EXPECT_EQ(pass(), "event FailedAllocation, parked");
}

// An unusable allocation is withdrawn before its claim is deleted.
TEST_F(BindExtended, WhatIsAllocatedIsWithdrawnFirst) {
  pass();
  create();
  pass();
  allocate();
  nodes.refused = {"n1", "n2"};
  EXPECT_EQ(pass(), "withdraw " + name);
}

TEST_F(BindExtended, ATenantsClaimUnderTheNameIsNotUsed) {
  pass();
  create();
  const api::ResourceClaim good = the_claim();
  api::ResourceClaim forged = good;
  forged.spec.requests[0].exactly->count = 2;
  put(forged);
  EXPECT_EQ(pass(), "delete-extended-claim " + name) << "it asks for more than the pod does";
  forged = good;
  forged.spec.requests[0].exactly->admin_access = true;
  put(forged);
  EXPECT_EQ(pass(), "delete-extended-claim " + name);
  forged = good;
  forged.metadata.owner_references = {{"v1", "Pod", "q", "q-uid", true}};
  put(forged);
  EXPECT_EQ(pass(), "event ExtendedResource") << "another's claim is not deleted";
  forged = good;
  forged.metadata.annotations.clear();
  put(forged);
  EXPECT_EQ(pass(), "event ExtendedResource");
}

// A status that names the claim of another, or other requests, is replaced before the pod is bound.
TEST_F(BindExtended, AForgedStatusIsReplaced) {
  pass();
  create();
  pass();
  allocate();
  proven(the_claim(), "p");
  api::Pod pod = view.pods.at("default/p");
  pod.extended_resource_claim_status.emplace();
  pod.extended_resource_claim_status->resource_claim_name = "of-another";
  pod.extended_resource_claim_status->request_mappings = {{"main", "example.com/gpu", "container-0-request-0"}};
  view.put(pod);
  EXPECT_EQ(pass(), "publish-extended-claim p");
  pod.extended_resource_claim_status->resource_claim_name = name;
  pod.extended_resource_claim_status->request_mappings[0].request_name = "container-7-request-0";
  view.put(pod);
  EXPECT_EQ(pass(), "publish-extended-claim p");
}

// DRAExtendedResource is off in the API server, which drops the status that we write.
TEST_F(BindExtended, AServerThatDropsTheStatusIsNamed) {
  pass();
  create();
  pass();
  allocate();
  proven(the_claim(), "p");
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(pass(), "publish-extended-claim p");
    for (const std::string& uid : write().tally) ++view.tallies[uid];
  }
  EXPECT_EQ(pass(), "event ExtendedResource");
  EXPECT_NE(event().note.find("DRAExtendedResource"), std::string::npos);
  remember();
  EXPECT_EQ(pass(), "") << "and nothing is written any more";
}

// A newer class now provides the resource: the unproven claim is deleted and created for that class.
TEST_F(BindExtended, WhenTheClassChangesTheClaimIsMadeAnew) {
  pass();
  create();
  api::DeviceClass newer = view.classes.at("gpu");
  newer.metadata.name = "newer";
  newer.metadata.creation_timestamp = "2027-01-01T00:00:00Z";
  view.put(newer);
  inventory.apply_class(newer);
  EXPECT_EQ(pass(), "delete-extended-claim " + name);
  view.claims.erase("default/" + name);
  EXPECT_EQ(pass(), "create-extended-claim " + name);
  EXPECT_EQ(body()["spec"]["devices"]["requests"][0]["exactly"]["deviceClassName"], "newer");
}

TEST_F(BindExtended, AQuotaThatIsUsedUpIsToldToThePod) {
  pass();
  ASSERT_TRUE(write().failure_event);
  EXPECT_EQ(write().failure_event->reason, "FailedResourceClaimCreation");
  EXPECT_EQ(write().failure_event->note, "the claim for \"example.com/gpu\" (DeviceClass \"gpu\") cannot be created");
}

TEST_F(BindExtended, OtherModesMakeNone) {
  options.mode = Mode::kGate;
  api::Pod pod = view.pods.at("default/p");
  pod.scheduling_gates = {std::string(kAllocationGate)};
  view.put(pod);
  EXPECT_EQ(pass(), "event ExtendedResource, parked");
  EXPECT_NE(event().note.find("--scheduling=bind"), std::string::npos);
  options.mode = Mode::kBind;
  pod.scheduler_name = "default-scheduler";
  view.put(pod);
  remember();
  EXPECT_EQ(pass(), "parked") << "kube-scheduler binds it";
}

}  // namespace dra::allocation::bind_extended_test
