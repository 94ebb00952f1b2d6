// The runner with scripted reconcilers and a scripted server, for its tests.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "client/informer/object_store.h"
#include "pkg/manager/run/runner.h"
#include "pkg/protocol/writes.h"
#include "pkg/reactor/sim_reactor.h"

namespace dra::manager::runner_test {

using namespace protocol;
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
        return done(fail(read_error));
      }
      done(presence);
    }));
  }
  std::map<std::string, Error> failures;  // by purpose
  Presence presence = Presence::kAbsent;
  int unreachable = 0;  // reads that fail with read_error
  Error read_error{Code::kUnavailable, "connection refused"};
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
  bool assume(const Write& write) override {
    if (contested.contains(write.object.name)) return false;
    held.insert(write.object.name);
    return true;
  }
  void forget(const Write& write) override {
    EXPECT_FALSE(write.object.uid.empty()) << "assumptions are kept by uid";
    held.erase(write.object.name);
  }
  void written(const Write& write, uint64_t) override { settled.insert(write.object.name); }
  std::vector<std::string> events;
  std::set<std::string> held, settled, contested;
};

// A controller whose reconciles the test scripts. Must outlive the runner that has its parts.
class Scripted {
 public:
  virtual ~Scripted() = default;
  virtual std::string_view name() const { return "scripted"; }
  virtual Pace pace() const { return {}; }
  virtual std::vector<Key> wait_with(const Key&) { return {}; }
  virtual std::optional<Write> show_outage(const View&, const Key&, const std::string& /*sentence*/) {
    return std::nullopt;
  }
  Parts parts();

  std::function<ReconcileResult(const View&, const Key&)> next;
  reconcile::Walk walk;  // that each change of a pod begins
  std::vector<std::string> passes, given_up;
};

struct ScriptedState : State {
  explicit ScriptedState(Scripted& made_by) : script(made_by) {}
  Scripted& script;
};

inline Scripted& script_of(State& state) {
  return static_cast<ScriptedState&>(state).script;
}

class ScriptedReconciler : public Reconciler {
 public:
  ReconcileResult reconcile(const Key& key, const View& view, State& state) const override {
    Scripted& script = script_of(state);
    script.passes.push_back(to_text(key));
    return script.next ? script.next(view, key) : ReconcileResult{};
  }
};

class ScriptedEvents : public EventHandler {
 public:
  void changed(const Change& change, const View&, State& state, EnqueueRequests& out) const override {
    Scripted& script = script_of(state);
    std::visit(Cases{[&](const Changed<api::Pod>& pod) {
                       if (pod.after) out.add(pod_key(pod.after->metadata.key()));
                       if (script.walk) out.walks.push_back(script.walk);
                     },
                     [&](const WriteGivenUp& given_up) {
                       script.given_up.push_back(given_up.write.object.name);
                       out.unpark("devices");
                     },
                     [&](const CapacityReleased&) { out.unpark("nodes"); }, [](const auto&) {}},
               change);
  }
  std::vector<Key> wait_with(const Key& key, const View&, State& state) const override {
    return script_of(state).wait_with(key);
  }
  std::optional<Write> show_outage(const Key& key, const View& view, State& state,
                                   const std::string& sentence) const override {
    return script_of(state).show_outage(view, key, sentence);
  }
};

inline Parts Scripted::parts() {
  return {.name = name(),
          .reconciler = std::make_unique<ScriptedReconciler>(),
          .events = std::make_unique<ScriptedEvents>(),
          .state = std::make_unique<ScriptedState>(*this),
          .pace = pace()};
}

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
    runner.add(scripted.parts());
    runner.start();
  }
  void poke(const std::string& name, const std::string& ns = "d") {
    api::Pod pod;
    pod.metadata.ns = ns;
    pod.metadata.name = name;
    runner.changed(Changed<api::Pod>{nullptr, &pod});
  }
  // The pod is in the store, and its key is enqueued.
  void put_and_poke(const std::string& name, int32_t priority) {
    auto pod = std::make_shared<api::Pod>();
    pod->priority = priority;
    pods_core.answer(entry_of(name, name + "-uid", 5, pod));
    poke(name);
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
      ReconcileResult outcome;
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

}  // namespace dra::manager::runner_test
