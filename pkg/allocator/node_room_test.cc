// Devices that take cpu and memory of their node: the search against trying every choice of devices.
#include <gtest/gtest.h>

#include <cstdlib>

#include "pkg/allocator/allocator.h"
#include "pkg/base/random.h"
#include "test/support/objects.h"

namespace dra::allocator::node_room_test {
namespace {

constexpr const char* kField = "resourceslices.spec.devices.nodeAllocatableResourceMappings";

struct World {
  api::ResourceSlice slice;
  std::vector<std::shared_ptr<const api::ResourceClaim>> claims;
  int64_t cpu = 0, memory = 0;  // room, in thousandths of a cpu and in bytes
};

// The field is noted as the decoder notes it.
void take(api::ResourceSlice& slice, size_t device, std::vector<api::DeviceTake> takes) {
  slice.devices[device].takes_of_node = std::move(takes);
  if (!slice.unknown) {
    slice.unknown.emplace();
    slice.unknown->fields = {
        {kField, "spec.devices[0].nodeAllocatableResourceMappings", api::UnknownField::Why::kNotSupported}};
  }
  slice.unknown->devices.push_back({static_cast<uint32_t>(device), 0});
}

api::ResourceSlice slice_of(size_t devices) {
  api::ResourceSlice slice = test::local_slice("drv", "n", "d", devices);
  slice.metadata.name = "s";
  return slice;
}

World random_world(Random& random) {
  World world;
  // Every eighth is so large that the search makes use of equal devices and of states without a solution.
  const bool large = random.below(8) == 0;
  world.slice = slice_of(large ? 9 + random.below(3) : 2 + random.below(5));
  for (size_t i = 0; i < world.slice.devices.size(); ++i) {
    api::Device& device = world.slice.devices[i];
    device.attributes["kind"] = std::string(random.below(2) == 0 ? "a" : "b");
    if (!large && random.below(4) == 0) {
      device.allow_multiple_allocations = true;
      device.capacity["cores"].value = std::to_string(2 + random.below(4));
      if (random.below(3) > 0) take(world.slice, i, {{"cpu", "cores", std::to_string(1 + random.below(2))}});
    } else if (random.below(4) > 0) {
      std::vector<api::DeviceTake> takes{{"cpu", "", std::to_string(1 + random.below(6)) + "00m"}};
      if (random.below(3) == 0) takes.push_back({"memory", "", std::to_string(1 + random.below(3))});
      take(world.slice, i, std::move(takes));
    }
  }
  const size_t claims = large ? 1 : 1 + random.below(2);
  for (size_t c = 0; c < claims; ++c) {
    auto claim = test::named<api::ResourceClaim>("c" + std::to_string(c));
    const size_t requests = large ? 2 : 1 + random.below(2);
    for (size_t r = 0; r < requests; ++r) {
      api::DeviceRequest request =
          test::exactly("r" + std::to_string(r), "any", static_cast<int64_t>(1 + random.below(large ? 4 : 2)));
      if (random.below(3) == 0) request.exactly->selectors = {"device.attributes['drv'].kind == 'a'"};
      if (!large && random.below(8) == 0) request.exactly->allocation_mode = "All";
      claim.spec.requests.push_back(std::move(request));
    }
    world.claims.push_back(std::make_shared<const api::ResourceClaim>(claim));
  }
  world.cpu = static_cast<int64_t>(random.below(20)) * 100;
  world.memory = static_cast<int64_t>(random.below(5));
  return world;
}

// What the choice takes, by device and how often it is used: a shared one consumes all of its cores each time, so it is
// used once, too.
struct Brute {
  const World& world;
  std::vector<bool> used;
  int64_t cpu = 0, memory = 0;

  explicit Brute(const World& of) : world(of), used(of.slice.devices.size(), false) {}

  static int64_t milli(const std::string& text) { return api::Quantity::parse(text)->milli_value(); }

  void give(size_t device, int sign) {
    used[device] = sign > 0;
    if (!world.slice.devices[device].takes_of_node) return;
    for (const api::DeviceTake& take : *world.slice.devices[device].takes_of_node) {
      const int64_t times =
          take.capacity.empty() ? 1 : std::stoll(world.slice.devices[device].capacity.at("cores").value);
      (take.resource == "cpu" ? cpu : memory) +=
          sign * times * milli(take.multiplier) / (take.resource == "cpu" ? 1 : 1000);
    }
  }

  bool fits(size_t claim, size_t request, size_t placed, size_t from) {
    if (cpu > world.cpu || memory > world.memory) return false;
    if (claim == world.claims.size()) return true;
    const auto& requests = world.claims[claim]->spec.requests;
    if (request == requests.size()) return fits(claim + 1, 0, 0, 0);
    const api::DeviceSubRequest& spec = *requests[request].exactly;
    const auto selects = [&](size_t device) {
      return spec.selectors.empty() || std::get<std::string>(world.slice.devices[device].attributes.at("kind")) == "a";
    };
    if (spec.allocation_mode == "All") {
      std::vector<size_t> all;
      for (size_t d = 0; d < used.size(); ++d)
        if (selects(d)) all.push_back(d);
      if (all.empty() || std::any_of(all.begin(), all.end(), [&](size_t d) { return used[d]; })) return false;
      for (const size_t d : all) give(d, 1);
      const bool good = fits(claim, request + 1, 0, 0);
      for (const size_t d : all) give(d, -1);
      return good;
    }
    if (placed == static_cast<size_t>(spec.count)) return fits(claim, request + 1, 0, 0);
    for (size_t d = from; d < used.size(); ++d) {
      if (used[d] || !selects(d)) continue;
      give(d, 1);
      const bool good = fits(claim, request, placed + 1, d + 1);
      give(d, -1);
      if (good) return true;
    }
    return false;
  }
};

class NodeRoom : public ::testing::Test {
 protected:
  void start(const api::ResourceSlice& slice, Strategy strategy = Strategy::kFirstFit) {
    allocator_.reset();
    inventory_ = std::make_unique<inventory::Inventory>();
    Options options;
    options.strategy = strategy;
    allocator_ = std::make_unique<Allocator>(*inventory_, options, random_);
    node_ = inventory_->apply_node("n", {});
    api::DeviceClass any;
    any.metadata.name = "any";
    inventory_->apply_class(any);
    inventory_->apply_slice(slice);
  }
  FoundNodes find(const std::vector<std::shared_ptr<const api::ResourceClaim>>& claims, int64_t cpu, int64_t memory = 0,
                  bool counts = true) {
    Request request;
    request.claims = claims;
    if (counts)
      request.room = [=](NodeId, const std::string& resource) {
        return resource == "cpu" ? api::Quantity::from_scaled(cpu, -3) : api::Quantity::from_int64(memory);
      };
    return allocator_->find_nodes(request, std::span(&node_, 1), 1);
  }
  static std::shared_ptr<const api::ResourceClaim> claim(int64_t count) {
    auto made = test::named<api::ResourceClaim>("c");
    made.spec.requests = {test::exactly("r", "any", count)};
    return std::make_shared<const api::ResourceClaim>(made);
  }

  SeededRandom random_{7};
  std::unique_ptr<inventory::Inventory> inventory_;
  std::unique_ptr<Allocator> allocator_;
  NodeId node_ = 0;
};

}  // namespace

TEST_F(NodeRoom, RandomWorldsAgreeWithTryingEveryChoice) {
  const char* asked = std::getenv("DRA_NODE_ROOM_CASES");
  const int cases = asked == nullptr ? 4000 : std::atoi(asked);
  int fit = 0, short_of_room = 0;
  for (int i = 0; i < cases; ++i) {
    SeededRandom random(static_cast<uint64_t>(i) + 1);
    const World world = random_world(random);
    start(world.slice, random.below(2) == 0 ? Strategy::kFirstFit : Strategy::kBestFit);
    const FoundNodes found = find(world.claims, world.cpu, world.memory);
    const bool fits = Brute(world).fits(0, 0, 0, 0);
    ASSERT_EQ(found.outcome, fits ? Outcome::kFeasible : Outcome::kInfeasible) << "world " << i;
    World boundless = world;
    boundless.cpu = boundless.memory = INT64_MAX / 2;
    const bool without = Brute(boundless).fits(0, 0, 0, 0);
    if (!fits && without) {
      EXPECT_NE(found.short_of_room, "") << "world " << i;
    }
    if (fits || !without) {
      EXPECT_EQ(fits ? found.short_of_room : "", "") << "world " << i;
    }
    fit += fits;
    short_of_room += !fits && without;
    if (!fits) continue;
    // What was found fits, too; and asking again with less room is no answer from memory.
    Brute sum(world);
    for (const api::AllocationResult& result : found.decisions[0].results)
      for (const api::DeviceRequestAllocationResult& one : result.results)
        for (size_t d = 0; d < world.slice.devices.size(); ++d)
          if (world.slice.devices[d].name == one.device) sum.give(d, 1);
    ASSERT_LE(sum.cpu, world.cpu) << "world " << i;
    ASSERT_LE(sum.memory, world.memory) << "world " << i;
    if (sum.cpu == 0) continue;
    World less = world;
    less.cpu = sum.cpu - 1;
    const FoundNodes again = find(world.claims, less.cpu, less.memory);
    ASSERT_EQ(again.outcome == Outcome::kFeasible, Brute(less).fits(0, 0, 0, 0)) << "world " << i;
    ASSERT_EQ(find(world.claims, world.cpu, world.memory).outcome, Outcome::kFeasible) << "world " << i;
  }
  EXPECT_GT(fit, cases / 10);
  EXPECT_GT(short_of_room, cases / 20);
}

TEST_F(NodeRoom, ADeviceThatDoesNotFitIsNotChosenIfAnotherDoes) {
  api::ResourceSlice slice = slice_of(2);
  take(slice, 0, {{"cpu", "", "3"}});
  take(slice, 1, {{"cpu", "", "1"}});
  start(slice);
  EXPECT_EQ(find({claim(1)}, 3000).decisions.at(0).results[0].results[0].device, slice.devices[0].name);
  const FoundNodes found = find({claim(1)}, 2999);
  EXPECT_EQ(found.decisions.at(0).results[0].results[0].device, slice.devices[1].name);
  EXPECT_TRUE(found.decisions[0].takes_of_node);
  EXPECT_EQ(find({claim(1)}, 999).short_of_room, "node n: devices would take 3 cpu, and there is room for 0.999");
  EXPECT_EQ(find({claim(1)}, 1000).outcome, Outcome::kFeasible) << "nothing is kept of the refusal";
}

TEST_F(NodeRoom, WhoDoesNotCountIsRefusedTheDevices) {
  api::ResourceSlice slice = slice_of(2);
  take(slice, 0, {{"cpu", "", "1"}});
  start(slice);
  const FoundNodes found = find({claim(1)}, 0, 0, false);
  EXPECT_EQ(found.decisions.at(0).results[0].results[0].device, slice.devices[1].name);
  EXPECT_EQ(find({claim(2)}, 0, 0, false).outcome, Outcome::kInfeasible);
  EXPECT_EQ(find({claim(2)}, 1000).outcome, Outcome::kFeasible);
  EXPECT_EQ(find({claim(2)}, 0, 0, false).outcome, Outcome::kInfeasible);
}

// 40 equal devices, room for 20: found at once, and refuted at once for 21.
TEST_F(NodeRoom, ManyEqualDevicesAreRefutedInFewSteps) {
  api::ResourceSlice slice = slice_of(40);
  for (size_t i = 0; i < slice.devices.size(); ++i) take(slice, i, {{"cpu", "", "1"}});
  start(slice);
  EXPECT_EQ(find({claim(20)}, 20'000).outcome, Outcome::kFeasible);
  const FoundNodes none = find({claim(21)}, 20'000);
  EXPECT_EQ(none.outcome, Outcome::kInfeasible);
  EXPECT_LT(none.steps, 5'000u);
}

}  // namespace dra::allocator::node_room_test
