#include <gtest/gtest.h>

#include <memory>
#include <unordered_map>
#include <vector>

#include "pkg/allocator/budget/deferred_frees.h"

namespace dra::allocator::waste_test {
namespace {

struct Counted {
  explicit Counted(int& living) : living_(living) { ++living_; }
  ~Counted() { --living_; }
  int& living_;
};

TEST(Waste, IsFreedInPiecesAndInTheEndWhole) {
  int living = 0;
  Waste waste(true);
  const int many = static_cast<int>(Waste::kFreesACall);
  std::unordered_map<int, std::unique_ptr<Counted>> map;
  for (int i = 0; i < 2 * many; ++i) map.emplace(i, std::make_unique<Counted>(living));
  std::vector<std::unique_ptr<Counted>> vector;
  for (int i = 0; i < 10; ++i) vector.push_back(std::make_unique<Counted>(living));
  waste.take(map, 2);
  waste.take(vector, 1);
  EXPECT_TRUE(map.empty());
  EXPECT_TRUE(vector.empty());
  EXPECT_EQ(living, 2 * many + 10);
  for (int calls = 0; !waste.empty(); ++calls) {
    ASSERT_LT(calls, 6);
    const int before = living;
    waste.free_some();
    EXPECT_LE(before - living, many);
    EXPECT_LT(living, before);
  }
  EXPECT_EQ(living, 0);
}

// An element that needs more frees than one call allows is still freed.
TEST(Waste, LargeElementsGoOneByOne) {
  int living = 0;
  Waste waste(true);
  std::vector<std::unique_ptr<Counted>> vector;
  for (int i = 0; i < 3; ++i) vector.push_back(std::make_unique<Counted>(living));
  waste.take(vector, 10 * Waste::kFreesACall);
  waste.free_some();
  EXPECT_EQ(living, 2);
  waste.free_some();
  waste.free_some();
  EXPECT_TRUE(waste.empty());
  waste.free_some();
}

TEST(Waste, NothingIsNoWaste) {
  Waste waste(true);
  std::vector<int> none;
  waste.take(none, 1);
  EXPECT_TRUE(waste.empty());
}

TEST(Waste, IsFreedAtOnceWhereNobodyWaits) {
  int living = 0;
  Waste waste(false);
  std::vector<std::unique_ptr<Counted>> vector;
  vector.push_back(std::make_unique<Counted>(living));
  waste.take(vector, 1);
  EXPECT_EQ(living, 0);
  EXPECT_TRUE(waste.empty());
}

}  // namespace
}  // namespace dra::allocator::waste_test
