#include "pkg/allocator/held_pairs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "pkg/base/random.h"
#include "pkg/inventory/inventory.h"
#include "test/support/environment.h"
#include "test/support/objects.h"

namespace dra::allocator::held_pairs_test {
namespace {

struct Held {
  std::vector<uint32_t> numbers;                           // by term
  std::vector<std::vector<std::vector<int64_t>>> devices;  // by term: the values of each; none: without the attribute
};

// By trial: each group takes a value and devices that have it.
bool by_trial(const Held& held, uint64_t groups) {
  std::vector<std::vector<bool>> used;
  for (const auto& term : held.devices) used.emplace_back(term.size(), false);
  std::function<bool(uint64_t)> make;
  std::function<bool(uint64_t, int64_t, size_t, size_t, uint32_t)> fill = [&](uint64_t left, int64_t value, size_t term,
                                                                              size_t from, uint32_t more) {
    if (term == held.devices.size()) return make(left - 1);
    if (more == 0) return fill(left, value, term + 1, 0, term + 1 < held.numbers.size() ? held.numbers[term + 1] : 0);
    for (size_t d = from; d < held.devices[term].size(); ++d) {
      const auto& values = held.devices[term][d];
      if (used[term][d] || std::find(values.begin(), values.end(), value) == values.end()) continue;
      used[term][d] = true;
      if (fill(left, value, term, d + 1, more - 1)) return true;
      used[term][d] = false;
    }
    return false;
  };
  make = [&](uint64_t left) {
    if (left == 0) return true;
    for (int64_t value = 0; value < 4; ++value)
      if (fill(left, value, 0, 0, held.numbers[0])) return true;
    return false;
  };
  return make(groups);
}

class HeldPairsTest : public testing::Test {
 protected:
  // Publishes the devices and returns the rule over them.
  PairRule publish(const Held& held, bool lists) {
    inventory::Features features;
    features.list_attributes = lists;
    inventory = std::make_unique<inventory::Inventory>(features);
    api::ResourceSlice slice;
    slice.metadata.name = "s";
    slice.driver = "d.example.com";
    slice.pool = {"p", 1, 1};
    slice.node_name = "n";
    PairRule rule;
    rule.attribute = "example.com/root";
    rule.text = "the rule";
    for (size_t t = 0; t < held.devices.size(); ++t) {
      PairRule::Term& term = rule.terms.emplace_back();
      term.claim = kAllocatedClaim;
      term.number = held.numbers[t];
      term.name = "r" + std::to_string(t);
      for (const std::vector<int64_t>& values : held.devices[t]) {
        api::Device& device = slice.devices.emplace_back();
        device.name = "d" + std::to_string(slice.devices.size());
        if (values.size() == 1) device.attributes["example.com/root"] = values.front();
        if (values.size() > 1) device.attributes["example.com/root"] = values;
        term.devices.push_back({slice.driver, "p", device.name});
      }
    }
    inventory->apply_slice(slice);
    return rule;
  }
  std::unique_ptr<inventory::Inventory> inventory;
};

TEST_F(HeldPairsTest, SaysHowManyGroupsThereAre) {
  const PairRule rule = publish({{1, 1}, {{{0}, {1}, {2}}, {{0}, {7}, {2}}}}, false);
  const HeldPairs held = held_pairs(std::span(&rule, 1), inventory->device_index());
  EXPECT_EQ(held.unmet, &rule);
  EXPECT_EQ(held_sentence(held), "the devices of its claims form 2 such pairs (the rule), 3 are asked");
  const PairRule whole = publish({{1, 1}, {{{0}, {1}, {2}}, {{0}, {2}, {1}, {}}}}, false);
  EXPECT_EQ(held_sentence(held_pairs(std::span(&whole, 1), inventory->device_index())), "");
}

TEST_F(HeldPairsTest, WhatIsNotPublishedIsInNoGroup) {
  PairRule rule = publish({{1, 1}, {{{0}, {1}}, {{0}, {1}}}}, false);
  rule.terms[1].devices.back().device = "gone";
  EXPECT_EQ(held_sentence(held_pairs(std::span(&rule, 1), inventory->device_index())),
            "the devices of its claims form 1 such pair (the rule), 2 are asked");
}

TEST_F(HeldPairsTest, ARequestWithFewerDevicesThanAGroupNeverFits) {
  const PairRule rule = publish({{2, 1}, {{{0}}, {{0}}}}, false);
  EXPECT_EQ(held_sentence(held_pairs(std::span(&rule, 1), inventory->device_index())),
            "r0 takes 1 device, a group of r0*2 needs 2: this never fits");
}

TEST_F(HeldPairsTest, RulesOverOpenClaimsAreTheSearchs) {
  PairRule rule = publish({{1, 1}, {{{0}}, {{1}}}}, false);
  rule.terms[0].claim = 0;
  EXPECT_EQ(held_sentence(held_pairs(std::span(&rule, 1), inventory->device_index())), "");
}

TEST_F(HeldPairsTest, AgreeWithATrialOfAllGroups) {
  const uint64_t first = test::number_from("DRA_SEED", 1), cases = test::number_from("DRA_HELD_CASES", 400);
  std::printf("seed %llu, %llu cases\n", static_cast<unsigned long long>(first),
              static_cast<unsigned long long>(cases));
  size_t met = 0;
  for (uint64_t seed = first; seed < first + cases; ++seed) {
    SeededRandom random(seed);
    Held held;
    const bool lists = random.below(2) == 0;
    for (uint64_t t = 0, terms = 1 + random.below(3); t < terms; ++t) {
      held.numbers.push_back(static_cast<uint32_t>(terms == 1 ? 2 : 1 + random.below(2)));
      auto& devices = held.devices.emplace_back();
      for (uint64_t d = 0, count = 1 + random.below(4); d < count; ++d) {
        auto& values = devices.emplace_back();
        if (random.below(8) == 0) continue;
        for (int64_t value = 0; value < 4; ++value)
          if (lists ? random.below(3) == 0 : values.empty() && (random.below(3) == 0 || value == 3))
            values.push_back(value);
      }
    }
    const PairRule rule = publish(held, lists);
    uint64_t asked = UINT64_MAX;
    for (size_t t = 0; t < held.numbers.size(); ++t)
      asked = std::min<uint64_t>(asked, held.devices[t].size() / held.numbers[t]);
    const HeldPairs found = held_pairs(std::span(&rule, 1), inventory->device_index());
    const bool holds = asked > 0 && by_trial(held, asked);
    ASSERT_EQ(found.unmet == nullptr, holds) << "seed " << seed;
    met += holds ? 1 : 0;
    if (holds || asked == 0) continue;
    ASSERT_EQ(found.asked, asked) << "seed " << seed;
    ASSERT_TRUE(found.has == 0 || by_trial(held, found.has)) << "seed " << seed;
    ASSERT_FALSE(by_trial(held, found.has + 1)) << "seed " << seed;
  }
  EXPECT_GT(met, cases / 10);
  EXPECT_LT(met, cases * 9 / 10);
}

}  // namespace
}  // namespace dra::allocator::held_pairs_test
