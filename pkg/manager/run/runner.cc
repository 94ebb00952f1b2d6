#include "pkg/manager/run/runner.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "pkg/base/check.h"
#include "pkg/log/log.h"
#include "pkg/manager/run/runner_reconcile.h"

namespace dra::manager {

using reconcile::EnqueueRequests;
using reconcile::Key;

namespace {

constexpr Duration kAfterRefusalForPeople = std::chrono::seconds(8);
constexpr size_t kReconcilesPerTask = 32;
// No further reconcile begins in a task that took this long: watches, probes and the lease get their turn.
constexpr Duration kTaskTime = std::chrono::milliseconds(4);

// Names a key of a queue among everything that waits for the server.
std::string work_item(std::string_view controller, const Key& key) {
  return std::string(controller) + "/" + to_text(key);
}

}  // namespace

Runner::Runner(Reactor& reactor, StoreView& view, Memory& memory, Sinks sinks)
    : reactor_(reactor),
      view_(view),
      memory_(memory),
      sinks_(sinks),
      outages_(reactor,
               [this](const OutageReport& report) {
                 if (outage_observer_) outage_observer_(report);
               }),
      pump_(
          reactor, [this] { return next(); }, [this] { run_some(); }) {
  outages_.notify_waiting([this](const std::string& item, const std::string& waits_for, const Failure& failure,
                                 Duration lasted) { say_outage(item, waits_for, failure, lasted); },
                          [this](const std::string& item) { return companions_of(item); });
}

Runner::~Runner() {
  *alive_ = false;
}

void Runner::add(reconcile::Parts parts, queue::Observer* observer) {
  auto controller = std::make_unique<ControllerQueue>();
  controller->parts = std::move(parts);
  const auto place = [this, parked = &controller->parked](const Key& key) {
    Place of_key = place_of(key);
    of_key.rank = parked->rank_of(key);
    return of_key;
  };
  const queue::Fairness<Key> fairness{place, kMaxRunsOfNamespace};
  controller->queue = std::make_unique<queue::WorkQueue<Key>>(reactor_.clock(), queue::BackOff{}, observer, fairness);
  if (const reconcile::Pace& pace = controller->parts.pace; pace.per_second > 0)
    controller->pacer.emplace(reactor_.clock(), pace.per_second, std::max(1.0, pace.burst));
  controller->turns.emplace(reactor_.clock(), queue::TurnRates{});
  controllers_.push_back(std::move(controller));
  std::set<std::string_view> names;
  for (const auto& one : controllers_) names.insert(one->parts.name);
  for (const auto& one : controllers_) one->parts.state->controllers_run(names);
}

void Runner::start() {
  running_ = true;
  schedule();
}

void Runner::gather(bool on) {
  gathering_ = on;
  schedule();
}

void Runner::stop() {
  running_ = gathering_ = false;
  walking_ = std::make_shared<bool>(true);
  // The next start() looks at everything, so nothing may pile up until then.
  for (const auto& [at, held] : paused_) held.first->queue->done(held.second);
  paused_.clear();
  for (const auto& controller : controllers_) {
    controller->queue->clear();
    controller->parked.clear();
    controller->held_places.clear();
    controller->turns->clear();
    controller->parts.state->events_end();
  }
  for (const auto& retry : outages_.drain()) retry();
  pump_.rest();
}

void Runner::set_blocked(std::string_view controller, bool blocked, std::string_view reason) {
  if (blocked) {
    blocked_[std::string(controller)].emplace(reason);
  } else if (const auto known = blocked_.find(controller); known != blocked_.end()) {
    known->second.erase(std::string(reason));
    if (known->second.empty()) blocked_.erase(known);
  }
  schedule();
}

bool Runner::may_run(const ControllerQueue& controller) const {
  return running_ && !blocked_.contains(controller.parts.name);
}

bool Runner::idle() {
  if (!runs_.empty()) return false;
  return std::none_of(controllers_.begin(), controllers_.end(), [](const auto& controller) {
    return controller->queue->has_ready() || controller->parked.has_leftovers();
  });
}

// The namespace and, for pods, their priority within it.
Place Runner::place_of(const Key& key) const {
  Place place{std::string(namespace_of(key)), 0};
  if (key.kind != reconcile::Kind::kPod) return place;
  if (const api::Pod* pod = view_.pod(key.object)) place.priority = pod->priority;
  return place;
}

// ---- changes -> keys

void Runner::changed(const reconcile::Change& change) {
  bool own_word = false;
  if (const auto* pod = std::get_if<reconcile::Changed<api::Pod>>(&change)) {
    own_word = is_own_word(pod->before, pod->after);
    if (pod->before && !pod->after) end_parked(reconcile::pod_key(pod->before->metadata.key()));
  }
  if (!running_) return;
  for (const auto& controller : controllers_) {
    EnqueueRequests enqueued;
    controller->parts.events->changed(change, view_, *controller->parts.state, enqueued);
    if (own_word) enqueued.keys.clear();
    take(*controller, enqueued);
  }
  schedule();
}

// The pod is gone: the next pod of its shape is tried in its place.
void Runner::end_parked(const Key& key) {
  for (const auto& controller : controllers_)
    for (const Key& next : controller->parked.end(key)) controller->queue->add(next);
}

void Runner::take(ControllerQueue& controller, EnqueueRequests& enqueued, uint64_t since) {
  for (const Key& key : enqueued.keys) controller.queue->add(key);
  for (const auto& [key, delay] : enqueued.delayed) controller.queue->add_after(key, delay);
  for (const reconcile::Cause& cause : enqueued.causes)
    for (const Key& key : controller.parked.wake(cause, since)) controller.queue->add(key);
  for (reconcile::Walk& walk : enqueued.walks) go_on(controller, std::move(walk));
}

void Runner::go_on(ControllerQueue& controller, reconcile::Walk walk) {
  reactor_.post([this, &controller, walk = std::move(walk), here = std::weak_ptr<bool>(walking_)]() mutable {
    if (here.expired()) return;
    EnqueueRequests enqueued;
    const bool more = walk(view_, enqueued);
    if (here.expired()) return;
    take(controller, enqueued);
    if (more) go_on(controller, std::move(walk));
    schedule();
  });
}

// ---- keys -> reconciles

void Runner::schedule() {
  if (running_) pump_.schedule();
}

queue::Pump::Next Runner::next() {
  queue::Pump::Next next;
  if (!running_ || gathering_) return next;
  const auto due_at = [&next](std::optional<MonoTime> at) {
    if (at && (!next.due || *at < *next.due)) next.due = at;
  };
  resume_paused();
  if (!paused_.empty()) due_at(paused_.begin()->first);
  // At the limit no timer helps: the end of a reconcile leads back here.
  const bool room = runs_.size() < kMaxRuns;
  for (const auto& controller : controllers_) {
    if (room && may_run(*controller)) {
      // Asked of every queue, because has_ready() makes due keys ready, so that next_due() is in the future.
      next.ready = controller->queue->has_ready() || next.ready;
      due_at(controller->queue->next_due());
      if (controller->parked.has_leftovers()) {
        const bool may_begin = controller->batch_runs || reactor_.clock().mono_now() >= controller->next_batch_at;
        may_begin ? void(next.ready = true) : due_at(controller->next_batch_at);
      }
    }
    if (controller->pacer) due_at(controller->pacer->next_due());
    due_at(controller->turns->next_due());
  }
  return next;
}

void Runner::resume_paused() {
  const MonoTime now = reactor_.clock().mono_now();
  while (!paused_.empty() && paused_.begin()->first <= now) {
    const auto [controller, key] = paused_.begin()->second;
    paused_.erase(paused_.begin());
    controller->queue->add(key);
    controller->queue->done(key);
  }
  for (const auto& controller : controllers_) {
    if (controller->pacer)
      for (const Key& key : controller->pacer->let_in()) controller->queue->add(key);
    for (const Key& key : controller->turns->let_in()) controller->queue->add(key);
  }
}

void Runner::run_some() {
  const MonoTime until = reactor_.clock().mono_now() + kTaskTime;
  for (size_t ran = 0; running_ && !gathering_ && ran < kReconcilesPerTask && runs_.size() < kMaxRuns; ++ran) {
    if (ran > 0 && reactor_.clock().mono_now() >= until) break;
    bool any = false;
    for (size_t i = 0; i < controllers_.size() && !any; ++i) {
      ControllerQueue& controller = *controllers_[next_controller_++ % controllers_.size()];
      any = run_one(controller);
    }
    if (!any) break;
  }
}

bool Runner::run_one(ControllerQueue& controller) {
  if (!may_run(controller)) return false;
  if (controller.parked.has_leftovers()) hand_out_leftovers(controller);
  const std::optional<Key> key = controller.queue->get();
  if (!key) return false;
  ++controller.runs_since_batch;
  controller.parked.begin(*key);
  if (reconcile_observer_) reconcile_observer_(controller.parts.name, to_text(*key));
  const MonoTime began = reactor_.clock().mono_now();
  begin_effects(controller, *key, {}, 0, false);
  if (controller.batch_runs) controller.batch_took += reactor_.clock().mono_now() - began;
  return true;
}

// A batch is done when the queue is empty, or as many keys have run as could be in the batch.
void Runner::hand_out_leftovers(ControllerQueue& controller) {
  const MonoTime now = reactor_.clock().mono_now();
  if (controller.batch_runs &&
      (!controller.queue->has_ready() || controller.runs_since_batch >= 2 * reconcile::ParkingLot::kBatch)) {
    controller.next_batch_at = now + std::min(4 * controller.batch_took, kLongestLeftoverPause);
    controller.batch_runs = false;
  }
  if (controller.batch_runs || now < controller.next_batch_at) return;
  for (const Key& key : controller.parked.next_batch()) controller.queue->add(key);
  controller.batch_runs = true;
  controller.batch_took = Duration::zero();
  controller.runs_since_batch = 0;
}

void Runner::notify_lot(ControllerQueue& controller, const Key& key, const reconcile::ReconcileResult& outcome,
                        bool parks) {
  if (outcome.goes_on) return;  // not over: it stays on trial
  std::vector<Key> next;
  if (parks)
    next = controller.parked.park(key, *outcome.park);
  else if (!outcome.retry.empty())
    controller.parked.fail(key);
  else
    next = controller.parked.end(key);
  if (!running_) return;
  for (const Key& other : next) controller.queue->add(other);
}

void Runner::finish(uint64_t id) {
  auto found = runs_.find(id);
  DRA_CHECK(found != runs_.end());
  std::unique_ptr<Run> run = std::move(found->second);
  runs_.erase(found);
  ControllerQueue& controller = *run->controller;
  if (run->asked && !run->broke_off && may_run(controller) && run->rounds < kMaxLiveGetRounds)
    return begin_effects(controller, run->key, std::move(run->live_answers), run->rounds + 1, run->paid);
  reconcile::ReconcileResult& outcome = run->outcome;
  if (run->left_out && !outcome.park) outcome.park = std::move(outcome.park_unless_written);
  const bool failed = run->broke_off || !outcome.retry.empty() || run->asked;
  if (!running_) {
    // The next term looks at everything.
  } else if (run->failure) {
    wait_for_recovery(*run);
  } else if (run->outdated) {
    controller.queue->add(run->key);
  } else if (!failed) {
    controller.queue->forget(run->key);
    // A change that would have unparked the key while the server answered may have been missed.
    if (run->refused_for_people) controller.queue->add_after(run->key, kAfterRefusalForPeople);
  } else {
    controller.queue->add_rate_limited(run->key);
  }
  if (!run->failure && outages_.any_waits()) outages_.passed(work_item(run->controller->parts.name, run->key));
  if (outcome.requeue_after && !failed && running_) controller.queue->add_after(run->key, *outcome.requeue_after);
  notify_lot(controller, run->key, outcome, outcome.park && !failed && running_);
  if (running_ && !failed)
    for (const Key& next : outcome.enqueue) controller.queue->add(next);
  if (running_)
    for (const reconcile::Cause& cause : outcome.unparks)
      for (const Key& key : controller.parked.wake(cause)) controller.queue->add(key);
  if (outcome.min_interval && !failed && running_) {
    // The key stays taken: a change meanwhile makes it run afterwards.
    controller.queue->pause(run->key);
    paused_.emplace(reactor_.clock().mono_now() + *outcome.min_interval, std::make_pair(&controller, run->key));
  } else {
    controller.queue->done(run->key);
  }
  schedule();
}

void Runner::wait_for_recovery(const Run& run) {
  outages_.failed(work_item(run.controller->parts.name, run.key), *run.failure,
                  [this, controller = run.controller, key = run.key] {
                    if (!running_) return;
                    controller->queue->add(key);
                    schedule();
                  });
}

std::vector<Runner::QueueFigures> Runner::figures() const {
  std::vector<QueueFigures> all;
  for (const auto& controller : controllers_)
    all.push_back({std::string(controller->parts.name), controller->queue->depth(), controller->queue->delayed(),
                   controller->queue->processing(), controller->parked.size(),
                   controller->pacer ? controller->pacer->waiting() : 0, controller->queue->unfinished_work(),
                   controller->queue->longest_running()});
  return all;
}

}  // namespace dra::manager
