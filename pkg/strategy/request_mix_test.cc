#include "pkg/strategy/request_mix.h"

#include <gtest/gtest.h>

namespace dra::strategy {
namespace {

Seen seen(uint64_t claim, uint32_t cells, int64_t cpu_milli = 0) {
  Seen out;
  out.claim = claim;
  out.cells = cells;
  out.cpu_milli = cpu_milli;
  return out;
}

TEST(RequestMix, ARequestCountsOnceHoweverOftenItIsAskedAgain) {
  RequestMix mix;
  for (int i = 0; i < 5; ++i) mix.note(seen(1, 50));
  EXPECT_EQ(mix.noted(), 1u);
}

TEST(RequestMix, PricesFollowTheRequests) {
  RequestMix mix;
  for (uint64_t i = 0; !mix.stale(); ++i) mix.note(seen(i, i % 5 == 0 ? 30 : 81, 8100));
  const uint64_t before = mix.version();
  mix.refresh();
  EXPECT_GT(mix.version(), before);
  EXPECT_EQ(mix.kind(0).prices[19], 0);
  EXPECT_FALSE(mix.stale());
}

TEST(RequestMix, CpuIsCountedPerWholeDevice) {
  RequestMix mix;
  for (uint64_t i = 0; i < 100; ++i) mix.note(seen(i, 50, 4000));
  mix.refresh();
  EXPECT_NEAR(static_cast<double>(mix.kind(0).cpu_milli_per_device), 8000, 1);
}

TEST(RequestMix, WhereTheCpuIsNotKnownOnlyTheSizeCounts) {
  RequestMix mix;
  for (uint64_t i = 0; i < 100; ++i) mix.note(seen(i, 50, i % 2 == 0 ? 4000 : -1));
  mix.refresh();
  EXPECT_NEAR(static_cast<double>(mix.kind(0).cpu_milli_per_device), 8000, 1);
}

TEST(RequestMix, OldRequestsAreForgottenSlowly) {
  RequestMix mix;
  uint64_t claim = 0;
  for (size_t i = 0; i < RequestMix::kMemory; ++i) mix.note(seen(claim++, kCells, 1000));
  for (size_t i = 0; i < 2 * RequestMix::kMemory; ++i) {
    mix.note(seen(claim++, kCells, 9000));
    if (mix.stale()) mix.refresh();
  }
  mix.refresh();
  // The weights are 1/4 : 1/2+1, so the newer requests have six sevenths.
  EXPECT_NEAR(static_cast<double>(mix.kind(0).cpu_milli_per_device), 9000 - 8000 / 7.0, 100);
}

TEST(RequestMix, KindsBeyondTheBoundAreNotCounted) {
  RequestMix mix;
  Seen one = seen(1, 50);
  one.kind = RequestMix::kMaxKinds;
  mix.note(one);
  EXPECT_EQ(mix.noted(), 0u);
  EXPECT_EQ(mix.kind(RequestMix::kMaxKinds).prices[50], kWholeDevice / 2);
}

}  // namespace
}  // namespace dra::strategy
