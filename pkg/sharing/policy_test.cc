#include "pkg/sharing/policy.h"

#include <gtest/gtest.h>

#include "pkg/base/random.h"

namespace dra::sharing::policy_test {
namespace {

TEST(Policy, HasItsWordsInAnyOrder) {
  Policy policy;
  EXPECT_EQ(parse_policy("with=same-namespace  sharers=4 per-namespace=50% order=spread", policy), std::nullopt);
  EXPECT_EQ(policy.with, With::kSameNamespace);
  EXPECT_EQ(policy.sharers, 4u);
  EXPECT_EQ(policy.percent, 50u);
  EXPECT_EQ(policy.shares, 0u);
  EXPECT_EQ(policy.order, Order::kSpread);
  EXPECT_EQ(parse_policy("per-namespace=2 with=namespaces:b,a,b order=pack", policy), std::nullopt);
  EXPECT_EQ(policy.sharers, 0u) << "nothing of the text before";
  EXPECT_EQ(policy.shares, 2u);
  EXPECT_EQ(policy.namespaces, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(policy.order, Order::kPack);
}

TEST(Policy, IsReadStrictly) {
  const std::string many = [] {
    std::string list = "with=namespaces:a0";
    for (size_t i = 1; i <= kMaxNamespaces; ++i) list += ",a" + std::to_string(i);
    return list;
  }();
  for (const auto& [text, words] : {std::pair<std::string, const char*>{"", "it is empty"},
                                    {"  ", "it is empty"},
                                    {"sharers", "none of order=, sharers="},
                                    {"sharer=4", "none of order=, sharers="},
                                    {"sharers=4,order=pack", "write sharers=NUMBER"},
                                    {"sharers=0", "write sharers=NUMBER"},
                                    {"sharers=-1", "write sharers=NUMBER"},
                                    {"sharers=4.0", "write sharers=NUMBER"},
                                    {"sharers=99999999999", "write sharers=NUMBER"},
                                    {"sharers=4 sharers=4", "sharers= is there twice"},
                                    {"order=Pack", "write order=pack"},
                                    {"per-namespace=101%", "write per-namespace=NUMBER"},
                                    {"per-namespace=%", "write per-namespace=NUMBER"},
                                    {"with=", "write with=any"},
                                    {"with=namespaces:", "is no namespace"},
                                    {"with=namespaces:a,,b", "is no namespace"},
                                    {"with=namespaces:A", "is no namespace"},
                                    {"with=label:team", "write with=any"},
                                    {"sharers=4" + std::string(kMaxPolicyBytes, ' '), "longer than 4096 bytes"},
                                    {many, "at most 64 namespaces"}}) {
    Policy policy;
    const auto wrong = parse_policy(text, policy);
    ASSERT_TRUE(wrong) << text;
    EXPECT_NE(wrong->find(words), std::string::npos) << *wrong;
  }
}

// Whatever the text: no crash, and a short sentence.
TEST(Policy, TakesAnyBytes) {
  SeededRandom random(1);
  const std::string letters = "orderpackspreadsharersper-namespacewith=:,% 0123456789\xff\n";
  for (int i = 0; i < 5000; ++i) {
    std::string text;
    for (uint64_t n = random.below(60); n > 0; --n) text += letters[random.below(letters.size())];
    Policy policy;
    if (const auto wrong = parse_policy(text, policy)) {
      EXPECT_LT(wrong->size(), 500u);
    }
  }
}

}  // namespace
}  // namespace dra::sharing::policy_test
