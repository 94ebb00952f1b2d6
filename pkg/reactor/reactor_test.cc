#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

#include "pkg/base/check.h"
#include "pkg/base/random.h"
#include "pkg/reactor/asio_reactor.h"
#include "pkg/reactor/sim_reactor.h"

namespace dra::reactor_test {

using namespace std::chrono_literals;

TEST(SimReactor, RunsPostedTasksInOrderAndTimersByDueTimeThenAge) {
  ManualClock clock;
  SimReactor reactor(clock);
  std::string log;
  auto c = reactor.after(2s, [&] { log += 'c'; });
  auto b1 = reactor.after(1s, [&] { log += 'b'; });
  auto b2 = reactor.after(1s, [&] {
    log += 'B';
    reactor.post([&] { log += 'p'; });
  });
  reactor.post([&] { log += '1'; });
  reactor.post([&] { log += '2'; });
  reactor.run_until_idle();
  EXPECT_EQ(log, "12");
  reactor.advance(1500ms);
  EXPECT_EQ(log, "12bBp");
  reactor.advance(10s);
  EXPECT_EQ(log, "12bBpc");
  EXPECT_EQ(clock.mono_now().time_since_epoch(), 11500ms);
}

TEST(SimReactor, DroppedHandleNeverFiresEvenFromATaskDueAtTheSameMoment) {
  ManualClock clock;
  SimReactor reactor(clock);
  bool fired = false;
  Handle second;
  auto first = reactor.after(1s, [&] { second.cancel(); });
  second = reactor.after(1s, [&] { fired = true; });
  reactor.advance(5s);
  EXPECT_FALSE(fired);
  EXPECT_EQ(reactor.pending_timers(), 0u);
}

TEST(SimReactor, TimeSeenByATimerIsItsDueTime) {
  ManualClock clock;
  SimReactor reactor(clock);
  SeededRandom random(7);
  std::vector<Handle> handles;
  for (int i = 0; i < 1000; ++i) {
    Duration d = std::chrono::milliseconds(random.below(60'000));
    MonoTime due = clock.mono_now() + d;
    handles.push_back(reactor.after(d, [&clock, due] { EXPECT_EQ(clock.mono_now(), due); }));
  }
  reactor.advance(61s);
  EXPECT_EQ(reactor.pending_timers(), 0u);
}

TEST(SimReactor, TasksWithoutEndAreRefusedNotRunForEver) {
  ManualClock clock;
  SimReactor reactor(clock);
  std::function<void()> again = [&] { reactor.post(again); };
  again();
  EXPECT_THROW(reactor.run_until_idle(1000), CheckFailed);
}

TEST(SimReactor, RunUntilJumpsFromTimerToTimer) {
  ManualClock clock;
  SimReactor reactor(clock);
  int ticks = 0;
  Handle timer;
  std::function<void()> tick = [&] {
    ++ticks;
    timer = reactor.after(10s, tick);
  };
  tick();
  EXPECT_TRUE(reactor.run_until([&] { return ticks == 4; }, 1h));
  EXPECT_EQ(clock.mono_now().time_since_epoch(), 30s);
  EXPECT_FALSE(reactor.run_until([&] { return ticks == 1000; }, 1min));
  EXPECT_EQ(clock.mono_now().time_since_epoch(), 90s);
}

TEST(SimReactor, HandlesMayOutliveTheReactor) {
  ManualClock clock;
  Handle orphan;
  {
    SimReactor reactor(clock);
    orphan = reactor.after(1s, [] { FAIL(); });
  }
  orphan.cancel();
}

TEST(SimReactor, OffloadRunsWorkThenDone) {
  ManualClock clock;
  SimReactor reactor(clock);
  std::string log;
  reactor.offload([&] { log += 'w'; }, [&] { log += 'd'; });
  EXPECT_EQ(log, "");
  reactor.run_until_idle();
  EXPECT_EQ(log, "wd");
}

// Uses this much processor time.
void spend(Duration time) {
  const Duration end = thread_processor_time() + time;
  while (thread_processor_time() < end) continue;
}

TEST(AsioReactor, ReportsHowLongEachTaskTook) {
  SystemClock clock;
  AsioReactor reactor(clock);
  std::vector<AsioReactor::TaskTime> seen;
  reactor.observe_tasks([&](const AsioReactor::TaskTime& time) { seen.push_back(time); });
  // Destroying a task's captures counts as well.
  struct SlowToDie {
    ~SlowToDie() { std::this_thread::sleep_for(30ms); }
  };
  int pipe[2];
  ASSERT_EQ(::pipe(pipe), 0);
  reactor.post([] {});
  reactor.post([] { std::this_thread::sleep_for(20ms); });
  reactor.post([slow = std::make_shared<SlowToDie>()] {});
  reactor.post([] { spend(25ms); });
  const Handle timer = reactor.after(1ms, [&] { ASSERT_EQ(::write(pipe[1], "x", 1), 1); });
  Handle readable;
  readable = reactor.watch_fd(pipe[0], {true, false}, [&](Reactor::FdReady) {
    readable.cancel();
    reactor.offload([] { std::this_thread::sleep_for(10ms); }, [&] { reactor.stop(); });
  });
  reactor.run();
  ASSERT_EQ(seen.size(), 7u);
  EXPECT_GE(seen[1].took, 20ms);
  EXPECT_LT(seen[1].processor, 10ms) << "it slept";
  EXPECT_GE(seen[2].took, 30ms);
  EXPECT_GE(seen[3].processor, 20ms);
  for (const AsioReactor::TaskTime& time : seen) EXPECT_LE(time.processor, time.took);
  reactor.observe_tasks(nullptr);
  reactor.post([&] { reactor.stop(); });
  reactor.run();
  EXPECT_EQ(seen.size(), 7u);
  ::close(pipe[0]);
  ::close(pipe[1]);
}

TEST(AsioReactor, PostFromOtherThreadsTimersAndStop) {
  SystemClock clock;
  AsioReactor reactor(clock);
  int count = 0;
  std::thread other([&] {
    for (int i = 0; i < 100; ++i) reactor.post([&] { ++count; });
  });
  Handle cancelled = reactor.after(1ms, [] { FAIL(); });
  cancelled.cancel();
  bool fired = false;
  Handle timer = reactor.after(1ms, [&] { fired = true; });
  EXPECT_TRUE(reactor.run_until([&] { return count == 100 && fired; }, 10s));
  other.join();
  reactor.post([&] { reactor.stop(); });
  reactor.run();
}

TEST(AsioReactor, TimersRunByDueTimeThenAgeAndOneMayCallOffAnother) {
  SystemClock clock;
  AsioReactor reactor(clock);
  std::string order;
  std::vector<Handle> kept;
  Handle victim;
  const auto at = [&](Duration delay, char name) {
    kept.push_back(reactor.after(delay, [&order, name] { order += name; }));
  };
  at(30ms, 'd');
  at(10ms, 'b');
  kept.push_back(reactor.after(20ms, [&] {
    order += 'c';
    victim.cancel();
    at(0ms, 'x');
    at(-1ms, 'y');
  }));
  victim = reactor.after(25ms, [&] { order += '!'; });
  at(0ms, 'a');
  kept.push_back(reactor.after(100000h, [&] { order += '!'; }));
  EXPECT_TRUE(reactor.run_until([&] { return order.size() >= 6; }, 10s));
  // The position of "d" among tasks without delay depends on the machine's load.
  EXPECT_LT(order.find('x'), order.find('y')) << order;
  EXPECT_LT(order.find('c'), order.find('x')) << order;
  std::erase_if(order, [](char name) { return name == 'x' || name == 'y'; });
  EXPECT_EQ(order, "abcd");
  // An exception leaves run(), and the next task still runs.
  kept.push_back(reactor.after(1ms, [] { throw CheckFailed("boom"); }));
  at(2ms, 'e');
  EXPECT_THROW(reactor.run_until([] { return false; }, 10s), CheckFailed);
  EXPECT_TRUE(reactor.run_until([&] { return order.back() == 'e'; }, 10s));
}

TEST(AsioReactor, TimersMayOwnTimersAndOutliveTheReactor) {
  SystemClock clock;
  Handle left;
  {
    AsioReactor reactor(clock);
    auto inner = std::make_shared<Handle>(reactor.after(1h, [] { FAIL(); }));
    left = reactor.after(1h, [inner] { FAIL(); });
    reactor.run_until([] { return false; }, 1ms);
  }
  left.cancel();
}

TEST(AsioReactor, WatchesAPipeUntilTheHandleIsDropped) {
  SystemClock clock;
  AsioReactor reactor(clock);
  int fds[2];
  ASSERT_EQ(pipe(fds), 0);
  std::string got;
  Handle watch;
  watch = reactor.watch_fd(fds[0], {.read = true}, [&](Reactor::FdReady ready) {
    EXPECT_TRUE(ready.read);
    char c;
    ASSERT_EQ(read(fds[0], &c, 1), 1);  // one byte per call: the rest must be reported again
    got += c;
    if (got == "abc") watch.cancel();
  });
  ASSERT_EQ(write(fds[1], "abcd", 4), 4);
  EXPECT_TRUE(reactor.run_until([&] { return got == "abc"; }, 10s));
  bool later = false;
  Handle timer = reactor.after(5ms, [&] { later = true; });
  EXPECT_TRUE(reactor.run_until([&] { return later; }, 10s));
  EXPECT_EQ(got, "abc");
  // The descriptor was released, not closed.
  char c;
  EXPECT_EQ(read(fds[0], &c, 1), 1);
  close(fds[0]);
  close(fds[1]);
}

TEST(AsioReactor, OffloadRunsElsewhereAndComesBack) {
  SystemClock clock;
  AsioReactor reactor(clock, 2);
  auto self = std::this_thread::get_id();
  int done = 0;
  for (int i = 0; i < 20; ++i) {
    auto where = std::make_shared<std::thread::id>();
    reactor.offload([where] { *where = std::this_thread::get_id(); },
                    [&, where] {
                      EXPECT_NE(*where, self);
                      EXPECT_EQ(std::this_thread::get_id(), self);
                      ++done;
                    });
  }
  EXPECT_TRUE(reactor.run_until([&] { return done == 20; }, 10s));
}

TEST(AsioReactor, WhatWorkThrowsLeavesRun) {
  SystemClock clock;
  AsioReactor reactor(clock, 1);
  reactor.offload([] { throw CheckFailed("boom"); }, [] { FAIL(); });
  EXPECT_THROW(reactor.run_until([] { return false; }, 10s), CheckFailed);
}

TEST(AsioReactor, SignalsArriveOnTheReactor) {
  SystemClock clock;
  AsioReactor reactor(clock);
  int seen = 0;
  Handle signals = reactor.on_signals({SIGUSR1}, [&](int signal) {
    EXPECT_EQ(signal, SIGUSR1);
    ++seen;
  });
  raise(SIGUSR1);
  EXPECT_TRUE(reactor.run_until([&] { return seen == 1; }, 10s));
  raise(SIGUSR1);
  EXPECT_TRUE(reactor.run_until([&] { return seen == 2; }, 10s));
}

}  // namespace dra::reactor_test
