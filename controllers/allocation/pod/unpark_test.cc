// What unparks a waiting pod.
#include <nlohmann/json.hpp>

#include "controllers/allocation/allocation_fixture.h"
#include "controllers/allocation/causes.h"

namespace dra::allocation::unpark_test {

using namespace protocol;
using namespace reconcile;
using namespace std::chrono_literals;
using Json = nlohmann::json;

using Unparking = AllocationTest;

TEST_F(Unparking, FreedDevicesUnparkThePodsThatCouldUseThem) {
  test::WholeController reconciler(parts(options, inventory, allocator, nodes));
  const api::ResourceClaim before = allocated("c", "n1", "gpu-0", false, {});
  api::ResourceClaim after = before;
  after.status = {};
  EnqueueRequests enqueued;
  reconciler.on_streamed_claim(view, &before, &after, enqueued);
  EXPECT_EQ(enqueued.causes, (std::vector<Cause>{"class/gpu", "driver/gpu.example.com"}));
  enqueued = {};
  reconciler.on_streamed_claim(view, &before, nullptr, enqueued);
  EXPECT_EQ(enqueued.causes.size(), 2u);
  enqueued = {};
  reconciler.on_streamed_claim(view, &before, &before, enqueued);
  EXPECT_TRUE(enqueued.causes.empty());
}

TEST_F(Unparking, CapacityFreedOnANodeUnparksThePodsThatWaitForIt) {
  test::WholeController reconciler(parts(options, inventory, allocator, nodes));
  const auto unparks_when_gone = [&](const api::Pod& pod) {
    EnqueueRequests enqueued;
    reconciler.on_pod(view, &pod, nullptr, enqueued);
    return enqueued.causes == std::vector<Cause>{"capacity"};
  };
  put(make_claim("c"));
  EXPECT_FALSE(unparks_when_gone(make_pod("p", {"c"}))) << "waits itself";
  const api::ResourceClaim before = allocated("c", "n1", "gpu-0", true, {"p"});
  EXPECT_TRUE(unparks_when_gone(make_pod("p", {"c"})));
  api::Pod deleting = make_pod("p", {"c"});
  deleting.metadata.deletion_timestamp = "2026-01-01T00:00:00Z";
  EXPECT_TRUE(unparks_when_gone(deleting)) << "a finalizer of others kept it for a while";
  EXPECT_TRUE(unparks_when_gone(make_pod("p", {"c"}, false))) << "ungated, not bound yet";
  EXPECT_FALSE(unparks_when_gone(make_pod("p", {}, false))) << "none of ours";
  api::ResourceClaim after = before;
  after.status = {};
  EnqueueRequests enqueued;
  reconciler.on_streamed_claim(view, &before, &after, enqueued);
  EXPECT_EQ(enqueued.causes, (std::vector<Cause>{"capacity", "class/gpu", "driver/gpu.example.com"})) << "withdrawn";
}

// Affinity waits for pods that arrive, spreading for pods that arrive elsewhere.
TEST_F(Unparking, APodThatIsBoundUnparksThePodsThatWaitForPods) {
  test::WholeController reconciler(parts(options, inventory, allocator, nodes));
  const auto unparks = [&](const api::Pod* before, const api::Pod* after) {
    EnqueueRequests enqueued;
    reconciler.on_pod(view, before, after, enqueued);
    return enqueued.causes;
  };
  const api::Pod pending = make_pod("p", {}, false);
  api::Pod bound = pending;
  bound.node_name = "n1";
  EXPECT_EQ(unparks(&pending, &bound), std::vector<Cause>{"pods"});
  EXPECT_EQ(unparks(nullptr, &bound), std::vector<Cause>{"pods"});
  EXPECT_TRUE(unparks(&bound, &bound).empty());
  api::Pod relabelled = bound;
  relabelled.metadata.labels["app"] = "other";
  EXPECT_EQ(unparks(&bound, &relabelled), std::vector<Cause>{"pods"});
  api::Pod smaller = bound;
  smaller.containers.resize(1);
  smaller.containers[0].requests["cpu"] = "1";
  EXPECT_EQ(unparks(&bound, &smaller), std::vector<Cause>{"capacity"}) << "resized in place";
  api::Pod taking = bound;
  taking.claims_take = std::vector<api::ClaimTakes>{{"c", {{"cpu", "1"}}}};
  EXPECT_EQ(unparks(&taking, &bound), std::vector<Cause>{"capacity"}) << "its devices take less of the node";
  EXPECT_EQ(unparks(&bound, nullptr), std::vector<Cause>{"capacity"}) << "who waits for pods waits for capacity, too";

  view.put(make_pod("w", {"c"}));
  put(make_claim("c"));
  nodes.refused = {"n1", "n2"};
  nodes.depends_on_pods = true;
  pass("w");
  EXPECT_EQ(last.park->causes, (std::vector<Cause>{"nodes", "capacity", "pods"}));
}

// Hundreds of pods may wait for devices while others come and go all the time.
TEST_F(Unparking, APodThatNoNodeRefusesForItsLoadDoesNotWaitForCapacity) {
  view.put(make_pod("w", {"c"}));
  api::ResourceClaim none_fits = make_claim("c");
  none_fits.spec.requests[0].exactly->selectors = {"false"};
  put(none_fits);
  nodes.depends_on_capacity = false;
  pass("w");
  ASSERT_TRUE(last.park);
  EXPECT_EQ(std::count(last.park->causes.begin(), last.park->causes.end(), kCapacityCause), 0);
  EXPECT_EQ(std::count(last.park->causes.begin(), last.park->causes.end(), kNodesCause), 1);
  nodes::NodeChoice choice = nodes.choose({}, {});
  choice.drop_nodes([](std::string_view node) { return node == "n1"; });
  EXPECT_TRUE(choice.depends_on_capacity) << "the caller had a reason of its own";
}

TEST_F(Unparking, CapacityThatAWithdrawalFreesUnparksThePodsThatWaitForIt) {
  test::WholeController reconciler(parts(options, inventory, allocator, nodes));
  EnqueueRequests out;
  reconciler.on_capacity_released(view, out);
  EXPECT_EQ(out.causes, std::vector<Cause>{"capacity"});
}

TEST_F(Unparking, ANodeUnparksWhenItsTaintsChangeAndNotWhenItsStatusDoes) {
  test::WholeController reconciler(parts(options, inventory, allocator, nodes));
  api::Node before;
  before.metadata.name = "n1";
  before.taints = {{"a", "b", "NoSchedule", ""}};
  api::Node after = before;
  EnqueueRequests enqueued;
  reconciler.on_node(view, &before, &after, enqueued);
  EXPECT_TRUE(enqueued.causes.empty());
  after.taints[0].effect = "PreferNoSchedule";
  reconciler.on_node(view, &before, &after, enqueued);
  EXPECT_EQ(enqueued.causes, std::vector<Cause>{"nodes"});
}

// A class without selectors takes devices of any driver: those of the second driver must unpark the pod, too.
TEST_F(Unparking, WaitsForEveryDriverThatCouldServe) {
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

TEST_F(Unparking, TheOnlyDriverOfAClassIsReadFromItsSelectors) {
  const auto driver = [](std::vector<std::string> selectors) {
    api::DeviceClass made;
    made.selectors = std::move(selectors);
    return only_driver(made).value_or("any");
  };
  EXPECT_EQ(driver({R"(device.driver == "a.example.com")"}), "a.example.com");
  EXPECT_EQ(driver({"true", " device.driver=='a' && device.attributes['a'].x == 1"}), "a");
  for (const char* any : {"", "true", R"(device.driver == "a" || true)", R"(device.driver == "a" ? true : true)",
                          R"(device.driver != "a")", R"(device.driver == "a" == false)", R"(device.driver == x)",
                          R"(!(device.driver == "a"))", R"(device.driver == "a)", R"(device.driver == "\x61")",
                          R"(device.driver == "a" + "b")", R"(device.driver in ["a"])"})
    EXPECT_EQ(driver({any}), "any") << any;
}

TEST_F(Unparking, ASliceUnparksThePodsThatCouldUseItsDriver) {
  test::WholeController reconciler(parts(options, inventory, allocator, nodes));
  api::ResourceSlice slice;
  slice.driver = "other.example.com";
  EnqueueRequests enqueued;
  reconciler.on_slice(view, nullptr, &slice, enqueued);
  EXPECT_EQ(enqueued.causes, (std::vector<Cause>{"driver/other.example.com", "slices"}));
  const auto parked_under = [&](const std::string& cause) {
    return std::find(last.park->causes.begin(), last.park->causes.end(), cause) != last.park->causes.end();
  };
  view.put(make_pod("p", {"c"}));
  put(make_claim("c", 5));
  api::DeviceClass gpu;
  gpu.metadata.name = "gpu";
  view.put(gpu);
  pass();
  EXPECT_TRUE(parked_under("slices")) << "any driver may bring devices of this class";
  gpu.selectors = {R"(device.driver == "gpu.example.com")"};
  view.put(gpu);
  inventory.apply_class(gpu);
  pass();
  EXPECT_FALSE(parked_under("slices"));
  EXPECT_TRUE(parked_under("driver/gpu.example.com"));
  EXPECT_TRUE(parked_under("class/gpu"));
}

TEST_F(Unparking, TheStreamReachingOurWriteBringsThePodBack) {
  test::WholeController reconciler(parts(options, inventory, allocator, nodes));
  view.put(make_pod("p", {"c"}));
  const api::ResourceClaim claim = allocated("c", "n1", "gpu-0", true, {"p"});
  EnqueueRequests enqueued;
  reconciler.on_streamed_claim(view, nullptr, &claim, enqueued);
  EXPECT_EQ(enqueued.keys, std::vector<Key>{pod_key("default/p")});
}

}  // namespace dra::allocation::unpark_test
