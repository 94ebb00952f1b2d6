#include "pkg/queue/work_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "pkg/base/check.h"
#include "pkg/base/random.h"

namespace dra::queue::work_queue_test {

using namespace std::chrono_literals;

struct Coordinates {
  int x = 0, y = 0;
  bool operator==(const Coordinates&) const = default;
  auto operator<=>(const Coordinates&) const = default;
};

}  // namespace dra::queue::work_queue_test

template <>
struct std::hash<dra::queue::work_queue_test::Coordinates> {
  size_t operator()(const dra::queue::work_queue_test::Coordinates& at) const {
    return static_cast<size_t>(at.x * 31 + at.y);
  }
};

namespace dra::queue::work_queue_test {

TEST(WorkQueue, CollapsesAddsAndKeepsOrder) {
  ManualClock clock;
  WorkQueue queue(clock);
  queue.add("a");
  queue.add("b");
  queue.add("a");
  EXPECT_EQ(queue.depth(), 2u);
  EXPECT_EQ(queue.get(), "a");
  EXPECT_EQ(queue.get(), "b");
  EXPECT_EQ(queue.get(), std::nullopt);
}

TEST(WorkQueue, AnAddDuringAPassOwesOneMorePass) {
  ManualClock clock;
  WorkQueue queue(clock);
  queue.add("a");
  ASSERT_EQ(queue.get(), "a");
  queue.add("a");
  queue.add("a");
  EXPECT_EQ(queue.get(), std::nullopt) << "one worker a key";
  queue.done("a");
  EXPECT_EQ(queue.get(), "a");
  queue.done("a");
  EXPECT_EQ(queue.get(), std::nullopt);
}

// A held key stays processing, but frees its place in the group for another key.
TEST(WorkQueue, AHeldKeyDoesNotCountAgainstItsGroup) {
  ManualClock clock;
  WorkQueue queue(clock, {}, nullptr, {[](std::string_view) { return Place{"g", 0}; }, 1});
  queue.add("a");
  queue.add("b");
  ASSERT_EQ(queue.get(), "a");
  EXPECT_EQ(queue.get(), std::nullopt) << "the group has all it may have";
  queue.pause("a");
  queue.pause("a");
  EXPECT_EQ(queue.get(), "b");
  queue.add("a");
  queue.done("b");
  EXPECT_EQ(queue.get(), std::nullopt) << "it is still taken";
  clock.advance(5s);
  EXPECT_EQ(queue.unfinished_work(), Duration::zero());
  EXPECT_EQ(queue.longest_running(), Duration::zero());
  queue.done("a");
  EXPECT_EQ(queue.get(), "a") << "what happened meanwhile is owed to it";
  queue.add("b");
  EXPECT_EQ(queue.get(), std::nullopt);
  queue.done("a");
  EXPECT_EQ(queue.get(), "b");
}

TEST(WorkQueue, BacksOffPerKeyFrom5MillisecondsTo60Seconds) {
  ManualClock clock;
  WorkQueue queue(clock);
  Duration expected = 5ms;
  for (int i = 0; i < 30; ++i) {
    EXPECT_EQ(queue.add_rate_limited("a"), std::min<Duration>(expected, 60s)) << i;
    expected = std::min<Duration>(expected * 2, 60s);
    clock.advance(60s);
    ASSERT_EQ(queue.get(), "a");
    queue.done("a");
  }
  EXPECT_EQ(queue.failures("a"), 30u);
  EXPECT_EQ(queue.add_rate_limited("b"), 5ms) << "another key does not suffer";
  queue.forget("a");
  EXPECT_EQ(queue.add_rate_limited("a"), 5ms);
}

TEST(WorkQueue, AFailingKeyMakesAtMost12AttemptsIn10SecondsAndOneIn30SecondsAfter2Minutes) {
  ManualClock clock;
  WorkQueue queue(clock);
  std::vector<MonoTime> attempts;
  queue.add("a");
  const MonoTime start = clock.mono_now();
  while (clock.mono_now() - start < 10min) {
    if (auto key = queue.get()) {
      attempts.push_back(clock.mono_now());
      queue.add_rate_limited(*key);
      queue.done(*key);
    }
    clock.advance(1ms);
  }
  const auto early = std::count_if(attempts.begin(), attempts.end(), [&](MonoTime t) { return t - start <= 10s; });
  EXPECT_LE(early, 12);
  for (size_t i = 1; i < attempts.size(); ++i) {
    if (attempts[i] - start > 2min) {
      EXPECT_GE(attempts[i] - attempts[i - 1], 30s);
    }
  }
}

TEST(WorkQueue, TheEarlierOfTwoDueTimesCounts) {
  ManualClock clock;
  WorkQueue queue(clock);
  queue.add_after("a", 10s);
  queue.add_after("a", 1s);
  queue.add_after("a", 5s);
  EXPECT_EQ(queue.delayed(), 1u);
  clock.advance(999ms);
  EXPECT_FALSE(queue.has_ready());
  clock.advance(1ms);
  EXPECT_EQ(queue.get(), "a");
  queue.done("a");
  clock.advance(1h);
  EXPECT_EQ(queue.get(), std::nullopt);
}

TEST(WorkQueue, DoneForAKeyThatIsNotProcessedIsABug) {
  ManualClock clock;
  WorkQueue queue(clock);
  EXPECT_THROW(queue.done("a"), CheckFailed);
}

TEST(WorkQueue, HoldsKeysThatAreNoTexts) {
  ManualClock clock;
  WorkQueue<Coordinates> queue(clock, {}, nullptr, {[](const Coordinates& at) { return Place{"", at.y}; }});
  queue.add({1, 1});
  queue.add({1, 2});
  queue.add({1, 1});
  queue.add_after({3, 0}, 1s);
  EXPECT_EQ(queue.get(), (Coordinates{1, 2}));
  EXPECT_EQ(queue.get(), (Coordinates{1, 1}));
  EXPECT_EQ(queue.get(), std::nullopt);
  clock.advance(1s);
  EXPECT_EQ(queue.get(), (Coordinates{3, 0}));
}

class CountingObserver : public Observer {
 public:
  void added() override { ++adds; }
  void retried() override { ++retries; }
  void taken(Duration waited) override { queue_time += waited; }
  void finished(Duration worked) override { work_time += worked; }
  void depth_changed(size_t ready) override { depth = ready; }
  int adds = 0, retries = 0;
  size_t depth = 0;
  Duration queue_time{}, work_time{};
};

TEST(WorkQueue, TellsItsObserverWhatUpstreamsMetricsNeed) {
  ManualClock clock;
  CountingObserver seen;
  WorkQueue queue(clock, {}, &seen);
  queue.add("a");
  queue.add("a");
  EXPECT_EQ(seen.adds, 1);
  EXPECT_EQ(seen.depth, 1u);
  clock.advance(3s);
  queue.get();
  clock.advance(2s);
  EXPECT_EQ(queue.unfinished_work(), 2s);
  EXPECT_EQ(queue.longest_running(), 2s);
  queue.add_rate_limited("a");
  queue.done("a");
  EXPECT_EQ(seen.retries, 1);
  EXPECT_EQ(seen.queue_time, 3s);
  EXPECT_EQ(seen.work_time, 2s);
  EXPECT_EQ(seen.depth, 0u);
}

// The model: for each key whether an add is still unanswered by a hand-out, whether the key is being processed, and its
// earliest due time. Checked after every step of 100,000 random interleavings.
struct ModelKey {
  bool owed = false;
  bool processing = false;
  std::optional<MonoTime> due;
  uint64_t failures = 0;
};

class Interleaving {
 public:
  explicit Interleaving(uint64_t seed) : random_(seed), queue_(clock_), keys_(1 + random_.below(5)) {}

  void run(int steps) {
    for (int i = 0; i < steps; ++i) {
      step();
      if (testing::Test::HasFatalFailure()) return;
    }
    drain();
  }

 private:
  std::string name(size_t i) const { return "k" + std::to_string(i); }
  void release() {
    for (ModelKey& key : keys_)
      if (key.due && *key.due <= clock_.mono_now()) {
        key.owed = true;
        key.due.reset();
      }
  }
  void later(ModelKey& key, Duration delay) {
    if (delay <= Duration::zero()) {
      key.owed = true;
      return;
    }
    const MonoTime due = clock_.mono_now() + delay;
    if (!key.due || due < *key.due) key.due = due;
  }
  void step() {
    const size_t i = random_.below(keys_.size());
    ModelKey& key = keys_[i];
    switch (random_.below(7)) {
      case 0:
        queue_.add(name(i));
        key.owed = true;
        break;
      case 1: {
        const Duration delay = std::chrono::milliseconds(int64_t(random_.below(20)) - 2);
        queue_.add_after(name(i), delay);
        later(key, delay);
        break;
      }
      case 2: {
        const Duration delay = queue_.add_rate_limited(name(i));
        ASSERT_EQ(delay, backoff_delay({}, ++key.failures));
        later(key, delay);
        break;
      }
      case 3:
        queue_.forget(name(i));
        key.failures = 0;
        break;
      case 4:
        get();
        break;
      case 5:
        if (key.processing) {
          queue_.done(name(i));
          key.processing = false;
        }
        break;
      default:
        clock_.advance(std::chrono::milliseconds(random_.below(10)));
    }
  }
  void get() {
    release();
    const bool any = std::any_of(keys_.begin(), keys_.end(), [](const ModelKey& k) { return k.owed && !k.processing; });
    const std::optional<std::string> got = queue_.get();
    ASSERT_EQ(got.has_value(), any);
    if (!got) return;
    ModelKey& key = keys_.at(std::stoul(got->substr(1)));
    ASSERT_TRUE(key.owed) << "handed out a key nobody wants";
    ASSERT_FALSE(key.processing) << "two workers on one key";
    key.owed = false;
    key.processing = true;
  }
  void drain() {
    clock_.advance(std::chrono::hours(1));
    for (size_t round = 0; round < 3 * keys_.size() + 3; ++round) {
      get();
      if (testing::Test::HasFatalFailure()) return;
      for (size_t i = 0; i < keys_.size(); ++i)
        if (keys_[i].processing) {
          queue_.done(name(i));
          keys_[i].processing = false;
        }
    }
    for (const ModelKey& key : keys_) ASSERT_FALSE(key.owed || key.due) << "a key was lost";
    ASSERT_EQ(queue_.depth() + queue_.delayed() + queue_.processing(), 0u);
  }

  SeededRandom random_;
  ManualClock clock_;
  WorkQueue<> queue_;
  std::vector<ModelKey> keys_;
};

TEST(WorkQueue, HoldsItsPromisesIn100000RandomInterleavings) {
  for (uint64_t seed = 1; seed <= 100'000; ++seed) {
    Interleaving(seed).run(24);
    ASSERT_FALSE(HasFatalFailure()) << "seed " << seed;
  }
}

}  // namespace dra::queue::work_queue_test
