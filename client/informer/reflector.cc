#include "client/informer/reflector.h"

#include <utility>

#include "client/rest/status.h"
#include "pkg/base/strings.h"
#include "pkg/log/log.h"

namespace dra::client {
namespace {

constexpr Duration kShortWatch = std::chrono::seconds(1);
constexpr int kMaxBriefStreams = 5;
constexpr Duration kBriefPause = std::chrono::milliseconds(50);
constexpr int kMaxBrokenWatchLists = 3;
constexpr Duration kExpiredPause = std::chrono::seconds(10);
constexpr Duration kTakeTime = std::chrono::milliseconds(4);  // of one task
constexpr Duration kMaxRetryAfter = std::chrono::minutes(5);
constexpr const char* kAcceptProtobuf = "application/vnd.kubernetes.protobuf, application/json";

bool is_protobuf(std::string_view content_type) {
  return content_type.starts_with(api::kProtobufMediaType);
}

bool has_object(WatchEvent::Type type) {
  return type != WatchEvent::Type::kBookmark && type != WatchEvent::Type::kError;
}

// The object that the store has in the very version of the event; null: none.
const Entry* known_version(const ObjectStore& store, std::string_view object) {
  const Result<api::ProtobufIdentity> of = api::protobuf_identity(object);
  if (!of) return nullptr;
  const Entry* known = store.find(store_key(of->ns, of->name));
  if (known == nullptr || !known->has_object() || known->uid() != of->uid) return nullptr;
  const Result<uint64_t> revision = parse_revision(of->resource_version);
  return revision && *revision == known->revision ? known : nullptr;
}

}  // namespace

// A watch message as it was understood.
struct Reflector::Message {
  Result<WatchEvent> event;
  Result<Entry> entry;  // of an event with an object
};

struct Reflector::Waiting {
  size_t bytes;
  std::optional<Message> message;  // none while a worker decodes it
};

Reflector::Reflector(Reactor& reactor, Transport& transport, Random& random, ObjectType type, ObjectStore& store,
                     ReflectorOptions options, std::shared_ptr<ServerTraits> traits)
    : reactor_(reactor),
      transport_(transport),
      random_(random),
      type_(std::move(type)),
      store_(store),
      options_(std::move(options)),
      traits_(traits ? std::move(traits) : std::make_shared<ServerTraits>()),
      backoff_(reactor.clock(), random),
      protobuf_(type_.decode_protobuf != nullptr) {}

Reflector::~Reflector() = default;

void Reflector::start() {
  if (running_) return;
  running_ = true;
  state_exact_ = true;
  begin_state();
}

void Reflector::stop() {
  running_ = false;
  drop_calls();
}

void Reflector::refresh(std::function<void()> done) {
  waiting_.push_back(std::move(done));
  if (!running_) return;
  state_exact_ = true;
  begin_state();
}

void Reflector::drop_calls() {
  ++generation_;
  call_.cancel();
  timer_.cancel();
  collecting_ = false;
  collected_.clear();
  collected_unreadable_.clear();
  has_known_ = false;
  messages_.clear();
  waiting_bytes_ = 0;
  resume_ = nullptr;
  end_.reset();
  taking_later_ = false;
}

Query Reflector::base_query() const {
  return {{"labelSelector", options_.label_selector}, {"fieldSelector", options_.field_selector}};
}

std::string Reflector::what(const char* verb) const {
  return std::string(verb) + " " + options_.resource.plural;
}

void Reflector::begin_state() {
  unpaged_ = false;
  traits_->watch_list_refused || broken_watch_lists_ >= kMaxBrokenWatchLists ? begin_list() : open_watch_list();
}

void Reflector::open_watch_list() {
  drop_calls();
  collecting_ = true;
  Query query{{"sendInitialEvents", "true"}, {"resourceVersionMatch", "NotOlderThan"}};
  if (!state_exact_) query.push_back({"resourceVersion", std::to_string(store_.stream_revision())});
  open_stream(std::move(query), options_.watch_list_patience);
}

void Reflector::open_watch() {
  drop_calls();
  opened_from_ = store_.stream_revision();
  open_stream({{"resourceVersion", std::to_string(opened_from_)}}, options_.silent_peer);
}

void Reflector::open_stream(Query particular, Duration patience) {
  stream_open_ = false;
  opened_at_ = reactor_.clock().mono_now();
  Query query = base_query();
  query.push_back({"watch", "true"});
  query.push_back({"allowWatchBookmarks", "true"});
  query.insert(query.end(), particular.begin(), particular.end());
  query.push_back({"timeoutSeconds", std::to_string(300 + random_.below(300))});
  Request request;
  request.target = with_query(collection_path(options_.resource, options_.ns), query);
  if (protobuf_) request.accept = kAcceptProtobuf;
  uint64_t mine = generation_;
  StreamCallbacks on;
  on.on_open = [this, mine, patience](const Response& head) {
    if (mine != generation_) return;
    ++stats_.watches;
    heard_content_type(head.content_type);
    stream_open_ = true;
    if (collecting_) return;
    trouble_.clear();
    arm_silence(patience);
  };
  on.on_line = [this, mine](std::string message, const Hold& hold) {
    if (mine == generation_) on_text(std::move(message), hold);
  };
  on.on_end = [this, mine](Result<Response> result) {
    if (mine != generation_) return;
    if (messages_.empty()) return on_stream_end(std::move(result));
    end_ = std::move(result);
  };
  call_ = transport_.stream(std::move(request), std::move(on));
  arm_silence(patience);
}

// Nothing was received for `limit`: in the initial part of a WatchList the server does not support it; later the peer
// is dead.
void Reflector::arm_silence(Duration limit) {
  timer_ = reactor_.after(limit, [this] {
    if (collecting_) {
      log::warning("WatchList brought no end mark, listing instead", {{"resource", options_.resource.plural}});
      begin_list();
      return;
    }
    // Twice in a row: the server may wait for a revision it will not reach (its history was rewound). Relist.
    bool again = ++silent_streams_ > 1;
    log::v(3, "Watch is silent, opening a new one", {{"resource", options_.resource.plural}, {"relist", again}});
    again ? begin_state() : open_watch();
  });
}

template <class T>
void Reflector::in_background(std::function<T()> work, std::function<void(T)> then) {
  auto result = std::make_shared<std::optional<T>>();
  // The work may outlive this reflector, and owns what it uses.
  reactor_.offload([result, work = std::move(work)] { result->emplace(work()); },
                   [this, result, then = std::move(then), mine = generation_, alive = std::weak_ptr(alive_)] {
                     if (!alive.expired() && mine == generation_) then(std::move(**result));
                   });
}

void Reflector::on_text(std::string text, const Hold& hold) {
  const bool large = text.size() >= options_.offload_bytes;
  if (!large && messages_.empty()) return on_message(read_news(text));
  auto waiting = std::make_shared<Waiting>();
  waiting->bytes = text.size();
  messages_.push_back(waiting);
  waiting_bytes_ += waiting->bytes;
  if (waiting_bytes_ >= options_.max_waiting_bytes && !resume_) resume_ = hold();
  if (!large) {
    waiting->message = read(type_, text);
    return;
  }
  in_background<Message>([type = type_, text = std::move(text)] { return read(type, text); },
                         [this, waiting](Message message) {
                           waiting->message = std::move(message);
                           take_messages();
                         });
}

void Reflector::take_messages() {
  const uint64_t mine = generation_;
  const MonoTime until = reactor_.clock().mono_now() + kTakeTime;
  while (!messages_.empty() && messages_.front()->message) {
    if (reactor_.clock().mono_now() >= until) {
      if (std::exchange(taking_later_, true)) return;
      return reactor_.post([this, mine, alive = std::weak_ptr(alive_)] {
        if (alive.expired() || mine != generation_) return;
        taking_later_ = false;
        take_messages();
      });
    }
    const auto next = std::move(messages_.front());
    messages_.pop_front();
    waiting_bytes_ -= next->bytes;
    on_message(std::move(*next->message));
    if (mine != generation_) return;
  }
  // At once: a server takes a reader that pauses for one that does not read.
  if (resume_ && waiting_bytes_ < options_.max_waiting_bytes) std::exchange(resume_, nullptr)();
  if (end_ && messages_.empty()) on_stream_end(std::move(*std::exchange(end_, std::nullopt)));
}

Reflector::Message Reflector::read(const ObjectType& type, std::string_view text) {
  Message message{parse_watch_message(text), fail(Code::kInternal, "an event without an object")};
  if (!message.event || !has_object(message.event->type)) return message;
  message.entry = decode(type, *message.event);
  // Nobody asks for it any more, and freeing a large one takes time on the thread that does it.
  if (message.entry) message.event->object = std::string();
  return message;
}

Reflector::Message Reflector::read_news(std::string_view text) const {
  if (collecting_ && whole_) return read(type_, text);
  Message message{parse_watch_message(text), fail(Code::kInternal, "an event without an object")};
  if (!message.event || !has_object(message.event->type)) return message;
  const Entry* known = message.event->protobuf ? known_version(store_, message.event->object) : nullptr;
  message.entry = known != nullptr ? Result<Entry>(*known) : decode(type_, *message.event);
  return message;
}

Result<Entry> Reflector::decode(const ObjectType& type, const WatchEvent& event) {
  if (!event.protobuf) return type.decode(event.object);
  if (type.decode_protobuf) return type.decode_protobuf(event.object);
  return fail(Code::kInvalidArgument, "an object in protobuf, which was not asked for");
}

void Reflector::on_message(Message message) {
  silent_streams_ = 0;
  Result<WatchEvent>& event = message.event;
  if (!event) {
    ++stats_.undecodable;
    if (protobuf_) use_json(event.error());
    log::error(event.error(), "Unreadable watch event", {{"resource", options_.resource.plural}});
    retry_later(event.error(), &Reflector::begin_state);
    return;
  }
  arm_silence(collecting_ ? options_.watch_list_patience : options_.silent_peer);
  if (event->type == WatchEvent::Type::kError) {
    on_error_event(*event);
  } else if (event->type == WatchEvent::Type::kBookmark) {
    on_bookmark(*event);
  } else if (collecting_) {
    on_initial_event(std::move(*event), std::move(message.entry));
  } else {
    on_watch_event(std::move(*event), std::move(message.entry));
  }
}

void Reflector::on_bookmark(const WatchEvent& event) {
  if (!collecting_) return store_.bookmark(event.revision);
  if (!event.initial_events_end) {
    // A bookmark before the end mark: this server ignores sendInitialEvents.
    traits_->watch_list_refused = true;
    begin_list();
    return;
  }
  collecting_ = false;
  broken_watch_lists_ = 0;
  arm_silence(options_.silent_peer);
  install(std::exchange(collected_, {}), event.revision);
}

void Reflector::on_initial_event(WatchEvent event, Result<Entry> entry) {
  if (!entry) return cannot_read(event, entry.error());
  const std::string key = entry->key();
  collected_unreadable_.erase(key);
  if (event.type == WatchEvent::Type::kDeleted) {
    collected_.erase(key);
  } else if (collected_.size() + collected_unreadable_.size() < options_.max_objects || collected_.count(key) > 0) {
    collect(std::move(*entry));
  } else {
    retry_later(Error(Code::kResourceExhausted, what("watch") + ": more objects than this program holds"),
                &Reflector::begin_state);
  }
}

// A state that is read again mostly has the versions that are known. The store's own are kept of those, so that not all
// objects are in memory twice until the state is whole.
void Reflector::collect(Entry entry) {
  std::string key = entry.key();
  if (!store_.synced()) {
    store_.fill(entry);
  } else if (!whole_) {
    const Entry* known = store_.find_in_stream(key);
    if (known != nullptr && known->has_object() && known->revision == entry.revision && known->uid() == entry.uid()) {
      entry = *known;
      has_known_ = true;
    }
  }
  collected_.insert_or_assign(std::move(key), std::move(entry));
}

void Reflector::on_watch_event(WatchEvent event, Result<Entry> entry) {
  if (!entry) return cannot_read(event, entry.error());
  const std::string key = entry->key();
  bool fresh = event.type == WatchEvent::Type::kDeleted ? store_.remove(*entry) : store_.apply(std::move(*entry));
  if (fresh) ++stats_.events;
  if (unreadable_.count(key) == 0) return;
  auto rest = unreadable_;
  rest.erase(key);
  set_unreadable(std::move(rest));
}

void Reflector::use_json(const Error& why) {
  protobuf_ = false;
  log::warning("Reading in JSON instead of protobuf from now on",
               {{"resource", options_.resource.plural}, {"err", why}});
}

bool Reflector::refuses_protobuf(const Error& error) {
  if (!protobuf_ || (error.http_status() != 406 && error.http_status() != 415)) return false;
  use_json(error);
  return true;
}

void Reflector::heard_content_type(std::string_view content_type) {
  if (protobuf_ && !is_protobuf(content_type))
    use_json(Error(Code::kUnsupported, "the server answers with " + quote(content_type.substr(0, 128))));
}

// Keeps the object's last known state: forgetting it would free its devices. A deletion needs only the name.
void Reflector::cannot_read(const WatchEvent& event, const Error& error) {
  if (event.protobuf) {
    ++stats_.undecodable;
    if (protobuf_) use_json(error);
    // The store has not moved past this event: the same watch in JSON delivers it again.
    return retry_later(error, collecting_ ? &Reflector::begin_state : &Reflector::open_watch);
  }
  const Result<Entry> identity = identify(event.object);
  const std::string key = identity ? identity->key() : std::string();
  const bool deleted = identity && event.type == WatchEvent::Type::kDeleted;
  ++stats_.undecodable;
  log::error(error, "Unreadable object",
             {{"resource", options_.resource.plural}, {"object", key}, {"deleted", deleted}});
  if (deleted && collecting_) collected_.erase(key);
  if (deleted && !collecting_ && store_.remove(*identity)) ++stats_.events;
  auto known = collecting_ ? std::move(collected_unreadable_) : unreadable_;
  deleted ? void(known.erase(key)) : void(known.insert_or_assign(key, error.message()));
  if (collecting_) {
    collected_unreadable_ = std::move(known);
    return;
  }
  set_unreadable(std::move(known));
  // No later event can report that this object is gone: relist.
  if (!identity) retry_later(error, &Reflector::begin_state);
}

void Reflector::set_unreadable(std::map<std::string, std::string> now) {
  if (now == unreadable_) return;
  unreadable_ = std::move(now);
  if (unreadable_changed_) unreadable_changed_();
}

void Reflector::keep_unreadable(ObjectStore::Objects& state) const {
  for (const auto& [key, why] : unreadable_)
    if (const Entry* known = store_.find_in_stream(key)) state.try_emplace(key, *known);
}

// A server whose etcd has no progress notifications (3.4 before 3.4.25, 3.5 before 3.5.8) ends each WatchList with an
// error of status 500 that says so (kube-apiserver, storage/cacher).
static bool lacks_storage_feature(const Error& error) {
  return error.message().find("required storage feature RequestWatchProgress is disabled") != std::string::npos;
}

void Reflector::on_error_event(const WatchEvent& event) {
  Error error = error_from_status(event.object, 0, what("watch"));
  if (error.code() == Code::kGone || is_too_large_resource_version(error)) {
    relist_expired();
    return;
  }
  if (collecting_ && lacks_storage_feature(error)) return list_from_now_on();
  bool same_place = error.code() == Code::kTooManyRequests && !collecting_;
  retry_later(error, same_place ? &Reflector::open_watch : &Reflector::begin_state);
}

void Reflector::on_stream_end(Result<Response> result) {
  bool refused = result.has_value() && !result->ok();
  if (refused) {
    Error error = error_from_response(*result, what("watch"));
    if (refuses_protobuf(error)) return collecting_ ? open_watch_list() : open_watch();
    collecting_ ? on_watch_list_refused(error) : on_watch_refused(error);
    return;
  }
  Error error = result.has_value() ? Error(Code::kUnavailable, what("watch") + ": the stream ended") : result.error();
  // A frame whose length exceeds the bound may not be a frame at all.
  if (protobuf_ && error.code() == Code::kResourceExhausted) use_json(error);
  if (collecting_) {
    if (stream_open_ && ++broken_watch_lists_ == kMaxBrokenWatchLists)
      log::warning("WatchList broke off again and again, listing in pages", {{"resource", options_.resource.plural}});
    retry_later(error, &Reflector::begin_state);
    return;
  }
  // An API server under load ends streams of slow readers, several a second. A stream that delivered events is not a
  // failure and resumes where it ended; one that ends at once without events must not become a busy loop.
  const bool brief = reactor_.clock().mono_now() - opened_at_ < kShortWatch;
  const bool news = store_.stream_revision() > opened_from_;
  brief_streams_ = brief ? brief_streams_ + 1 : 0;
  if (brief && !news) return retry_later(error, &Reflector::open_watch);
  log::v(4, "Watch ended, going on", {{"resource", options_.resource.plural}, {"err", error}});
  if (brief_streams_ <= kMaxBriefStreams) return open_watch();
  drop_calls();
  timer_ = reactor_.after(kBriefPause, [this] { open_watch(); });
}

void Reflector::on_watch_list_refused(const Error& error) {
  switch (error.code()) {
    case Code::kGone:
      relist_expired();
      return;
    case Code::kInvalidArgument:
    case Code::kUnsupported:
      if (is_too_large_resource_version(error)) {
        relist_expired();
        return;
      }
      list_from_now_on();
      return;
    case Code::kDeadlineExceeded:
      if (is_too_large_resource_version(error)) {
        relist_expired();
        return;
      }
      break;
    default:
      break;
  }
  state_failed(error);
}

// The refusal of a server without WatchList; that will not change while it runs.
void Reflector::list_from_now_on() {
  log::v(3, "Server has no WatchList, listing in pages", {{"resource", options_.resource.plural}});
  traits_->watch_list_refused = true;
  begin_list();
}

void Reflector::on_watch_refused(const Error& error) {
  if (error.code() == Code::kGone || is_too_large_resource_version(error)) {
    relist_expired();
    return;
  }
  bool same_place = error.code() == Code::kTooManyRequests || error.code() == Code::kUnavailable;
  retry_later(error, same_place ? &Reflector::open_watch : &Reflector::begin_state);
}

// The server no longer has the requested revision, or has not reached it: read the current state instead, at once
// unless this happened just before.
void Reflector::relist_expired() {
  ++stats_.expired;
  MonoTime now = reactor_.clock().mono_now();
  bool again = stats_.expired > 1 && now - expired_at_ < kExpiredPause;
  expired_at_ = now;
  if (again) {
    state_exact_ = true;
    retry_later(Error(Code::kGone, what("watch") + ": the resourceVersion has expired again"), &Reflector::begin_state);
    return;
  }
  log::v(3, "Revision expired, reading the state anew", {{"resource", options_.resource.plural}});
  state_exact_ = true;
  begin_state();
}

void Reflector::begin_list() {
  drop_calls();
  paged_revision_ = 0;
  list_page({});
}

void Reflector::list_page(const std::string& continue_token) {
  Query query = base_query();
  if (!unpaged_) query.push_back({"limit", std::to_string(options_.page_size)});
  query.push_back({"continue", continue_token});
  Request request;
  request.target = with_query(collection_path(options_.resource, options_.ns), query);
  request.timeout = options_.list_timeout;
  if (protobuf_) request.accept = kAcceptProtobuf;
  uint64_t mine = generation_;
  bool had_token = !continue_token.empty();
  call_ = transport_.send(std::move(request), [this, mine, had_token](Result<Response> result) {
    if (mine != generation_) return;
    if (!result || !result->ok()) {
      Error error = result ? error_from_response(*result, what("list")) : result.error();
      if (refuses_protobuf(error)) return begin_list();
      if (error.code() == Code::kGone && had_token && !unpaged_) {
        ++stats_.expired;
        unpaged_ = true;
        begin_list();
        return;
      }
      on_list_failed(error);
      return;
    }
    heard_content_type(result->content_type);
    const auto& decode = is_protobuf(result->content_type) ? type_.decode_protobuf_list : type_.decode_list;
    if (!decode) return on_list_failed(Error(Code::kInvalidArgument, what("list") + ": protobuf was not asked for"));
    if (result->body.size() < options_.offload_bytes) return page_arrived(decode(result->body));
    in_background<Result<EntryPage>>([decode, body = std::move(result->body)] { return decode(body); },
                                     [this](Result<EntryPage> page) { page_arrived(std::move(page)); });
  });
}

void Reflector::page_arrived(Result<EntryPage> page) {
  if (!page) {
    if (protobuf_) use_json(page.error());
    on_list_failed(page.error().wrap(what("list")));
    return;
  }
  for (size_t i = 0; i < page->errors.size(); ++i) {
    ++stats_.undecodable;
    log::error(page->errors[i], "Unreadable object", {{"resource", options_.resource.plural}});
    collected_unreadable_.insert_or_assign(page->unreadable[i], page->errors[i].message());
  }
  if (paged_revision_ == 0) paged_revision_ = page->revision;
  for (Entry& entry : page->entries) collect(std::move(entry));
  if (collected_.size() + collected_unreadable_.size() > options_.max_objects) {
    on_list_failed(Error(Code::kResourceExhausted, what("list") + ": more objects than this program holds"));
    return;
  }
  if (!page->continue_token.empty()) {
    list_page(page->continue_token);
    return;
  }
  uint64_t mine = generation_;
  install(std::exchange(collected_, {}), paged_revision_);
  // A handler may have called refresh().
  if (mine == generation_) open_watch();
}

void Reflector::on_list_failed(const Error& error) {
  state_failed(error);
}

// No state could be read; if the server does not know the resource, the state is empty (may_be_absent).
void Reflector::state_failed(const Error& error) {
  if (options_.may_be_absent && error.code() == Code::kNotFound) {
    const uint64_t mine = generation_;
    install({}, store_.stream_revision(), true);
    if (mine != generation_) return;  // a handler called refresh()
  }
  retry_later(error, &Reflector::begin_state);
}

void Reflector::install(ObjectStore::Objects state, uint64_t revision, bool absent) {
  if (std::exchange(has_known_, false) && revision < store_.stream_revision()) {
    // The server's history was rewound: the same versions may be other objects.
    log::warning("The server's history was rewound, reading the state anew", {{"resource", options_.resource.plural}});
    whole_ = true;
    return begin_state();
  }
  whole_ = false;
  absent_ = absent;
  ++stats_.lists;
  trouble_.clear();
  state_exact_ = false;
  auto waiting = std::exchange(waiting_, {});
  log::v(3, "State received",
         {{"resource", options_.resource.plural}, {"objects", state.size()}, {"revision", revision}});
  // Reports unreadable objects before the new state, and their end after it.
  auto unreadable = std::exchange(collected_unreadable_, {});
  const bool trouble_left = !unreadable.empty();
  if (trouble_left) set_unreadable(unreadable);
  if (trouble_left) keep_unreadable(state);
  const uint64_t mine = generation_;
  auto unneeded = std::make_shared<ObjectStore::Objects>(store_.replace(std::move(state), revision));
  if (!unneeded->empty()) reactor_.offload([unneeded = std::move(unneeded)] { unneeded->clear(); }, [] {});
  if (!trouble_left && mine == generation_) set_unreadable({});
  for (auto& done : waiting) done();
}

void Reflector::retry_later(const Error& error, void (Reflector::*next)()) {
  drop_calls();
  ++stats_.failures;
  trouble_ = to_string(error);
  Duration delay = backoff_.next();
  Duration retry_after = std::min<Duration>(std::chrono::seconds(error.retry_after_seconds()), kMaxRetryAfter);
  if (retry_after > delay) delay = retry_after + Duration(static_cast<int64_t>(random_.unit() * 1e9));
  log::v(error.code() == Code::kPermissionDenied || error.code() == Code::kNotFound ? 0 : 2, "Reading will be retried",
         {{"resource", options_.resource.plural}, {"in", delay}, {"err", error}});
  timer_ = reactor_.after(delay, [this, next] { (this->*next)(); });
}

}  // namespace dra::client
