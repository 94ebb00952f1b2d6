#include "pkg/manager/run/memory.h"

#include <gtest/gtest.h>

#include <memory_resource>

namespace dra::manager::memory_test {

// The default resource while it lives.
class CountingResource : public std::pmr::memory_resource {
 public:
  CountingResource() : before_(std::pmr::set_default_resource(this)) {}
  ~CountingResource() override { std::pmr::set_default_resource(before_); }
  size_t bytes() const { return bytes_; }

 private:
  void* do_allocate(size_t bytes, size_t alignment) override {
    bytes_ += bytes;
    return std::pmr::new_delete_resource()->allocate(bytes, alignment);
  }
  void do_deallocate(void* at, size_t bytes, size_t alignment) override {
    bytes_ -= bytes;
    std::pmr::new_delete_resource()->deallocate(at, bytes, alignment);
  }
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }

  std::pmr::memory_resource* before_;
  size_t bytes_ = 0;
};

// Entries that stay are old and new, so that no piece of memory is free as a whole.
TEST(BoundedMapTest, TheMemoryOfABurstIsFreed) {
  CountingResource heap;
  {
    BoundedMap<int> map(100'000);
    const auto key = [](int i) { return "an-object-with-a-long-name-" + std::to_string(i); };
    for (int i = 0; i < 20'000; ++i) map.put(key(i), i);
    const size_t most = heap.bytes();
    for (int i = 0; i < 20'000; ++i)
      if (i % 100 != 0) map.erase(key(i));
    EXPECT_EQ(map.size(), 200u);
    EXPECT_LT(heap.bytes(), most / 10);
    for (int i = 0; i < 20'000; i += 100) ASSERT_EQ(*map.find(key(i)), i);
    map.put("new", 0);
    EXPECT_EQ(map.size(), 201u);
  }
  EXPECT_EQ(heap.bytes(), 0u);
}

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
