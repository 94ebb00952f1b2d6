// Objects that no current API server accepts, but an older one may have: a fault makes a pool or a request unusable,
// with a reason; other pools still work; nothing crashes.
#include <gtest/gtest.h>

#include <functional>

#include "pkg/allocator/allocator.h"
#include "test/support/objects.h"

namespace dra::allocator::bad_input_test {
namespace {

using inventory::Inventory;
using inventory::PoolState;

api::ResourceSlice pool_of(const std::string& name, int devices) {
  api::ResourceSlice slice = test::local_slice("drv", name, "d", devices);
  slice.node_name = "n0";
  for (int d = 0; d < devices; ++d) {
    api::Device& device = slice.devices[d];
    device.attributes["index"] = int64_t{d};
    device.capacity["memory"].value = "8Gi";
  }
  return slice;
}

api::ResourceClaim claim_for(int64_t count) {
  api::ResourceClaim claim;
  claim.metadata.name = "c";
  claim.metadata.ns = "ns";
  claim.metadata.uid = "uid";
  claim.spec.requests = {test::exactly("r", "any", count)};
  return claim;
}

class BadInput : public testing::Test {
 protected:
  BadInput() : inventory_(inventory::Features::all()), allocator_(inventory_, {}, random_) {
    api::DeviceClass device_class;
    device_class.metadata.name = "any";
    inventory_.apply_class(device_class);
    node_ = inventory_.apply_node("n0", {});
    inventory_.apply_slice(pool_of("good", 2));
  }
  Decision allocate(const api::ResourceClaim& claim) {
    return allocator_.allocate({{std::make_shared<const api::ResourceClaim>(claim)}}, node_);
  }
  Reasons explain(const api::ResourceClaim& claim) {
    return allocator_.explain({{std::make_shared<const api::ResourceClaim>(claim)}}, std::span(&node_, 1));
  }

  SeededRandom random_{1};
  Inventory inventory_;
  Allocator allocator_;
  NodeId node_ = 0;
};

struct BadPool {
  const char* what;
  std::function<void(api::ResourceSlice&)> spoil;
  std::vector<std::string> reason;  // what the pool's reason mentions
};

api::CapacityRequestPolicy range(const std::string& min, const std::string& step) {
  return {"1Gi", {}, api::CapacityRange{min, std::nullopt, step}};
}

std::vector<BadPool> bad_pools() {
  auto first = [](api::ResourceSlice& s) -> api::Device& { return s.devices[0]; };
  return {
      {"a step of zero",
       [=](auto& s) { first(s).capacity["memory"].request_policy = range("1Gi", "0"); },
       {"slice-bad", "d0", "validRange.step", "must be positive"}},
      {"a negative step",
       [=](auto& s) { first(s).capacity["memory"].request_policy = range("1Gi", "-1"); },
       {"slice-bad", "d0", "validRange.step", "must be positive"}},
      {"a range without min",
       [=](auto& s) { first(s).capacity["memory"].request_policy = range("", "1Gi"); },
       {"slice-bad", "d0", "validRange.min", "not a quantity"}},
      {"a negative capacity",
       [=](auto& s) { first(s).capacity["memory"].value = "-1"; },
       {"slice-bad", "d0", "memory", "must not be negative"}},
      {"a capacity without value",
       [=](auto& s) { first(s).capacity["memory"].value.clear(); },
       {"slice-bad", "d0", "memory", "not a quantity"}},
      {"a negative consumption",
       [=](auto& s) {
         s.shared_counters = {{"set", {{"c", "1"}}}};
         first(s).consumes_counters = {{"set", {{"c", "-1"}}}};
       },
       {"slice-bad", "d0", "consumesCounters", "must not be negative"}},
      {"a counter that is not a quantity",
       [=](auto& s) {
         s.shared_counters = {{"set", {{"c", "many"}}}};
       },
       {"slice-bad", "sharedCounters", "\"many\" is not a quantity"}},
      {"an unknown counter set",
       [=](auto& s) {
         first(s).consumes_counters = {{"nowhere", {{"c", "1"}}}};
       },
       {"slice-bad", "d0", "nowhere", "does not publish"}},
      {"an unknown counter set, nothing taken of it",
       [=](auto& s) {
         first(s).consumes_counters = {{"nowhere", {}}};
       },
       {"slice-bad", "nowhere", "does not publish"}},
      {"an unknown counter",
       [=](auto& s) {
         s.shared_counters = {{"set", {{"c", "1"}}}};
         first(s).consumes_counters = {{"set", {{"d", "1"}}}};
       },
       {"slice-bad", "d0", "\"d\"", "does not publish"}},
      {"a counter set twice",
       [=](auto& s) {
         s.shared_counters = {{"set", {{"c", "1"}}}, {"set", {{"c", "2"}}}};
       },
       {"set", "published twice"}},
      {"a device twice", [=](auto& s) { s.devices[1].name = "d0"; }, {"d0", "published twice"}},
      {"devices without names",
       [=](auto& s) {
         s.devices[0].name.clear();
         s.devices[1].name.clear();
       },
       {"published twice"}},
      {"a node name and all nodes", [=](auto& s) { s.all_nodes = true; }, {"slice-bad", "more than one of nodeName"}},
      {"far too many devices",
       [=](auto& s) { s.devices = pool_of("bad", 5000).devices; },
       {"slice-bad", "5000 devices"}},
  };
}

TEST_F(BadInput, APoolIsUnusableWithItsReasonAndOthersGoOn) {
  for (const BadPool& bad : bad_pools()) {
    SCOPED_TRACE(bad.what);
    api::ResourceSlice slice = pool_of("bad", 2);
    bad.spoil(slice);
    inventory_.apply_slice(slice);
    const auto pool = inventory_.pool("drv", "bad");
    ASSERT_TRUE(pool);
    EXPECT_EQ(pool->state, PoolState::kInvalid);
    for (const std::string& part : bad.reason) EXPECT_NE(pool->reason.find(part), std::string::npos) << pool->reason;
    const Decision two = allocate(claim_for(2));
    ASSERT_EQ(two.outcome, Outcome::kFeasible);
    for (const auto& entry : two.results[0].results) EXPECT_EQ(entry.pool, "good");
    EXPECT_EQ(allocate(claim_for(3)).outcome, Outcome::kInfeasible);
    const Reasons reasons = explain(claim_for(3));
    EXPECT_EQ(reasons.requests.at(0).counts.at(0).cause, Cause::kPoolInvalid);
    // "All" cannot be known while a pool is unusable.
    api::ResourceClaim all = claim_for(0);
    all.spec.requests[0].exactly->allocation_mode = "All";
    EXPECT_EQ(allocate(all).outcome, Outcome::kInfeasible);
  }
  // Once repaired, it is used again.
  inventory_.apply_slice(pool_of("bad", 2));
  EXPECT_EQ(allocate(claim_for(4)).outcome, Outcome::kFeasible);
}

TEST_F(BadInput, OddCountsOfSlicesMakeThePoolIncomplete) {
  for (int64_t announced : {int64_t{0}, int64_t{-1}, INT64_MAX}) {
    api::ResourceSlice slice = pool_of("bad", 2);
    slice.pool.resource_slice_count = announced;
    slice.pool.generation = -5;
    inventory_.apply_slice(slice);
    EXPECT_EQ(inventory_.pool("drv", "bad")->state, PoolState::kIncomplete);
    EXPECT_EQ(allocate(claim_for(2)).outcome, Outcome::kFeasible);
    EXPECT_EQ(allocate(claim_for(3)).outcome, Outcome::kInfeasible);
  }
}

TEST_F(BadInput, ASliceForNoNodeIsForNone) {
  api::ResourceSlice slice = pool_of("bad", 2);
  slice.node_name.clear();
  inventory_.apply_slice(slice);
  EXPECT_EQ(allocate(claim_for(3)).outcome, Outcome::kInfeasible);
}

TEST_F(BadInput, ABadValueCostsOnlyItsDevice) {
  api::ResourceSlice slice = pool_of("bad", 2);
  slice.devices[0].attributes["index"] = std::monostate{};
  slice.devices[1].attributes["version"] = api::VersionText{"one.two"};
  inventory_.apply_slice(slice);
  api::ResourceClaim claim = claim_for(2);
  claim.spec.requests[0].exactly->selectors = {"device.driver == \"drv\""};
  EXPECT_EQ(allocate(claim).outcome, Outcome::kFeasible);
  claim.spec.requests[0].exactly->count = 3;
  EXPECT_EQ(allocate(claim).outcome, Outcome::kInfeasible);
  const Reasons reasons = explain(claim);
  uint32_t failed = 0;
  for (const CauseCount& count : reasons.requests.at(0).counts)
    if (count.cause == Cause::kEvaluationError) failed += count.devices;
  EXPECT_EQ(failed, 2u) << reasons.summary();
  EXPECT_EQ(allocate(claim_for(4)).outcome, Outcome::kFeasible);  // nobody reads the bad values
}

TEST_F(BadInput, HugeAndOddQuantitiesDoNotOverflow) {
  api::ResourceSlice slice = pool_of("bad", 2);
  slice.devices[0].allow_multiple_allocations = true;
  slice.devices[0].capacity["memory"].value = "9223372036854775807";
  slice.devices[0].capacity["memory"].request_policy = range("1", "9223372036854775807");
  inventory_.apply_slice(slice);
  for (const char* asked : {"0", "1", "2", "9223372036854775807", "1e99", "1n", "-1", "-9E"}) {
    api::ResourceClaim claim = claim_for(1);
    claim.spec.requests[0].exactly->capacity_requests["memory"] = asked;
    const Decision decision = allocate(claim);
    EXPECT_TRUE(decision.outcome == Outcome::kFeasible || decision.outcome == Outcome::kInfeasible) << asked;
    if (asked[0] == '-') {
      EXPECT_EQ(decision.outcome, Outcome::kInfeasible) << asked;
    }
  }
}

// A faulty consumption in a claim's status must not add capacity.
TEST_F(BadInput, NegativeConsumptionGivesNothingBack) {
  api::ResourceSlice slice = pool_of("shared", 1);
  slice.devices[0].allow_multiple_allocations = true;
  inventory_.apply_slice(slice);
  api::AllocationResult held;
  api::DeviceRequestAllocationResult& entry = held.results.emplace_back();
  entry.driver = "drv";
  entry.pool = "shared";
  entry.device = "d0";
  entry.share_id = "s1";
  for (const char* consumed : {"-8Gi", "many"}) {
    entry.consumed_capacity["memory"] = consumed;
    inventory_.apply_allocation("broken", held);
    api::ResourceClaim claim = claim_for(1);
    claim.spec.requests[0].exactly->capacity_requests["memory"] = "9Gi";
    EXPECT_EQ(allocate(claim).outcome, Outcome::kInfeasible);
    EXPECT_TRUE(inventory_.audit().empty());
  }
}

struct BadRequest {
  const char* what;
  std::function<void(api::ResourceClaimSpec&)> spoil;
  std::string message;
};

TEST_F(BadInput, ARequestIsRefusedByNameAndReason) {
  const std::vector<BadRequest> list = {
      {"an unknown mode", [](auto& s) { s.requests[0].exactly->allocation_mode = "Most"; },
       "claim \"ns/c\", request \"r\": allocationMode \"Most\" is not known"},
      {"a negative count", [](auto& s) { s.requests[0].exactly->count = -1; }, "count -1 is out of range"},
      {"no class", [](auto& s) { s.requests[0].exactly->device_class_name.clear(); }, "deviceClassName is missing"},
      {"neither kind", [](auto& s) { s.requests[0].exactly.reset(); }, "exactly one of exactly and firstAvailable"},
      {"both kinds", [](auto& s) { s.requests[0].first_available.emplace_back(); },
       "exactly one of exactly and firstAvailable"},
      {"an unknown selector", [](auto& s) { s.requests[0].exactly->selectors = {""}; }, "has no cel expression"},
      {"an unknown constraint", [](auto& s) { s.constraints.emplace_back(); },
       "constraint #0: neither matchAttribute nor a supported distinctAttribute is set"},
      {"a name twice", [](auto& s) { s.requests.push_back(s.requests[0]); },
       "claim \"ns/c\", request \"r\": the name is used twice"},
      {"an alternative's name twice",
       [](auto& s) {
         api::DeviceSubRequest sub = *s.requests[0].exactly;
         sub.name = "a";
         s.requests[0].exactly.reset();
         s.requests[0].first_available = {sub, sub};
       },
       "subrequest \"a\": the name is used twice"},
      {"a capacity that is not a quantity", [](auto& s) { s.requests[0].exactly->capacity_requests["memory"] = "big"; },
       "capacity request \"memory\": \"big\" is not a quantity"},
  };
  for (const BadRequest& bad : list) {
    SCOPED_TRACE(bad.what);
    api::ResourceClaim claim = claim_for(1);
    bad.spoil(claim.spec);
    const Decision decision = allocate(claim);
    ASSERT_EQ(decision.outcome, Outcome::kError);
    EXPECT_NE(decision.error->message().find(bad.message), std::string::npos) << decision.error->message();
    const Reasons reasons = explain(claim);
    EXPECT_EQ(reasons.requests.at(0).counts.at(0).cause, Cause::kInvalidRequest);
  }
  EXPECT_EQ(allocate(claim_for(1)).outcome, Outcome::kFeasible);
}

// Fields unknown to an older server get their defaults.
TEST_F(BadInput, MissingFieldsMeanTheirDefaults) {
  api::ResourceClaim claim = claim_for(0);  // neither count nor mode: one device
  EXPECT_EQ(allocate(claim).results.at(0).results.size(), 1u);
  api::ResourceClaim nothing = claim_for(1);
  nothing.spec.requests.clear();
  const Decision empty = allocate(nothing);
  EXPECT_EQ(empty.outcome, Outcome::kFeasible);
  EXPECT_TRUE(empty.results.at(0).results.empty());
  EXPECT_FALSE(empty.results.at(0).node_selector);
}

}  // namespace
}  // namespace dra::allocator::bad_input_test
