// Claims as large as an API server accepts: no call takes long, each gets an answer in the end, and only the requesting
// namespace pays for it.
#include <gtest/gtest.h>

#include <malloc.h>

#include <cstdlib>
#include <iostream>

#include "pkg/allocator/allocator.h"
#include "pkg/allocator/plan/filters.h"
#include "pkg/allocator/plan/plan.h"
#include "pkg/allocator/plan/selectors.h"
#include "test/support/cpu_millis.h"

namespace dra::allocator::hostile_claims_test {
namespace {

using inventory::Features;
using inventory::Inventory;
using ClaimPtr = std::shared_ptr<const api::ResourceClaim>;
using Selectors_of = std::function<std::vector<std::string>(int claim, int request, int alternative)>;

using test::cpu_millis;

// Real time plus simulated waiting.
class RealTimeAndMore : public ManualClock {
 public:
  MonoTime mono_now() const override {
    return stands ? ManualClock::mono_now() : real_.mono_now() + ManualClock::mono_now().time_since_epoch();
  }
  bool stands = false;  // ignores real time: shares do not fill while a slow machine works

 private:
  SystemClock real_;
};

api::DeviceSubRequest sub(const std::string& name, std::vector<std::string> selectors) {
  api::DeviceSubRequest s;
  s.name = name;
  s.device_class_name = "any";
  s.count = 1;
  s.selectors = std::move(selectors);
  return s;
}

struct Size {
  int claims = 1, requests = 32, alternatives = 8, constraints = 0;
};

class HostileClaims : public testing::Test {
 protected:
  HostileClaims() : inventory_(Features::all()) {
    api::DeviceClass any;
    any.metadata.name = "any";
    any.selectors = {"device.driver == \"drv\""};
    inventory_.apply_class(any);
  }

  // Nodes with one device each, every device of its own kind.
  void add_nodes(int count) {
    for (int i = 0; i < count; ++i) {
      const std::string name = "n" + std::to_string(i);
      nodes_.push_back(inventory_.apply_node(name, {}));
      api::ResourceSlice s;
      s.metadata.name = name;
      s.driver = "drv";
      s.pool = {name, 1, 1};
      s.node_name = name;
      api::Device& device = s.devices.emplace_back();
      device.name = "d";
      device.attributes["number"] = int64_t{i};
      device.capacity["memory"].value = "100";
      inventory_.apply_slice(s);
    }
  }

  std::vector<ClaimPtr> claims(const Size& size, const Selectors_of& selectors) {
    std::vector<ClaimPtr> all;
    for (int c = 0; c < size.claims; ++c) {
      auto claim = std::make_shared<api::ResourceClaim>();
      claim->metadata.name = "c" + std::to_string(c);
      claim->metadata.ns = "hostile";
      claim->metadata.uid = "uid" + std::to_string(c);
      for (int r = 0; r < size.requests; ++r) {
        api::DeviceRequest& request = claim->spec.requests.emplace_back();
        request.name = "r" + std::to_string(r);
        if (size.alternatives == 1) {
          request.exactly = sub("", selectors(c, r, 0));
          continue;
        }
        for (int a = 0; a < size.alternatives; ++a)
          request.first_available.push_back(sub("a" + std::to_string(a), selectors(c, r, a)));
      }
      for (int i = 0; i < size.constraints; ++i) {
        api::DeviceConstraint& constraint = claim->spec.constraints.emplace_back();
        constraint.match_attribute = "drv/attribute" + std::to_string(i);
        for (int r = 0; r < size.requests; ++r) constraint.requests.push_back("r" + std::to_string(r));
      }
      all.push_back(claim);
    }
    return all;
  }

  // Calls until there is an answer.
  FoundNodes decide(const std::vector<ClaimPtr>& claims, int most_calls = 2000) {
    FoundNodes found;
    const size_t before = mallinfo2().uordblks;
    size_t most = before;
    for (calls_ = 0; calls_ == 0 || (found.outcome == Outcome::kUnfinished && calls_ < most_calls); ++calls_) {
      clock_.advance(found.ask_again + std::chrono::milliseconds(1));
      const double start = cpu_millis();
      found = allocator_->find_nodes({claims}, nodes_);
      longest_ = std::max(longest_, cpu_millis() - start);
      most = std::max<size_t>(most, mallinfo2().uordblks);
    }
    grown_ = static_cast<double>(most - before) / (1 << 20);
    std::cout << outcome_name(found.outcome) << " after " << calls_ << " calls, the longest " << longest_
              << " ms, kept " << grown_ << " MiB" << (found.error ? ": " + found.error->message() : "") << "\n";
    return found;
  }

  // As the manager does it.
  void make(uint64_t steps = 20'000, Duration time = std::chrono::milliseconds(6)) {
    Options options;
    options.slice = {steps, time, &clock_};
    allocator_ = std::make_unique<Allocator>(inventory_, options, random_);
  }

  RealTimeAndMore clock_;
  Inventory inventory_;
  SeededRandom random_{1};
  std::vector<NodeId> nodes_;
  std::unique_ptr<Allocator> allocator_;
  int calls_ = 0;
  double longest_ = 0, grown_ = 0;
};

// Generous, for slow machines: without slices it took seconds.
constexpr double kLongestCall = 150;
constexpr double kMostMiB = 64;

TEST_F(HostileClaims, MoreClaimsThanAreSupportedAreRefusedBeforeAnyIsLookedAt) {
  add_nodes(1);
  make();
  const auto all = claims({400, 32, 8, 0}, [](int c, int r, int a) {
    return std::vector<std::string>{std::to_string((c * 32 + r) * 8 + a) + " >= 0"};
  });
  const FoundNodes found = decide(all);
  EXPECT_EQ(found.outcome, Outcome::kError);
  EXPECT_NE(found.error->message().find("has 400 claims to allocate together; at most 64"), std::string::npos);
  EXPECT_FALSE(found.guilty_claim.has_value());
  EXPECT_LT(longest_, kLongestCall / 10);
  EXPECT_EQ(calls_, 1);
}

TEST_F(HostileClaims, TooManyAlternativesAreRefused) {
  add_nodes(1);
  make();
  const FoundNodes found = decide(claims({64, 32, 8, 0}, [](int, int, int) { return std::vector<std::string>{}; }));
  EXPECT_EQ(found.outcome, Outcome::kError);
  EXPECT_NE(found.error->message().find("more than 1024 requests and subrequests"), std::string::npos);
  EXPECT_LT(longest_, kLongestCall);
}

TEST_F(HostileClaims, TooMuchSelectorTextIsRefused) {
  add_nodes(1);
  make();
  const FoundNodes found = decide(claims({1, 32, 8, 0}, [](int c, int r, int a) {
    return std::vector<std::string>{std::to_string((c * 32 + r) * 8 + a) + " >= 0 || \"" + std::string(5000, 'x') +
                                    "\" == \"\""};
  }));
  EXPECT_EQ(found.outcome, Outcome::kError);
  EXPECT_NE(found.error->message().find("more than 192 KiB of selectors"), std::string::npos);
  EXPECT_EQ(found.guilty_claim, 0u);
  EXPECT_LT(longest_, kLongestCall);
  EXPECT_LT(grown_, kMostMiB);
}

// 256 different selectors, on 10,000 different nodes.
TEST_F(HostileClaims, TheLargestClaimIsDecidedInSlices) {
  add_nodes(std::getenv("DRA_LONG") ? 10'000 : 200);
  make();
  decide(claims({1, 32, 8, 32}, [](int, int r, int a) {
    return std::vector<std::string>{"device.attributes[\"drv\"].number % " + std::to_string(r * 8 + a + 2) + " == 0",
                                    "device.attributes[\"drv\"].number >= " + std::to_string(r * 8 + a)};
  }));
  EXPECT_LT(longest_, kLongestCall);
  EXPECT_LT(grown_, kMostMiB);
}

// Only the last alternative of each request is available.
TEST_F(HostileClaims, AThousandAlternativesAreCountedInSlices) {
  add_nodes(std::getenv("DRA_LONG") ? 10'000 : 200);
  make();
  decide(claims({4, 32, 8, 0}, [](int c, int r, int a) {
    const std::string number = std::to_string((c * 32 + r) * 8 + a);
    return std::vector<std::string>{a < 7 ? "device.attributes[\"drv\"].number < -" + number
                                          : "device.attributes[\"drv\"].number > -" + number};
  }));
  EXPECT_LT(longest_, kLongestCall);
  EXPECT_LT(grown_, kMostMiB);
}

// However short the slices, each call makes progress.
TEST_F(HostileClaims, PlanningGoesOnInTheShortestSlices) {
  add_nodes(1);
  make(1'000);
  const auto all = claims({4, 32, 8, 4}, [](int c, int r, int a) {
    return std::vector<std::string>{std::to_string((c * 32 + r) * 8 + a) + " >= 0", "device.driver != \"\""};
  });
  EXPECT_NE(decide(all).outcome, Outcome::kUnfinished);
}

// A refusal costs time, so it is charged: the namespace's next long decision gets short slices.
TEST_F(HostileClaims, RefusedClaimsAreChargedToTheirNamespace) {
  add_nodes(1);
  clock_.stands = true;
  make(20'000, Duration::zero());  // steps only
  const auto long_one = claims({1, 32, 8, 0}, [](int, int r, int a) {
    return std::vector<std::string>{std::to_string(r * 8 + a) + " >= 0 || \"" + std::string(500, 'y') + "\" == \"\""};
  });
  EXPECT_EQ(allocator_->find_nodes({long_one}, nodes_).ask_again, Duration::zero());
  for (int i = 0; i < 40; ++i) {
    auto refused = claims({1, 2, 8, 0}, [i](int, int r, int a) {
      return std::vector<std::string>{std::to_string(i * 256 + r * 8 + a) + " >= 0 || \"" + std::string(500, 'x') +
                                      "\" == \"\""};
    });
    api::ResourceClaim bad = *refused[0];
    bad.spec.requests.emplace_back().name = "neither";
    const FoundNodes found = allocator_->find_nodes({{std::make_shared<api::ResourceClaim>(bad)}}, nodes_);
    ASSERT_EQ(found.outcome, Outcome::kError);
  }
  const FoundNodes found = allocator_->find_nodes({long_one}, nodes_);
  EXPECT_EQ(found.outcome, Outcome::kUnfinished);
  EXPECT_GT(found.ask_again, Duration::zero());
}

// Explaining costs as much as deciding, and no more.
TEST_F(HostileClaims, ExplainingTheLargestClaimEnds) {
  add_nodes(100);
  make();
  const auto all = claims({1, 32, 8, 32}, [](int, int r, int a) {
    return std::vector<std::string>(
        4,
        "device.attributes[\"drv\"].exists(k, device.attributes[\"drv\"].exists(l, "
        "device.attributes[\"drv\"].exists(m, [1,2,3,4,5,6,7,8,9,10].exists(x, [1,2,3,4,5,6,7,8,9,10].exists(y, "
        "[1,2,3,4,5,6,7,8,9,10].exists(z, x * y * z == " +
            std::to_string(-1 - r * 8 - a) + "))))))");
  });
  for (int i = 0; i < 20; ++i) {
    const double start = cpu_millis();
    allocator_->explain({all}, nodes_);
    longest_ = std::max(longest_, cpu_millis() - start);
    clock_.advance(std::chrono::seconds(1));
  }
  std::cout << "the longest " << longest_ << " ms\n";
  EXPECT_LT(longest_, kLongestCall);
}

}  // namespace
}  // namespace dra::allocator::hostile_claims_test
