#include <gtest/gtest.h>

#include <memory>
#include <unordered_map>
#include <vector>

#include "pkg/allocator/budget/deferred_frees.h"

namespace dra::allocator::deferred_frees_test {
namespace {

struct Counted {
  explicit Counted(int& living) : living_(living) { ++living_; }
  ~Counted() { --living_; }
  int& living_;
};

TEST(DeferredFrees, AreMadeInPiecesAndInTheEndWhole) {
  int living = 0;
  DeferredFrees frees(true);
  const int many = static_cast<int>(DeferredFrees::kFreesACall);
  std::unordered_map<int, std::unique_ptr<Counted>> map;
  for (int i = 0; i < 2 * many; ++i) map.emplace(i, std::make_unique<Counted>(living));
  std::vector<std::unique_ptr<Counted>> vector;
  for (int i = 0; i < 10; ++i) vector.push_back(std::make_unique<Counted>(living));
  frees.add(map, 2);
  frees.add(vector, 1);
  EXPECT_TRUE(map.empty());
  EXPECT_TRUE(vector.empty());
  EXPECT_EQ(living, 2 * many + 10);
  for (int calls = 0; !frees.empty(); ++calls) {
    ASSERT_LT(calls, 6);
    const int before = living;
    frees.free_some();
    EXPECT_LE(before - living, many);
    EXPECT_LT(living, before);
  }
  EXPECT_EQ(living, 0);
}

// An element that needs more frees than one call allows is still freed.
TEST(DeferredFrees, LargeElementsGoOneByOne) {
  int living = 0;
  DeferredFrees frees(true);
  std::vector<std::unique_ptr<Counted>> vector;
  for (int i = 0; i < 3; ++i) vector.push_back(std::make_unique<Counted>(living));
  frees.add(vector, 10 * DeferredFrees::kFreesACall);
  frees.free_some();
  EXPECT_EQ(living, 2);
  frees.free_some();
  frees.free_some();
  EXPECT_TRUE(frees.empty());
  frees.free_some();
}

TEST(DeferredFrees, NothingLeavesNothingToFree) {
  DeferredFrees frees(true);
  std::vector<int> none;
  frees.add(none, 1);
  EXPECT_TRUE(frees.empty());
}

TEST(DeferredFrees, AreMadeAtOnceWhereNobodyWaits) {
  int living = 0;
  DeferredFrees frees(false);
  std::vector<std::unique_ptr<Counted>> vector;
  vector.push_back(std::make_unique<Counted>(living));
  frees.add(vector, 1);
  EXPECT_EQ(living, 0);
  EXPECT_TRUE(frees.empty());
}

}  // namespace
}  // namespace dra::allocator::deferred_frees_test
