#include "pkg/manager/runner.h"

#include <algorithm>
#include <exception>
#include <functional>
#include <utility>

#include "client/informer/entry.h"
#include "pkg/base/check.h"
#include "pkg/base/utf8.h"
#include "pkg/log/log.h"
#include "pkg/reconcile/writes.h"

namespace dra::manager {

using reconcile::Effect;
using reconcile::Key;
using reconcile::Presence;
using reconcile::Ref;
using reconcile::Triggers;
using reconcile::Write;

namespace {

constexpr Duration kForbiddenRetry = std::chrono::seconds(60);
constexpr Duration kSettleFirst = std::chrono::milliseconds(200);
constexpr Duration kSettleCap = std::chrono::seconds(30);
constexpr size_t kPassesPerTask = 32;

std::string lock_name(const Ref& object) {
  return reconcile::to_text({object.kind, object.store_key()});
}

// Wrong permissions: nothing that trying again soon would cure. The API server reports the missing right on the
// synthetic resource resourceclaims/binding as 422.
bool is_forbidden(const Error& error) {
  return error.code() == Code::kPermissionDenied ||
         (error.http_status() == 422 && error.message().find("resourceclaims/binding") != std::string::npos);
}

// The store's idea of the object is old: read it before the next pass.
bool wants_read(const Error& error) {
  switch (error.code()) {
    case Code::kConflict:
    case Code::kAlreadyExists:
    case Code::kNotFound:
    case Code::kGone:
    case Code::kInvalidArgument:
      return true;
    default:
      return error.outcome_unknown();
  }
}

// Worth telling the object's owner: the server understood and refused.
bool is_refusal(const Error& error) {
  return error.code() == Code::kInvalidArgument || error.code() == Code::kPermissionDenied ||
         error.code() == Code::kResourceExhausted || error.code() == Code::kUnsupported;
}

// Servers quote whole objects before they say what is wrong with them: the middle can go.
std::string shortened(const std::string& message) {
  constexpr size_t kKept = 350;
  if (message.size() <= 2 * kKept) return message;
  const size_t end = utf8_prefix(message, message.size() - kKept).size();
  return std::string(utf8_prefix(message, kKept)) + " ... " + message.substr(end);
}

// Of a write with unknown outcome: whether the claim is as an allocation or a withdrawal would have left it.
bool has_happened(const Write& write, const api::ResourceClaim& now) {
  if (now.metadata.uid != write.object.uid) return false;
  if (write.assume) return now.status.allocation == write.assume;
  return !write.release_pod.empty() && !now.status.allocation;
}

}  // namespace

struct Runner::Pass {
  uint64_t id = 0;
  Lane* lane = nullptr;
  std::string key;
  reconcile::Outcome outcome;
  size_t at = 0;           // the effect that is next, or under way
  std::string lock;        // the object this pass has locked
  bool asked = false;      // a confirm was answered: run the key again with what is known now
  bool broke_off = false;  // a write failed, or leadership went
  bool waited = false;     // for another pass to let go of the object it is about to write
  bool outdated = false;   // meanwhile the object became another: to be decided anew
  Duration retry_in{};     // after a failure; zero: by the queue's back-off
  int rounds = 0;
  bool paid = false;        // holds a token of the lane's pacer
  uint64_t decided_at = 0;  // the time of the lane's parking lot when the reconciler ran
  std::map<std::string, Presence> confirmations;
  Handle timer;
};

Runner::Runner(Reactor& reactor, StoreView& view, Memory& memory, Ports ports)
    : reactor_(reactor), view_(view), memory_(memory), ports_(ports) {}

Runner::~Runner() {
  *alive_ = false;
}

void Runner::add(const reconcile::Reconciler& reconciler, queue::Observer* observer) {
  auto lane = std::make_unique<Lane>();
  lane->reconciler = &reconciler;
  lane->queue = std::make_unique<queue::WorkQueue>(reactor_.clock(), queue::BackOff{}, observer);
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
  // Whoever starts it again looks at everything. Until then nothing may pile up here.
  for (const auto& [at, held] : held_) held.first->queue->done(held.second);
  held_.clear();
  for (const auto& lane : lanes_) lane->queue->clear();
  timer_.cancel();
  timer_due_.reset();
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
  return std::none_of(lanes_.begin(), lanes_.end(), [](const auto& lane) { return lane->queue->has_ready(); });
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
    for (const auto& lane : lanes_) lane->parked.leave(key);
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
void Runner::slice_changed(const api::ResourceSlice* before, const api::ResourceSlice* after) {
  tell([&](const reconcile::Reconciler& r, Triggers& out) { r.on_slice(view_, before, after, out); });
}

// ---- keys -> passes

void Runner::schedule() {
  if (!running_) return;
  let_held_go();
  std::optional<MonoTime> due;
  if (!held_.empty()) due = held_.begin()->first;
  bool ready = false;
  for (const auto& lane : lanes_) {
    ready = ready || (may_run(*lane) && (lane->queue->has_ready() || lane->parked.has_leftovers()));
    if (auto at = lane->queue->next_due(); at && may_run(*lane) && (!due || *at < *due)) due = at;
    if (!lane->pacer) continue;
    if (auto at = lane->pacer->next_due(); at && (!due || *at < *due)) due = at;
  }
  if (ready && !pump_posted_ && passes_.size() < kMaxPasses) {
    pump_posted_ = true;
    reactor_.post([this, alive = alive_] {
      if (!*alive) return;
      pump_posted_ = false;
      pump();
    });
  }
  if (due && (!timer_due_ || *due < *timer_due_)) {
    timer_due_ = due;
    timer_ = reactor_.after(*due - reactor_.clock().mono_now(), [this] {
      timer_due_.reset();
      schedule();
    });
  }
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

void Runner::pump() {
  for (size_t ran = 0; running_ && ran < kPassesPerTask && passes_.size() < kMaxPasses; ++ran) {
    bool any = false;
    for (size_t i = 0; i < lanes_.size() && !any; ++i) {
      Lane& lane = *lanes_[next_lane_++ % lanes_.size()];
      any = run_one(lane);
    }
    if (!any) break;
  }
  schedule();
}

bool Runner::run_one(Lane& lane) {
  if (!may_run(lane)) return false;
  if (!lane.queue->has_ready() && lane.parked.has_leftovers())
    for (const std::string& key : lane.parked.next_batch()) lane.queue->add(key);
  std::optional<std::string> key = lane.queue->get();
  if (!key) return false;
  lane.parked.leave(*key);
  if (pass_observer_) pass_observer_(lane.reconciler->name(), *key);
  begin_effects(lane, *key, {}, 0, false);
  return true;
}

// Runs the reconciler and begins with what it returns.
void Runner::begin_effects(Lane& lane, const std::string& key, std::map<std::string, Presence> confirmations,
                           int rounds, bool paid) {
  const std::optional<Key> parsed = reconcile::parse_key(key);
  DRA_CHECK(parsed.has_value());
  ++passes_run_;
  view_.set_confirmations(&confirmations);
  reconcile::Outcome outcome;
  try {
    outcome = lane.reconciler->reconcile(view_, *parsed);
  } catch (const std::exception& bug) {
    // A broken promise inside a reconciler: this key backs off, the others go on.
    log::error("A pass failed by a bug", {{"controller", lane.reconciler->name()}, {"key", key}, {"what", bug.what()}});
    outcome = {};
    outcome.retry = bug.what();
  }
  view_.set_confirmations(nullptr);
  if (log::enabled(5))
    log::v(5, "Pass",
           {{"controller", lane.reconciler->name()},
            {"key", key},
            {"effects", outcome.effects.size()},
            {"parked", outcome.park.has_value()}});
  if (lane.pacer && !paid) {
    if (!outcome.paced) {
      lane.pacer->leave(key);
    } else if (!(paid = lane.pacer->enter(key))) {
      lane.queue->done(key);
      return schedule();
    }
  }
  auto pass = std::make_unique<Pass>();
  pass->id = next_id_++;
  pass->lane = &lane;
  pass->key = key;
  pass->outcome = std::move(outcome);
  pass->confirmations = std::move(confirmations);
  pass->rounds = rounds;
  pass->paid = paid;
  pass->decided_at = lane.parked.time();
  for (Effect& effect : pass->outcome.effects)
    if (Write* write = std::get_if<Write>(&effect)) {
      write->id = ++writes_;
      ports_.assumptions.assume(*write);
    }
  const uint64_t id = pass->id;
  passes_.emplace(id, std::move(pass));
  step(id);
}

Runner::Pass* Runner::find(uint64_t id) {
  auto found = passes_.find(id);
  return found == passes_.end() ? nullptr : found->second.get();
}

// ---- effects, one after the other

void Runner::step(uint64_t id) {
  Pass* pass = find(id);
  while (pass && pass->at < pass->outcome.effects.size()) {
    const Effect& effect = pass->outcome.effects[pass->at];
    if (!may_run(*pass->lane)) {
      pass->broke_off = true;
      drop_rest(*pass);
      break;
    }
    if (const auto* event = std::get_if<reconcile::Event>(&effect)) {
      emit(*event);
      ++pass->at;
    } else if (const auto* metric = std::get_if<reconcile::Metric>(&effect)) {
      ports_.metrics.record(*metric);
      ++pass->at;
    } else if (const auto* question = std::get_if<reconcile::Confirm>(&effect)) {
      return confirm(id, question->object);
    } else {
      return send(id);
    }
  }
  if (pass) finish(id);
}

void Runner::send(uint64_t id) {
  Pass* pass = find(id);
  if (!pass) return;
  const Write& write = std::get<Write>(pass->outcome.effects[pass->at]);
  const std::string lock = lock_name(write.object);
  if (auto busy = locked_.find(lock); busy != locked_.end()) {
    pass->waited = true;
    busy->second.push_back(id);
    return;
  }
  if (pass->waited && is_outdated(write)) {
    // The server would refuse it, as it would refuse those of all others who waited: nobody needs to ask.
    pass->broke_off = pass->outdated = true;
    drop_rest(*pass);
    return finish(id);
  }
  locked_.try_emplace(lock);
  pass->lock = lock;
  ports_.assumptions.assume(write);  // again, where another write of the object had been first
  if (write_observer_) write_observer_(pass->lane->reconciler->name(), write);
  ports_.api.perform(write, [this, alive = alive_, id](Result<uint64_t> answer) {
    if (!*alive) return;
    Pass* answered_pass = find(id);
    if (!answered_pass) return;
    answered(id, std::get<Write>(answered_pass->outcome.effects[answered_pass->at]), std::move(answer));
  });
}

void Runner::release(const std::string& object) {
  auto place = locked_.find(object);
  if (place == locked_.end()) return;
  std::deque<uint64_t> waiting = std::move(place->second);
  locked_.erase(place);
  // They try again in their order; the first locks the object, the others wait once more.
  for (const uint64_t id : waiting)
    reactor_.post([this, alive = alive_, id] {
      if (*alive) step(id);
    });
}

void Runner::answered(uint64_t id, const Write& write, Result<uint64_t> answer) {
  Pass* pass = find(id);
  ports_.metrics.write_answered(write.purpose, answer ? std::string_view("ok") : code_name(answer.error().code()));
  for (const reconcile::Metric& metric : answer ? write.on_success : write.on_failure) ports_.metrics.record(metric);
  if (answer) {
    confirmed(*pass, write, *answer);
    if (write.success_event) emit(*write.success_event);
    const std::string lock = std::exchange(pass->lock, "");
    ++pass->at;
    release(lock);
    return step(id);
  }
  failed(*pass, write, answer.error());
}

void Runner::failed(Pass& pass, const Write& write, const Error& error) {
  const uint64_t id = pass.id;
  pass.broke_off = true;
  log::v(
      is_refusal(error) ? 2 : 4, "Write failed",
      {{"controller", pass.lane->reconciler->name()}, {"key", pass.key}, {"purpose", write.purpose}, {"err", error}});
  if (is_refusal(error)) tell_refusal(pass.key, write, error);
  if (is_forbidden(error)) pass.retry_in = kForbiddenRetry;
  const bool unknown = error.outcome_unknown();
  if (!unknown) give_up(pass, write);
  // The rest of the list goes; the failed write itself is dealt with here.
  ++pass.at;
  drop_rest(pass);
  if (!wants_read(error)) {
    release(std::exchange(pass.lock, ""));
    return finish(id);
  }
  // Read until the server answers: before that nothing can be decided about this object.
  struct Settle {
    Write write;
    Ref object;  // whatever instance is there now
    Duration delay = kSettleFirst;
    bool unknown = false;
    std::optional<Error> conflict;  // what looks like a lost race
  };
  auto settle = std::make_shared<Settle>(Settle{write, write.object, kSettleFirst, unknown, std::nullopt});
  if (error.code() == Code::kConflict) settle->conflict = error;
  settle->object.uid.clear();
  auto read = std::make_shared<std::function<void()>>();
  *read = [this, alive = alive_, id, settle, weak = std::weak_ptr<std::function<void()>>(read)] {
    auto self = weak.lock();
    if (!*alive || !self) return;
    ports_.api.get(settle->object, [this, alive, id, settle, self](Result<Presence> presence) {
      if (!*alive) return;
      Pass* waiting = find(id);
      if (!waiting) return;
      if (!presence && settle->unknown && running_ && presence.error().code() != Code::kPermissionDenied) {
        waiting->timer = reactor_.after(settle->delay, [self] { (*self)(); });
        settle->delay = std::min(settle->delay * 2, kSettleCap);
        return;
      }
      if (settle->unknown) {
        const api::ResourceClaim* now = view_.claim(settle->object.store_key());
        const bool happened = presence && now && has_happened(settle->write, *now);
        if (happened)
          confirmed(*waiting, settle->write, client::parse_revision(now->metadata.resource_version).value_or(0));
        else
          give_up(*waiting, settle->write);
      }
      // Nobody was faster: the object is as it was. Then it is the object that the server cannot accept.
      if (presence && settle->conflict && is_unchanged(settle->write))
        tell_refusal(waiting->key, settle->write, Error(Code::kInvalidArgument, settle->conflict->message()));
      release(std::exchange(waiting->lock, ""));
      finish(id);
    });
  };
  (*read)();
}

// The object's owner is told why nothing goes on: in the words that the controller has for it, or in general ones where
// the object itself is at fault (a missing permission is everybody's, and told elsewhere). So is the owner of the pod
// that the pass was for.
void Runner::tell_refusal(const std::string& key, const Write& write, const Error& error) {
  if (write.failure_event) {
    reconcile::Event event = *write.failure_event;
    event.note += ": " + shortened(error.message());
    return emit_news(std::move(event), "");
  }
  if (error.code() != Code::kInvalidArgument || is_forbidden(error)) return;
  const std::string note = "the API server refuses to " + write.purpose + ": " + shortened(error.message());
  if (!write.object.uid.empty()) emit_news({write.object, true, "WriteRefused", "Write", note, ""}, write.purpose);
  const std::optional<Key> about = reconcile::parse_key(key);
  const api::Pod* pod = about && about->kind == reconcile::Kind::kPod ? view_.pod(about->object) : nullptr;
  if (pod && pod->metadata.uid != write.object.uid)
    emit_news({reconcile::ref_of(*pod), true, "WriteRefused", "Write", note, ""}, write.purpose);
}

// `topic` tells apart what is said about one object for one reason, so that two refusals that take turns are no news.
void Runner::emit_news(reconcile::Event event, const std::string& topic) {
  const std::string known = topic.empty() ? event.reason : event.reason + "/" + topic;
  if (view_.last_event(event.regarding.uid, known) == event.note) return;
  memory_.last_events.put(event.regarding.uid + "/" + known, event.note);
  ports_.events.emit(event);
}

const std::string* Runner::stored_version(const Ref& object) const {
  if (object.kind == reconcile::Kind::kClaim) {
    const api::ResourceClaim* claim = view_.claim(object.store_key());
    return claim ? &claim->metadata.resource_version : nullptr;
  }
  const api::Pod* pod = object.kind == reconcile::Kind::kPod ? view_.pod(object.store_key()) : nullptr;
  return pod ? &pod->metadata.resource_version : nullptr;
}

bool Runner::is_unchanged(const Write& write) const {
  const std::string* stored = stored_version(write.object);
  return stored && *stored == write.resource_version;
}

bool Runner::is_outdated(const Write& write) const {
  const std::string* stored = stored_version(write.object);
  return stored && !write.resource_version.empty() && *stored != write.resource_version;
}

void Runner::confirm(uint64_t id, const Ref& object) {
  ports_.api.get(object, [this, alive = alive_, id, object](Result<Presence> presence) {
    if (!*alive) return;
    Pass* pass = find(id);
    if (!pass) return;
    if (!presence) {
      log::v(4, "Reading an object failed", {{"key", pass->key}, {"err", presence.error()}});
      pass->broke_off = true;
      if (is_forbidden(presence.error())) pass->retry_in = kForbiddenRetry;
      ++pass->at;
      drop_rest(*pass);
      return finish(id);
    }
    pass->confirmations[StoreView::confirmation_key(object)] = *presence;
    pass->asked = true;
    ++pass->at;
    step(id);
  });
}

void Runner::emit(const reconcile::Event& event) {
  memory_.last_events.put(event.regarding.uid + "/" + event.reason,
                          event.signature.empty() ? event.note : event.signature);
  ports_.events.emit(event);
}

void Runner::confirmed(const Pass& pass, const Write& write, uint64_t revision) {
  ports_.assumptions.confirmed(write, revision);
  if (write.release_pod.empty()) return;
  Triggers triggers;
  pass.lane->reconciler->on_room_released(view_, triggers);
  take(*pass.lane, triggers);
  schedule();
}

// A write surely did not happen: what was assumed of it is free again, for others as well. No event will say so.
void Runner::give_up(const Pass& pass, const Write& write) {
  ports_.assumptions.forget(write);
  if (!write.assume && !write.assume_pod) return;
  Triggers triggers;
  pass.lane->reconciler->on_write_given_up(view_, write, triggers);
  take(*pass.lane, triggers, pass.decided_at);
  schedule();
}

void Runner::drop_rest(Pass& pass) {
  for (size_t i = pass.at; i < pass.outcome.effects.size(); ++i)
    if (const Write* write = std::get_if<Write>(&pass.outcome.effects[i])) give_up(pass, *write);
  pass.at = pass.outcome.effects.size();
}

void Runner::finish(uint64_t id) {
  auto found = passes_.find(id);
  DRA_CHECK(found != passes_.end());
  std::unique_ptr<Pass> pass = std::move(found->second);
  passes_.erase(found);
  Lane& lane = *pass->lane;
  if (pass->asked && !pass->broke_off && may_run(lane) && pass->rounds < kMaxConfirmRounds)
    return begin_effects(lane, pass->key, std::move(pass->confirmations), pass->rounds + 1, pass->paid);
  const reconcile::Outcome& outcome = pass->outcome;
  const bool failed = pass->broke_off || !outcome.retry.empty() || pass->asked;
  if (!running_) {
    // A later term looks at everything.
  } else if (pass->outdated) {
    lane.queue->add(pass->key);
  } else if (!failed) {
    lane.queue->forget(pass->key);
  } else if (pass->retry_in > Duration::zero()) {
    lane.queue->add_after(pass->key, pass->retry_in);
  } else {
    lane.queue->add_rate_limited(pass->key);
  }
  if (outcome.look_again && !failed && running_) lane.queue->add_after(pass->key, *outcome.look_again);
  if (outcome.park && !failed) lane.parked.park(pass->key, *outcome.park);
  if (outcome.hold && !failed && running_) {
    // The key stays taken: what happens meanwhile is owed to it.
    held_.emplace(reactor_.clock().mono_now() + *outcome.hold, std::make_pair(&lane, pass->key));
  } else {
    lane.queue->done(pass->key);
  }
  schedule();
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
