// Devices that take cpu of their node: from the first reconcile of the pod to its binding, what refuses it, and who is
// refused the devices by name.
#include <nlohmann/json.hpp>

#include "controllers/allocation/allocation_fixture.h"
#include "pkg/nodes/node_tracker.h"

namespace dra::allocation::node_takes_test {

using namespace protocol;
using namespace reconcile;
using Json = nlohmann::json;

namespace {

constexpr const char* kField = "nodeAllocatableResourceMappings";

// The real tracker, with 4 cpu on n1 and 2 on n2; gpu-0 of each node takes 3 cpu, gpu-1 takes 1.
class NodeTakes : public testing::Test {
 protected:
  NodeTakes() : random(1), allocator(inventory, {}, random), nodes(clock) {
    nodes.number_by(inventory);
    for (const nodes::Facts facts : {nodes::Facts::kNamespaces, nodes::Facts::kVolumes, nodes::Facts::kWorkloads})
      nodes.set_known(facts, true, "");
    for (const std::string name : {"n1", "n2"}) {
      auto node = std::make_shared<api::Node>();
      node->metadata.name = name;
      node->allocatable = {{"cpu", name == "n1" ? "4" : "2"}, {"memory", "1Gi"}, {"pods", "10"}};
      nodes.set_node(node);
      inventory.apply_node(node);
      publish_devices(name, "3");
    }
    api::DeviceClass gpu;
    gpu.metadata.name = "gpu";
    inventory.apply_class(gpu);
    options.mode = Mode::kBind;
    options.scheduler_names = {"ours"};
  }

  // gpu-0 takes `first` cpu.
  void publish_devices(const std::string& node, const std::string& first) {
    api::ResourceSlice slice = test::local_slice("gpu.example.com", node, "gpu-", 2);
    slice.unknown.emplace();
    slice.unknown->fields = {{std::string("resourceslices.spec.devices.") + kField,
                              std::string("spec.devices[0].") + kField, api::UnknownField::Why::kNotSupported}};
    for (uint32_t i = 0; i < 2; ++i) {
      slice.devices[i].takes_of_node = std::vector<api::DeviceTake>{{"cpu", "", i == 0 ? first : "1"}};
      slice.unknown->devices.push_back({i, 0});
    }
    inventory.apply_slice(slice);
  }
  api::Pod make_pod(const std::string& name, const std::string& claim, const std::string& cpu = "100m") {
    auto pod = test::named<api::Pod>(name);
    pod.metadata.resource_version = "11";
    pod.phase = "Pending";
    pod.scheduler_name = "ours";
    pod.resource_claims.push_back({"dev", claim, std::nullopt});
    pod.containers.emplace_back();
    pod.containers[0].name = "main";
    pod.containers[0].requests["cpu"] = cpu;
    pod.containers[0].claims = {{"dev", "gpu"}, {"dev", ""}};
    return pod;
  }
  void put_claim(const std::string& name, int count = 1) {
    auto claim = test::named<api::ResourceClaim>(name);
    claim.metadata.resource_version = "5";
    claim.spec.requests = {test::exactly("gpu", "gpu", count)};
    put(claim);
  }
  void put(const api::ResourceClaim& claim) {
    view.put(claim);
    inventory.apply_claim(claim);
  }
  void put(const api::Pod& pod) {
    view.put(pod);
    nodes.set_pod(pod);
  }
  std::string pass(const std::string& pod = "p") {
    test::WholeController reconciler(parts(options, inventory, allocator, nodes));
    last = reconciler.reconcile(view, reconcile::pod_key("default/" + pod));
    std::string did;
    for (const Effect& effect : last.effects) {
      const Write* write = std::get_if<Write>(&effect);
      if (write != nullptr) did += (did.empty() ? "" : ", ") + write->purpose + " " + write->object.name;
      if (write == nullptr || !write->assume_pod) continue;
      // As the manager does.
      const AssumedPod& assumed = *write->assume_pod;
      nodes.assume(view.pods.at("default/" + assumed.pod.name), assumed.node, assumed.takes);
    }
    if (last.park) did += did.empty() ? "parked" : ", parked";
    return did;
  }
  const Write& write() const {
    for (const Effect& effect : last.effects)
      if (const Write* found = std::get_if<Write>(&effect)) return *found;
    throw std::logic_error("no write");
  }
  std::string note() const {
    for (const Effect& effect : last.effects)
      if (const Event* found = std::get_if<Event>(&effect)) return found->note;
    return "";
  }
  // What the last reconcile allocated is in the stream, and proven.
  std::string allocate(const std::string& name, const std::string& pod) {
    api::ResourceClaim claim = view.claims.at("default/" + name);
    claim.status.allocation = write().assume;
    claim.status.reserved_for = {{"", "pods", pod, pod + "-uid"}};
    claim.metadata.managed_fields.push_back({std::string(kAllocationManager), "Update", "status"});
    claim.metadata.finalizers = {std::string(api::kDeleteProtectionFinalizer)};
    claim.metadata.annotations[std::string(kProofAnnotation)] = proof_value(pod + "-uid", *claim.status.allocation);
    claim.metadata.annotations[std::string(kProvenForAnnotation)] = pod + "/" + pod + "-uid";
    put(claim);
    view.emitted[{pod + "-uid", "Allocated"}] = "with the proof";
    return claim.status.allocation->results[0].pool + "/" + claim.status.allocation->results[0].device;
  }
  Json status() const { return Json::parse(write().body)["status"]; }
  void publish(const std::string& name) {
    api::Pod pod = view.pods.at("default/" + name);
    pod.claims_take.emplace();
    const Json said = status();
    for (const Json& one : said["nodeAllocatableResourceClaimStatuses"]) {
      api::ClaimTakes& takes = pod.claims_take->emplace_back();
      takes.claim = one["resourceClaimName"];
      for (const auto& [resource, amount] : one["resources"].items()) takes.resources[resource] = amount;
    }
    put(pod);
  }

  ManualClock clock;
  SeededRandom random;
  inventory::Inventory inventory;
  allocator::Allocator allocator;
  nodes::NodeTracker nodes;
  MemoryView view;
  Options options;
  ReconcileResult last;
};

}  // namespace

TEST_F(NodeTakes, TheWayOfAPodAndOfThoseBehindIt) {
  put_claim("c");
  put(make_pod("p", "c"));
  EXPECT_EQ(pass(), "allocate c");
  EXPECT_EQ(write().assume_pod->takes, (std::vector<api::ClaimTakes>{{"c", {{"cpu", "3"}}}}));
  EXPECT_EQ(allocate("c", "p"), "n1/gpu-0");
  EXPECT_EQ(pass(), "publish-node-resources p");
  EXPECT_EQ(status(), Json::parse(R"({"nodeAllocatableResourceClaimStatuses":
      [{"resourceClaimName": "c", "containers": ["main"], "resources": {"cpu": "3"}}]})"));
  EXPECT_EQ(write().subresource, "status");
  publish("p");
  // Its cpu counts from the decision on: beside 3.1 cpu only gpu-1 of n2 fits a pod of 900m, and of n1 nothing.
  put_claim("d");
  put(make_pod("q", "d", "900m"));
  EXPECT_EQ(pass("q"), "allocate d");
  EXPECT_EQ(write().assume->results.at(0).pool + "/" + write().assume->results.at(0).device, "n2/gpu-1");
  allocate("d", "q");
  put_claim("e");
  put(make_pod("r", "e"));
  EXPECT_EQ(pass("r"), "parked");
  EXPECT_EQ(note(),
            "0/2 nodes have room for what the devices of the claims take beside the pod's requests: node n1: devices "
            "would take 1 cpu, and there is room for 0.8");
  EXPECT_TRUE(std::find(last.park->causes.begin(), last.park->causes.end(), "capacity") != last.park->causes.end());
  EXPECT_EQ(pass(), "bind p");
}

TEST_F(NodeTakes, APodWhoseNodeHasNoRoomAnyMoreIsNotBound) {
  put_claim("c");
  put(make_pod("p", "c"));
  pass();
  allocate("c", "p");
  pass();
  publish("p");
  api::Pod other = make_pod("other", "c", "2");
  other.resource_claims.clear();
  other.containers[0].claims.clear();
  other.node_name = "n1";
  put(other);
  EXPECT_EQ(pass().find("bind"), std::string::npos);
  nodes.remove_pod("other-uid");
  EXPECT_EQ(pass(), "bind p");
}

TEST_F(NodeTakes, AStatusOfEarlierDevicesIsReplaced) {
  put_claim("c");
  api::Pod pod = make_pod("p", "c");
  pod.claims_take = std::vector<api::ClaimTakes>{{"c", {{"cpu", "100"}}}};
  put(pod);
  EXPECT_EQ(pass(), "allocate c") << "it does not count";
  allocate("c", "p");
  EXPECT_EQ(pass(), "publish-node-resources p");
  publish("p");
  EXPECT_EQ(pass(), "bind p");
}

TEST_F(NodeTakes, AStatusIsRemovedIfDevicesTakeNothingAnyMore) {
  for (const std::string node : {"n1", "n2"})
    inventory.apply_slice(test::local_slice("gpu.example.com", node, "gpu-", 2));
  put_claim("c");
  api::Pod pod = make_pod("p", "c");
  pod.claims_take = std::vector<api::ClaimTakes>{{"c", {{"cpu", "100"}}}};
  put(pod);
  EXPECT_EQ(pass(), "allocate c");
  allocate("c", "p");
  EXPECT_EQ(pass(), "publish-node-resources p");
  EXPECT_EQ(status(), Json::parse(R"({"nodeAllocatableResourceClaimStatuses": null})"));
  pod.claims_take.reset();
  put(pod);
  EXPECT_EQ(pass(), "bind p");
}

TEST_F(NodeTakes, AServerThatDropsTheStatusIsNamed) {
  put_claim("c");
  put(make_pod("p", "c"));
  pass();
  allocate("c", "p");
  view.tallies["p-uid/node-resources"] = 3;
  EXPECT_EQ(pass().find("bind"), std::string::npos);
  EXPECT_NE(note().find("DRANodeAllocatableResources"), std::string::npos) << note();
}

TEST_F(NodeTakes, OnePodAtATimeHasTheClaim) {
  publish_devices("n1", "500m");
  put_claim("c");
  put(make_pod("p", "c"));
  pass();
  allocate("c", "p");
  put(make_pod("q", "c"));
  EXPECT_EQ(pass("q"), "");
  EXPECT_EQ(note(),
            "claim \"default/c\" takes 500m cpu of the node besides its devices, so one pod at a time uses it, and "
            "pods \"p\" does: give each pod its own claim");
}

TEST_F(NodeTakes, WhoIsRefusedTheDevices) {
  put_claim("c");
  const auto refused = [&](const api::Pod& pod) {
    put(pod);
    EXPECT_EQ(pass(), "parked");
    EXPECT_NE(note().find(kField), std::string::npos) << note();
  };
  api::Pod unused = make_pod("p", "c");
  unused.containers[0].claims.clear();
  refused(unused);
  api::Pod gated = make_pod("p", "c");
  gated.scheduling_gates = {std::string(kAllocationGate)};
  options.mode = Mode::kGate;
  refused(gated);
}

// A claim that kube-scheduler allocated for a pod that is gone.
TEST_F(NodeTakes, AForeignAllocationCounts) {
  put_claim("c");
  put(make_pod("p", "c"));
  pass();
  api::ResourceClaim claim = view.claims.at("default/c");
  claim.status.allocation = write().assume;
  nodes.forget("p-uid");
  put(claim);
  api::Pod large = make_pod("p", "c", "1100m");
  put(large);
  EXPECT_EQ(pass(), "parked");
  EXPECT_NE(note().find("n1: asks 4100m cpu"), std::string::npos) << note();
}

}  // namespace dra::allocation::node_takes_test
