// Preferences compared with brute force: 500 worlds of GPUs, NICs and CPUs on two NUMA nodes, with every strategy.
#include "pkg/allocator/locality.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <set>

#include "pkg/allocator/allocator.h"

namespace dra::allocator::locality_test {
namespace {

using ClaimPtr = std::shared_ptr<const api::ResourceClaim>;
constexpr const char* kRoot = "resource.kubernetes.io/pcieRoot";
constexpr const char* kNuma = "resource.kubernetes.io/numaNode";

struct OneDevice {
  std::string driver, pool, name, root;
  int64_t numa = 0;
  bool held = false;
  bool says_root = true;  // the node's devices have different ones
};

struct Ask {
  std::string driver;
  size_t count = 1;
  std::string prefer;
};

struct LocalWorld {
  std::vector<std::vector<OneDevice>> nodes;
  std::vector<Ask> asks;  // one claim each
  // The device of one more, allocated claim: it ties the pod to the first node.
  std::optional<OneDevice> allocated;
};

ClaimPtr claim_for(const std::string& name, const std::string& device_class, size_t count, const std::string& prefer) {
  auto made = std::make_shared<api::ResourceClaim>();
  made->metadata.name = made->metadata.uid = name;
  made->metadata.ns = "ns";
  if (!prefer.empty()) made->metadata.annotations[std::string(kPreferAnnotation)] = prefer;
  api::DeviceRequest request;
  request.name = "r";
  request.exactly.emplace();
  request.exactly->device_class_name = device_class;
  request.exactly->count = static_cast<int64_t>(count);
  made->spec.requests.push_back(request);
  return made;
}

LocalWorld random_local_world(uint64_t seed) {
  SeededRandom random(seed);
  const auto up_to = [&](uint64_t most) { return random.next() % (most + 1); };
  LocalWorld world;
  const size_t nodes = 1 + up_to(2);
  for (size_t n = 0; n < nodes; ++n) {
    auto& devices = world.nodes.emplace_back();
    const std::string node = "n" + std::to_string(n);
    const auto add = [&](const std::string& driver, size_t count) {
      for (size_t i = 0; i < count; ++i) {
        const auto numa = static_cast<int64_t>(up_to(1));
        devices.push_back({driver, node, driver + std::to_string(i),
                           "pci" + std::to_string(numa) + std::to_string(up_to(1)), numa, up_to(2) == 0});
      }
    };
    add("gpu", 4 + up_to(4));
    add("nic", 4 + up_to(4));
    add("cpu", 2);
    // A virtual machine: its devices say nothing about where they are, or all but one.
    const bool unknown_numa = up_to(4) == 0, one_root = up_to(4) == 0, but_one = up_to(3) == 0;
    for (OneDevice& device : devices) {
      if (unknown_numa && (!but_one || &device != &devices[1])) device.numa = -1;
      if (one_root && (!but_one || &device != &devices[1])) device.root = "pci0000:00";
      device.says_root = !one_root || but_one;
    }
  }
  static const std::vector<std::string> kPrefer = {
      "same:resource.kubernetes.io/pcieRoot, same:resource.kubernetes.io/numaNode",
      "same:resource.kubernetes.io/numaNode=5,same:resource.kubernetes.io/pcieRoot=3",
      "same:resource.kubernetes.io/numaNode", ""};
  const std::string prefer = kPrefer[up_to(2)];
  world.asks.push_back({"gpu", 1 + up_to(2), prefer});
  if (up_to(3) != 0) world.asks.push_back({"nic", 1 + up_to(1), up_to(4) == 0 ? kPrefer[up_to(3)] : prefer});
  if (up_to(3) == 0) world.asks.push_back({"cpu", 1, prefer});
  if (up_to(3) == 0) {
    for (OneDevice& device : world.nodes[0])
      if (device.driver == "nic" && !world.allocated) device.held = true, world.allocated = device;
  }
  return world;
}

// The weight of the preferences that these devices meet.
int weight_met(const LocalWorld& world, const std::vector<std::vector<OneDevice>>& taken) {
  std::map<std::string, int> weights;
  std::map<std::string, std::vector<const OneDevice*>> tied;
  const auto add = [&](const std::string& prefer, const std::vector<OneDevice>& devices) {
    for (const PreferText::One& one : parse_prefer(prefer).preferences) {
      weights[one.attribute] = std::max(weights[one.attribute], one.weight);
      for (const OneDevice& device : devices) tied[one.attribute].push_back(&device);
    }
  };
  for (size_t i = 0; i < world.asks.size(); ++i) add(world.asks[i].prefer, taken[i]);
  const std::vector<OneDevice> anchor = world.allocated ? std::vector{*world.allocated} : std::vector<OneDevice>{};
  if (world.allocated) add(world.asks[0].prefer, anchor);
  int sum = 0;
  for (const auto& [attribute, devices] : tied) {
    const auto same = [root = attribute == kRoot, first = devices[0]](const OneDevice* device) {
      return root ? device->root == first->root && device->says_root
                  : device->numa == first->numa && device->numa != -1;
    };
    if (devices.size() == 1 || std::all_of(devices.begin(), devices.end(), same)) sum += weights[attribute];
  }
  return sum;
}

// The maximum weight any placement meets; nullopt: the claims fit nowhere.
std::optional<int> brute_force(const LocalWorld& world) {
  std::optional<int> best;
  for (const auto& node : world.nodes) {
    if (world.allocated && &node != &world.nodes[0]) break;
    std::vector<std::vector<OneDevice>> taken(world.asks.size());
    const std::function<void(size_t, size_t)> take = [&](size_t ask, size_t from) {
      if (ask == world.asks.size()) {
        best = std::max(best.value_or(0), weight_met(world, taken));
        return;
      }
      if (taken[ask].size() == world.asks[ask].count) return take(ask + 1, 0);
      for (size_t d = from; d < node.size(); ++d) {
        if (node[d].held || node[d].driver != world.asks[ask].driver) continue;
        taken[ask].push_back(node[d]);
        take(ask, d + 1);
        taken[ask].pop_back();
      }
    };
    take(0, 0);
  }
  return best;
}

std::string text_of(const LocalWorld& world) {
  std::string text;
  for (const Ask& ask : world.asks) text += std::to_string(ask.count) + " " + ask.driver + ", " + ask.prefer + "\n";
  if (world.allocated) text += "allocated: " + world.allocated->name + "\n";
  for (const auto& node : world.nodes)
    for (const OneDevice& one : node)
      text +=
          one.pool + " " + one.name + " " + one.root + " " + std::to_string(one.numa) + (one.held ? " held\n" : "\n");
  return text;
}

class Local {
 public:
  Local(const LocalWorld& world, Strategy strategy) : world_(world), inventory_(inventory::Features::all()) {
    for (const std::string driver : {"gpu", "nic", "cpu"}) {
      api::DeviceClass one;
      one.metadata.name = driver;
      one.selectors = {"device.driver == \"" + driver + "\""};
      inventory_.apply_class(one);
    }
    for (size_t n = 0; n < world.nodes.size(); ++n) add_node("n" + std::to_string(n), world.nodes[n]);
    std::vector<ClaimPtr> claims;
    for (size_t i = 0; i < world.asks.size(); ++i)
      claims.push_back(
          claim_for("c" + std::to_string(i), world.asks[i].driver, world.asks[i].count, world.asks[i].prefer));
    request_.claims = claims;
    if (world.allocated) {
      auto held = std::make_shared<api::ResourceClaim>(*claim_for("held", "nic", 1, world.asks[0].prefer));
      held->status.allocation.emplace();
      held->status.allocation->results.push_back(result_of(*world.allocated));
      claims.insert(claims.begin(), held);
    }
    request_.preferences = preferences_of(claims).of;
    Options options;
    options.strategy = strategy;
    allocator_ = std::make_unique<Allocator>(inventory_, options, random_);
  }

  FoundNodes find() {
    std::vector<NodeId> order;
    for (size_t n = 0; n < (world_.allocated ? 1 : world_.nodes.size()); ++n)
      order.push_back(inventory_.node_id("n" + std::to_string(n)));
    return allocator_->find_nodes(request_, order, 1);
  }
  std::vector<std::vector<OneDevice>> devices_of(const Decision& decision) {
    std::vector<std::vector<OneDevice>> taken;
    for (const api::AllocationResult& result : decision.results) {
      taken.emplace_back();
      for (const api::DeviceRequestAllocationResult& device : result.results)
        for (const auto& node : world_.nodes)
          for (const OneDevice& one : node)
            if (one.pool == device.pool && one.driver == device.driver && one.name == device.device) {
              EXPECT_FALSE(one.held);
              taken.back().push_back(one);
            }
    }
    return taken;
  }
  const Request& request() const { return request_; }

 private:
  static api::DeviceRequestAllocationResult result_of(const OneDevice& device) {
    api::DeviceRequestAllocationResult result;
    result.request = "r";
    result.driver = device.driver;
    result.pool = device.pool;
    result.device = device.name;
    return result;
  }
  void add_node(const std::string& node, const std::vector<OneDevice>& devices) {
    for (const std::string driver : {"gpu", "nic", "cpu"}) {
      api::ResourceSlice slice;
      slice.metadata.name = node + driver;
      slice.driver = driver;
      slice.node_name = node;
      slice.pool = {node, 1, 1};
      for (const OneDevice& one : devices) {
        if (one.driver != driver) continue;
        api::Device device;
        device.name = one.name;
        device.attributes[kRoot] = one.root;
        device.attributes[kNuma] = one.numa;
        slice.devices.push_back(device);
        if (!one.held) continue;
        api::AllocationResult held;
        held.results.push_back(result_of(one));
        inventory_.assume("holder-" + node + one.name, held);
      }
      inventory_.apply_slice(slice);
    }
  }

  const LocalWorld& world_;
  SeededRandom random_{1};
  inventory::Inventory inventory_;
  std::unique_ptr<Allocator> allocator_;
  Request request_;
};

TEST(Locality, IsMetWheneverBruteForceCan) {
  size_t judged = 0, some = 0, not_all = 0;
  for (uint64_t seed = 1; seed <= 500; ++seed) {
    const LocalWorld world = random_local_world(seed);
    const std::optional<int> best = brute_force(world);
    for (const Strategy strategy : {Strategy::kFirstFit, Strategy::kBestFit, Strategy::kPack, Strategy::kSpread}) {
      Local local(world, strategy);
      const FoundNodes found = local.find();
      ASSERT_EQ(found.outcome == Outcome::kFeasible, best.has_value()) << "world " << seed;
      if (!best) continue;
      const Decision& decision = found.decisions.at(0);
      ASSERT_EQ(weight_met(world, local.devices_of(decision)), *best)
          << "world " << seed << ", " << strategy_name(strategy) << ": " << decision.reason << "\n"
          << text_of(world);
      ++judged;
      int said = 0, all = 0;
      const auto& preferences = local.request().preferences;
      for (size_t i = 0; i < preferences.size(); ++i) {
        all += preferences[i].weight;
        said += (decision.met >> i & 1) != 0 ? preferences[i].weight : 0;
      }
      some += said > 0;
      not_all += said < all;
      EXPECT_EQ(decision.reason.find("without") != std::string::npos, said < all) << decision.reason;
    }
  }
  std::cout << judged << " judged, " << some << " met something, " << not_all << " not all\n";
  EXPECT_GT(some, 500u);
  EXPECT_GT(not_all, 200u);
}

TEST(Locality, WhatIsNotUnderstoodIsIgnoredAndSaid) {
  PreferText read = parse_prefer(" same:a.b/c = 7 ,, same:numa,same:numa=3");
  ASSERT_EQ(read.preferences.size(), 2u);
  EXPECT_EQ(read.preferences[0].attribute, "a.b/c");
  EXPECT_EQ(read.preferences[0].weight, 7);
  EXPECT_EQ(read.preferences[1].weight, 3);
  EXPECT_TRUE(read.ignored.empty());
  for (const std::string bad :
       {"near:x", "same:", "same:/x", "same:x/", "same:a/b/c", "same:x=0", "same:x=101", "same:x=-1", "same:x=1e3",
        "same:x=99999999999999999999", "same:x y", "same:x=", "=", "same:\xff\xfe", "same"}) {
    read = parse_prefer(bad + ", same:ok");
    EXPECT_EQ(read.preferences.size(), 1u) << bad;
    EXPECT_EQ(read.ignored.size(), 1u) << bad;
  }
  read = parse_prefer(std::string(513, ','));
  EXPECT_EQ(read.ignored.size(), 1u);
}

TEST(Locality, APodHasFewPreferences) {
  const std::vector<ClaimPtr> claims = {claim_for("a", "gpu", 2, "same:a,same:b,same:c"),
                                        claim_for("b", "gpu", 2, "same:c,same:d,same:e,same:f")};
  const Preferences read = preferences_of(claims);
  EXPECT_EQ(read.of.size(), kMaxPreferences);
  ASSERT_EQ(read.ignored.size(), 2u);
  EXPECT_EQ(read.ignored[0].first, claims[1].get());
  EXPECT_EQ(read.of[2].claims, (std::vector<uint32_t>{0, 1}));
}

TEST(Locality, OneDeviceAgreesWithItself) {
  const std::vector<ClaimPtr> claims = {claim_for("a", "gpu", 1, "same:a")};
  EXPECT_TRUE(preferences_of(claims).of.empty());
}

TEST(Locality, AnAttributeThatNobodyHasIsNotMetAndSaid) {
  LocalWorld world = random_local_world(3);
  world.allocated.reset();
  for (auto& node : world.nodes)
    for (OneDevice& device : node) device.held = false;
  world.asks = {{"gpu", 2, "same:nobody.example.com/has=100, same:resource.kubernetes.io/numaNode"}};
  Local local(world, Strategy::kFirstFit);
  const FoundNodes found = local.find();
  ASSERT_EQ(found.outcome, Outcome::kFeasible);
  EXPECT_EQ(found.decisions[0].reason,
            "has devices with the same resource.kubernetes.io/numaNode, but without the same "
            "nobody.example.com/has, which no node has free for this pod");
}

}  // namespace
}  // namespace dra::allocator::locality_test
