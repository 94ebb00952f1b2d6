// What cancels or moves an eviction that was announced.
#include "controllers/tainteviction/tainteviction_fixture.h"

namespace dra::tainteviction::called_off_test {

using namespace protocol;
using namespace reconcile;
using namespace std::chrono_literals;

// ---- called off

class CalledOff : public TaintEviction {
 protected:
  void announce() {
    cluster.put(slice({taint(now)}));
    cluster.put(claim({tolerate(100)}));
    cluster.put(pod());
    ASSERT_EQ(cluster.settle(), kAnnounced);
  }
};

TEST_F(CalledOff, WhenTheTaintGoes) {
  announce();
  cluster.put(slice({}));
  EXPECT_EQ(cluster.settle(), kCalledOff);
  EXPECT_EQ(cluster.advance(1h), "");
}

TEST_F(CalledOff, WhenTheTaintIsReduced) {
  announce();
  cluster.put(slice({taint(now, "NoSchedule")}));
  EXPECT_EQ(cluster.settle(), kCalledOff);
}

TEST_F(CalledOff, WhenANewerSliceHasNoTaint) {
  announce();
  cluster.put(slice({}, 2, "slice-2"));
  EXPECT_EQ(cluster.settle(), kCalledOff) << "only the highest generation counts, complete or not";
  cluster.remove_slice("slice-2");
  EXPECT_EQ(cluster.settle(), kAnnounced) << "removal falls back";
}

TEST_F(CalledOff, WhenTheSliceGoes) {
  announce();
  cluster.remove_slice("slice");
  EXPECT_EQ(cluster.settle(), kCalledOff);
}

TEST_F(CalledOff, WhenTheTolerationIsExtended) {
  announce();
  cluster.put(claim({tolerate(std::nullopt)}));
  EXPECT_EQ(cluster.settle(), kCalledOff);
}

TEST_F(CalledOff, WhenTheClaimIsDeallocatedOrDeleted) {
  announce();
  api::ResourceClaim free = claim();
  free.status = {};
  cluster.put(free);
  EXPECT_EQ(cluster.settle(), kCalledOff);
  cluster.put(claim({tolerate(100)}));
  EXPECT_EQ(cluster.settle(), kAnnounced);
  cluster.remove_claim("default/c");
  EXPECT_EQ(cluster.settle(), kCalledOff);
}

TEST_F(CalledOff, WhenAnotherDeviceTookThePlaceInOneUpdate) {  // upstream keeps the old decision
  announce();
  cluster.put(claim({tolerate(100)}, "dev-1"));
  EXPECT_EQ(cluster.settle(), kCalledOff);
}

TEST_F(CalledOff, SilentlyWhenThePodGoes) {
  announce();
  api::Pod leaving = pod();
  leaving.metadata.deletion_timestamp = "2026-01-01T00:00:00Z";
  cluster.put(leaving);
  EXPECT_EQ(cluster.settle(), "");
  cluster.remove_pod("default/p");
  EXPECT_EQ(cluster.advance(1h), "");
}

TEST_F(CalledOff, SilentlyWhenThePodFinishes) {
  announce();
  api::Pod done = pod();
  done.phase = "Succeeded";
  cluster.put(done);
  EXPECT_EQ(cluster.settle(), "");
  EXPECT_EQ(cluster.advance(1h), "");
}

TEST_F(CalledOff, AndEvictedAgainLater) {
  announce();
  cluster.put(slice({}));
  EXPECT_EQ(cluster.settle(), kCalledOff);
  cluster.put(slice({taint(now)}));
  EXPECT_EQ(cluster.settle(), kAnnounced);
  EXPECT_EQ(cluster.advance(100s), kEvicted);
}

TEST_F(CalledOff, AChangedTaintMovesTheDeadline) {
  announce();
  cluster.advance(50s);
  cluster.put(slice({taint(now + 50s)}));
  EXPECT_EQ(cluster.settle(), kAnnounced);
  EXPECT_EQ(cluster.advance(60s), "") << "the first deadline is obsolete";
  EXPECT_EQ(cluster.advance(40s), kEvicted);
}

}  // namespace dra::tainteviction::called_off_test
