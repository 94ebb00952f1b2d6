#include "pkg/allocator/budget/meter.h"

#include <gtest/gtest.h>

namespace dra::allocator::meter_test {

using namespace std::chrono_literals;

TEST(Meter, MoreTimeIsGrantedButNoMoreSteps) {
  ManualClock clock;
  Meter meter;
  meter.begin_slice({1'000, 2ms, &clock});
  clock.advance(5ms);
  meter.charge(200);
  EXPECT_TRUE(meter.stopped());
  meter.grant(1ms);
  meter.charge(200);
  EXPECT_FALSE(meter.stopped());
  clock.advance(1ms);
  meter.charge(200);
  EXPECT_TRUE(meter.stopped());
  EXPECT_EQ(meter.slice_time(), 6ms);
  meter.grant(1ms);
  meter.charge(400);
  EXPECT_TRUE(meter.stopped()) << "the steps of the slice are used up";
  meter.grant(1ms);
  EXPECT_TRUE(meter.stopped());
}

TEST(Meter, AGrantNeverShortensASlice) {
  ManualClock clock;
  Meter meter;
  meter.begin_slice({10'000, 6ms, &clock});
  meter.grant(1ms);
  clock.advance(5ms);
  meter.charge(200);
  EXPECT_FALSE(meter.stopped());
}

}  // namespace dra::allocator::meter_test
