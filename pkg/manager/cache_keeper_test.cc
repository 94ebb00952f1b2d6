#include "pkg/manager/cache_keeper.h"

#include <gtest/gtest.h>

#include <memory>

#include "pkg/allocator/allocator.h"
#include "pkg/nodes/node_tracker.h"
#include "pkg/reactor/sim_reactor.h"

namespace dra::manager {
namespace {

struct World {
  World() {
    api::DeviceClass any;
    any.metadata.name = "any";
    inventory.apply_class(any);
    api::ResourceSlice slice;
    slice.metadata.name = "n-slice";
    slice.driver = "drv";
    slice.pool = {"n", 1, 1};
    slice.node_name = "n";
    for (int i = 0; i < 100; ++i) {
      api::Device& device = slice.devices.emplace_back();
      device.name = "d" + std::to_string(i);
      device.attributes["name"] = device.name;
    }
    inventory.apply_slice(slice);
    auto made = std::make_shared<api::ResourceClaim>();
    made->metadata.uid = "uid";
    api::DeviceRequest& request = made->spec.requests.emplace_back();
    request.name = "r";
    request.exactly.emplace();
    request.exactly->device_class_name = "any";
    request.exactly->count = 1;
    request.exactly->selectors = {"device.attributes[\"drv\"].name != \"x\""};
    claim = made;
  }

  // How many slices of ten steps the decision takes: more if nothing is cached from earlier decisions.
  int slices() {
    const allocator::NodeId node = inventory.node_id("n");
    allocator::Request request;
    request.claims = {claim};
    for (int count = 1;; ++count)
      if (allocator.find_nodes(request, {&node, 1}).outcome != allocator::Outcome::kUnfinished) return count;
  }
  bool keeps_caches() { return slices() == 1; }

  ManualClock clock;
  SimReactor reactor{clock};
  inventory::Inventory inventory;
  SeededRandom random{1};
  allocator::Allocator allocator{inventory, options(), random};
  std::shared_ptr<const api::ResourceClaim> claim;
  size_t claims = 0;
  nodes::NodeTracker nodes{clock};
  CacheKeeper keeper{reactor, allocator, nodes, [this] { return claims; }};

 private:
  allocator::Options options() const {
    allocator::Options options;
    options.slice.steps = 10;
    options.slice.clock = &clock;
    return options;
  }
};

TEST(CacheKeeper, CachesGoWithTheClaimsThatFilledThem) {
  World w;
  ASSERT_FALSE(w.keeps_caches());
  ASSERT_TRUE(w.keeps_caches());

  w.claims = 1000;
  w.keeper.start();
  w.reactor.advance(std::chrono::seconds(10));
  w.claims = 501;
  w.reactor.advance(std::chrono::seconds(10));
  EXPECT_TRUE(w.keeps_caches()) << "more than half of the claims are there";
  w.claims = 499;
  w.reactor.advance(std::chrono::seconds(10));
  EXPECT_FALSE(w.keeps_caches());
  EXPECT_TRUE(w.keeps_caches()) << "made anew";
  w.claims = CacheKeeper::kManyClaims - 1;
  w.reactor.advance(std::chrono::seconds(10));
  EXPECT_FALSE(w.keeps_caches());
  EXPECT_TRUE(w.keeps_caches());
  w.claims = 1;
  w.reactor.advance(std::chrono::seconds(10));
  EXPECT_TRUE(w.keeps_caches()) << "few claims fill little";
}

// A query is asked by each decision for a pod with a rule about other pods.
TEST(CacheKeeper, QueriesThatNoDecisionAsksAnyMoreGo) {
  World w;
  auto node = std::make_shared<api::Node>();
  node->metadata.name = "n";
  node->allocatable = {{"cpu", "2"}, {"memory", "1Gi"}, {"pods", "10"}};
  w.nodes.set_node(node);
  const auto decide = [&](const std::string& key) {
    api::Pod pod;
    pod.metadata.ns = pod.metadata.name = pod.metadata.uid = "p";
    api::PodAffinityTerm& term = pod.pod_anti_affinity.required.emplace_back();
    term.topology_key = "kubernetes.io/hostname";
    term.label_selector.emplace().match_expressions.push_back({key, "NotIn", {"x"}});
    w.nodes.choose(pod, {});
  };
  const auto any_left = [&] { return w.nodes.forget_one_unused_since(w.nodes.decision() + 1); };
  w.keeper.start();
  for (int i = 0; i < 1000; ++i) decide("key-" + std::to_string(i));
  w.reactor.advance(CacheKeeper::kUnused / 2);
  EXPECT_TRUE(any_left());
  w.reactor.advance(2 * CacheKeeper::kUnused);
  EXPECT_FALSE(any_left());
}

TEST(CacheKeeper, DoesNothingWhileItIsStopped) {
  World w;
  w.slices();
  w.claims = 1000;
  w.keeper.start();
  w.keeper.stop();
  w.claims = 0;
  w.reactor.advance(std::chrono::seconds(10));
  EXPECT_TRUE(w.keeps_caches());
}

}  // namespace
}  // namespace dra::manager
