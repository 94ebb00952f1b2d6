#include "pkg/queue/pump.h"

#include <gtest/gtest.h>

#include "pkg/queue/work_queue.h"
#include "pkg/reactor/sim_reactor.h"

namespace dra::queue::pump_test {

using namespace std::chrono_literals;

TEST(Pump, RunsWhileThereIsWorkAndWhenMoreIsDue) {
  ManualClock clock;
  SimReactor reactor(clock);
  WorkQueue queue(clock);
  std::vector<std::string> ran;
  int looks = 0;
  Pump pump(
      reactor,
      [&] {
        ++looks;
        const bool ready = queue.has_ready();
        return Pump::Next{ready, queue.next_due()};
      },
      [&] {
        const auto key = queue.get();  // one key per call
        ASSERT_TRUE(key);
        ran.push_back(*key);
        queue.done(*key);
      });
  queue.add("a");
  queue.add("b");
  queue.add_after("late", 2s);
  queue.add_after("soon", 1s);
  pump.schedule();
  EXPECT_TRUE(ran.empty()) << "work is a task of its own";
  reactor.run_until_idle();
  EXPECT_EQ(ran, (std::vector<std::string>{"a", "b"}));
  reactor.advance(1500ms);
  EXPECT_EQ(ran.back(), "soon");
  reactor.advance(1h);
  EXPECT_EQ(ran.back(), "late");
  EXPECT_LE(looks, 10) << "an idle pump does not look";
}

TEST(Pump, AnEarlierDueTimeCountsAndADestroyedPumpIsSilent) {
  ManualClock clock;
  SimReactor reactor(clock);
  Pump::Next next{false, clock.mono_now() + 10s};
  int looks = 0, runs = 0;
  {
    Pump pump(
        reactor, [&] { return ++looks, next; }, [&] { ++runs, next.ready = false; });
    pump.schedule();
    next.due = clock.mono_now() + 1s;
    pump.schedule();
    next.due.reset();
    reactor.advance(2s);
    EXPECT_EQ(looks, 3);
    pump.rest();
    next.ready = true;
    pump.schedule();
  }
  reactor.advance(1min);
  EXPECT_EQ(runs, 0);
}

}  // namespace dra::queue::pump_test
