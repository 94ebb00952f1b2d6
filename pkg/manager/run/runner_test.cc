// Effects in order, exclusion of keys and objects, and what follows a write that failed or has no answer.
#include "pkg/manager/run/runner_fixture.h"

namespace dra::manager::runner_test {

// A list that is visited in portions: each is a task of its own, its keys run before the next one.
TEST_F(RunnerTest, WalksGoOnUntilNothingIsLeftOrItStops) {
  int portions = 0;
  scripted.walk = [&](const View&, EnqueueRequests& out) {
    EXPECT_LE(scripted.passes.size(), static_cast<size_t>(portions) + 1) << "no portion runs keys of a later one";
    out.add(pod_key("d/walked-" + std::to_string(portions)));
    return ++portions < 3;
  };
  poke("a");
  EXPECT_EQ(portions, 0) << "nothing happens inside the call";
  reactor.run_until_idle();
  EXPECT_EQ(portions, 3);
  EXPECT_EQ(std::set<std::string>(scripted.passes.begin(), scripted.passes.end()),
            (std::set<std::string>{"pod:d/a", "pod:d/walked-0", "pod:d/walked-1", "pod:d/walked-2"}));
  // The term ends in the middle: the rest is dropped, since the next term looks at everything.
  portions = 0;
  scripted.walk = [&](const View&, EnqueueRequests&) {
    if (++portions == 2) runner.stop();
    return true;
  };
  poke("b");
  reactor.run_until_idle();
  EXPECT_EQ(portions, 2);
  runner.start();
  reactor.run_until_idle();
  EXPECT_EQ(portions, 2);
}

TEST_F(RunnerTest, AControllerThatIsHeldBackWaitsAndBeginsNoWrite) {
  runner.set_blocked("scripted", true);
  once({write("first", "a"), write("second", "b")});
  poke("p");
  reactor.advance(1min);
  EXPECT_TRUE(scripted.passes.empty());
  runner.set_blocked("scripted", false);
  reactor.advance(5ms);
  runner.set_blocked("scripted", true);  // the first write is in flight
  reactor.advance(1min);
  EXPECT_EQ(server.log, std::vector<std::string>{"first a"});
  EXPECT_EQ(notes.held, std::set<std::string>{"a"});
  runner.set_blocked("scripted", false);
  reactor.advance(1min);
  EXPECT_GE(scripted.passes.size(), 2u) << "the key was not lost";
  EXPECT_TRUE(runner.idle());
}

TEST_F(RunnerTest, AControllerGoesOnWhenNoReasonToHoldItBackIsLeft) {
  runner.set_blocked("scripted", true);
  runner.set_blocked("scripted", true, "another");
  poke("p");
  for (const char* reason : {"", "another"}) {
    reactor.advance(1min);
    EXPECT_TRUE(scripted.passes.empty());
    runner.set_blocked("scripted", false, reason);
  }
  reactor.advance(1min);
  EXPECT_FALSE(scripted.passes.empty());
}

TEST_F(RunnerTest, PerformsEffectsInOrder) {
  once({write("first", "a"), write("second", "b"), Event{{}, false, "Allocated", "", "all", ""}});
  poke("p");
  reactor.advance(1s);
  EXPECT_EQ(server.log, (std::vector<std::string>{"first a", "second b"}));
  EXPECT_EQ(notes.events, std::vector<std::string>{"Allocated: all"});
  EXPECT_EQ(notes.settled, (std::set<std::string>{"a", "b"}));
  EXPECT_TRUE(runner.idle());
}

TEST_F(RunnerTest, TheFirstFailureDropsTheRestWithItsAssumptions) {
  server.failures.emplace("second", Error(Code::kConflict, 409, "Conflict", "lost"));
  once({write("first", "a"), write("second", "b"), write("third", "c")});
  poke("p");
  reactor.advance(1s);
  EXPECT_EQ(server.log, (std::vector<std::string>{"first a", "second b", "get b"})) << "and reads what it lost to";
  EXPECT_EQ(notes.held, std::set<std::string>{"a"});
  EXPECT_EQ(scripted.passes.size(), 2u) << "the next pass derives what is left";
}

TEST_F(RunnerTest, AnUnknownOutcomeKeepsTheAssumptionUntilAReadSettlesIt) {
  server.failures.emplace("first", Error(Code::kDeadlineExceeded, "no answer in time"));
  server.unreachable = 3;
  once({write("first", "a")});
  poke("p");
  reactor.advance(100ms);
  EXPECT_TRUE(notes.held.contains("a"));
  EXPECT_EQ(scripted.passes.size(), 1u);
  reactor.advance(5s);
  EXPECT_FALSE(notes.held.contains("a"));
  EXPECT_EQ(scripted.passes.size(), 2u);
}

// The assumption is released without a change of any object, so the pods waiting for those devices must be notified.
TEST_F(RunnerTest, DevicesOfAWriteThatDidNotHappenAreSaidToBeFree) {
  for (const bool unknown : {false, true}) {
    SCOPED_TRACE(unknown);
    scripted.passes.clear();
    scripted.given_up.clear();
    server.failures.clear();
    server.failures.emplace("first", unknown ? Error(Code::kDeadlineExceeded, "no answer in time")
                                             : Error(Code::kConflict, 409, "Conflict", "lost"));
    Write takes = write("first", "a");
    takes.assume = api::AllocationResult{};
    Write also = write("second", "b");
    also.assume = api::AllocationResult{};
    once({takes, also, write("third", "c")});
    poke("p");
    reactor.advance(5s);
    std::sort(scripted.given_up.begin(), scripted.given_up.end());
    EXPECT_EQ(scripted.given_up, (std::vector<std::string>{"a", "b"}));
  }
}

// The devices of only one decision about a claim can be counted as taken.
TEST_F(RunnerTest, NothingOfADecisionAboutAClaimThatAnotherOneIsWritingIsSent) {
  Write own = write("first", "a"), shared = write("second", "b");
  own.assume = shared.assume = api::AllocationResult{};
  scripted.next = [=](const View&, const Key&) {
    ReconcileResult outcome;
    outcome.add(own);
    outcome.add(shared);
    return outcome;
  };
  notes.contested = {"b"};
  poke("p");
  reactor.advance(1ms);
  EXPECT_EQ(server.log, std::vector<std::string>{});
  EXPECT_EQ(notes.held, std::set<std::string>{});
  EXPECT_EQ(scripted.passes.size(), 1u) << "it backs off";
  notes.contested.clear();
  reactor.advance(5s);
  EXPECT_EQ(server.log.size(), 2u);
}

// One object that the server refuses forever must not run all waiting keys again and again.
TEST_F(RunnerTest, AWriteThatDidNotHappenWakesWhoParkedSinceItWasDecidedOn) {
  server.failures.emplace("take", Error(Code::kInvalidArgument, 422, "Invalid", "spec is not valid"));
  scripted.next = [](const View&, const Key& key) {
    ReconcileResult outcome;
    if (key.object == "d/refused") {
      Write takes = write("take", "a");
      takes.assume = api::AllocationResult{};
      outcome.add(std::move(takes));
    } else {
      outcome.park = Park{{"devices"}, 0, ""};
    }
    return outcome;
  };
  poke("before");
  reactor.run_until_idle();
  poke("refused");
  reactor.run_until_idle();  // its write is in flight
  poke("meanwhile");
  reactor.advance(5min);
  std::map<std::string, int> passes;
  for (const std::string& key : scripted.passes) ++passes[key];
  EXPECT_GE(passes["pod:d/refused"], 10);
  EXPECT_EQ(passes["pod:d/before"], 1);
  EXPECT_EQ(passes["pod:d/meanwhile"], 2);
}

// The watch event of the write, and the keys that it unparked, may come before the answer.
TEST_F(RunnerTest, RoomIsSaidToBeFreeWhenTheAnswerIsThere) {
  for (const bool known : {true, false}) {
    SCOPED_TRACE(known ? "answered" : "no answer, but it happened");
    scripted.passes.clear();
    server.failures.clear();
    server.presence = Presence::kPresent;
    if (!known) server.failures.emplace("withdraw", Error(Code::kDeadlineExceeded, "no answer in time"));
    auto object = std::make_shared<api::ResourceClaim>();
    object->metadata.ns = "d";
    object->metadata.name = "a";
    object->metadata.uid = "a-uid";
    object->metadata.resource_version = "7";
    claims_core.answer(entry_of("a", "a-uid", 7, object));
    scripted.next = [&](const View&, const Key& key) {
      ReconcileResult outcome;
      if (key.object == "d/waits") {
        outcome.park = Park{{"nodes"}, 0, ""};
      } else if (scripted.passes.size() == 1) {
        Write back = write("withdraw", "a");
        back.release_pod = "q-uid";
        outcome.add(std::move(back));
      }
      return outcome;
    };
    poke("withdraws");
    reactor.run_until_idle();  // its write is in flight
    poke("waits");
    reactor.run_until_idle();
    EXPECT_EQ(scripted.passes, (std::vector<std::string>{"pod:d/withdraws", "pod:d/waits"}));
    reactor.advance(20s);
    EXPECT_EQ(std::count(scripted.passes.begin(), scripted.passes.end(), "pod:d/waits"), 2);
    EXPECT_TRUE(scripted.given_up.empty());
  }
}

TEST_F(RunnerTest, AnAllocationWithUnknownOutcomeThatHappenedIsConfirmed) {
  server.failures.emplace("first", Error(Code::kDeadlineExceeded, "no answer in time"));
  server.presence = Presence::kPresent;
  Write takes = write("first", "a");
  takes.assume = api::AllocationResult{};
  takes.assume->allocation_timestamp = "2023-11-14T22:13:20Z";
  auto object = std::make_shared<api::ResourceClaim>();
  object->metadata.ns = "d";
  object->metadata.name = "a";
  object->metadata.uid = "a-uid";
  object->metadata.resource_version = "7";
  object->status.allocation = takes.assume;
  claims_core.answer(entry_of("a", "a-uid", 7, object));
  once({takes});
  poke("p");
  reactor.advance(5s);
  EXPECT_TRUE(notes.held.contains("a"));
  EXPECT_TRUE(notes.settled.contains("a")) << "or the assumption would outlive the allocation";
  EXPECT_TRUE(scripted.given_up.empty());
}

TEST_F(RunnerTest, OnePassAKeyAndWhatHappensMeanwhileIsOwed) {
  once({write("first", "a")});
  poke("p");
  reactor.run_until_idle();
  for (int i = 0; i < 5; ++i) poke("p");
  reactor.run_until_idle();
  EXPECT_EQ(scripted.passes.size(), 1u);
  reactor.advance(1s);
  EXPECT_EQ(scripted.passes.size(), 2u);
}

TEST_F(RunnerTest, OneWriteAnObjectAcrossKeys) {
  scripted.next = [this](const View&, const Key&) {
    ReconcileResult outcome;
    if (scripted.passes.size() <= 20) outcome.add(write("same", "shared"));
    return outcome;
  };
  for (int i = 0; i < 20; ++i) poke("p" + std::to_string(i));
  reactor.advance(5s);  // the server checks that no two are in flight
  EXPECT_EQ(server.log.size(), 20u);
}

TEST_F(RunnerTest, AQuestionIsAnsweredBeforeTheKeyRunsAgain) {
  const Ref pod{Kind::kPod, "d", "x", "x-uid"};
  scripted.next = [&](const View& v, const Key&) {
    ReconcileResult outcome;
    if (v.live_presence(pod) == Presence::kUnknown) outcome.add(LiveGet{pod});
    if (v.live_presence(pod) == Presence::kAbsent) outcome.add(write("prune", "a"));
    return outcome;
  };
  poke("p");
  reactor.advance(25ms);
  EXPECT_EQ(server.log, (std::vector<std::string>{"get x", "prune a"}));
}

// An answer counts for what had been seen when the question was asked.
TEST_F(RunnerTest, AnAnswerOfBeforeSomethingWasSeenIsAskedForAgain) {
  const Ref pod{Kind::kPod, "d", "x", "x-uid"};
  std::string version = "c@1";
  scripted.next = [&](const View& v, const Key&) {
    ReconcileResult outcome;
    if (v.live_presence_after(pod, version) == Presence::kUnknown) {
      outcome.add(LiveGet{pod, version});
      if (version == "c@1") reactor.post([&] { version = "c@2"; });  // while the question is under way
    } else {
      outcome.add(write("free", "a"));
    }
    return outcome;
  };
  poke("p");
  reactor.advance(45ms);
  EXPECT_EQ(server.log, (std::vector<std::string>{"get x", "get x", "free a"}));
}

// The pods of a list of Bindings: those that are not sent yet, the one under way, and those whose answer came, until
// the watch must have shown them. A Binding that failed, or that was dropped with it, may be sent again at once.
TEST_F(RunnerTest, APodOnAListOfBindingsIsBeingBound) {
  const auto binding = [](const std::string& name) {
    Write one = write("bind-" + name, name);
    one.object = {Kind::kPod, "d", name, name + "-uid"};
    one.subresource = "binding";
    one.assume_pod = AssumedPod{one.object, "n"};
    return one;
  };
  scripted.next = [&](const View&, const Key& key) {
    ReconcileResult outcome;
    if (key.object == "d/leader")
      for (const char* name : {"a", "b", "c"}) outcome.add(binding(name));
    return outcome;
  };
  const auto bound = [&] {
    std::string all;
    for (const char* name : {"a", "b", "c"})
      if (view.is_being_bound(std::string(name) + "-uid")) all += name;
    return all;
  };
  server.failures.emplace("bind-b", Error(Code::kConflict, 409, "Conflict", "changed"));
  poke("leader");
  reactor.advance(5ms);
  EXPECT_EQ(bound(), "abc");
  scripted.next = [](const View&, const Key&) { return ReconcileResult{}; };
  reactor.advance(10ms);
  EXPECT_EQ(bound(), "abc");
  reactor.advance(50ms);
  EXPECT_EQ(bound(), "a");
  EXPECT_EQ(scripted.given_up, (std::vector<std::string>{"b", "c"}));
  reactor.advance(2s);
  EXPECT_EQ(bound(), "");
}

// Leadership is lost while writes wait for the server: nothing is left that could run or block the end of the process.
TEST_F(RunnerTest, StoppingEndsWhatWaitsForTheServer) {
  server.failures.emplace("first", Error(Code::kDeadlineExceeded, "no answer in time"));
  server.failures.emplace("refused", Error(Code::kInvalidArgument, 422, "Invalid", "no"));
  server.unreachable = 1'000;
  scripted.next = [](const View&, const Key& key) {
    ReconcileResult outcome;
    outcome.add(write(key.object == "d/p0" ? "refused" : "first", key.object));
    return outcome;
  };
  for (int i = 0; i < 20; ++i) poke("p" + std::to_string(i));
  reactor.advance(10s);
  EXPECT_GT(runner.reconciles_under_way(), 0u);
  runner.stop();
  reactor.advance(1s);
  EXPECT_EQ(runner.reconciles_under_way(), 0u);
  const size_t asked = server.log.size();
  reactor.advance(10min);
  EXPECT_EQ(server.log.size(), asked);
}

TEST_F(RunnerTest, StoppingStartsNoFurtherWriteAndTheWorkIsTakenUpAgain) {
  once({write("first", "a"), write("second", "b")});
  poke("p");
  reactor.run_until_idle();
  runner.stop();
  reactor.advance(1s);
  EXPECT_EQ(server.log, std::vector<std::string>{"first a"});
  EXPECT_EQ(notes.held, std::set<std::string>{"a"});
  runner.start();
  poke("p");
  reactor.advance(1s);
  EXPECT_EQ(scripted.passes.size(), 2u);
}

// A standby sees as many objects come and go as the leader.
TEST_F(RunnerTest, NothingPilesUpWhileStopped) {
  poke("before");
  runner.stop();
  for (int i = 0; i < 1000; ++i) poke("p" + std::to_string(i));
  reactor.advance(1s);
  const auto figures = runner.figures().front();
  EXPECT_EQ(figures.depth + figures.delayed + figures.processing, 0u);
  runner.start();
  reactor.advance(1s);
  EXPECT_TRUE(scripted.passes.empty());
  poke("p");
  reactor.advance(1s);
  EXPECT_EQ(scripted.passes.size(), 1u);
}

// Many pods want to write one claim, each decided on the version that it saw. The first write is sent; the others,
// which wait for it, see that the claim has changed and decide anew, without a request to the server.
TEST_F(RunnerTest, WhatWaitedAndIsOutdatedIsDecidedAnew) {
  constexpr int kPods = 20;
  const auto put = [this](uint64_t revision) {
    auto claim = std::make_shared<api::ResourceClaim>();
    claim->metadata.ns = "d";
    claim->metadata.name = "c";
    claim->metadata.uid = "c-uid";
    claim->metadata.resource_version = std::to_string(revision);
    claims_core.answer(entry_of("c", "c-uid", revision, claim));
  };
  put(5);
  scripted.next = [](const View& v, const Key&) {
    ReconcileResult outcome;
    const std::string& version = v.claim("d/c")->metadata.resource_version;
    if (version != "5") return outcome;
    Write reserve = write("reserve", "c");
    reserve.resource_version = version;
    outcome.add(reserve);
    return outcome;
  };
  for (int i = 0; i < kPods; ++i) poke("p" + std::to_string(i));
  reactor.advance(5ms);
  put(6);  // what the first write produced
  reactor.advance(1s);
  EXPECT_EQ(server.log, std::vector<std::string>{"reserve c"});
  EXPECT_EQ(scripted.passes.size(), 2u * kPods - 1);
  EXPECT_TRUE(runner.idle());
}

struct HearingState : State {
  explicit HearingState(std::vector<std::string>& heard_by) : heard(heard_by) {}
  void events_end() override { heard.push_back("end"); }
  void controllers_run(const std::set<std::string_view>& names) override {
    std::string all;
    for (const std::string_view name : names) all += " " + std::string(name);
    heard.push_back("run" + all);
  }
  std::vector<std::string>& heard;
};

// Says in its state that it ran.
class CountingReconciler : public Reconciler {
 public:
  ReconcileResult reconcile(const Key&, const View&, State& state) const override {
    static_cast<HearingState&>(state).heard.push_back("reconcile");
    return {};
  }
};

class AllPods : public EventHandler {
 public:
  void changed(const Change& change, const View&, State&, EnqueueRequests& out) const override {
    if (const auto* pod = std::get_if<Changed<api::Pod>>(&change)) out.add(pod_key(pod->after->metadata.key()));
  }
};

TEST_F(RunnerTest, AStateIsHandedInAndHearsWhoRunsAndWhenEventsEnd) {
  std::vector<std::string> heard;
  runner.add({.name = "hearing",
              .reconciler = std::make_unique<CountingReconciler>(),
              .events = std::make_unique<AllPods>(),
              .state = std::make_unique<HearingState>(heard)});
  poke("p");
  reactor.run_until_idle();
  runner.stop();
  EXPECT_EQ(heard, (std::vector<std::string>{"run hearing scripted", "reconcile", "end"}));
}

TEST_F(RunnerTest, ABugInAReconcilerIsOneKeysTrouble) {
  scripted.next = [](const View&, const Key& key) -> ReconcileResult {
    if (key.object == "d/bad") throw std::logic_error("bug");
    return {};
  };
  poke("bad");
  poke("good");
  reactor.advance(1s);
  EXPECT_NE(std::find(scripted.passes.begin(), scripted.passes.end(), "pod:d/good"), scripted.passes.end());
}

// An admission policy may quote a time or an id: each answer differs, and the refusal is the same.
TEST_F(RunnerTest, ARefusalThatQuotesATimeIsToldOnceInHalfAnHour) {
  std::string policy = "denied by policy at ";
  int tries = 0;
  scripted.next = [&](const View&, const Key&) {
    ++tries;
    server.failures.clear();
    server.failures.emplace("create", Error(Code::kInvalidArgument, 422, "Invalid",
                                            policy + "2026-03-01T12:00:" + std::to_string(10 + tries % 50) +
                                                "Z, request 7f3c-" + std::to_string(tries)));
    ReconcileResult outcome;
    Write made = write("create", "a");
    made.failure_event = Event{{Kind::kPod, "d", "p", "p-uid"}, true, "FailedResourceClaimCreation", "Create", "x", ""};
    outcome.add(made);
    return outcome;
  };
  poke("p");
  reactor.advance(10min);
  EXPECT_GE(tries, 60) << "the write is tried again and again";
  EXPECT_EQ(notes.events.size(), 1u);
  policy = "the policy is broken at ";
  reactor.advance(10s);
  EXPECT_EQ(notes.events.size(), 2u) << "other words are news";
  policy = "denied by policy at ";
  reactor.advance(10s);
  EXPECT_EQ(notes.events.size(), 2u) << "but not twice in 30 s";
  reactor.advance(20s);
  EXPECT_EQ(notes.events.size(), 3u);
  reactor.advance(29min);
  EXPECT_EQ(notes.events.size(), 3u);
  reactor.advance(2min);
  EXPECT_EQ(notes.events.size(), 4u) << "API servers delete events after an hour";
}

}  // namespace dra::manager::runner_test
