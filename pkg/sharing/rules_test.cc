#include "pkg/sharing/rules.h"

#include <gtest/gtest.h>

namespace dra::sharing::rules_test {
namespace {

TEST(Rules, UsualOnesKnowWhatNvidiasDriverRefuses) {
  const Rules usual = Rules::usual();
  EXPECT_EQ(usual.requests_of("gpu.nvidia.com"), Requests::kNever);
  EXPECT_EQ(usual.requests_of("x.test"), Requests::kApart);
  EXPECT_TRUE(usual.compares("gpu.nvidia.com"));
  EXPECT_FALSE(usual.compares("x.test"));
  EXPECT_TRUE(usual.prefers_apart());
  EXPECT_TRUE(usual.compares_any());
  EXPECT_FALSE(Rules().prefers_apart());
  EXPECT_FALSE(Rules().compares_any());
}

TEST(Rules, AFlagReplacesTheValueOfItsDriver) {
  Rules rules = Rules::usual();
  EXPECT_EQ(rules.add_requests("gpu.nvidia.com=together"), std::nullopt);
  EXPECT_EQ(rules.add_parameters("gpu.nvidia.com=any"), std::nullopt);
  EXPECT_EQ(rules.requests_of("gpu.nvidia.com"), Requests::kTogether);
  EXPECT_FALSE(rules.compares_any());
  for (const char* wrong : {"", "never", "=never", "a=", "a=Never", "a=never "})
    EXPECT_TRUE(rules.add_requests(wrong)) << wrong;
  for (const char* wrong : {"", "equal", "=equal", "a=", "a=never"}) EXPECT_TRUE(rules.add_parameters(wrong)) << wrong;
}

}  // namespace
}  // namespace dra::sharing::rules_test
