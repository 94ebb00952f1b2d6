#include "pkg/strategy/prices.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace dra::strategy {
namespace {

TEST(Prices, WithoutDemandARestIsWorthItsSize) {
  const PriceTable prices = price_rests({});
  for (size_t cells = 0; cells <= kCells; ++cells)
    EXPECT_EQ(prices[cells], kWholeDevice / 100 * static_cast<int64_t>(cells));
}

TEST(Prices, ARestThatNobodyAsksForIsWorthNothing) {
  Demand demand{};
  demand[81] = 50;
  demand[30] = 10;
  const PriceTable prices = price_rests(demand);
  EXPECT_EQ(prices[19], 0);
  EXPECT_EQ(prices[29], 0);
  EXPECT_GT(prices[30], 0);
  EXPECT_EQ(prices[kCells], kWholeDevice);
}

// Thirds fill a device, halves too: by linear programming duality a third costs a third and a half a half.
TEST(Prices, AreTheDualPricesWherePatternsFillDevices) {
  Demand demand{};
  demand[50] = 10;
  demand[33] = 10;
  const PriceTable prices = price_rests(demand);
  EXPECT_NEAR(static_cast<double>(prices[50]), kWholeDevice / 2.0, kWholeDevice * 0.03);
  EXPECT_NEAR(static_cast<double>(prices[33]), kWholeDevice / 3.0, kWholeDevice * 0.03);
}

TEST(Prices, NeverFallAndWhatFitsTogetherIsWorthNoMoreThanADevice) {
  std::mt19937 random(7);
  for (int round = 0; round < 20; ++round) {
    Demand demand{};
    for (int i = 0; i < 12; ++i) demand[1 + random() % kCells] += 1 + random() % 50;
    const PriceTable prices = price_rests(demand);
    EXPECT_TRUE(std::is_sorted(prices.begin(), prices.end())) << "round " << round;
    EXPECT_EQ(prices[0], 0);
    for (size_t cells = 1; cells < kCells; ++cells)
      EXPECT_LE(prices[cells] + prices[kCells - cells], kWholeDevice + 2) << "round " << round << ", " << cells;
  }
}

}  // namespace
}  // namespace dra::strategy
