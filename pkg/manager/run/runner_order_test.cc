// Which key runs next: namespaces, priorities, pods of one shape, keys that are held, paced controllers.
#include "pkg/manager/run/runner_fixture.h"

namespace dra::manager::runner_test {

// 5,000 keys of one namespace, then one of another: it runs second, and its write is not the 5,001st in
// flight.
TEST_F(RunnerTest, ACrowdInOneNamespaceDelaysAnotherByOnePass) {
  scripted.next = [](const View&, const Key& key) {
    ReconcileResult outcome;
    outcome.add(write("mark", key.object));
    return outcome;
  };
  for (int i = 0; i < 5000; ++i) poke("p" + std::to_string(i), "hostile");
  poke("alone", "other");
  reactor.run_until_idle();
  EXPECT_EQ(scripted.passes.at(1), "pod:other/alone");
  EXPECT_EQ(server.in_flight.size(), Runner::kMaxRunsOfNamespace + 1);
  poke("second", "other");
  reactor.run_until_idle();
  EXPECT_EQ(scripted.passes.back(), "pod:other/second") << "although the crowd has all it may have";
  reactor.advance(1min);
  EXPECT_EQ(scripted.passes.size(), 5002u);
}

TEST_F(RunnerTest, PodsOfANamespaceRunByPriority) {
  for (const auto& [name, priority] : std::map<std::string, int>{{"a", 0}, {"b", 100}, {"c", 50}}) {
    put_and_poke(name, priority);
  }
  reactor.run_until_idle();
  EXPECT_EQ(scripted.passes, (std::vector<std::string>{"pod:d/b", "pod:d/c", "pod:d/a"}));
}

TEST_F(RunnerTest, KeysThatAreGatheredRunTogetherByPriority) {
  runner.gather(true);
  for (const auto& [name, priority] : std::map<std::string, int>{{"a", 0}, {"b", 100}}) {
    put_and_poke(name, priority);
    reactor.run_until_idle();
    EXPECT_TRUE(scripted.passes.empty());
  }
  runner.gather(false);
  reactor.run_until_idle();
  EXPECT_EQ(scripted.passes, (std::vector<std::string>{"pod:d/b", "pod:d/a"}));
}

// 5,000 pods with equal requests: a change that helps none of them runs one, one that helps three runs four.
TEST_F(RunnerTest, OfWaitingPodsOfAShapeOneIsTriedAndTheNextWhenItFits) {
  size_t devices = 0;
  scripted.next = [&](const View&, const Key& key) {
    ReconcileResult outcome;
    if (key.object == "d/frees") {
      Write fails = write("take", "x");
      fails.assume = api::AllocationResult{};
      outcome.add(std::move(fails));
    } else if (devices > 0) {
      --devices;
      outcome.add(write("mark", key.object));
    } else {
      outcome.park = Park{{"devices"}, 0, "", "one device"};
    }
    return outcome;
  };
  server.failures.emplace("take", Error(Code::kConflict, 409, "Conflict", "lost"));
  poke("frees");
  reactor.run_until_idle();  // in flight while the others park
  for (int i = 0; i < 5000; ++i) poke("p" + std::to_string(i));
  reactor.run_until_idle();
  EXPECT_EQ(scripted.passes.size(), 5001u);
  const auto runs_of_others = [&] {
    return std::count_if(scripted.passes.begin(), scripted.passes.end(),
                         [](const std::string& key) { return key != "pod:d/frees"; });
  };
  devices = 3;
  reactor.advance(12ms);  // the write is lost: "devices" are free again
  EXPECT_EQ(runs_of_others(), 5000 + 4);
  EXPECT_TRUE(std::count(server.log.begin(), server.log.end(), "get x") == 1);
}

// Five devices, three old pods that want one each and a younger one that wants four: all old ones run first.
TEST_F(RunnerTest, WaitingPodsOfOneShapeGoBeforeAYoungerOneOfAnother) {
  size_t devices = 0;
  scripted.next = [&](const View&, const Key& key) {
    ReconcileResult outcome;
    const bool big = key.object.starts_with("d/big");
    const size_t wants = big ? 4 : 1;
    if (key.object == "d/frees") {
      Write fails = write("take", "x");
      fails.assume = api::AllocationResult{};
      outcome.add(std::move(fails));
    } else if (devices >= wants) {
      devices -= wants;
      outcome.add(write("mark", key.object));
    } else {
      outcome.park = Park{{"devices"}, 0, big ? "2026-02" : "2026-01", big ? "four" : "one"};
    }
    return outcome;
  };
  server.failures.emplace("take", Error(Code::kConflict, 409, "Conflict", "lost"));
  poke("frees");
  reactor.run_until_idle();
  for (const char* name : {"a", "b", "c", "big"}) poke(name);
  reactor.run_until_idle();
  scripted.passes.clear();
  devices = 5;
  reactor.advance(12ms);  // the write is lost: "devices" are free again
  std::erase(scripted.passes, "pod:d/frees");
  EXPECT_EQ(scripted.passes, (std::vector<std::string>{"pod:d/a", "pod:d/b", "pod:d/c", "pod:d/big"}));
  EXPECT_EQ(devices, 2u);
}

TEST_F(RunnerTest, HeldKeysWaitWhateverHappens) {
  scripted.next = [this](const View&, const Key&) {
    ReconcileResult outcome;
    if (scripted.passes.size() == 1) outcome.min_interval = 2s;
    return outcome;
  };
  poke("p");
  reactor.run_until_idle();
  poke("p");
  reactor.advance(1900ms);
  EXPECT_EQ(scripted.passes.size(), 1u);
  reactor.advance(200ms);
  EXPECT_EQ(scripted.passes.size(), 2u);
}

TEST_F(RunnerTest, HeldKeysDoNotKeepOthersOfTheirNamespace) {
  scripted.next = [](const View&, const Key&) {
    ReconcileResult outcome;
    outcome.min_interval = 2s;
    return outcome;
  };
  for (int i = 0; i < 1000; ++i) poke("p" + std::to_string(i));
  reactor.run_until_idle();
  EXPECT_EQ(scripted.passes.size(), 1000u);
}

// A key with unfinished work says nothing yet about the others of its shape.
TEST_F(RunnerTest, OfAShapeNoOtherIsTriedWhileOneGoesOn) {
  bool open = false;
  scripted.next = [&](const View&, const Key& key) {
    ReconcileResult outcome;
    if (key.object == "d/frees") {
      Write fails = write("take", "x");
      fails.assume = api::AllocationResult{};
      outcome.add(std::move(fails));
    } else if (open) {
      outcome.requeue_after = 100ms;
      outcome.goes_on = true;
    } else {
      outcome.park = Park{{"devices"}, 0, "", "one device"};
    }
    return outcome;
  };
  server.failures.emplace("take", Error(Code::kConflict, 409, "Conflict", "lost"));
  poke("frees");
  reactor.run_until_idle();
  for (int i = 0; i < 100; ++i) poke("p" + std::to_string(i));
  reactor.run_until_idle();
  open = true;
  scripted.passes.clear();
  reactor.advance(2s);
  std::set<std::string> ran(scripted.passes.begin(), scripted.passes.end());
  ran.erase("pod:d/frees");
  EXPECT_EQ(ran.size(), 1u);
  open = false;
  poke("p0");
  reactor.advance(1s);
}

class Slow : public Scripted {
 public:
  std::string_view name() const override { return "slow"; }
  Pace pace() const override { return {10, 5}; }
};

// 600 keys with a costly write: the first burst at once, the others at the rate and in order, without occupying
// reconciles that other controllers need; a live GET before the write costs no second token.
TEST_F(RunnerTest, PacedOutcomesWaitForTheirTurn) {
  constexpr int kKeys = 600;
  Slow slow;
  slow.next = [&](const View& v, const Key& key) {
    const Ref object{Kind::kClaim, "d", key.object.substr(2), key.object.substr(2) + "-uid"};
    ReconcileResult outcome;
    if (std::count(server.log.begin(), server.log.end(), "evict " + object.name) > 0) return outcome;
    outcome.paced = true;
    if (v.live_presence(object) == Presence::kUnknown)
      outcome.add(LiveGet{object});
    else
      outcome.add(write("evict", object.name));
    return outcome;
  };
  runner.add(slow.parts());
  for (int i = 0; i < kKeys; ++i) poke("p" + std::to_string(i));
  const auto evicted = [this] {
    return std::count_if(server.log.begin(), server.log.end(), [](const auto& line) { return line[0] == 'e'; });
  };
  reactor.advance(50ms);
  EXPECT_EQ(evicted(), 5);
  EXPECT_EQ(scripted.passes.size(), static_cast<size_t>(kKeys)) << "the other reconciler is not held up";
  EXPECT_TRUE(runner.idle());
  reactor.advance(950ms);
  EXPECT_GE(evicted(), 14);
  EXPECT_LE(evicted(), 15);
  for (int i = 0; i < 20; ++i) poke("p" + std::to_string(kKeys - 1));  // enqueueing often does not help
  reactor.advance(10s);
  EXPECT_GE(evicted(), 114);
  EXPECT_LE(evicted(), 115);
  EXPECT_EQ(std::count(server.log.begin(), server.log.end(), "evict p" + std::to_string(kKeys - 1)), 0);
  reactor.advance(60s);
  EXPECT_EQ(evicted(), kKeys);
  EXPECT_EQ(server.log.size(), 2u * kKeys) << "one question and one write each";
}

}  // namespace dra::manager::runner_test
