#include "client/events/event_recorder.h"

#include <algorithm>

#include "pkg/base/json_text.h"
#include "pkg/base/timestamp.h"
#include "pkg/base/utf8.h"
#include "pkg/log/log.h"

namespace dra::client {
namespace {

constexpr Duration kTick = std::chrono::seconds(60);

const Resource& events_resource() {
  static const Resource resource{"events.k8s.io", "v1", "events", "Event", true};
  return resource;
}

std::string hex(uint64_t value) {
  std::string text(16, '0');
  for (auto digit = text.rbegin(); value != 0; value >>= 4) *digit++ = "0123456789abcdef"[value & 15];
  return text;
}

// The member "series": that the event has come `count` times.
void write_series(JsonText& out, int count, WallTime last_seen) {
  out.object("series", [&] {
    out.member("count", count);
    out.member("lastObservedTime", format_rfc3339_micro(last_seen));
  });
}

std::string object_key(const EventObject& object) {
  return object.kind + "/" + object.ns + "/" + object.name + "/" + object.uid;
}

// Thousands of events are remembered, with notes of up to 1 KiB each: a 128-bit hash replaces the text.
std::string series_key(const EventRequest& event) {
  const std::string what =
      std::string(event.warning ? "Warning" : "Normal") + "\n" + event.reason + "\n" + event.action + "\n" + event.note;
  const std::string all = object_key(event.regarding) + "\n" + what;
  return hex(std::hash<std::string>()(all)) + hex(std::hash<std::string>()(what + "\n" + all));
}

}  // namespace

// Equal events, and the Event object that represents them on the server.
struct EventRecorder::Series {
  struct Event {
    Event(const EventRequest& e, std::pmr::memory_resource* pool)
        : kind(e.regarding.kind, pool),
          api_version(e.regarding.api_version, pool),
          ns(e.regarding.ns, pool),
          name(e.regarding.name, pool),
          uid(e.regarding.uid, pool),
          resource_version(e.regarding.resource_version, pool),
          warning(e.warning),
          reason(e.reason, pool),
          action(e.action, pool),
          note(e.note, pool) {}
    std::pmr::string kind, api_version, ns, name, uid, resource_version;  // of the object
    bool warning;
    std::pmr::string reason, action, note;
  };
  Series(const std::string& k, const EventRequest& e, const std::string& n, std::pmr::memory_resource* pool)
      : key(k, pool), event(e, pool), name(n, pool) {}

  std::pmr::string key;
  Event event;
  std::pmr::string name;  // of the Event object
  WallTime event_time{};  // time of the first event
  WallTime last_seen{};
  MonoTime last_at{};
  MonoTime written_at{};
  int count = 1;
  int written = 0;  // the count stored on the server; 0: not created yet
  int sending = 0;  // the count in flight
  int tries = 0;
  bool queued = false;
  Handle call;
  Handle retry;
};

EventRecorder::EventRecorder(Reactor& reactor, RestClient& client, Random& random, RecorderOptions options)
    : reactor_(reactor), client_(client), random_(random), options_(std::move(options)) {
  if (options_.instance.empty()) options_.instance = options_.controller;
  ticker_ = reactor_.after(kTick, [this] { tick(); });
}

EventRecorder::~EventRecorder() {
  *alive_ = false;
}

bool EventRecorder::record(const EventRequest& event) {
  const std::string key = series_key(event);
  MonoTime now = reactor_.clock().mono_now();
  const WallTime stamp = reactor_.clock().wall_now();
  const auto goes_on = [&](const Series& series) {
    return now - series.last_at < options_.series_silence || series.queued || series.sending > 0;
  };
  if (auto it = series_.find(key); it != series_.end() && goes_on(*it->second)) {
    Series& series = *it->second;
    ++series.count;
    series.last_seen = stamp;
    series.last_at = now;
    // The second event turns it into a series; later ones wait for tick().
    if (series.count == 2 && series.written == 1) {
      enqueue(it->second);
    } else {
      ++stats_.counted;
    }
    return true;
  }
  if (!within_budget(event.regarding)) {
    ++stats_.over_budget;
    return false;
  }
  if (!make_room()) {
    ++stats_.dropped;
    return false;
  }
  auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(reactor_.clock().wall_now().time_since_epoch());
  // Two events of the same moment must not share a name.
  const std::string name = std::string(utf8_prefix(event.regarding.name, 220)) + "." +
                           hex(static_cast<uint64_t>(ns.count()) + random_.below(1000));
  auto series = std::make_shared<Series>(key, event, name, &pool_);
  series->event_time = series->last_seen = stamp;
  series->last_at = series->written_at = now;
  series_.erase(key);  // one that is over: the text of its key goes with it
  series_.emplace(series->key, series);
  enqueue(series);
  return true;
}

bool EventRecorder::within_budget(const EventObject& object) {
  MonoTime now = reactor_.clock().mono_now();
  const uint64_t key = std::hash<std::string>()(object_key(object));
  if (budgets_.size() >= options_.max_series && !budgets_.contains(key)) {
    const auto oldest = budgets_by_use_.begin();
    budgets_.erase(oldest->second);
    budgets_by_use_.erase(oldest);
  }
  auto [it, fresh] = budgets_.try_emplace(key);
  Budget& budget = it->second;
  if (fresh) {
    budget.tokens = options_.budget_burst;
    budget.filled = now;
  }
  double refilled = std::chrono::duration<double>(now - budget.filled).count() /
                    std::chrono::duration<double>(options_.budget_refill).count();
  budget.tokens = std::min<double>(options_.budget_burst, budget.tokens + refilled);
  budget.filled = now;
  budgets_by_use_.erase(budget.used);
  budget.used = ++budget_uses_;
  budgets_by_use_.emplace(budget.used, key);
  if (budget.tokens < 1) return false;
  budget.tokens -= 1;
  return true;
}

bool EventRecorder::make_room() {
  if (queue_.size() >= options_.max_queued) {
    const auto evicted = queue_.evict();
    if (const auto known = evicted ? series_.find(evicted->key) : series_.end(); known != series_.end()) {
      ++stats_.dropped;
      known->second->queued = false;
      if (known->second->written == 0) series_.erase(known);
    }
  }
  if (series_.size() < options_.max_series) return true;
  // Of the namespace with the most written series, forgets the oldest, several at once.
  std::map<std::string_view, std::vector<std::pair<MonoTime, std::string_view>>> known;
  for (const auto& [key, series] : series_)
    if (series->written > 0 && !series->queued && series->sending == 0)
      known[series->event.ns].emplace_back(series->last_at, key);
  const auto largest = std::max_element(known.begin(), known.end(),
                                        [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
  if (largest == known.end()) return false;
  std::sort(largest->second.begin(), largest->second.end());
  largest->second.resize(std::min(largest->second.size(), options_.max_series / 16 + 1));
  for (const auto& [last_at, key] : largest->second) series_.erase(key);
  return true;
}

void EventRecorder::enqueue(const SeriesPtr& series) {
  if (series->queued || series->sending > 0) return;
  series->queued = true;
  queue_.push(std::string(series->key), {std::string(series->event.ns), series->event.warning ? 1 : 0});
  pump();
}

void EventRecorder::pump() {
  while (in_flight_ < options_.max_in_flight) {
    const auto taken = queue_.pop();
    if (!taken) return;
    const auto known = series_.find(taken->key);
    if (known == series_.end() || !std::exchange(known->second->queued, false)) continue;
    send(SeriesPtr(known->second));
  }
}

void EventRecorder::send(const SeriesPtr& series) {
  ++in_flight_;
  series->sending = series->count;
  std::weak_ptr<Series> weak = series;
  auto done = [this, weak, alive = alive_](Result<std::string> answer) {
    auto known = weak.lock();
    if (*alive && known) answered(known, answer);
  };
  const Series::Event& about = series->event;
  const std::string ns = about.ns.empty() ? "default" : std::string(about.ns);
  const std::string name(series->name);
  const ObjectPath path{events_resource(), ns, name, ""};
  if (series->written > 0) {
    JsonText body;
    body.object([&] { write_series(body, series->count, series->last_seen); });
    series->call = client_.patch(path, PatchType::kMerge, std::move(body).text(), {}, std::move(done));
    return;
  }
  JsonText body;
  body.object([&] {
    body.member("action", utf8_prefix(about.action.empty() ? about.reason : about.action, 128));
    body.member("apiVersion", "events.k8s.io/v1");
    body.member("eventTime", format_rfc3339_micro(series->event_time));
    body.member("kind", "Event");
    body.object("metadata", [&] {
      body.member("name", name);
      body.member("namespace", ns);
    });
    body.member("note", utf8_prefix(about.note, 1024));
    body.member("reason", utf8_prefix(about.reason, 128));
    body.object("regarding", [&] {
      body.member("apiVersion", std::string_view(about.api_version));
      body.member("kind", std::string_view(about.kind));
      body.member("name", std::string_view(about.name));
      if (!about.ns.empty()) body.member("namespace", ns);
      if (!about.resource_version.empty()) body.member("resourceVersion", std::string_view(about.resource_version));
      if (!about.uid.empty()) body.member("uid", std::string_view(about.uid));
    });
    body.member("reportingController", options_.controller);
    body.member("reportingInstance", utf8_prefix(options_.instance, 128));
    if (series->count > 1) write_series(body, series->count, series->last_seen);
    body.member("type", about.warning ? "Warning" : "Normal");
  });
  series->call = client_.create(path, std::move(body).text(), {}, std::move(done));
}

void EventRecorder::answered(const SeriesPtr& series, const Result<std::string>& answer) {
  --in_flight_;
  answered_call_ = std::move(series->call);  // destroyed at the next answer: its callback is running now
  int sent = std::exchange(series->sending, 0);
  bool again = false;
  if (answer) {
    ++stats_.sent;
    series->tries = 0;
    series->written = sent;
    series->written_at = reactor_.clock().mono_now();
    // The second event came while the first was in flight.
    again = sent == 1 && series->count > 1;
  } else if (answer.error().code() == Code::kNotFound && series->written > 0) {
    // The Event has expired on the server (its time to live is an hour): create it anew.
    series->written = 0;
    again = true;
  } else if (answer.error().code() == Code::kAlreadyExists) {
    // Our own create succeeded although its answer was lost.
    series->written = 1;
    again = series->count > 1;
  } else if (answer.error().outcome_unknown() || answer.error().http_status() >= 500 ||
             answer.error().code() == Code::kTooManyRequests) {
    if (++series->tries < options_.max_tries) {
      Duration delay = options_.retry_delay;
      if (series->tries == 1)
        delay = Duration(static_cast<int64_t>(static_cast<double>(delay.count()) * random_.unit()));
      std::weak_ptr<Series> weak = series;
      series->retry = reactor_.after(delay, [this, weak] {
        if (auto known = weak.lock()) enqueue(known);
      });
    } else {
      drop(series);
    }
  } else {
    record_refusal(answer.error());
    drop(series);
  }
  if (again) enqueue(series);
  pump();
  check_flushed();
}

// Logs one line a minute: a refusal of one event mostly applies to all.
void EventRecorder::record_refusal(const Error& error) {
  const MonoTime now = reactor_.clock().mono_now();
  if (refusal_recorded_ && now - *refusal_recorded_ < kTick) return;
  refusal_recorded_ = now;
  log::warning("Events are refused", {{"err", error}, {"dropped", stats_.dropped + 1}});
}

void EventRecorder::drop(const SeriesPtr& series) {
  ++stats_.dropped;
  series_.erase(std::string_view(series->key));
}

// Once a minute: refreshes continuing series, writes ended ones a last time and forgets them.
void EventRecorder::tick() {
  MonoTime now = reactor_.clock().mono_now();
  std::vector<SeriesPtr> to_write;
  for (auto it = series_.begin(); it != series_.end();) {
    Series& series = *it->second;
    bool over = now - series.last_at >= options_.series_silence;
    bool news = series.written > 0 && series.count > series.written;
    if (news && (over || now - series.written_at >= options_.series_refresh)) to_write.push_back(it->second);
    bool busy = series.queued || series.sending > 0 || series.written == 0 || news;
    it = over && !busy ? series_.erase(it) : std::next(it);
  }
  for (auto& series : to_write) enqueue(series);
  ticker_ = reactor_.after(kTick, [this] { tick(); });
}

void EventRecorder::flush(Duration limit, std::function<void()> done) {
  flushed_ = std::move(done);
  flush_timer_ = reactor_.after(limit, [this] {
    if (auto callback = std::exchange(flushed_, nullptr)) callback();
  });
  reactor_.post([this, alive = alive_] {
    if (*alive) check_flushed();
  });
}

void EventRecorder::check_flushed() {
  if (!flushed_ || in_flight_ > 0 || queue_.size() > 0) return;
  flush_timer_.cancel();
  auto callback = std::exchange(flushed_, nullptr);
  callback();
}

}  // namespace dra::client
