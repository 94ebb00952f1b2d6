#include "pkg/manager/memory.h"

#include <gtest/gtest.h>

namespace dra::manager::memory_test {

TEST(BoundedMapTest, ErasedKeysLeaveNothingBehind) {
  BoundedMap<int> map(1000);
  map.put("stays", 1);
  for (int i = 0; i < 100'000; ++i) {
    const std::string key = std::to_string(i);
    map.put(key, i);
    map.erase(key);
  }
  EXPECT_EQ(map.size(), 1u);
  EXPECT_NE(map.find("stays"), nullptr);
}

TEST(SaidTest, TopicsOfAnObjectGoWithItAndAreBounded) {
  Said said(2);
  said.put("a", "why", {"no node", {}});
  said.put("a", "why", {"no device", {}});
  said.put("b", "why", {"other", {}});
  ASSERT_NE(said.find("a", "why"), nullptr);
  EXPECT_EQ(said.find("a", "why")->text, "no device");
  EXPECT_EQ(said.find("a", "where"), nullptr);
  said.erase("a", "why");
  EXPECT_EQ(said.find("a", "why"), nullptr);
  said.forget("b");
  EXPECT_EQ(said.find("b", "why"), nullptr);
  for (size_t i = 0; i <= Said::kMostTopics; ++i) said.put("c", std::to_string(i), {"text", {}});
  EXPECT_EQ(said.find("c", "0"), nullptr);
  EXPECT_NE(said.find("c", std::to_string(Said::kMostTopics)), nullptr);
  said.put("d", "why", {"", {}});
  EXPECT_EQ(said.objects(), 2u);  // a was the oldest
}

TEST(BoundedMapTest, TheOldestGoesAndAKeyPutAgainIsYoung) {
  BoundedMap<int> map(2);
  map.put("a", 1);
  map.put("b", 2);
  map.erase("a");
  map.put("a", 3);
  map.put("c", 4);
  EXPECT_EQ(map.find("b"), nullptr);
  ASSERT_NE(map.find("a"), nullptr);
  EXPECT_EQ(*map.find("a"), 3);
  EXPECT_NE(map.find("c"), nullptr);
}

}  // namespace dra::manager::memory_test
