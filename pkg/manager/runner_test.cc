#include "pkg/manager/runner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "client/informer/object_store.h"
#include "pkg/reactor/sim_reactor.h"
#include "pkg/reconcile/writes.h"

// The runner with scripted reconcilers and a scripted server: order, exclusion, failures and their consequences.
namespace dra::manager::runner_test {

using namespace reconcile;
using namespace std::chrono_literals;

// An object of namespace d, as a store takes it.
template <class T>
client::Entry entry_of(const std::string& name, const std::string& uid, uint64_t revision,
                       const std::shared_ptr<T>& object) {
  auto named = std::make_shared<T>(*object);
  named->metadata.ns = "d";
  named->metadata.name = name;
  named->metadata.uid = uid;
  return {std::shared_ptr<const T>(named), named->metadata, revision};
}

class ScriptedServer : public ObjectApi {
 public:
  explicit ScriptedServer(Reactor& reactor) : reactor_(reactor) {}
  void perform(const Write& write, std::function<void(Result<uint64_t>)> done) override {
    EXPECT_TRUE(in_flight.insert(write.object.store_key()).second) << "two writes of one object in flight";
    log.push_back(write.purpose + " " + write.object.name);
    Result<uint64_t> answer = 1;
    if (auto bad = failures.find(write.purpose); bad != failures.end()) answer = fail(bad->second);
    auto answered = [this, key = write.object.store_key(), answer, done] {
      in_flight.erase(key);
      done(answer);
    };
    if (mute)
      unanswered_.push_back(std::move(answered));
    else
      timers_.push_back(reactor_.after(10ms, std::move(answered)));
  }
  void unmute() {
    mute = false;
    for (auto& answer : std::exchange(unanswered_, {})) timers_.push_back(reactor_.after(10ms, std::move(answer)));
  }
  void get(const Ref& object, std::function<void(Result<Presence>)> done) override {
    log.push_back("get " + object.name);
    timers_.push_back(reactor_.after(10ms, [this, done] {
      if (unreachable > 0) {
        --unreachable;
        return done(fail(Code::kUnavailable, "connection refused"));
      }
      done(presence);
    }));
  }
  std::map<std::string, Error> failures;  // by purpose
  Presence presence = Presence::kAbsent;
  int unreachable = 0;
  bool mute = false;  // writes get no answer until unmute()
  std::set<std::string> in_flight;
  std::vector<std::string> log;

 private:
  Reactor& reactor_;
  std::vector<Handle> timers_;
  std::vector<std::function<void()>> unanswered_;
};

class Notes : public EventSink, public MetricSink, public Assumptions {
 public:
  bool emit(const Event& event) override {
    if (full) return false;
    events.push_back(event.reason + ": " + event.note);
    return true;
  }
  bool full = false;  // events are dropped
  void record(const Metric&) override {}
  void write_answered(const std::string&, std::string_view) override {}
  void assume(const Write& write) override { held.insert(write.object.name); }
  void forget(const Write& write) override {
    EXPECT_FALSE(write.object.uid.empty()) << "assumptions are kept by uid";
    held.erase(write.object.name);
  }
  void confirmed(const Write& write, uint64_t) override { settled.insert(write.object.name); }
  std::vector<std::string> events;
  std::set<std::string> held, settled;
};

class Scripted : public Reconciler {
 public:
  std::string_view name() const override { return "scripted"; }
  Outcome reconcile(const View& view, const Key& key) const override {
    passes.push_back(to_text(key));
    return next ? next(view, key) : Outcome{};
  }
  void on_pod(const View&, const api::Pod*, const api::Pod* after, EnqueueRequests& out) const override {
    if (after) out.add(pod_key(after->metadata.key()));
  }
  void on_write_given_up(const View&, const Write& write, EnqueueRequests& out) const override {
    given_up.push_back(write.object.name);
    out.unpark("devices");
  }
  void on_capacity_released(const View&, EnqueueRequests& out) const override { out.unpark("nodes"); }
  std::function<Outcome(const View&, const Key&)> next;
  mutable std::vector<std::string> passes, given_up;
};

class RunnerTest : public testing::Test {
 protected:
  RunnerTest()
      : reactor(clock),
        server(reactor),
        pods(pods_core),
        claims(claims_core),
        stores{&pods, &claims, nullptr, nullptr, nullptr, nullptr},
        view(stores, memory, clock, "resource.k8s.io/v1"),
        runner(reactor, view, memory, {server, notes, notes, notes}) {
    add_indexes(stores);
    runner.add(scripted);
    runner.start();
  }
  void poke(const std::string& name, const std::string& ns = "d") {
    api::Pod pod;
    pod.metadata.ns = ns;
    pod.metadata.name = name;
    runner.pod_changed(nullptr, &pod);
  }
  static Write write(const std::string& purpose, const std::string& object) {
    Write made;
    made.object = {Kind::kClaim, "d", object, object + "-uid"};
    made.purpose = purpose;
    return made;
  }
  // Has these effects the first time, nothing after that.
  void once(std::vector<Effect> effects) {
    scripted.next = [this, effects](const View&, const Key&) {
      Outcome outcome;
      if (scripted.passes.size() == 1) outcome.effects = effects;
      return outcome;
    };
  }

  ManualClock clock;
  SimReactor reactor;
  ScriptedServer server;
  Notes notes;
  Scripted scripted;
  client::ObjectStore pods_core, claims_core;
  client::Store<api::Pod> pods;
  client::Store<api::ResourceClaim> claims;
  Stores stores;
  Memory memory;
  StoreView view;
  Runner runner;
};

TEST_F(RunnerTest, AControllerThatIsHeldBackWaitsAndBeginsNoWrite) {
  runner.hold_back("scripted", true);
  once({write("first", "a"), write("second", "b")});
  poke("p");
  reactor.advance(1min);
  EXPECT_TRUE(scripted.passes.empty());
  runner.hold_back("scripted", false);
  reactor.advance(5ms);
  runner.hold_back("scripted", true);  // the first write is in flight
  reactor.advance(1min);
  EXPECT_EQ(server.log, std::vector<std::string>{"first a"});
  EXPECT_EQ(notes.held, std::set<std::string>{"a"});
  runner.hold_back("scripted", false);
  reactor.advance(1min);
  EXPECT_GE(scripted.passes.size(), 2u) << "the key was not lost";
  EXPECT_TRUE(runner.idle());
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

// One object that the server refuses forever must not run all waiting keys again and again.
TEST_F(RunnerTest, AWriteThatDidNotHappenWakesWhoParkedSinceItWasDecidedOn) {
  server.failures.emplace("take", Error(Code::kInvalidArgument, 422, "Invalid", "spec is no good"));
  scripted.next = [](const View&, const Key& key) {
    Outcome outcome;
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
      Outcome outcome;
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
    Outcome outcome;
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
    Outcome outcome;
    if (v.confirmed(pod) == Presence::kUnknown) outcome.add(LiveGet{pod});
    if (v.confirmed(pod) == Presence::kAbsent) outcome.add(write("prune", "a"));
    return outcome;
  };
  poke("p");
  reactor.advance(25ms);
  EXPECT_EQ(server.log, (std::vector<std::string>{"get x", "prune a"}));
}

TEST_F(RunnerTest, KeysThatComeDueWhileThereIsNoRoomForAPassWaitInSilence) {
  Scripted second;
  runner.add(second);
  second.next = [](const View&, const Key&) {
    Outcome outcome;
    outcome.requeue_in(1s);
    return outcome;
  };
  poke("early");
  reactor.advance(10ms);
  second.next = nullptr;
  server.mute = true;
  scripted.next = [](const View&, const Key& key) {
    Outcome outcome;
    outcome.add(write("long", key.object));
    return outcome;
  };
  for (size_t i = 0; i < Runner::kMaxRuns + 10; ++i) poke("p" + std::to_string(i), "n" + std::to_string(i % 9));
  const size_t looks = second.passes.size();
  reactor.advance(2s);  // CheckFailed if tasks keep making tasks
  EXPECT_LE(reactor.run_until_idle(1000), 1000u);
  server.unmute();
  reactor.advance(1s);
  EXPECT_EQ(server.in_flight.size(), 0u);
  EXPECT_GT(second.passes.size(), looks) << "and come to their right then";
  EXPECT_TRUE(runner.idle());
}

// 800 pods whose writes are refused: reported once, few requests, and done within 10 s of its end.
TEST_F(RunnerTest, AnOutageIsReportedOnceAndRetriedSoonAfterItsEnd) {
  constexpr size_t kPods = 800;
  for (const Error& error : {Error(Code::kPermissionDenied, 403, "Forbidden", "cannot patch resource"),
                             Error(Code::kUnavailable, 500, "InternalError", "failed calling webhook"),
                             Error(Code::kUnavailable, "connection refused")}) {
    SCOPED_TRACE(error.message());
    server.log.clear();
    server.failures.emplace("mark", error);
    server.unreachable = error.http_status() == 0 ? 1'000'000 : 0;
    std::vector<OutageReport> reports;
    runner.observe_outages([&](const OutageReport& report) { reports.push_back(report); });
    scripted.next = [&](const View&, const Key& key) {
      Outcome outcome;
      Write marks = write("mark", key.object.substr(2));
      if (!notes.settled.contains(marks.object.name)) outcome.add(marks);
      return outcome;
    };
    notes.settled.clear();
    for (size_t i = 0; i < kPods; ++i) poke("p" + std::to_string(i));
    reactor.advance(20s);
    const auto asked = server.log.size();
    EXPECT_LE(asked, 2 * kPods + 40) << "each once, then one in 8 s";
    reactor.advance(10min);
    EXPECT_LE(server.log.size() - asked, 2 * 600u / 8 + 10);
    ASSERT_EQ(reports.size(), 1u);
    EXPECT_EQ(reports[0].failure.error.message(), error.message());
    server.failures.clear();
    server.unreachable = 0;
    reactor.advance(10s);
    EXPECT_EQ(notes.settled.size(), kPods);
    ASSERT_EQ(reports.size(), 2u);
    EXPECT_TRUE(reports[1].over);
    EXPECT_TRUE(runner.idle());
  }
}

TEST_F(RunnerTest, AQuotaIsToldToThePodAsWhatItIs) {
  auto pod = std::make_shared<api::Pod>();
  pod->metadata.ns = "d";
  pod->metadata.name = "p";
  pod->metadata.uid = "p-uid";
  pods_core.answer(entry_of("p", "p-uid", 5, pod));
  const std::string why =
      "resourceclaims \"a\" is forbidden: exceeded quota: claims, requested: 1, used: 5, limited: 5";
  server.failures.emplace("create", Error(Code::kResourceExhausted, 403, "Forbidden", why));
  scripted.next = [this](const View&, const Key&) {
    Outcome outcome;
    if (notes.settled.empty()) {
      Write made = write("create", "a");
      made.verb = Verb::kCreate;
      outcome.add(made);
    }
    return outcome;
  };
  poke("p");
  reactor.advance(5min);
  EXPECT_EQ(notes.events.back(), "WriteRefused: the API server refuses to create: " + why);
  EXPECT_EQ(notes.events.size(), 2u) << "the object and the pod, once";
  EXPECT_LE(scripted.passes.size(), 50u);
  server.failures.clear();
  reactor.advance(9s);
  EXPECT_FALSE(notes.settled.empty()) << "soon after there is room in the quota";
}

TEST_F(RunnerTest, AnEventThatWasDroppedIsNotTakenAsTold) {
  scripted.next = [](const View& v, const Key&) {
    Outcome outcome;
    emit_once(v, outcome, {{Kind::kPod, "d", "p", "p-uid"}, true, "DeletionWaits", "Wait", "for devices", ""});
    return outcome;
  };
  notes.full = true;
  poke("p");
  reactor.advance(1s);
  EXPECT_TRUE(notes.events.empty());
  notes.full = false;
  for (int i = 0; i < 3; ++i) {
    poke("p");
    reactor.advance(1s);
  }
  EXPECT_EQ(notes.events, std::vector<std::string>{"DeletionWaits: for devices"});
}

// Leadership is lost while writes wait for the server: nothing is left that could run or block the end of the process.
TEST_F(RunnerTest, StoppingEndsWhatWaitsForTheServer) {
  server.failures.emplace("first", Error(Code::kDeadlineExceeded, "no answer in time"));
  server.failures.emplace("refused", Error(Code::kInvalidArgument, 422, "Invalid", "no"));
  server.unreachable = 1'000;
  scripted.next = [](const View&, const Key& key) {
    Outcome outcome;
    outcome.add(write(key.object == "d/p0" ? "refused" : "first", key.object));
    return outcome;
  };
  for (int i = 0; i < 20; ++i) poke("p" + std::to_string(i));
  reactor.advance(10s);
  EXPECT_GT(runner.passes_under_way(), 0u);
  runner.stop();
  reactor.advance(1s);
  EXPECT_EQ(runner.passes_under_way(), 0u);
  const size_t asked = server.log.size();
  reactor.advance(10min);
  EXPECT_EQ(server.log.size(), asked);
}

// 5,000 keys of one namespace, then one of another: it runs second, and its write is not the 5,001st in
// flight.
TEST_F(RunnerTest, ACrowdInOneNamespaceDelaysAnotherByOnePass) {
  scripted.next = [](const View&, const Key& key) {
    Outcome outcome;
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
    auto pod = std::make_shared<api::Pod>();
    pod->metadata.ns = "d";
    pod->metadata.name = name;
    pod->metadata.uid = name + "-uid";
    pod->priority = priority;
    pods_core.answer(entry_of(name, name + "-uid", 5, pod));
    poke(name);
  }
  reactor.run_until_idle();
  EXPECT_EQ(scripted.passes, (std::vector<std::string>{"pod:d/b", "pod:d/c", "pod:d/a"}));
}

TEST_F(RunnerTest, KeysThatAreGatheredRunTogetherByPriority) {
  runner.gather(true);
  for (const auto& [name, priority] : std::map<std::string, int>{{"a", 0}, {"b", 100}}) {
    auto pod = std::make_shared<api::Pod>();
    pod->metadata.ns = "d";
    pod->metadata.name = name;
    pod->metadata.uid = name + "-uid";
    pod->priority = priority;
    pods_core.answer(entry_of(name, name + "-uid", 5, pod));
    poke(name);
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
    Outcome outcome;
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
    Outcome outcome;
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
    Outcome outcome;
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
    Outcome outcome;
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
    Outcome outcome;
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
    Outcome outcome;
    if (std::count(server.log.begin(), server.log.end(), "evict " + object.name) > 0) return outcome;
    outcome.paced = true;
    if (v.confirmed(object) == Presence::kUnknown)
      outcome.add(LiveGet{object});
    else
      outcome.add(write("evict", object.name));
    return outcome;
  };
  runner.add(slow);
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
  scripted.next = [this](const View& v, const Key&) {
    Outcome outcome;
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

TEST(BoundedMapTest, ErasedKeysLeaveNothingBehind) {
  BoundedMap<int> map(1000);
  map.put("stays", 1);
  for (int i = 0; i < 100'000; ++i) {
    const std::string key = std::to_string(i);
    map.put(key, i);
    map.erase(key);
  }
  EXPECT_EQ(map.size(), 1u);
  EXPECT_NE(map.find("stays"), nullptr);
}

TEST(SaidTest, TopicsOfAnObjectGoWithItAndAreBounded) {
  Said said(2);
  said.put("a", "why", {"no node", {}});
  said.put("a", "why", {"no device", {}});
  said.put("b", "why", {"other", {}});
  ASSERT_NE(said.find("a", "why"), nullptr);
  EXPECT_EQ(said.find("a", "why")->text, "no device");
  EXPECT_EQ(said.find("a", "where"), nullptr);
  said.erase("a", "why");
  EXPECT_EQ(said.find("a", "why"), nullptr);
  said.forget("b");
  EXPECT_EQ(said.find("b", "why"), nullptr);
  for (size_t i = 0; i <= Said::kMostTopics; ++i) said.put("c", std::to_string(i), {"text", {}});
  EXPECT_EQ(said.find("c", "0"), nullptr);
  EXPECT_NE(said.find("c", std::to_string(Said::kMostTopics)), nullptr);
  said.put("d", "why", {"", {}});
  EXPECT_EQ(said.objects(), 2u);  // a was the oldest
}

TEST(BoundedMapTest, TheOldestGoesAndAKeyPutAgainIsYoung) {
  BoundedMap<int> map(2);
  map.put("a", 1);
  map.put("b", 2);
  map.erase("a");
  map.put("a", 3);
  map.put("c", 4);
  EXPECT_EQ(map.find("b"), nullptr);
  ASSERT_NE(map.find("a"), nullptr);
  EXPECT_EQ(*map.find("a"), 3);
  EXPECT_NE(map.find("c"), nullptr);
}

TEST_F(RunnerTest, ABugInAReconcilerIsOneKeysTrouble) {
  scripted.next = [](const View&, const Key& key) -> Outcome {
    if (key.object == "d/bad") throw std::logic_error("bug");
    return {};
  };
  poke("bad");
  poke("good");
  reactor.advance(1s);
  EXPECT_NE(std::find(scripted.passes.begin(), scripted.passes.end(), "pod:d/good"), scripted.passes.end());
}

TEST_F(RunnerTest, ARefusalIsToldOnce) {
  server.failures.emplace("create", Error(Code::kInvalidArgument, 422, "Invalid", "quota"));
  scripted.next = [](const View&, const Key&) {
    Outcome outcome;
    Write made = write("create", "a");
    made.failure_event = Event{{Kind::kPod, "d", "p", "p-uid"}, true, "FailedResourceClaimCreation", "Create", "x", ""};
    outcome.add(made);
    return outcome;
  };
  poke("p");
  reactor.advance(5s);
  EXPECT_EQ(notes.events, std::vector<std::string>{"FailedResourceClaimCreation: x: quota"});
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
    Outcome outcome;
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

// Without an event of the reconciler's own, one brief event goes to the object and to the pod of the reconcile.
TEST_F(RunnerTest, ARefusalIsToldToTheObjectAndToThePodOfThePass) {
  auto pod = std::make_shared<api::Pod>();
  pod->metadata.ns = "d";
  pod->metadata.name = "p";
  pod->metadata.uid = "p-uid";
  pods_core.answer(entry_of("p", "p-uid", 5, pod));
  const std::string quoted(5000, 'x');
  server.failures.emplace("mark", Error(Code::kInvalidArgument, 422, "Invalid", "claim " + quoted + " is immutable"));
  server.failures.emplace("name", Error(Code::kInvalidArgument, 422, "Invalid", "no such entry"));
  scripted.next = [this](const View&, const Key&) {
    Outcome outcome;
    outcome.add(write(scripted.passes.size() % 2 == 1 ? "mark" : "name", "a"));  // two that take turns are no news
    return outcome;
  };
  poke("p");
  reactor.advance(1min);
  ASSERT_EQ(notes.events.size(), 4u);
  EXPECT_EQ(notes.events[0], notes.events[1]);
  EXPECT_TRUE(notes.events[0].starts_with("WriteRefused: the API server refuses to mark: claim xxx"))
      << notes.events[0];
  EXPECT_TRUE(notes.events[0].ends_with(" is immutable")) << notes.events[0];
  EXPECT_LT(notes.events[0].size(), 1024u) << "the longest note that an Event may have";
  EXPECT_EQ(notes.events[2], "WriteRefused: the API server refuses to name: no such entry");
}

// A refused write for people blocks nothing: not the remaining writes, not the key, and not the server.
TEST_F(RunnerTest, ARefusedWriteForPeopleIsLeftOut) {
  server.failures.emplace("show", Error(Code::kPermissionDenied, 403, "Forbidden", "no"));
  size_t shown = 0, marked = 0;
  runner.observe_writes(
      [&](std::string_view, const Write& written) { ++(written.purpose == "show" ? shown : marked); });
  scripted.next = [](const View&, const Key& key) {
    Outcome outcome;
    Write show = write("show", key.object.substr(2));
    show.for_people = true;
    outcome.add(show);
    outcome.add(write("mark", key.object.substr(2)));
    return outcome;
  };
  const auto poke_all = [&] {
    for (int i = 0; i < 20; ++i) poke("p" + std::to_string(i));
  };
  poke_all();
  reactor.advance(50s);
  EXPECT_GE(marked, 20u * 2) << "at once, and where it was refused once more";
  EXPECT_LE(shown, 20u) << "those that were under way; then nobody in the namespace for a minute";
  const size_t before = marked;
  poke_all();
  reactor.advance(5s);
  EXPECT_EQ(marked, before + 20) << "nothing else is tried again";
  EXPECT_EQ(runner.outages().ongoing(), 0u);
  server.failures.clear();
  const size_t refused = shown;
  reactor.advance(70s);
  poke_all();
  reactor.advance(1s);
  EXPECT_EQ(shown, refused + 20) << "after a minute it is tried again";
}

// A conflict is a lost race only if somebody else was faster.
TEST_F(RunnerTest, AConflictWithNobodyIsARefusal) {
  for (const bool raced : {true, false}) {
    SCOPED_TRACE(raced);
    scripted.passes.clear();
    server.failures.emplace("mark", Error(Code::kConflict, 409, "Conflict", "the object has been modified"));
    server.presence = Presence::kPresent;
    auto object = std::make_shared<api::ResourceClaim>();
    object->metadata.ns = "d";
    object->metadata.name = "a";
    object->metadata.uid = "a-uid";
    object->metadata.resource_version = raced ? "8" : "9";
    claims_core.answer(entry_of("a", "a-uid", raced ? 8u : 9u, object));
    Write marks = write("mark", "a");
    marks.resource_version = raced ? "7" : "9";
    once({marks});
    poke("p");
    reactor.advance(1s);
    EXPECT_EQ(notes.events, raced ? std::vector<std::string>{}
                                  : std::vector<std::string>{"WriteRefused: the API server refuses to mark: the object "
                                                             "has been modified"});
  }
}

}  // namespace dra::manager::runner_test
