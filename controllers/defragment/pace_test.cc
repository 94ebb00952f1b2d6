// How many moves an hour allows.
#include "controllers/defragment/pace.h"

#include <gtest/gtest.h>

namespace dra::defragment::pace_test {
namespace {

using namespace std::chrono_literals;

Move move(const std::string& owner, uint32_t allowed = 1, const std::string& ns = "ml") {
  return {ns, owner, "replicaset/" + owner, "namespace " + ns, allowed};
}

const WallTime kNow{std::chrono::hours(1000)};

MovesPerHour limits(uint32_t all, uint32_t of_namespace = 1000) {
  return {all, [of_namespace](const std::string&) { return of_namespace; }};
}

TEST(Pace, AnOwnerHasTheLeastOfItsPodsNumbers) {
  Pace pace;
  EXPECT_EQ(pace.why_not({move("a"), move("b")}, limits(20), kNow), "");
  EXPECT_EQ(pace.why_not({move("a", 5), move("a", 1)}, limits(20), kNow),
            "replicaset/a allows 1 move in an hour, and 2 of these would be its");
  EXPECT_EQ(pace.why_not({move("a", 2), move("a", 2)}, limits(20), kNow), "");
  EXPECT_EQ(pace.why_not({move("a", 0)}, limits(20), kNow),
            "replicaset/a allows 0 moves in an hour, and 1 of these would be its");
}

TEST(Pace, WhatWasMovedInTheLastHourCounts) {
  Pace pace;
  pace.add({move("a"), move("b")}, kNow);
  EXPECT_EQ(pace.why_not({move("a")}, limits(20), kNow + 59min),
            "replicaset/a allows 1 move in an hour, and 1 of these would be its, after 1 in the last hour");
  EXPECT_EQ(pace.why_not({move("c")}, limits(2), kNow + 59min),
            "--moves-per-hour allows 2 moves in an hour, and 1 of these would be its, after 2 in the last hour");
  EXPECT_EQ(pace.why_not({move("c")}, limits(20, 2), kNow + 59min),
            "namespace ml allows 2 moves in an hour, and 1 of these would be its, after 2 in the last hour");
  EXPECT_EQ(pace.why_not({move("c", 1, "other")}, limits(20, 2), kNow + 59min), "");
  EXPECT_EQ(pace.why_not({move("a")}, limits(2, 2), kNow + 1h), "") << "an hour later";
}

}  // namespace
}  // namespace dra::defragment::pace_test
