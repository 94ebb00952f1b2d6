#include "pkg/reconcile/parking.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>

#include "pkg/base/random.h"

namespace dra::reconcile::parking_test {

using Keys = std::vector<std::string>;

// The lot with keys as texts: "pod:d/a", or anything without a colon for a pod of that name without a namespace.
class ParkingLot {
 public:
  static constexpr size_t kBatch = reconcile::ParkingLot::kBatch;
  static constexpr size_t kBatchOfNamespace = reconcile::ParkingLot::kBatchOfNamespace;

  Keys park(const std::string& key, const Park& park) { return texts(lot_.park(value(key), park)); }
  void begin(const std::string& key) { lot_.begin(value(key)); }
  Keys end(const std::string& key) { return texts(lot_.end(value(key))); }
  void fail(const std::string& key) { lot_.fail(value(key)); }
  void clear() { lot_.clear(); }
  Keys wake(const Cause& cause, uint64_t since = 0) { return texts(lot_.wake(cause, since)); }
  Keys next_batch() { return texts(lot_.next_batch()); }
  uint64_t time() const { return lot_.time(); }
  bool has_leftovers() const { return lot_.has_leftovers(); }
  std::optional<Rank> rank_of(const std::string& key) const { return lot_.rank_of(value(key)); }
  size_t size() const { return lot_.size(); }
  size_t shapes() const { return lot_.shapes(); }
  size_t waiting_for(const Cause& cause) const { return lot_.waiting_for(cause); }

 private:
  static Key value(const std::string& text) { return parse_key(text).value_or(pod_key(text)); }
  static Keys texts(const std::vector<Key>& keys) {
    Keys texts;
    for (const Key& key : keys) texts.push_back(key.object.find('/') == std::string::npos ? key.object : to_text(key));
    return texts;
  }

  reconcile::ParkingLot lot_;
};

Park park_for(std::vector<Cause> causes, int32_t priority = 0, std::string since = "", std::string shape = "") {
  return {std::move(causes), priority, std::move(since), std::move(shape)};
}

TEST(ParkingLot, WakesByPriorityThenAge) {
  ParkingLot lot;
  lot.park("young", park_for({"class/gpu"}, 0, "2026-01-02T00:00:00Z"));
  lot.park("old", park_for({"class/gpu"}, 0, "2026-01-01T00:00:00Z"));
  lot.park("urgent", park_for({"class/gpu", "node/cpu"}, 10, "2026-01-03T00:00:00Z"));
  lot.park("other", park_for({"class/nic"}, 10, "2026-01-01T00:00:00Z"));
  EXPECT_EQ(lot.wake("class/gpu"), (Keys{"urgent", "old", "young"}));
  EXPECT_TRUE(lot.wake("node/cpu").empty()) << "already woken";
  EXPECT_EQ(lot.size(), 1u);
}

TEST(ParkingLot, OfOneShapeOneIsTriedAndTheNextOnlyWhenItFits) {
  ParkingLot lot;
  for (int i = 0; i < 5000; ++i)
    lot.park("pod:d/p" + std::to_string(10'000 + i), park_for({"class/gpu"}, 0, "2026", "one gpu"));
  EXPECT_EQ(lot.shapes(), 1u);
  EXPECT_EQ(lot.wake("class/gpu"), Keys{"pod:d/p10000"});
  EXPECT_TRUE(lot.wake("class/gpu").empty()) << "one is on trial already, and will see this change, too";
  lot.begin("pod:d/p10000");
  EXPECT_EQ(lot.end("pod:d/p10000"), Keys{"pod:d/p10001"}) << "it fits: so may the next";
  lot.begin("pod:d/p10001");
  lot.park("pod:d/p10001", park_for({"class/gpu"}, 0, "2026", "one gpu"));
  EXPECT_FALSE(lot.has_leftovers()) << "it does not fit, and so no other";
  EXPECT_EQ(lot.size(), 4999u);
  EXPECT_EQ(lot.wake("class/gpu"), Keys{"pod:d/p10001"});
  lot.fail("pod:d/p10001");  // undecided
  EXPECT_EQ(lot.wake("class/gpu").size(), 1u);
}

// A key that was handed out and is gone, or turns out to want something else, does not end its shape's turn.
TEST(ParkingLot, ATrialThatSaysNothingPassesOnToTheNext) {
  ParkingLot lot;
  for (const char* key : {"pod:d/a", "pod:d/b", "pod:d/c"}) lot.park(key, park_for({"x"}, 0, "", "s"));
  ASSERT_EQ(lot.wake("x"), Keys{"pod:d/a"});
  EXPECT_EQ(lot.end("pod:d/a"), Keys{"pod:d/b"}) << "its object was deleted";
  EXPECT_EQ(lot.park("pod:d/b", park_for({"x"}, 0, "", "another")), Keys{"pod:d/c"});
  EXPECT_TRUE(lot.end("pod:d/c").empty());
  EXPECT_EQ(lot.size(), 1u);
  EXPECT_TRUE(lot.end("pod:d/never seen").empty());
}

// A key that was undecided first and fits later advances its shape, as a key that fits at once does.
TEST(ParkingLot, AnUndecidedTrialThatEndsAfterAllPassesOnToTheNext) {
  ParkingLot lot;
  for (const char* key : {"pod:d/a", "pod:d/b", "pod:d/c"}) lot.park(key, park_for({"x"}, 0, "", "s"));
  ASSERT_EQ(lot.wake("x"), Keys{"pod:d/a"});
  lot.fail("pod:d/a");
  lot.fail("pod:d/a");
  EXPECT_EQ(lot.end("pod:d/a"), Keys{"pod:d/b"});
  EXPECT_TRUE(lot.end("pod:d/a").empty()) << "once";
  lot.fail("pod:d/b");
  EXPECT_EQ(lot.wake("x"), Keys{"pod:d/c"}) << "a change that comes first tries another one";
  EXPECT_TRUE(lot.end("pod:d/b").empty()) << "that one is on trial now, and says what follows";
  EXPECT_TRUE(lot.end("pod:d/c").empty());
  EXPECT_EQ(lot.size(), 0u);
  EXPECT_EQ(lot.shapes(), 0u);
}

// A model of the queue: by rank among the keys waiting in it.
std::vector<std::string> by_rank(const ParkingLot& lot, Keys keys) {
  std::sort(keys.begin(), keys.end(), [&](const std::string& a, const std::string& b) {
    const auto ranks = std::make_pair(lot.rank_of(a), lot.rank_of(b));
    EXPECT_TRUE(ranks.first && ranks.second);
    return std::tie(ranks.first->round, ranks.first->age, a) < std::tie(ranks.second->round, ranks.second->age, b);
  });
  return keys;
}

TEST(ParkingLot, TheNextOfAShapeRanksBeforeYoungerKeysOfItsRound) {
  ParkingLot lot;
  lot.park("pod:d/a1", park_for({"x"}, 0, "2026-01", "one"));
  lot.park("pod:d/a2", park_for({"x"}, 0, "2026-01", "one"));
  lot.park("pod:d/a3", park_for({"x"}, 0, "2026-03", "one"));
  lot.park("pod:d/b1", park_for({"x", "y"}, 0, "2026-02", "two"));
  EXPECT_FALSE(lot.rank_of("pod:d/a1")) << "it waits";
  ASSERT_EQ(lot.wake("x"), (Keys{"pod:d/a1", "pod:d/b1"}));
  ASSERT_EQ(lot.end("pod:d/a1"), Keys{"pod:d/a2"});
  EXPECT_EQ(by_rank(lot, {"pod:d/b1", "pod:d/a2"}), (Keys{"pod:d/a2", "pod:d/b1"}));
  ASSERT_EQ(lot.end("pod:d/a2"), Keys{"pod:d/a3"});
  EXPECT_EQ(by_rank(lot, {"pod:d/b1", "pod:d/a3"}), (Keys{"pod:d/b1", "pod:d/a3"}));
  lot.fail("pod:d/b1");
  EXPECT_FALSE(lot.rank_of("pod:d/b1")) << "undecided: it comes again by its back-off";
  lot.begin("pod:d/a3");
  EXPECT_TRUE(lot.rank_of("pod:d/a3")) << "its pass goes on";
  lot.end("pod:d/a3");
  EXPECT_FALSE(lot.rank_of("pod:d/a3"));
}

// Two changes in a row are one round; but the first keys of endless changes do not overtake a key.
TEST(ParkingLot, ARoundTakesABatchOfFirstKeys) {
  ParkingLot lot;
  lot.park("pod:d/young", park_for({"y"}, 0, "2026-09"));
  lot.park("pod:d/old", park_for({"x"}, 0, "2026-01"));
  ASSERT_EQ(lot.wake("y"), Keys{"pod:d/young"});
  size_t passed = 0;
  for (; passed < 1000; ++passed) {
    ASSERT_EQ(lot.wake("x"), Keys{"pod:d/old"});
    if (by_rank(lot, {"pod:d/young", "pod:d/old"}).front() == "pod:d/young") break;
    lot.park("pod:d/old", park_for({"x"}, 0, "2026-01"));
  }
  EXPECT_EQ(passed, ParkingLot::kBatch - 1);
}

TEST(ParkingLot, CausesTakeTurnsInFurtherBatches) {
  ParkingLot lot;
  for (int i = 0; i < 1000; ++i) lot.park("pod:a/p" + std::to_string(i), park_for({"a"}));
  for (int i = 0; i < 40; ++i) lot.park("pod:z/p" + std::to_string(i), park_for({"z"}));
  lot.wake("a");
  lot.wake("z");
  bool reached = false;
  for (int batch = 0; batch < 6 && !reached; ++batch) {
    for (const std::string& key : lot.next_batch()) {
      reached = reached || key.starts_with("pod:z/");
      lot.park(key, park_for({key.substr(4, 1)}));
    }
    lot.wake("a");  // changes never end
  }
  EXPECT_TRUE(reached);
}

TEST(ParkingLot, WakesInBatchesAndReachesEverybodyOnce) {
  ParkingLot lot;
  const Park park = park_for({"class/gpu"}, 0, "2026");
  for (int i = 0; i < 1000; ++i) lot.park("pod:n" + std::to_string(i % 10) + "/k" + std::to_string(i), park);
  std::set<std::string> seen;
  Keys keys = lot.wake("class/gpu");
  EXPECT_EQ(keys.size(), ParkingLot::kBatch);
  while (!keys.empty()) {
    EXPECT_LE(keys.size(), ParkingLot::kBatch);
    for (const std::string& key : keys) {
      EXPECT_TRUE(seen.insert(key).second) << "woken twice for one change";
      lot.begin(key);
      lot.park(key, park);  // still does not fit
    }
    keys = lot.next_batch();
  }
  EXPECT_EQ(seen.size(), 1000u);
  EXPECT_FALSE(lot.has_leftovers());
  EXPECT_EQ(lot.waiting_for("class/gpu"), 1000u);
}

TEST(ParkingLot, ACrowdInOneNamespaceTakesItsShareOfABatchOnly) {
  ParkingLot lot;
  for (int i = 0; i < 5000; ++i) lot.park("pod:hostile/" + std::to_string(i), park_for({"x"}, 1000, "2020"));
  for (int i = 0; i < 3; ++i) lot.park("pod:other/" + std::to_string(i), park_for({"x"}, 0, "2026"));
  const Keys keys = lot.wake("x");
  EXPECT_EQ(keys.size(), ParkingLot::kBatchOfNamespace + 3);
  EXPECT_EQ(keys[1], "pod:other/0");
}

// Changes keep coming, and only the first batch of each is ever tried at once: every key's turn still comes, and the
// key tried longest ago comes first.
TEST(ParkingLot, TheRestOfAWakeUpIsReachedUnderEndlessChanges) {
  ParkingLot lot;
  const auto again = [&](const Keys& keys) {
    for (const std::string& key : keys) {
      lot.begin(key);
      lot.park(key, park_for({"x"}, key < "pod:d/3" ? 10 : 0, "2026"));
    }
  };
  Keys all;
  for (int i = 0; i < 500; ++i) all.push_back("pod:d/" + std::to_string(100 + i));
  again(all);
  std::map<std::string, int> tried;
  for (int change = 0; change < 100; ++change) {
    for (const Keys& keys : {lot.wake("x"), lot.next_batch()}) {
      for (const std::string& key : keys) ++tried[key];
      again(keys);
    }
  }
  EXPECT_EQ(tried.size(), 500u);
}

TEST(ParkingLot, WakesWhoParkedSince) {
  ParkingLot lot;
  const Park park = park_for({"class/gpu"}, 0, "2026");
  for (int i = 0; i < 100; ++i) lot.park("before" + std::to_string(i), park);
  const uint64_t since = lot.time();
  for (int i = 0; i < 100; ++i) lot.park("after" + std::to_string(i), park);
  size_t woken = 0;
  for (auto keys = lot.wake("class/gpu", since); !keys.empty(); keys = lot.next_batch())
    for (const std::string& key : keys) {
      EXPECT_TRUE(key.starts_with("after")) << key;
      ++woken;
    }
  EXPECT_EQ(woken, 100u);
  EXPECT_EQ(lot.waiting_for("class/gpu"), 100u);
}

TEST(ParkingLot, BeginningEndsTheWaiting) {
  ParkingLot lot;
  lot.park("a", park_for({"x", "y", "x"}));
  lot.park("a", park_for({"z"}));
  EXPECT_TRUE(lot.wake("x").empty());
  lot.begin("a");
  EXPECT_TRUE(lot.wake("z").empty());
  EXPECT_EQ(lot.size(), 0u);
  lot.park("b", park_for({"z"}, 0, "", "s"));
  lot.wake("z");
  lot.clear();
  EXPECT_EQ(lot.shapes(), 0u);
}

// A world of pods that each want a number of devices of one kind. Whatever is added and removed: once the lot is at
// rest, no parked key would fit, and the futile trials are one key per shape and change.
TEST(ParkingLot, NothingThatFitsStaysParkedInRandomWorlds) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    SeededRandom random(seed);
    struct Pod {
      size_t kind, wants;
      int32_t priority;
    };
    const size_t kinds = 1 + random.below(4);
    std::vector<size_t> free(kinds, 0);
    std::map<std::string, Pod> pods;
    ParkingLot lot;
    std::deque<std::string> queue;
    size_t vain = 0;
    const auto add = [&](const Keys& keys) { queue.insert(queue.end(), keys.begin(), keys.end()); };
    const auto run = [&] {
      while (!queue.empty() || lot.has_leftovers()) {
        if (queue.empty()) add(lot.next_batch());
        if (queue.empty()) continue;
        const std::string key = queue.front();
        queue.pop_front();
        lot.begin(key);
        const auto pod = pods.find(key);
        if (pod == pods.end()) {
          add(lot.end(key));
        } else if (free[pod->second.kind] >= pod->second.wants) {
          free[pod->second.kind] -= pod->second.wants;
          pods.erase(pod);
          add(lot.end(key));
        } else {
          ++vain;
          const std::string shape = std::to_string(pod->second.kind) + "x" + std::to_string(pod->second.wants);
          add(lot.park(key, park_for({"kind/" + std::to_string(pod->second.kind)}, pod->second.priority, "", shape)));
        }
      }
    };
    for (int step = 0; step < 60; ++step) {
      const size_t kind = random.below(kinds);
      if (random.below(2) == 0) {
        for (size_t i = random.below(20); i > 0; --i) {
          const std::string key =
              "pod:n" + std::to_string(random.below(3)) + "/" + std::to_string(step) + "-" + std::to_string(i);
          pods[key] = {kind, 1 + random.below(5), static_cast<int32_t>(random.below(2))};
          queue.push_back(key);
        }
      } else if (random.below(3) == 0 && !pods.empty()) {
        const std::string gone = std::next(pods.begin(), static_cast<long>(random.below(pods.size())))->first;
        pods.erase(gone);
        add(lot.end(gone));
      } else {
        run();  // new pods are tried once each, whatever their shape
        free[kind] += random.below(12);
        vain = 0;
        add(lot.wake("kind/" + std::to_string(kind)));
        run();
        EXPECT_LE(vain, 3u * 5) << "one for each shape of the kind: namespaces times amounts";
      }
      if (random.below(2) == 0) run();
    }
    run();
    for (const auto& [key, pod] : pods) EXPECT_LT(free[pod.kind], pod.wants) << key;
    EXPECT_EQ(lot.size(), pods.size());
    EXPECT_LE(lot.shapes(), kinds * 15);
  }
}

}  // namespace dra::reconcile::parking_test
