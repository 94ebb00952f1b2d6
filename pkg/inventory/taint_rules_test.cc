#include "pkg/inventory/taint_rules.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "pkg/base/random.h"
#include "pkg/inventory/inventory.h"

namespace dra::inventory::taint_rules_test {

std::optional<std::string> some(SeededRandom& dice, const char* prefix) {
  if (dice.below(3) == 0) return std::nullopt;
  return prefix + std::to_string(dice.below(3));
}

// The index compared with a scan of every rule, through a history of changes.
TEST(TaintRules, FindsWhatALookAtEveryRuleFinds) {
  constexpr uint64_t kSeed = 11;
  SCOPED_TRACE(kSeed);
  SeededRandom dice(kSeed);
  TaintRules rules;
  std::map<std::string, api::DeviceTaintRule> plain;
  for (int step = 0; step < 2000; ++step) {
    api::DeviceTaintRule rule, before;
    rule.metadata.name = "r" + std::to_string(dice.below(12));
    if (dice.below(4) == 0) {
      EXPECT_EQ(rules.remove(rule.metadata.name, &before), plain.erase(rule.metadata.name) == 1);
    } else {
      rule.has_selector = dice.below(8) != 0;
      if (rule.has_selector)
        rule.driver = some(dice, "drv"), rule.pool = some(dice, "pool"), rule.device = some(dice, "d");
      rule.taint.key = std::to_string(step);
      EXPECT_TRUE(rules.apply(rule, &before));
      plain[rule.metadata.name] = rule;
    }
    const std::string driver = "drv" + std::to_string(dice.below(3)), pool = "pool" + std::to_string(dice.below(3)),
                      device = "d" + std::to_string(dice.below(3));
    std::vector<std::string> expected, found, expected_pool, found_pool;
    for (const auto& [name, one] : plain) {
      if (selects(one, driver, pool, device)) expected.push_back(name + one.taint.key);
      if (selects_pool(one, driver, pool)) expected_pool.push_back(name);
    }
    for (const auto* one : rules.of_device(driver, pool, device)) found.push_back(one->metadata.name + one->taint.key);
    for (const auto* one : rules.of_pool(driver, pool)) found_pool.push_back(one->metadata.name);
    std::sort(expected.begin(), expected.end());
    std::sort(found.begin(), found.end());
    ASSERT_EQ(found, expected) << "step " << step;
    std::sort(expected_pool.begin(), expected_pool.end());
    std::sort(found_pool.begin(), found_pool.end());
    ASSERT_EQ(found_pool, expected_pool) << "step " << step;
    ASSERT_EQ(rules.any(driver, pool), !expected_pool.empty()) << "step " << step;
  }
}

// While pods are evicted, a rule's status is written repeatedly: no cache of a pool may be invalidated.
TEST(TaintRules, AStatusTaintsNothing) {
  Inventory inventory;
  api::ResourceSlice slice;
  slice.metadata.name = "s";
  slice.driver = "drv";
  slice.pool = {"p", 1, 1};
  slice.all_nodes = true;
  slice.devices.emplace_back().name = "d0";
  inventory.apply_slice(slice);
  api::DeviceTaintRule rule;
  rule.metadata.name = "r";
  rule.has_selector = true;
  rule.taint = {"k", "", "NoExecute", "2026-01-01T00:00:00Z"};
  inventory.apply_taint_rule(rule);
  EXPECT_EQ(inventory.taints({"drv", "p", "d0"}).size(), 1u);
  EXPECT_EQ(inventory.count_selected(rule), 1u);
  const uint64_t version = inventory.version();
  rule.metadata.resource_version = "9";
  rule.conditions.emplace_back().type = "EvictionInProgress";
  inventory.apply_taint_rule(rule);
  EXPECT_EQ(inventory.version(), version);
  rule.taint.effect = "None";
  inventory.apply_taint_rule(rule);
  EXPECT_GT(inventory.version(), version);
}

// Rules also select an allocated device that is no longer published.
TEST(TaintRules, ReachDevicesThatAreNotPublished) {
  Inventory inventory;
  api::DeviceTaintRule rule;
  rule.metadata.name = "r";
  rule.metadata.uid = "r-uid";
  rule.has_selector = true;
  rule.pool = "p";
  rule.taint.key = "k";
  inventory.apply_taint_rule(rule);
  const auto taints = inventory.placed_taints({"drv", "p", "gone"});
  ASSERT_EQ(taints.size(), 1u);
  EXPECT_EQ(taints[0].rule_uid, "r-uid");
  EXPECT_TRUE(inventory.placed_taints({"drv", "q", "gone"}).empty());
  EXPECT_EQ(inventory.count_selected(rule), 0u);
}

}  // namespace dra::inventory::taint_rules_test
