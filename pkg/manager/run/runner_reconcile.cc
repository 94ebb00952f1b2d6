// Performs the effects of one reconcile in order, and handles writes that failed, came too late or had no answer.
#include "pkg/manager/run/runner_reconcile.h"

#include <algorithm>
#include <cctype>
#include <functional>
#include <utility>

#include "client/informer/entry.h"
#include "client/writer/writer.h"
#include "pkg/base/check.h"
#include "pkg/base/utf8.h"
#include "pkg/log/log.h"
#include "pkg/protocol/writes.h"

namespace dra::manager {

using reconcile::Effect;
using reconcile::EnqueueRequests;
using reconcile::Key;
using reconcile::kind_name;
using reconcile::Presence;
using reconcile::Ref;
using reconcile::Write;

namespace {

constexpr Duration kUntilSeenBound = std::chrono::seconds(2);

bool is_binding(const Write& write) {
  return write.object.kind == reconcile::Kind::kPod && write.subresource == "binding";
}

// Another writer was faster, or we are stopping: the server did not fail.
bool is_lost_race(const Error& error) {
  switch (error.code()) {
    case Code::kConflict:
    case Code::kAlreadyExists:
    case Code::kNotFound:
    case Code::kGone:
    case Code::kCancelled:
      return true;
    default:
      return false;
  }
}

// The stored object is outdated: read it before the next reconcile.
bool wants_read(const Error& error) {
  switch (error.code()) {
    case Code::kConflict:
    case Code::kAlreadyExists:
    case Code::kNotFound:
    case Code::kGone:
    case Code::kInvalidArgument:
      return true;
    default:
      return client::outcome_unknown(error);
  }
}

// The server understood the request and refused it.
bool is_refusal(const Error& error) {
  return error.code() == Code::kInvalidArgument || error.code() == Code::kPermissionDenied ||
         (error.code() == Code::kResourceExhausted && error.http_status() == 403);
}

// For a write with unknown outcome: the claim is as the allocation or withdrawal would have left it.
bool has_happened(const Write& write, const api::ResourceClaim& now) {
  if (now.metadata.uid != write.object.uid) return false;
  if (write.assume) return now.status.allocation == write.assume;
  return !write.release_pod.empty() && !now.status.allocation;
}

void log_decision(const Key& key, const reconcile::Decided& decided, Duration took) {
  const size_t slash = key.object.find('/');
  const log::ObjectRef pod{std::string_view(key.object).substr(0, slash),
                           std::string_view(key.object).substr(slash + 1)};
  const int64_t micros = std::chrono::duration_cast<std::chrono::microseconds>(took).count();
  if (decided.allocated)
    log::v(2, "Allocated", {{"pod", pod}, {"devices", decided.devices}, {"node", decided.node}, {"us", micros}});
  else
    log::v(2, "Does not fit", {{"pod", pod}, {"why", decided.why}, {"us", micros}});
}

void remember(Memory& memory, const reconcile::Note& note, MonoTime now) {
  note.text.empty() ? memory.notes.erase(note.uid, note.topic)
                    : memory.notes.put(note.uid, note.topic, {note.text, now});
}

// The text without its words that have a digit: figures, times and ids.
std::string without_figures(std::string_view text) {
  const auto in_word = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == '.' || c == ':' || c == '+';
  };
  std::string rest;
  for (size_t at = 0; at < text.size();) {
    size_t end = at;
    while (end < text.size() && in_word(text[end])) ++end;
    const std::string_view word = text.substr(at, std::max<size_t>(end - at, 1));
    if (word.find_first_of("0123456789") == std::string_view::npos) rest += word;
    at += word.size();
  }
  return rest;
}

// Writes with equal keys are refused together.
std::string for_people_key(const Write& write) {
  return what_of(write) + " in " + write.object.ns;
}

}  // namespace

std::string what_of(const Write& write) {
  static constexpr std::string_view kVerbs[] = {"create", "patch", "patch", "apply", "delete"};  // of Verb
  std::string what(kVerbs[static_cast<size_t>(write.verb)]);
  what += " " + std::string(reconcile::kind_name(write.object.kind));
  return write.subresource.empty() ? what : what + "/" + write.subresource;
}

std::string lock_name(const Ref& object) {
  return reconcile::to_text({object.kind, object.store_key()});
}

std::string shortened(const std::string& message) {
  constexpr size_t kKept = 350;
  if (message.size() <= 2 * kKept) return message;
  const size_t end = utf8_prefix(message, message.size() - kKept).size();
  return std::string(utf8_prefix(message, kKept)) + " ... " + message.substr(end);
}

// Runs the reconciler and starts performing its effects.
void Runner::begin_effects(ControllerQueue& controller, const Key& key, std::map<std::string, Presence> live_answers,
                           int rounds, bool paid) {
  view_.set_live_answers(&live_answers);
  reconcile::ReconcileResult outcome;
  const MonoTime began = reactor_.clock().mono_now();
  try {
    outcome = controller.parts.reconciler->reconcile(key, view_, *controller.parts.state);
    if (outcome.decided) log_decision(key, *outcome.decided, reactor_.clock().mono_now() - began);
  } catch (const std::exception& bug) {
    // A bug inside a reconciler: this key backs off, the others continue.
    log::error("A run failed by a bug",
               {{"controller", controller.parts.name}, {"key", to_text(key)}, {"what", bug.what()}});
    outcome = {};
    outcome.retry = bug.what();
  }
  view_.set_live_answers(nullptr);
  if (log::enabled(5))
    log::v(5, "Pass",
           {{"controller", controller.parts.name},
            {"key", to_text(key)},
            {"effects", outcome.effects.size()},
            {"parked", outcome.park.has_value()}});
  end_held_place(controller, key, outcome);
  take_turn(controller, key, outcome);
  // Devices and capacity are assumed taken as soon as this is decided: the next key need not wait for the answer.
  if (!outcome.park) notify_lot(controller, key, outcome, false);
  if (controller.pacer && !paid) {
    if (!outcome.paced) {
      controller.pacer->leave(key);
    } else if (!(paid = controller.pacer->enter(key))) {
      controller.queue->done(key);
      return schedule();
    }
  }
  auto run = std::make_unique<Run>();
  run->id = next_id_++;
  run->controller = &controller;
  run->key = key;
  run->outcome = std::move(outcome);
  run->live_answers = std::move(live_answers);
  run->rounds = rounds;
  run->paid = paid;
  run->decided_at = controller.parked.time();
  bool contested = false;
  for (Effect& effect : run->outcome.effects)
    if (Write* write = std::get_if<Write>(&effect)) {
      if (is_binding(*write)) memory_.being_bound.put(write->object.uid, MonoTime::max());
      write->id = run->id;
      contested = !sinks_.assumptions.assume(*write) || contested;
    }
  const uint64_t id = run->id;
  Run& begun = *runs_.emplace(id, std::move(run)).first->second;
  if (!contested) return step(id);
  // Another pod's decision about the same claim is on its way. Two of them would count as the devices of one only, and
  // the other's would look free.
  log::v(4, "Another decision about the claim is being written", {{"key", to_text(key)}});
  begun.broke_off = true;
  drop_rest(begun);
  finish(id);
}

void Runner::end_held_place(ControllerQueue& controller, const Key& key, const reconcile::ReconcileResult& outcome) {
  const auto held = controller.held_places.find(key.object);
  if (held == controller.held_places.end()) return;
  const reconcile::AssumedPod place = std::move(held->second);
  controller.held_places.erase(held);
  const bool kept = std::any_of(outcome.effects.begin(), outcome.effects.end(), [&](const Effect& effect) {
    if (const auto* again = std::get_if<reconcile::HoldPlace>(&effect)) return again->pod.pod.uid == place.pod.uid;
    const auto* write = std::get_if<Write>(&effect);
    return write && write->assume_pod && write->assume_pod->pod.uid == place.pod.uid;
  });
  if (kept) return;
  sinks_.assumptions.let_go(place);
  capacity_released(controller);
}

void Runner::take_turn(ControllerQueue& controller, const Key& key, reconcile::ReconcileResult& outcome) {
  if (outcome.at_its_turn.empty()) return controller.turns->leave(key);
  if (controller.turns->enter(key, place_of(key).group, outcome.turn_since)) {
    for (Effect& effect : outcome.at_its_turn) outcome.effects.push_back(std::move(effect));
    if (outcome.park) outcome.park_unless_written = std::exchange(outcome.park, std::nullopt);
  }
  outcome.at_its_turn.clear();
}

Runner::Run* Runner::find(uint64_t id) {
  auto found = runs_.find(id);
  return found == runs_.end() ? nullptr : found->second.get();
}

// ---- effects, one after the other

void Runner::step(uint64_t id) {
  Run* run = find(id);
  while (run && run->at < run->outcome.effects.size()) {
    const Effect& effect = run->outcome.effects[run->at];
    if (!may_run(*run->controller)) {
      run->broke_off = true;
      drop_rest(*run);
      break;
    }
    if (const auto* event = std::get_if<reconcile::Event>(&effect)) {
      emit(*event);
      ++run->at;
    } else if (const auto* note = std::get_if<reconcile::Note>(&effect)) {
      remember(memory_, *note, reactor_.clock().mono_now());
      ++run->at;
    } else if (const auto* hold = std::get_if<reconcile::HoldPlace>(&effect)) {
      sinks_.assumptions.hold(hold->pod);
      run->controller->held_places.insert_or_assign(run->key.object, hold->pod);
      ++run->at;
    } else if (const auto* metric = std::get_if<reconcile::Metric>(&effect)) {
      sinks_.metrics.record(*metric);
      ++run->at;
    } else if (const auto* avoided = std::get_if<reconcile::AvoidNodes>(&effect)) {
      sinks_.assumptions.avoid(*avoided);
      ++run->at;
    } else if (const auto* question = std::get_if<reconcile::LiveGet>(&effect)) {
      return live_get(id, *question);
    } else {
      return send(id);
    }
  }
  if (run) finish(id);
}

void Runner::send(uint64_t id) {
  Run* run = find(id);
  if (!run) return;
  Write& write = std::get<Write>(run->outcome.effects[run->at]);
  if (write.for_people && refused_lately(write)) {
    run->left_out = true;
    ++run->at;
    return step(id);
  }
  const std::string lock = lock_name(write.object);
  if (auto busy = locked_.find(lock); busy != locked_.end()) {
    run->waited = true;
    busy->second.push_back(id);
    return;
  }
  if (run->waited && is_outdated(write)) {
    // The server would refuse this write, and those of all others that waited: do not send it.
    run->broke_off = run->outdated = true;
    drop_rest(*run);
    return finish(id);
  }
  locked_.try_emplace(lock);
  run->lock = lock;
  sinks_.assumptions.assume(write);  // again: another write of the object may have been first
  protocol::build_body(write);
  if (write_observer_) write_observer_(run->controller->parts.name, write);
  sinks_.api.perform(write, [this, alive = alive_, id](Result<uint64_t> answer) {
    if (!*alive) return;
    Run* answered_pass = find(id);
    if (!answered_pass) return;
    answered(id, std::get<Write>(answered_pass->outcome.effects[answered_pass->at]), std::move(answer));
  });
}

bool Runner::refused_lately(const Write& write) const {
  constexpr Duration kLeftOut = std::chrono::minutes(1);
  const MonoTime* refused = refused_for_people_.find(for_people_key(write));
  return refused && reactor_.clock().mono_now() - *refused < kLeftOut;
}

void Runner::release(const std::string& object) {
  auto place = locked_.find(object);
  if (place == locked_.end()) return;
  std::deque<uint64_t> waiting = std::move(place->second);
  locked_.erase(place);
  // They try again in order: the first locks the object, the others wait once more.
  for (const uint64_t id : waiting)
    reactor_.post([this, alive = alive_, id] {
      if (*alive) step(id);
    });
}

void Runner::answered(uint64_t id, const Write& write, Result<uint64_t> answer) {
  Run* run = find(id);
  sinks_.metrics.write_answered(write.purpose, answer ? std::string_view("ok") : code_name(answer.error().code()));
  for (const reconcile::Metric& metric : answer ? write.on_success : write.on_failure) sinks_.metrics.record(metric);
  if (answer) {
    written(*run, write, *answer);
    for (const std::string& uid : write.tally) memory_.tallies.put(uid, view_.tallied(uid) + 1);
    if (write.success_event) emit(*write.success_event);
    const std::string lock = std::exchange(run->lock, "");
    ++run->at;
    release(lock);
    return step(id);
  }
  failed(*run, write, answer.error());
}

// A failed write whose object must be read before anything else is decided about it.
struct Runner::Settlement {
  uint64_t run;
  Write write;
  Ref object;  // any instance of that name
  bool unknown = false;
  std::optional<Error> conflict;  // set when the failure looks like a lost race
};

void Runner::failed(Run& run, const Write& write, const Error& error) {
  const uint64_t id = run.id;
  log::v(is_refusal(error) ? 2 : 4, "Write failed",
         {{"controller", run.controller->parts.name},
          {"key", to_text(run.key)},
          {"purpose", write.purpose},
          {"err", error}});
  if (is_refusal(error)) record_refusal(run.key, write, error);
  if (write.for_people && !is_lost_race(error) && !client::outcome_unknown(error)) {
    refused_for_people_.put(for_people_key(write), reactor_.clock().mono_now());
    run.left_out = run.refused_for_people = true;
    ++run.at;
    release(std::exchange(run.lock, ""));
    return step(id);
  }
  run.broke_off = true;
  if (!is_lost_race(error)) run.failure = Failure{what_of(write), error, write.object};
  const bool unknown = client::outcome_unknown(error);
  if (!unknown) give_up(run, write);
  auto settlement = std::make_shared<Settlement>(Settlement{id, write, write.object, unknown, std::nullopt});
  settlement->object.uid.clear();
  if (error.code() == Code::kConflict) settlement->conflict = error;
  // drop_rest() drops the rest of the list; the failed write itself is handled here.
  ++run.at;
  drop_rest(run);
  if (wants_read(error)) return settle(std::move(settlement));
  release(std::exchange(run.lock, ""));
  finish(id);
}

void Runner::settle(std::shared_ptr<Settlement> settlement) {
  sinks_.api.get(settlement->object, [this, alive = alive_, settlement](Result<Presence> presence) {
    Run* run = *alive ? find(settlement->run) : nullptr;
    if (!run) return;
    const std::string item = "settle " + std::to_string(settlement->run) + "/" + to_text(run->key);
    const bool denied = !presence && presence.error().code() == Code::kPermissionDenied;
    if (!presence && settlement->unknown && running_ && !denied)
      return outages_.failed(
          item, {"get " + std::string(kind_name(settlement->object.kind)), presence.error(), settlement->object},
          [this, settlement] { settle(settlement); });
    outages_.passed(item);
    settled(*settlement, presence);
  });
}

void Runner::settled(Settlement& settlement, const Result<Presence>& presence) {
  Run& run = *find(settlement.run);
  if (settlement.unknown) {
    const api::ResourceClaim* now = view_.claim(settlement.object.store_key());
    const bool happened = presence && now && has_happened(settlement.write, *now);
    if (happened)
      written(run, settlement.write, client::parse_revision(now->metadata.resource_version).value_or(0));
    else
      give_up(run, settlement.write);
  }
  // Nobody was faster: the object is unchanged. So the server cannot accept the object itself.
  if (presence && settlement.conflict && is_unchanged(settlement.write))
    record_refusal(run.key, settlement.write, Error(Code::kInvalidArgument, settlement.conflict->message()));
  release(std::exchange(run.lock, ""));
  finish(settlement.run);
}

// Records an event on the object that says why its write was refused: the reconciler's own event, or a general one if
// the object itself is at fault (a missing permission concerns everybody and is reported elsewhere). The pod of this
// reconcile gets the event too.
void Runner::record_refusal(const Key& key, const Write& write, const Error& error) {
  if (write.failure_event) {
    reconcile::Event event = *write.failure_event;
    event.note += ": " + shortened(error.message());
    return emit_if_new(std::move(event), "");
  }
  if (error.code() == Code::kPermissionDenied) return;
  const std::string note = "the API server refuses to " + write.purpose + ": " + shortened(error.message());
  if (!write.object.uid.empty()) emit_if_new({write.object, true, "WriteRefused", "Write", note, ""}, write.purpose);
  const api::Pod* pod = key.kind == reconcile::Kind::kPod ? view_.pod(key.object) : nullptr;
  if (pod && pod->metadata.uid != write.object.uid)
    emit_if_new({protocol::ref_of(*pod), true, "WriteRefused", "Write", note, ""}, write.purpose);
}

// `topic` separates events of one reason about one object, so that two alternating refusals are not repeated as news.
// What is refused is tried again at least every 8 s: an answer that differs in times or figures only is not new; other
// answers at most once in 30 s.
void Runner::emit_if_new(reconcile::Event event, const std::string& topic) {
  constexpr Duration kOtherWords = std::chrono::seconds(30), kSameWords = std::chrono::minutes(30);
  const std::string known = topic.empty() ? event.reason.str() : event.reason + "/" + topic;
  const MonoTime now = reactor_.clock().mono_now();
  std::string words = without_figures(event.note);
  if (const Noted* last = memory_.events.find(event.regarding.uid, known))
    if (now - last->at < (last->text == words ? kSameWords : kOtherWords)) return;
  if (sinks_.events.emit(event)) memory_.events.put(event.regarding.uid, known, {std::move(words), now});
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

void Runner::live_get(uint64_t id, const reconcile::LiveGet& question) {
  sinks_.api.get(question.object,
                 [this, alive = alive_, id, object = question.object, seen = question.seen](Result<Presence> presence) {
                   if (!*alive) return;
                   Run* run = find(id);
                   if (!run) return;
                   if (!presence) {
                     log::v(4, "Reading an object failed", {{"key", to_text(run->key)}, {"err", presence.error()}});
                     run->broke_off = true;
                     run->failure = Failure{"get " + std::string(kind_name(object.kind)), presence.error(), object};
                     ++run->at;
                     drop_rest(*run);
                     return finish(id);
                   }
                   run->live_answers[StoreView::live_get_key(object, seen)] = *presence;
                   run->asked = true;
                   ++run->at;
                   step(id);
                 });
}

void Runner::emit(const reconcile::Event& event) {
  if (!sinks_.events.emit(event)) return;  // dropped: the next reconcile of the key emits it again
  memory_.events.put(event.regarding.uid, event.reason.str(),
                     {event.signature.empty() ? event.note : event.signature, reactor_.clock().mono_now()});
  memory_.notes.put(event.regarding.uid, "said/" + event.reason, {"said", reactor_.clock().mono_now()});
}

void Runner::written(const Run& run, const Write& write, uint64_t revision) {
  sinks_.assumptions.written(write, revision);
  // The answer does not contain the pod: the stream shows it bound.
  if (is_binding(write)) memory_.being_bound.put(write.object.uid, reactor_.clock().mono_now() + kUntilSeenBound);
  if (!write.release_pod.empty()) capacity_released(*run.controller);
}

void Runner::capacity_released(ControllerQueue& controller) {
  EnqueueRequests enqueued;
  controller.parts.events->changed(reconcile::CapacityReleased{}, view_, *controller.parts.state, enqueued);
  take(controller, enqueued);
  schedule();
}

// The write certainly did not happen: what it assumed is free again, for others too, and no object changes to show it.
void Runner::give_up(const Run& run, const Write& write) {
  sinks_.assumptions.forget(write);
  if (is_binding(write)) memory_.being_bound.erase(write.object.uid);
  if (!write.assume && !write.assume_pod) return;
  EnqueueRequests enqueued;
  ControllerQueue& controller = *run.controller;
  controller.parts.events->changed(reconcile::WriteGivenUp{write}, view_, *controller.parts.state, enqueued);
  // This key backs off.
  std::erase(enqueued.keys, run.key);
  take(controller, enqueued, run.decided_at);
  schedule();
}

void Runner::drop_rest(Run& run) {
  for (size_t i = run.at; i < run.outcome.effects.size(); ++i)
    if (const Write* write = std::get_if<Write>(&run.outcome.effects[i])) give_up(run, *write);
  run.at = run.outcome.effects.size();
}

}  // namespace dra::manager
