// Runner: turns changes into keys, runs the reconcilers for these keys, and performs the effects that they return.
//
// One queue per reconciler. One reconcile per key at a time: a change while its effects are under way runs the key
// again afterwards. One write in flight per object: a second reconcile that writes the same object waits for the
// answer. The first write that fails drops the rest of its list unsent, with their assumptions.
//
// After a failed write: a lost race (conflict, AlreadyExists, gone) reads the object again and backs off in the queue
// (5 ms doubling to 60 s); an unknown outcome reads it before anything else is decided; what the server refuses or does
// not answer waits together with everything that failed for the same cause (outages.h).
//
// Keys are taken round-robin by controller and namespace; within a namespace by the pods' priority.
//
// Paced outcomes wait for their reconciler's tokens (queue::Pacer) without counting as under way; what is said first
// about a pod (ReconcileResult::at_its_turn) waits for its turn (queue::Turns).
//
// The pods of keys that wait for an outage get an event and a condition once it has lasted (Outages::notify_waiting).
//
// Belongs to the reactor's thread. Bounded: at most kMaxRuns reconciles under way.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "pkg/manager/run/memory.h"
#include "pkg/manager/run/outages.h"
#include "pkg/manager/run/queue_keys.h"
#include "pkg/manager/run/sinks.h"
#include "pkg/manager/run/store_view.h"
#include "pkg/queue/pacer.h"
#include "pkg/queue/pump.h"
#include "pkg/queue/turns.h"
#include "pkg/queue/work_queue.h"
#include "pkg/reactor/reactor.h"
#include "pkg/reconcile/parking.h"
#include "pkg/reconcile/parts.h"

namespace dra::manager {

class Runner {
 public:
  static constexpr size_t kMaxRuns = 512;
  // Of one namespace and controller, so that one namespace cannot take them all.
  static constexpr size_t kMaxRunsOfNamespace = 128;
  // Keys left over from unparking get at most a fifth of the time, and wait no longer than this.
  static constexpr Duration kLongestLeftoverPause = std::chrono::seconds(1);
  // A key that needs more rounds of live GETs than this in one reconcile backs off.
  static constexpr int kMaxLiveGetRounds = 16;

  struct Sinks {
    ObjectApi& api;
    EventSink& events;
    MetricSink& metrics;
    Assumptions& assumptions;
  };
  // Everything must outlive the runner.
  Runner(Reactor& reactor, StoreView& view, Memory& memory, Sinks sinks);
  ~Runner();
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  // Called with the reconciler's name right before each write is sent; for tests and tracing.
  using WriteObserver = std::function<void(std::string_view controller, const reconcile::Write&)>;
  void observe_writes(WriteObserver observer) { write_observer_ = std::move(observer); }
  using ReconcileObserver = std::function<void(std::string_view controller, const std::string& key)>;
  // Called when a key is taken from its queue.
  void observe_reconciles(ReconcileObserver observer) { reconcile_observer_ = std::move(observer); }
  // Called when a cause of failed requests begins and when it ends.
  void observe_outages(std::function<void(const OutageReport&)> observer) { outage_observer_ = std::move(observer); }

  // The runner owns the controller's state and hands it to every reconcile and event. The observer may be null. A
  // controller added late sees later changes only.
  void add(reconcile::Parts parts, queue::Observer* observer = nullptr);

  // Reconciles run from now on (leadership was won and the stores are synced). stop() begins no further write; writes
  // in flight end by themselves. A stopped runner ignores changes: after start() it must be notified of every object.
  void start();
  void stop();
  bool running() const { return running_; }
  // While it gathers, changes enqueue keys and none is run: so that keys of many changes run by priority.
  void gather(bool on);
  // While a controller is blocked, for whatever reason, it runs no reconcile and begins no write; its keys wait. May be
  // called before add().
  void set_blocked(std::string_view controller, bool blocked, std::string_view reason = "");
  // No reconcile under way, no key ready.
  bool idle();
  size_t reconciles_under_way() const { return runs_.size(); }

  // Asks each controller which keys the change concerns, and enqueues them. Call after the stores, indexes and the
  // inventory have the change.
  void changed(const reconcile::Change& change);

  // For metrics and health.
  struct QueueFigures {
    std::string name;
    size_t depth = 0, delayed = 0, processing = 0, parked = 0, paced = 0;
    Duration unfinished{}, longest{};
  };
  std::vector<QueueFigures> figures() const;
  const Outages& outages() const { return outages_; }

 private:
  struct ControllerQueue {  // a controller and its queue
    reconcile::Parts parts;
    std::unique_ptr<queue::WorkQueue<reconcile::Key>> queue;
    reconcile::ParkingLot parked;
    std::optional<queue::Pacer<reconcile::Key>> pacer;
    std::optional<queue::Turns<reconcile::Key>> turns;
    // Leftover keys of unparking: whether a batch is under way, how long it took so far, when the next may begin.
    bool batch_runs = false;
    Duration batch_took{};
    size_t runs_since_batch = 0;
    MonoTime next_batch_at{};
    std::unordered_map<std::string, reconcile::AssumedPod> held_places;  // HoldPlace, by the key's object
  };
  struct Run;

  void end_parked(const reconcile::Key& key);
  // Of the parked keys, unparks only those parked after `since` (the lot's time).
  void take(ControllerQueue& controller, reconcile::EnqueueRequests& enqueued, uint64_t since = 0);
  // The next portion of a walk, in a task of its own.
  void go_on(ControllerQueue& controller, reconcile::Walk walk);
  void schedule();
  queue::Pump::Next next();
  void resume_paused();
  void run_some();
  bool run_one(ControllerQueue& controller);
  void hand_out_leftovers(ControllerQueue& controller);
  // Notifies the parking lot of the outcome of a key that may have been parked; runs the keys that it wants tried next.
  void notify_lot(ControllerQueue& controller, const reconcile::Key& key, const reconcile::ReconcileResult& outcome,
                  bool parks);
  Place place_of(const reconcile::Key& key) const;
  bool may_run(const ControllerQueue& controller) const;
  void begin_effects(ControllerQueue& controller, const reconcile::Key& key,
                     std::map<std::string, reconcile::Presence> live_answers, int rounds, bool paid);
  void step(uint64_t id);
  void send(uint64_t id);
  void answered(uint64_t id, const reconcile::Write& write, Result<uint64_t> answer);
  void failed(Run& run, const reconcile::Write& write, const Error& error);
  struct Settlement;
  // Reads the object of a failed write; if the outcome of the write is unknown, until the server answers.
  void settle(std::shared_ptr<Settlement> settlement);
  void settled(Settlement& settlement, const Result<reconcile::Presence>& presence);
  void wait_for_recovery(const Run& run);
  // Ends the place that the key's last outcome held, unless this one keeps it.
  void end_held_place(ControllerQueue& controller, const reconcile::Key& key,
                      const reconcile::ReconcileResult& outcome);
  void capacity_released(ControllerQueue& controller);
  // Performs what waits for the key's turn, or drops it.
  void take_turn(ControllerQueue& controller, const reconcile::Key& key, reconcile::ReconcileResult& outcome);
  // An event and a condition for the pod of a key that waits for an outage.
  void say_outage(const std::string& item, const std::string& waits_for, const Failure& failure, Duration lasted);
  std::vector<std::string> companions_of(const std::string& item) const;
  void write_for_people(const std::string& controller, reconcile::Write write);
  // The change of the pod is only the condition that says why it waits for an outage: its key goes on waiting.
  bool is_own_word(const api::Pod* before, const api::Pod* after);
  void record_refusal(const reconcile::Key& key, const reconcile::Write& write, const Error& error);
  // A write for people only, like one that was refused within the last minute.
  bool refused_lately(const reconcile::Write& write) const;
  void emit_if_new(reconcile::Event event, const std::string& topic);
  // The version of a claim or pod in the stores; null: none is stored.
  const std::string* stored_version(const reconcile::Ref& object) const;
  // The stores have the object at the version to which the write is bound.
  bool is_unchanged(const reconcile::Write& write) const;
  // The write is bound to a version that the stores no longer have.
  bool is_outdated(const reconcile::Write& write) const;
  void live_get(uint64_t id, const reconcile::LiveGet& question);
  void emit(const reconcile::Event& event);
  void release(const std::string& object);
  void written(const Run& run, const reconcile::Write& write, uint64_t revision);
  void give_up(const Run& run, const reconcile::Write& write);
  void drop_rest(Run& run);
  void finish(uint64_t id);
  Run* find(uint64_t id);

  Reactor& reactor_;
  StoreView& view_;
  Memory& memory_;
  Sinks sinks_;
  WriteObserver write_observer_;
  ReconcileObserver reconcile_observer_;
  std::vector<std::unique_ptr<ControllerQueue>> controllers_;
  size_t next_controller_ = 0;
  bool running_ = false;
  bool gathering_ = false;
  std::map<std::string, std::set<std::string, std::less<>>, std::less<>> blocked_;  // controllers, and why
  uint64_t next_id_ = 1;
  std::unordered_map<uint64_t, std::unique_ptr<Run>> runs_;
  std::map<std::string, std::deque<uint64_t>> locked_;  // object -> reconciles that wait for it
  // Keys paused for ReconcileResult::min_interval, and until when.
  std::multimap<MonoTime, std::pair<ControllerQueue*, reconcile::Key>> paused_;
  BoundedMap<bool> outage_shown_{1024};            // uids of pods with a condition on its way
  BoundedMap<MonoTime> refused_for_people_{1024};  // what was written, and where -> when
  std::function<void(const OutageReport&)> outage_observer_;
  Outages outages_;
  queue::Pump pump_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  std::shared_ptr<bool> walking_ = std::make_shared<bool>(true);  // of walks since the last stop()
};

}  // namespace dra::manager
