// One allocator decides through a history of changes exactly as a new one does: nothing it caches (plans, masks,
// counts, values, refutations) is ever stale. And the inventory's accounts always match its objects.
#include <gtest/gtest.h>

#include <cstdlib>

#include "pkg/allocator/allocator.h"
#include "pkg/base/random.h"
#include "test/oracle/generator.h"

namespace dra::allocharness::history_test {
namespace {

using allocator::Allocator;
using allocator::Decision;
using allocator::FoundNodes;
using allocator::Outcome;

class History {
 public:
  explicit History(uint64_t seed) : dice_(seed), first_world_(seed * 1000), inventory_(inventory::Features::all()) {
    for (const api::DeviceClass& device_class : world().classes) inventory_.apply_class(device_class);
    for (int n = 0; n < 3; ++n) nodes_.push_back(relabel(n));
    for (int i = 0; i < 6; ++i) put_slice();
    kept_ = std::make_unique<Allocator>(inventory_, allocator::Options{}, random_);
  }

  void change() {
    switch (dice_.below(9)) {
      case 0:
      case 1:
        put_slice();
        break;
      case 2:
        if (!slices_.empty()) inventory_.remove_slice(slices_[dice_.below(slices_.size())]);
        break;
      case 3:
        relabel(static_cast<int>(dice_.below(3)));
        break;
      case 4:
        change_rule();
        break;
      case 5:
        inventory_.remove_claim("holder-" + std::to_string(dice_.below(6)));
        break;
      case 6:
        if (!last_.empty()) inventory_.assume("holder-" + std::to_string(dice_.below(6)), last_[0]);
        break;
      case 7:
        if (!last_.empty()) inventory_.apply_allocation("holder-" + std::to_string(dice_.below(6)), last_[0]);
        break;
      default:
        inventory_.forget("holder-" + std::to_string(dice_.below(6)));
    }
  }

  // Whether the long-lived allocator and new ones decide the same; counts the outcomes.
  void compare(int* feasible, int* infeasible) {
    allocator::Request request = some_request();
    FoundNodes found = kept_->find_nodes(request, nodes_);
    const bool fits = !found.decisions.empty();
    (fits ? *feasible : *infeasible) += 1;
    inventory::NodeId expected = inventory::kNone;
    Decision plain;
    for (inventory::NodeId node : nodes_) {
      Allocator fresh(inventory_, {}, random_);
      plain = fresh.allocate(request, node);
      ASSERT_EQ(kept_->allocate(request, node).outcome, plain.outcome);
      if (plain.outcome != Outcome::kFeasible) continue;
      expected = node;
      break;
    }
    ASSERT_EQ(fits ? found.decisions[0].node : inventory::kNone, expected);
    if (!fits) {
      ASSERT_EQ(found.outcome, plain.outcome);
      return;
    }
    last_ = found.decisions[0].results;
    ASSERT_EQ(text(last_), text(plain.results));
  }

  // The same for best-fit, with the places that it keeps. Neither has seen enough requests for prices of its own.
  void compare_best_fit(int* feasible) {
    allocator::Request request = some_request();
    request.strategy = allocator::Strategy::kBestFit;
    // A member of a group asks again while the one before it has its devices.
    for (int member = 0; member < 3; ++member) {
      const FoundNodes found = kept_->find_nodes(request, nodes_);
      Allocator fresh(inventory_, {}, random_);
      const FoundNodes expected = fresh.find_nodes(request, nodes_);
      ASSERT_EQ(found.outcome, expected.outcome);
      if (found.outcome != Outcome::kFeasible) break;
      *feasible += 1;
      ASSERT_EQ(found.decisions[0].node, expected.decisions[0].node);
      ASSERT_EQ(text(found.decisions[0].results), text(expected.decisions[0].results));
      ASSERT_EQ(found.decisions[0].reason, expected.decisions[0].reason);
      inventory_.assume("member-" + std::to_string(member), found.decisions[0].results[0]);
    }
    for (int member = 0; member < 3; ++member) inventory_.forget("member-" + std::to_string(member));
  }

  // Only devices that this test itself allocates twice may be over-committed; nothing may have drifted.
  void audit() {
    for (const inventory::AuditFinding& finding : inventory_.audit())
      ASSERT_NE(finding.kind, inventory::AuditFinding::Kind::kDrift) << finding.message;
  }

 private:
  oracle::World world() { return oracle::random_world(first_world_ + dice_.below(40)); }

  inventory::NodeId relabel(int number) {
    return inventory_.apply_node("n" + std::to_string(number), {{"zone", dice_.below(2) == 0 ? "za" : "zb"},
                                                                {"rank", std::to_string(dice_.below(3))}});
  }

  void put_slice() {
    const oracle::World from = world();
    if (from.slices.empty()) return;
    const api::ResourceSlice& slice = from.slices[dice_.below(from.slices.size())];
    // Mostly whole pools, so that many are complete.
    for (const api::ResourceSlice& other : from.slices) {
      if (other.pool.name != slice.pool.name || dice_.below(12) == 0) continue;
      inventory_.apply_slice(other);
      slices_.push_back(other.metadata.name);
    }
  }

  void change_rule() {
    api::DeviceTaintRule rule;
    rule.metadata.name = "rule-" + std::to_string(dice_.below(2));
    if (dice_.below(2) == 0) return inventory_.remove_taint_rule(rule.metadata.name);
    rule.has_selector = true;
    if (dice_.below(2) == 0) rule.pool = "p" + std::to_string(dice_.below(3));
    if (dice_.below(2) == 0) rule.device = "d" + std::to_string(dice_.below(3));
    rule.taint = {"k", "v", "NoSchedule", ""};
    inventory_.apply_taint_rule(rule);
  }

  // Often a repeated one: what was learnt about it is still cached.
  allocator::Request some_request() {
    if (!requests_.empty() && dice_.below(3) != 0) return requests_[dice_.below(requests_.size())];
    allocator::Request request;
    for (const api::ResourceClaim& claim : world().claims)
      request.claims.push_back(std::make_shared<const api::ResourceClaim>(claim));
    requests_.push_back(request);
    return request;
  }

  static std::string text(const std::vector<api::AllocationResult>& results) {
    std::string out;
    for (const api::AllocationResult& result : results)
      for (const api::DeviceRequestAllocationResult& entry : result.results)
        out += entry.request + "=" + entry.driver + "/" + entry.pool + "/" + entry.device + " ";
    return out;
  }

  SeededRandom dice_;
  SeededRandom random_{1};
  const uint64_t first_world_;
  inventory::Inventory inventory_;
  std::vector<inventory::NodeId> nodes_;
  std::vector<std::string> slices_;
  std::vector<allocator::Request> requests_;
  std::vector<api::AllocationResult> last_;
  std::unique_ptr<Allocator> kept_;
};

TEST(AllocatorHistory, WhatIsKeptIsNeverOutOfDate) {
  const char* given = std::getenv("DRA_SEED");
  const uint64_t first = given ? std::strtoull(given, nullptr, 10) : 1;
  std::cout << "histories from seed " << first << "\n";
  int feasible = 0;
  int infeasible = 0;
  int best_fit = 0;
  for (uint64_t seed = first; seed < first + 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    History history(seed);
    for (int step = 0; step < 80; ++step) {
      SCOPED_TRACE("step " + std::to_string(step));
      history.change();
      history.compare(&feasible, &infeasible);
      if (HasFatalFailure()) return;
      history.compare_best_fit(&best_fit);
      if (HasFatalFailure()) return;
      history.audit();
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_GT(feasible, 500);
  EXPECT_GT(infeasible, 500);
  EXPECT_GT(best_fit, 1000);
}

}  // namespace
}  // namespace dra::allocharness::history_test
