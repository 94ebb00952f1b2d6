// After a restart best-fit weighs the requests of claims and templates in the cluster, as if it had decided them.
#include "pkg/manager/request_mix_seed.h"

#include <gtest/gtest.h>

#include "client/informer/object_store.h"
#include "pkg/allocator/allocator.h"
#include "pkg/reactor/sim_reactor.h"

namespace dra::manager {
namespace {

using namespace std::chrono_literals;

api::ResourceClaimSpec asking_for(const std::string& memory) {
  api::ResourceClaimSpec spec;
  api::DeviceRequest& request = spec.requests.emplace_back();
  request.name = "r";
  request.exactly.emplace();
  request.exactly->device_class_name = "any";
  request.exactly->allocation_mode = "ExactCount";
  request.exactly->count = 1;
  request.exactly->capacity_requests["memory"] = memory;
  return spec;
}

// Two devices that can be shared: node a's has 50 left, node b's 69.
class RequestMixSeedTest : public testing::Test {
 protected:
  RequestMixSeedTest()
      : reactor(clock),
        pods(pods_core),
        claims(claims_core),
        templates(templates_core),
        stores{&pods, &claims, &templates},
        allocator(inventory, options(), random),
        seed(reactor, allocator, stores) {
    add_indexes(stores);
    claims_core.replace({}, 1);
    templates_core.replace({}, 1);
    api::DeviceClass any;
    any.metadata.name = "any";
    inventory.apply_class(any);
    node("a", "50");
    node("b", "31");
  }
  static allocator::Options options() {
    allocator::Options chosen;
    chosen.strategy = allocator::Strategy::kBestFit;
    return chosen;
  }
  void node(const std::string& name, const std::string& held) {
    inventory.apply_node(name, {});
    api::ResourceSlice slice;
    slice.metadata.name = slice.node_name = name;
    slice.driver = "drv";
    slice.pool = {name, 1, 1};
    api::Device& device = slice.devices.emplace_back();
    device.name = "d0";
    device.allow_multiple_allocations = true;
    device.capacity["memory"].value = "100";
    device.capacity["memory"].request_policy.emplace();
    device.capacity["memory"].request_policy->default_value = "1";
    device.capacity["memory"].request_policy->valid_range.emplace();
    device.capacity["memory"].request_policy->valid_range->min = "1";
    inventory.apply_slice(slice);
    api::AllocationResult holder;
    api::DeviceRequestAllocationResult& entry = holder.results.emplace_back();
    entry.request = "r";
    entry.driver = "drv";
    entry.pool = name;
    entry.device = "d0";
    entry.share_id = "s";
    entry.consumed_capacity["memory"] = held;
    inventory.apply_allocation("holder-" + name, holder);
  }
  template <class T>
  void put(client::ObjectStore& core, std::shared_ptr<T> object, int number) {
    object->metadata.ns = "d";
    object->metadata.name = object->metadata.uid = "o" + std::to_string(number);
    core.apply(client::Entry(std::shared_ptr<const T>(object), object->metadata, ++revision));
  }
  void allocated_claim(int number) {
    auto claim = std::make_shared<api::ResourceClaim>();
    claim->spec = asking_for("50");
    claim->status.allocation.emplace();
    put(claims_core, claim, number);
  }
  // The node for a claim that asks for 19: on a that would leave 31, of no use to requests for 50.
  std::string chosen() {
    auto claim = std::make_shared<api::ResourceClaim>();
    claim->metadata.uid = "asked-" + std::to_string(++asked);
    claim->spec = asking_for("19");
    allocator::Request request;
    request.claims.push_back(claim);
    const std::vector<allocator::NodeId> order = {inventory.node_id("a"), inventory.node_id("b")};
    const allocator::FoundNodes found = allocator.find_nodes(request, order);
    return found.decisions.empty() ? "none" : inventory.node_name(found.decisions[0].node);
  }

  ManualClock clock;
  SimReactor reactor;
  client::ObjectStore pods_core, claims_core, templates_core;
  client::Store<api::Pod> pods;
  client::Store<api::ResourceClaim> claims;
  client::Store<api::ResourceClaimTemplate> templates;
  Stores stores;
  inventory::Inventory inventory{inventory::Features::all()};
  SeededRandom random{1};
  allocator::Allocator allocator;
  RequestMixSeed seed;
  uint64_t revision = 1;
  int asked = 0;
};

TEST_F(RequestMixSeedTest, ClaimsThatAreAllocatedCount) {
  for (int i = 0; i < 150; ++i) allocated_claim(i);
  EXPECT_EQ(chosen(), "a") << "nothing is known yet: by name";
  seed.start();
  EXPECT_EQ(seed.left(), 0u) << "not in the task that starts the term";
  reactor.advance(1ms);
  EXPECT_EQ(seed.left(), 150u);
  reactor.advance(100ms);
  EXPECT_EQ(seed.left(), 0u);
  EXPECT_EQ(chosen(), "b");
}

TEST_F(RequestMixSeedTest, TemplatesCountWhereThereAreFewClaims) {
  for (int i = 0; i < 150; ++i) {
    auto one = std::make_shared<api::ResourceClaimTemplate>();
    one->spec = asking_for("50");
    put(templates_core, one, i);
  }
  seed.start();
  reactor.advance(100ms);
  EXPECT_EQ(chosen(), "b");
}

TEST_F(RequestMixSeedTest, AtMostSoManyClaimsAreLookedAtAndNoneAfterTheTerm) {
  for (int i = 0; i < static_cast<int>(RequestMixSeed::kMostClaims) + 10; ++i) allocated_claim(i);
  seed.start();
  reactor.advance(1ms);
  EXPECT_EQ(seed.left(), RequestMixSeed::kMostClaims);
  seed.stop();
  reactor.advance(1s);
  EXPECT_EQ(chosen(), "a");
}

}  // namespace
}  // namespace dra::manager
