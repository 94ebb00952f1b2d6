// Devices that claims share, by what their drivers refuse: every decision, in every strategy, against a search that
// tries everything and compares labels where the allocator compares parameters. DRA_SEED picks another start,
// DRA_SHARING_CASES another number of worlds.
#include <gtest/gtest.h>

#include <functional>
#include <iostream>
#include <set>

#include "pkg/allocator/allocator.h"
#include "pkg/base/random.h"
#include "pkg/inventory/device_index.h"
#include "test/support/environment.h"

namespace dra::allocharness::sharing_test {
namespace {

using sharing::Parameters;
using sharing::Requests;

constexpr const char* kNvidia = "gpu.nvidia.com";
constexpr const char* kOther = "other.example.com";

// Parameters, and what they mean: texts with equal labels are the same to the driver.
struct Text {
  const char* json;
  const char* label;
};
constexpr Text kOfNvidia[] = {
    {R"({"apiVersion":"resource.nvidia.com/v1beta1","kind":"GpuConfig"})", ""},
    {R"({"kind":"GpuConfig","apiVersion":"resource.nvidia.com/v1beta1","sharing":{"strategy":"TimeSlicing"}})", ""},
    {R"({"kind":"GpuConfig","sharing":{"strategy":"TimeSlicing","timeSlicingConfig":{"interval":"Default"}}})", ""},
    {R"({"kind":"GpuConfig","sharing":{"strategy":"TimeSlicing","timeSlicingConfig":{"interval":"Short"}}})", "short"},
    {R"({"kind":"GpuConfig","sharing":{"timeSlicingConfig":{"interval":"Short"},"strategy":"TimeSlicing"}})", "short"},
    {R"({"kind":"GpuConfig","sharing":{"strategy":"MPS"}})", "mps"},
    {R"({"kind":"GpuConfig","sharing":{"strategy":"MPS","mpsConfig":{}}})", "mps"}};
constexpr const char* kOfPartitions = R"({"kind":"MigDeviceConfig","sharing":{"strategy":"MPS"}})";
constexpr Text kOfOthers[] = {{R"({"a":1,"b":2})", "12"}, {R"({"b":2,"a":1})", "12"}, {R"({"a":1})", "1"}};

struct Device {
  std::string node, name;
  size_t driver = 0;  // of World::drivers
  int total = 10;
  int held = 0;
  std::vector<std::string> labels;  // of who shares it
};

struct Wanted {
  size_t claim = 0;
  std::string name;
  size_t driver = 0;
  int count = 1, amount = 1;
  std::string label;
};

struct World {
  std::vector<std::string> drivers{kNvidia, kOther};
  sharing::Rules rules;
  std::vector<std::string> nodes;
  std::vector<Device> devices;
  std::vector<api::ResourceClaim> holders, claims;
  std::vector<Wanted> wanted;
};

class Maker {
 public:
  explicit Maker(uint64_t seed) : dice_(seed) {}

  World make() {
    World world;
    for (const std::string& driver : world.drivers) {
      world.rules.requests[driver] = static_cast<Requests>(dice_.below(3));
      world.rules.parameters[driver] = static_cast<Parameters>(dice_.below(4) > 0);
    }
    const size_t nodes = 1 + dice_.below(3);
    for (size_t n = 0; n < nodes; ++n) {
      world.nodes.push_back("node-" + std::to_string(n));
      for (size_t driver = 0; driver < 2; ++driver)
        for (size_t d = dice_.below(4); d > 0; --d)
          world.devices.push_back({world.nodes.back(), "d" + std::to_string(d), driver, 10, 0, {}});
    }
    for (Device& device : world.devices)
      for (uint64_t i = dice_.below(3); i > 0; --i) hold(world, device);
    const size_t claims = 1 + dice_.below(2);
    for (size_t c = 0; c < claims; ++c) ask(world, c);
    return world;
  }

 private:
  api::ResourceClaim claim_of(const std::string& name) {
    api::ResourceClaim claim;
    claim.metadata.name = name;
    claim.metadata.ns = "ns";
    claim.metadata.uid = "uid-" + name;
    return claim;
  }

  // Parameters for the request of this driver, sometimes; the label.
  std::string configure(const World& world, size_t driver, const std::string& request, api::ResourceClaim& claim) {
    if (dice_.below(3) == 0) return "";
    std::string label;
    const auto add = [&](const char* json, bool for_all) {
      api::DeviceClaimConfig& config = claim.spec.config.emplace_back();
      if (!for_all) config.requests = {request};
      config.opaque = api::OpaqueConfig{world.drivers[driver], json};
    };
    if (driver == 1) {
      const Text& text = kOfOthers[dice_.below(std::size(kOfOthers))];
      add(text.json, false);
      return text.label;
    }
    // The last one that is for the type counts; for all requests, others are passed by.
    const Text& text = kOfNvidia[dice_.below(std::size(kOfNvidia))];
    if (dice_.below(4) == 0) add(kOfNvidia[dice_.below(std::size(kOfNvidia))].json, false);
    add(text.json, false);
    return text.label;
  }

  void hold(World& world, Device& device) {
    const int amount = static_cast<int>(dice_.below(5));
    if (device.held + amount > device.total) return;
    api::ResourceClaim claim = claim_of("holder-" + std::to_string(world.holders.size()));
    if (device.driver == 0 && dice_.below(6) == 0) {
      claim.spec.config.emplace_back().opaque = api::OpaqueConfig{kNvidia, kOfPartitions};
    }
    const std::string label = configure(world, device.driver, "r", claim);
    if (world.rules.parameters[world.drivers[device.driver]] == Parameters::kEqual && !device.labels.empty() &&
        device.labels.front() != label)
      return;  // its driver would have refused it
    api::AllocationResult& allocation = claim.status.allocation.emplace();
    for (const api::DeviceClaimConfig& config : claim.spec.config)
      allocation.config.push_back({"FromClaim", config.requests, config.opaque});
    api::DeviceRequestAllocationResult& result = allocation.results.emplace_back();
    result.request = "r";
    result.driver = world.drivers[device.driver];
    result.pool = device.node;
    result.device = device.name;
    result.share_id = "share-" + std::to_string(world.holders.size());
    result.consumed_capacity["memory"] = std::to_string(amount);
    device.held += amount;
    device.labels.push_back(label);
    world.holders.push_back(std::move(claim));
  }

  void ask(World& world, size_t number) {
    api::ResourceClaim claim = claim_of("claim-" + std::to_string(number));
    const size_t requests = 1 + dice_.below(3);
    for (size_t r = 0; r < requests; ++r) {
      Wanted wanted;
      wanted.claim = number;
      wanted.name = "r" + std::to_string(r);
      wanted.driver = dice_.below(2);
      wanted.count = 1 + static_cast<int>(dice_.below(5) == 0);
      wanted.amount = static_cast<int>(dice_.below(7));
      wanted.label = configure(world, wanted.driver, wanted.name, claim);
      api::DeviceRequest& request = claim.spec.requests.emplace_back();
      request.name = wanted.name;
      request.exactly.emplace();
      request.exactly->device_class_name = "class-" + std::to_string(wanted.driver);
      request.exactly->allocation_mode = "ExactCount";
      request.exactly->count = wanted.count;
      request.exactly->capacity_requests["memory"] = std::to_string(wanted.amount);
      world.wanted.push_back(std::move(wanted));
    }
    world.claims.push_back(std::move(claim));
  }

  SeededRandom dice_;
};

// Tries every choice of devices on a node.
class Twin {
 public:
  Twin(const World& world, const std::string& node, bool apart) : world_(world), node_(node), apart_(apart) {}
  bool fits() { return request(0); }

 private:
  struct Taken {
    size_t device, wanted;
  };

  bool request(size_t number) {
    return number == world_.wanted.size() || devices(number, 0, world_.wanted[number].count);
  }

  bool devices(size_t number, size_t from, int missing) {
    if (missing == 0) return request(number + 1);
    for (size_t d = from; d < world_.devices.size(); ++d) {
      if (world_.devices[d].node != node_ || world_.devices[d].driver != world_.wanted[number].driver) continue;
      taken_.push_back({d, number});
      if (allowed(d) && devices(number, d + 1, missing - 1)) return true;
      taken_.pop_back();
    }
    return false;
  }

  bool allowed(size_t d) const {
    const Device& device = world_.devices[d];
    const std::string& driver = world_.drivers[device.driver];
    int sum = device.held;
    std::set<std::string> labels(device.labels.begin(), device.labels.end());
    std::multiset<size_t> claims;
    for (const Taken& one : taken_) {
      if (one.device != d) continue;
      sum += world_.wanted[one.wanted].amount;
      labels.insert(world_.wanted[one.wanted].label);
      claims.insert(world_.wanted[one.wanted].claim);
    }
    const Requests rule = world_.rules.requests_of(driver);
    const bool once = rule == Requests::kNever || (rule == Requests::kApart && apart_);
    if (once && std::set<size_t>(claims.begin(), claims.end()).size() < claims.size()) return false;
    return sum <= device.total && (labels.size() < 2 || !world_.rules.compares(driver));
  }

  const World& world_;
  const std::string node_;
  const bool apart_;
  std::vector<Taken> taken_;
};

bool fits_somewhere(const World& world, bool apart) {
  return std::any_of(world.nodes.begin(), world.nodes.end(),
                     [&](const std::string& node) { return Twin(world, node, apart).fits(); });
}

class Fleet {
 public:
  explicit Fleet(const World& world, allocator::Strategy strategy)
      : inventory_(inventory::Features::all()), random_(1) {
    inventory_.device_index().set_share_rules(world.rules);
    for (size_t driver = 0; driver < world.drivers.size(); ++driver) {
      api::DeviceClass device_class;
      device_class.metadata.name = "class-" + std::to_string(driver);
      device_class.selectors = {"device.driver == \"" + world.drivers[driver] + "\""};
      inventory_.apply_class(device_class);
    }
    for (const std::string& node : world.nodes) nodes_.push_back(inventory_.apply_node(node, {}));
    for (const std::string& node : world.nodes)
      for (size_t driver = 0; driver < world.drivers.size(); ++driver) publish(world, node, driver);
    for (const api::ResourceClaim& holder : world.holders) inventory_.apply_claim(holder);
    allocator::Options options;
    options.strategy = strategy;
    allocator_.emplace(inventory_, options, random_);
    for (const api::ResourceClaim& claim : world.claims)
      request_.claims.push_back(std::make_shared<const api::ResourceClaim>(claim));
  }

  allocator::FoundNodes find() { return allocator_->find_nodes(request_, nodes_); }
  allocator::Reasons reasons() { return allocator_->explain(request_, nodes_); }

  // What is wrong with the decision; empty: nothing.
  std::string judge(const World& world, const allocator::Decision& decision, bool apart) {
    std::map<std::string, std::multiset<size_t>> claims;  // by driver and device
    for (size_t c = 0; c < decision.results.size(); ++c) {
      for (const api::DeviceRequestAllocationResult& result : decision.results[c].results)
        claims[result.driver + " " + result.device].insert(c);
      inventory_.assume(request_.claims[c]->metadata.uid, decision.results[c], request_.claims[c].get());
    }
    for (const auto& [device, of] : claims) {
      const Requests rule = world.rules.requests_of(device.substr(0, device.find(' ')));
      const bool twice = std::set<size_t>(of.begin(), of.end()).size() < of.size();
      if (twice && (rule == Requests::kNever || (rule == Requests::kApart && apart))) return "twice: " + device;
    }
    const auto findings = inventory_.audit();
    return findings.empty() ? "" : findings.front().message;
  }

 private:
  void publish(const World& world, const std::string& node, size_t driver) {
    api::ResourceSlice slice;
    slice.metadata.name = node + "-" + std::to_string(driver);
    slice.driver = world.drivers[driver];
    slice.node_name = node;
    slice.pool = {node, 1, 1};
    for (const Device& device : world.devices) {
      if (device.node != node || device.driver != driver) continue;
      api::Device& made = slice.devices.emplace_back();
      made.name = device.name;
      made.attributes["type"] = api::DeviceAttribute(std::string("gpu"));
      made.allow_multiple_allocations = true;
      api::DeviceCapacity& memory = made.capacity["memory"];
      memory.value = std::to_string(device.total);
      memory.request_policy.emplace().default_value = "0";
      memory.request_policy->valid_range.emplace();
      memory.request_policy->valid_range->min = "0";
    }
    inventory_.apply_slice(slice);
  }

  inventory::Inventory inventory_;
  SeededRandom random_;
  std::optional<allocator::Allocator> allocator_;
  allocator::Request request_;
  std::vector<inventory::NodeId> nodes_;
};

TEST(SharingWorlds, AgreeWithASearchThatTriesEverything) {
  using allocator::Strategy;
  const uint64_t first = test::number_from("DRA_SEED", 1), cases = test::number_from("DRA_SHARING_CASES", 500);
  std::cout << "worlds of shared devices from seed " << first << ", " << cases << " of them\n";
  uint64_t fit = 0, only_together = 0, none = 0, ruled_out = 0;
  for (uint64_t seed = first; seed < first + cases; ++seed) {
    const World world = Maker(seed).make();
    const bool apart = fits_somewhere(world, true), together = fits_somewhere(world, false);
    World plain = world;
    plain.rules = {};
    ruled_out += !together && fits_somewhere(plain, false);
    (apart ? fit : together ? only_together : none) += 1;
    for (const Strategy strategy : {Strategy::kFirstFit, Strategy::kBestFit, Strategy::kPack, Strategy::kSpread}) {
      Fleet fleet(world, strategy);
      const allocator::FoundNodes found = fleet.find();
      const std::string where = "seed " + std::to_string(seed) + " " + std::string(strategy_name(strategy));
      if (!together) {
        ASSERT_EQ(found.outcome, allocator::Outcome::kInfeasible) << where;
        ASSERT_FALSE(fleet.reasons().proof.empty()) << where;
        continue;
      }
      ASSERT_EQ(found.outcome, allocator::Outcome::kFeasible) << where;
      ASSERT_EQ(fleet.judge(world, found.decisions.front(), apart), "") << where;
    }
  }
  std::cout << fit << " fit with a device each, " << only_together << " only together, " << none << " not at all, "
            << ruled_out << " of these because of what drivers refuse\n";
  EXPECT_GT(fit, cases / 8);
  EXPECT_GT(only_together, cases / 100);
  EXPECT_GT(ruled_out, cases / 50);
}

}  // namespace
}  // namespace dra::allocharness::sharing_test
