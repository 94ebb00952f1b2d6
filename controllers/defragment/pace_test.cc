// How many moves an hour allows.
#include "controllers/defragment/pace.h"

#include <gtest/gtest.h>

namespace dra::defragment::pace_test {
namespace {

using namespace std::chrono_literals;

Move move(const std::string& owner, uint32_t allowed = 1, const std::string& ns = "ml") {
  static int number = 0;
  return {"pod-" + std::to_string(++number), ns, owner, "replicaset/" + owner, "namespace " + ns, allowed};
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

// What one leader wrote the next one reads: the limits are the same for both.
TEST(Pace, TheTextSaysWhatCounts) {
  Pace pace;
  const Move first = move("a"), second = move("b");
  pace.add({first}, kNow);
  pace.add({first}, kNow + 1min);  // once
  pace.add({second}, kNow + 2min);
  const std::string text = pace.text(4000);
  EXPECT_EQ(text, "3600120/ml/b/" + second.pod + ",3600000/ml/a/" + first.pod);
  Pace next;
  next.read(text, kNow + 10min);
  EXPECT_EQ(next.text(4000), text);
  next.read(text, kNow + 10min);
  EXPECT_EQ(next.text(4000), text) << "no pod counts twice";
  EXPECT_EQ(next.why_not({move("a")}, limits(20), kNow + 59min), pace.why_not({move("a")}, limits(20), kNow + 59min));
  EXPECT_NE(next.why_not({move("a")}, limits(20), kNow + 59min), "");
  EXPECT_EQ(next.why_not({move("a")}, limits(20), kNow + 1h), "");
  // The newest that fit.
  EXPECT_EQ(pace.text(text.size() - 1), "3600120/ml/b/" + second.pod);
  EXPECT_EQ(pace.text(3), "");
}

// Whoever may write the Lease may write anything there.
TEST(Pace, WhatCannotBeReadIsLeftOut) {
  Pace pace;
  for (const char* text :
       {"", ",", "x", "x/ml/a/p", "-5/ml/a/p", "99999999999999999999/ml/a/p", "9223372036854775807/ml/a/p",
        "3599999/ml/a", "3599999/ml/a/p/q", "3500000/ml/a/p", "3600001/ml/a/p"})
    pace.read(text, kNow);
  EXPECT_EQ(pace.text(4000), "");
  std::string many;
  for (int i = 0; i < 3000; ++i) many += "3599999/ml/a/p" + std::to_string(i) + ",";
  pace.read(many, kNow);
  EXPECT_EQ(pace.why_not({move("a", 1000)}, limits(1000), kNow).substr(0, 34), "--moves-per-hour allows 1000 moves");
}

}  // namespace
}  // namespace dra::defragment::pace_test
