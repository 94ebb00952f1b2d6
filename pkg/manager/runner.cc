#include "pkg/manager/runner.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "pkg/base/check.h"
#include "pkg/log/log.h"
#include "pkg/manager/runner_pass.h"

namespace dra::manager {

using reconcile::Key;
using reconcile::Triggers;

namespace {

constexpr Duration kAfterRefusalForPeople = std::chrono::seconds(8);
constexpr size_t kPassesPerTask = 32;
// No further reconcile begins in a task that took this long: watches, probes and the lease get their turn.
constexpr Duration kTaskTime = std::chrono::milliseconds(4);

// Names a key of a queue among everything that waits for the server.
std::string lane_item(std::string_view controller, const std::string& key) {
  return std::string(controller) + "/" + key;
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
          reactor, [this] { return next(); }, [this] { run_some(); }) {}

Runner::~Runner() {
  *alive_ = false;
}

void Runner::add(const reconcile::Reconciler& reconciler, queue::Observer* observer) {
  auto lane = std::make_unique<Lane>();
  lane->reconciler = &reconciler;
  const auto place = [this, parked = &lane->parked](std::string_view key) {
    Place of_key = place_of(key);
    of_key.rank = parked->rank_of(std::string(key));
    return of_key;
  };
  const queue::Fairness fairness{place, kMaxPassesOfNamespace};
  lane->queue = std::make_unique<queue::WorkQueue>(reactor_.clock(), queue::BackOff{}, observer, fairness);
  if (const reconcile::Pace pace = reconciler.pace(); pace.per_second > 0)
    lane->pacer.emplace(reactor_.clock(), pace.per_second, std::max(1.0, pace.burst));
  lanes_.push_back(std::move(lane));
}

void Runner::start() {
  running_ = true;
  schedule();
}

void Runner::stop() {
  running_ = false;
  // The next start() looks at everything, so nothing may pile up until then.
  for (const auto& [at, held] : held_) held.first->queue->done(held.second);
  held_.clear();
  for (const auto& lane : lanes_) {
    lane->queue->clear();
    lane->parked.clear();
  }
  for (const auto& retry : outages_.drain()) retry();
  pump_.rest();
}

void Runner::hold_back(std::string_view controller, bool held) {
  held ? void(held_back_.emplace(controller)) : void(held_back_.erase(std::string(controller)));
  schedule();
}

bool Runner::may_run(const Lane& lane) const {
  return running_ && !held_back_.contains(lane.reconciler->name());
}

bool Runner::idle() {
  if (!passes_.empty()) return false;
  return std::none_of(lanes_.begin(), lanes_.end(),
                      [](const auto& lane) { return lane->queue->has_ready() || lane->parked.has_leftovers(); });
}

// "pod:namespace/name" -> the namespace and, for pods, their priority within it.
Place Runner::place_of(std::string_view key) const {
  const std::optional<Key> parsed = reconcile::parse_key(key);
  if (!parsed) return {};
  const size_t slash = parsed->object.find('/');
  Place place{slash == std::string::npos ? "" : parsed->object.substr(0, slash), 0};
  if (parsed->kind != reconcile::Kind::kPod) return place;
  if (const api::Pod* pod = view_.pod(parsed->object)) place.priority = pod->priority;
  return place;
}

// ---- changes -> keys

template <typename Tell>
void Runner::tell(Tell&& tell_reconciler) {
  if (!running_) return;
  for (const auto& lane : lanes_) {
    Triggers triggers;
    tell_reconciler(*lane->reconciler, triggers);
    take(*lane, triggers);
  }
  schedule();
}

void Runner::take(Lane& lane, Triggers& triggers, uint64_t since) {
  for (const Key& key : triggers.keys) lane.queue->add(reconcile::to_text(key));
  for (const auto& [key, delay] : triggers.later) lane.queue->add_after(reconcile::to_text(key), delay);
  for (const reconcile::Cause& cause : triggers.wakes)
    for (const std::string& key : lane.parked.wake(cause, since)) lane.queue->add(key);
}

void Runner::pod_changed(const api::Pod* before, const api::Pod* after) {
  if (before && !after) {
    const std::string key = reconcile::to_text(reconcile::pod_key(before->metadata.key()));
    for (const auto& lane : lanes_)
      for (const std::string& next : lane->parked.end(key)) lane->queue->add(next);
  }
  tell([&](const reconcile::Reconciler& r, Triggers& out) { r.on_pod(view_, before, after, out); });
}
void Runner::claim_changed(const api::ResourceClaim* before, const api::ResourceClaim* after) {
  tell([&](const reconcile::Reconciler& r, Triggers& out) { r.on_claim(view_, before, after, out); });
}
void Runner::streamed_claim_changed(const api::ResourceClaim* before, const api::ResourceClaim* after) {
  tell([&](const reconcile::Reconciler& r, Triggers& out) { r.on_streamed_claim(view_, before, after, out); });
}
void Runner::template_changed(const api::ResourceClaimTemplate* before, const api::ResourceClaimTemplate* after) {
  tell([&](const reconcile::Reconciler& r, Triggers& out) { r.on_claim_template(view_, before, after, out); });
}
void Runner::node_changed(const api::Node* before, const api::Node* after) {
  tell([&](const reconcile::Reconciler& r, Triggers& out) { r.on_node(view_, before, after, out); });
}
void Runner::class_changed(const api::DeviceClass* before, const api::DeviceClass* after) {
  tell([&](const reconcile::Reconciler& r, Triggers& out) { r.on_class(view_, before, after, out); });
}
void Runner::taint_rule_changed(const api::DeviceTaintRule* before, const api::DeviceTaintRule* after) {
  tell([&](const reconcile::Reconciler& r, Triggers& out) { r.on_taint_rule(view_, before, after, out); });
}
void Runner::slice_changed(const api::ResourceSlice* before, const api::ResourceSlice* after) {
  tell([&](const reconcile::Reconciler& r, Triggers& out) { r.on_slice(view_, before, after, out); });
}

void Runner::group_changed(std::string_view group) {
  tell([&](const reconcile::Reconciler& r, Triggers& out) { r.on_group(view_, group, out); });
}

void Runner::volumes_changed(std::string_view claim) {
  tell([&](const reconcile::Reconciler& r, Triggers& out) { r.on_volumes(view_, claim, out); });
}

// ---- keys -> reconciles

void Runner::schedule() {
  if (running_) pump_.schedule();
}

queue::Pump::Next Runner::next() {
  queue::Pump::Next next;
  if (!running_) return next;
  const auto due_at = [&next](std::optional<MonoTime> at) {
    if (at && (!next.due || *at < *next.due)) next.due = at;
  };
  let_held_go();
  if (!held_.empty()) due_at(held_.begin()->first);
  // At the limit no timer helps: the end of a reconcile leads back here.
  const bool room = passes_.size() < kMaxPasses;
  for (const auto& lane : lanes_) {
    if (room && may_run(*lane)) {
      // Asked of every queue, because has_ready() makes due keys ready, so that next_due() is in the future.
      next.ready = lane->queue->has_ready() || next.ready;
      due_at(lane->queue->next_due());
      if (lane->parked.has_leftovers()) {
        const bool may_begin = lane->batch_runs || reactor_.clock().mono_now() >= lane->next_batch_at;
        may_begin ? void(next.ready = true) : due_at(lane->next_batch_at);
      }
    }
    if (lane->pacer) due_at(lane->pacer->next_due());
  }
  return next;
}

void Runner::let_held_go() {
  const MonoTime now = reactor_.clock().mono_now();
  while (!held_.empty() && held_.begin()->first <= now) {
    const auto [lane, key] = held_.begin()->second;
    held_.erase(held_.begin());
    lane->queue->add(key);
    lane->queue->done(key);
  }
  for (const auto& lane : lanes_)
    if (lane->pacer)
      for (const std::string& key : lane->pacer->let_in()) lane->queue->add(key);
}

void Runner::run_some() {
  const MonoTime until = reactor_.clock().mono_now() + kTaskTime;
  for (size_t ran = 0; running_ && ran < kPassesPerTask && passes_.size() < kMaxPasses; ++ran) {
    if (ran > 0 && reactor_.clock().mono_now() >= until) break;
    bool any = false;
    for (size_t i = 0; i < lanes_.size() && !any; ++i) {
      Lane& lane = *lanes_[next_lane_++ % lanes_.size()];
      any = run_one(lane);
    }
    if (!any) break;
  }
}

bool Runner::run_one(Lane& lane) {
  if (!may_run(lane)) return false;
  if (lane.parked.has_leftovers()) hand_out_leftovers(lane);
  std::optional<std::string> key = lane.queue->get();
  if (!key) return false;
  ++lane.runs_since_batch;
  lane.parked.begin(*key);
  if (pass_observer_) pass_observer_(lane.reconciler->name(), *key);
  const MonoTime began = reactor_.clock().mono_now();
  begin_effects(lane, *key, {}, 0, false);
  if (lane.batch_runs) lane.batch_took += reactor_.clock().mono_now() - began;
  return true;
}

// A batch is done when the queue is empty, or as many keys have run as could be in the batch.
void Runner::hand_out_leftovers(Lane& lane) {
  const MonoTime now = reactor_.clock().mono_now();
  if (lane.batch_runs && (!lane.queue->has_ready() || lane.runs_since_batch >= 2 * reconcile::ParkingLot::kBatch)) {
    lane.next_batch_at = now + std::min(4 * lane.batch_took, kLongestLeftoverPause);
    lane.batch_runs = false;
  }
  if (lane.batch_runs || now < lane.next_batch_at) return;
  for (const std::string& key : lane.parked.next_batch()) lane.queue->add(key);
  lane.batch_runs = true;
  lane.batch_took = Duration::zero();
  lane.runs_since_batch = 0;
}

void Runner::tell_lot(Lane& lane, const std::string& key, const reconcile::Outcome& outcome, bool parks) {
  if (outcome.goes_on) return;  // not over: it stays on trial
  std::vector<std::string> next;
  if (parks)
    next = lane.parked.park(key, *outcome.park);
  else if (!outcome.retry.empty())
    lane.parked.fail(key);
  else
    next = lane.parked.end(key);
  if (!running_) return;
  for (const std::string& other : next) lane.queue->add(other);
}

void Runner::finish(uint64_t id) {
  auto found = passes_.find(id);
  DRA_CHECK(found != passes_.end());
  std::unique_ptr<Pass> pass = std::move(found->second);
  passes_.erase(found);
  Lane& lane = *pass->lane;
  if (pass->asked && !pass->broke_off && may_run(lane) && pass->rounds < kMaxConfirmRounds)
    return begin_effects(lane, pass->key, std::move(pass->confirmations), pass->rounds + 1, pass->paid);
  reconcile::Outcome& outcome = pass->outcome;
  if (pass->left_out && !outcome.park) outcome.park = std::move(outcome.park_unless_written);
  const bool failed = pass->broke_off || !outcome.retry.empty() || pass->asked;
  if (!running_) {
    // The next term looks at everything.
  } else if (pass->failure) {
    wait_for_recovery(*pass);
  } else if (pass->outdated) {
    lane.queue->add(pass->key);
  } else if (!failed) {
    lane.queue->forget(pass->key);
    // A change that would have unparked the key while the server answered may have been missed.
    if (pass->refused_for_people) lane.queue->add_after(pass->key, kAfterRefusalForPeople);
  } else {
    lane.queue->add_rate_limited(pass->key);
  }
  if (!pass->failure) outages_.passed(lane_item(pass->lane->reconciler->name(), pass->key));
  if (outcome.look_again && !failed && running_) lane.queue->add_after(pass->key, *outcome.look_again);
  tell_lot(lane, pass->key, outcome, outcome.park && !failed && running_);
  if (running_)
    for (const reconcile::Cause& cause : outcome.wakes)
      for (const std::string& key : lane.parked.wake(cause)) lane.queue->add(key);
  if (outcome.hold && !failed && running_) {
    // The key stays taken: a change meanwhile makes it run afterwards.
    lane.queue->hold(pass->key);
    held_.emplace(reactor_.clock().mono_now() + *outcome.hold, std::make_pair(&lane, pass->key));
  } else {
    lane.queue->done(pass->key);
  }
  schedule();
}

void Runner::wait_for_recovery(const Pass& pass) {
  outages_.failed(lane_item(pass.lane->reconciler->name(), pass.key), *pass.failure,
                  [this, lane = pass.lane, key = pass.key] {
                    if (!running_) return;
                    lane->queue->add(key);
                    schedule();
                  });
}

std::vector<Runner::QueueFigures> Runner::figures() const {
  std::vector<QueueFigures> all;
  for (const auto& lane : lanes_)
    all.push_back({std::string(lane->reconciler->name()), lane->queue->depth(), lane->queue->delayed(),
                   lane->queue->processing(), lane->parked.size(), lane->pacer ? lane->pacer->waiting() : 0,
                   lane->queue->unfinished_work(), lane->queue->longest_running()});
  return all;
}

}  // namespace dra::manager
