#include "pkg/apiserver/rest/watch.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "pkg/apiserver/codec/codec.h"
#include "pkg/apiserver/codec/protobuf_answer.h"
#include "pkg/apiserver/kinds/folders.h"
#include "pkg/apiserver/model/guard.h"
#include "pkg/apiserver/model/json_text.h"

namespace dra::apiserver {

namespace {

// A bookmark just before the end lets the client resume cheaply, if the watch is long enough to be worth it.
constexpr std::chrono::seconds kLastBookmarkBefore{2};
constexpr std::chrono::seconds kShortestWithLastBookmark{10};
constexpr int64_t kMaxTimeoutSeconds = 24 * 3600;

// What a client has not read is not kept for it: a watch goes on in the store, where it stopped, when its client has
// read most of what was written (Responder::when_accepted), a portion at a time. So a watch holds one portion, a few
// records and one object, however much changes and however large the initial state is.
constexpr size_t kPortion = 200;  // objects or changes
// Written within the write that changes an object: to a watch with less than this unread, and to all watches together.
constexpr size_t kUnreadBytes = size_t{64} << 10;
constexpr size_t kBytesOfChange = size_t{1} << 20;
// A client that has read nothing for so long does not read.
constexpr std::chrono::seconds kReadsNothing{1};

const char* change_name(ChangeType type) {
  switch (type) {
    case ChangeType::kAdded:
      return "ADDED";
    case ChangeType::kModified:
      return "MODIFIED";
    case ChangeType::kDeleted:
      return "DELETED";
  }
  return "";
}

}  // namespace

class WatchSession : public std::enable_shared_from_this<WatchSession> {
 public:
  WatchSession(const Env& env, CallPtr call, ListOptions options)
      : env_(env), call_(std::move(call)), options_(std::move(options)) {
    protobuf_ = call_->form.protobuf &&
                find_message_type(call_->gv().text(), call_->kind->info().kind) != nullptr;  // else the answer is JSON
  }

  ~WatchSession() {
    if (listener_ != 0) env_.store.unlisten(call_->table(), listener_);
  }

  void start() {
    open_stream();
    const bool from_now_on = options_.resource_version.empty() || options_.resource_version == "0";
    const bool initial = options_.send_initial_events.value_or(from_now_on);
    after_ = initial || from_now_on ? env_.store.revision() : options_.revision;
    swept_ = !initial;
    marks_end_ = initial && options_.allow_bookmarks;
    if (after_ < env_.store.floor(call_->table())) return too_old(options_.resource_version);
    listener_ = env_.store.listen(call_->table(), [this](const ChangePtr& change) {
      // A watch that lost an event must end: its client lists again.
      if (!run_guarded("a watch", [&] { changed(*change); })) end();
    });
    start_timers();
    go_on();
  }

  void end() {
    if (over_) return;
    over_ = true;
    call_->responder->end();
    leave();
  }

  void set_id(uint64_t id) { id_ = id; }
  uint64_t id() const { return id_; }
  const std::string& user() const { return call_->user.name; }
  // False for watches of this process.
  bool has_connection() const { return !over_ && !call_->request.remote.empty(); }
  // Since when its client has read nothing; nullopt: it reads.
  std::optional<MonoTime> unread_since() const { return waiting_ ? std::optional(waiting_since_) : std::nullopt; }

 private:
  // Writes a portion of what the client does not know yet: changes, then initial objects. Always, the client has seen
  // the objects up to swept_to_, all of them if swept_, as they were at after_: no copy of the initial state is kept.
  void go_on() {
    waiting_ = false;
    for (;;) {
      const size_t begin = work_;
      if (after_ < env_.store.floor(call_->table())) return too_old(std::to_string(after_));
      const auto changes = env_.store.changes_since(call_->table(), after_, kPortion);
      for (const auto& change : changes) {
        deliver(*change);
        if (over_ || work_ - begin >= kPortionBytes) break;
      }
      if (changes.empty()) sweep();
      if (over_ || (swept_ && env_.store.changes_since(call_->table(), after_, 1).empty())) return;
      if (work_ != begin && waits()) return;
    }
  }

  void sweep() {
    if (swept_) return;
    const size_t begin = work_;
    size_t objects = 0;
    swept_ = true;
    const std::string after = std::exchange(swept_to_, {});
    for_each_in_scope(
        *call_, env_.store.objects(call_->table()),
        [&](const std::string& key, const StoredPtr& object) {
          if (objects == kPortion || work_ - begin >= kPortionBytes) return swept_ = false;
          swept_to_ = key;
          if (!matches(key, *object)) return true;
          send("ADDED", object);
          ++objects;
          return !over_;
        },
        after);
    if (over_ || !swept_) return;
    after_ = std::max(after_, env_.store.revision());
    if (marks_end_) send_bookmark(true);
  }

  // False: nothing written here waits for its reader.
  bool waits() {
    waiting_ = call_->responder->when_accepted([weak = weak_from_this()] {
      const auto self = weak.lock();
      if (self && !self->over_ && !run_guarded("a watch", [&] { self->go_on(); })) self->end();
    });
    waiting_since_ = env_.reactor.clock().mono_now();
    return waiting_;
  }

  void changed(const Change& change) {
    if (over_ || change.revision <= after_) return;
    if (waiting_) {
      if (after_ < env_.store.floor(call_->table())) too_old(std::to_string(after_));
      return;
    }
    const bool at_once = call_->responder->buffered() < kUnreadBytes && env_.watches.writes_at_once(change.revision);
    if (at_once || !waits()) deliver(change);
  }

  void open_stream() {
    http::Response head;
    head.headers.add("Content-Type",
                     protobuf_ ? "application/vnd.kubernetes.protobuf;stream=watch" : "application/json");
    head.headers.add("Cache-Control", "no-cache, private");
    for (const auto& w : call_->warnings) head.headers.add("Warning", "299 - \"" + w + "\"");
    call_->responder->begin_stream(std::move(head));
    call_->responder->on_close([weak = weak_from_this()] {
      if (auto self = weak.lock()) {
        self->over_ = true;
        self->leave();
      }
    });
  }

  void start_timers() {
    const int64_t seconds = options_.timeout_seconds && *options_.timeout_seconds > 0
                                ? std::min(*options_.timeout_seconds, kMaxTimeoutSeconds)
                                : 1800 + static_cast<int64_t>(env_.random.below(1800));
    timeout_ = env_.reactor.after(std::chrono::seconds(seconds),
                                  [this] { run_guarded("the end of a watch", [this] { end(); }); });
    if (!options_.allow_bookmarks) return;
    if (std::chrono::seconds(seconds) >= kShortestWithLastBookmark) {
      last_bookmark_ = env_.reactor.after(std::chrono::seconds(seconds) - kLastBookmarkBefore,
                                          [this] { run_guarded("a bookmark", [this] { send_bookmark(false); }); });
    }
    schedule_bookmark();
  }

  void schedule_bookmark() {
    bookmark_ = env_.reactor.after(env_.options.bookmark_interval, [this] {
      run_guarded("a bookmark", [this] { send_bookmark(false); });
      if (!over_) schedule_bookmark();
    });
  }

  void deliver(const Change& change) {
    after_ = change.revision;
    if (!swept_ && change.key > swept_to_) return;
    const bool now = matches(change.key, *change.object);
    const bool before = change.previous && matches(change.key, *change.previous);
    if (change.type == ChangeType::kDeleted) {
      if (before) send("DELETED", change.object);
      return;
    }
    if (now && before) {
      send(change_name(ChangeType::kModified), change.object);
    } else if (now) {
      send("ADDED", change.object);
    } else if (before) {
      Json last = *change.previous->document();
      last["metadata"]["resourceVersion"] = std::to_string(change.revision);
      send("DELETED", std::make_shared<const StoredObject>(change.revision, std::move(last)));
    }
  }

  bool matches(const std::string& key, const StoredObject& object) {
    work_ += options_.work_of_matching(object);
    return list_matches(*call_, options_, key, object);
  }

  void send(const char* type, const StoredPtr& object) {
    if (protobuf_) {
      const bool partial = call_->form.shape == OutputShape::kPartialObjectMetadata;
      return send_event(type, partial ? partial_object(object->document()->at("metadata"), call_->form.shape_version)
                                      : object_document(*call_->kind, call_->gv(), *object));
    }
    std::string text;
    if (call_->form.shape == OutputShape::kTable) {
      auto table = make_table(
          env_,
          {*call_->kind, call_->gv(), call_->form.shape_version, call_->query.get("includeObject"), !columns_sent_},
          {object});
      columns_sent_ = true;
      if (table) text = compact_text(*table);
    } else if (call_->form.shape == OutputShape::kPartialObjectMetadata) {
      text = compact_text(partial_object(object->document()->at("metadata"), call_->form.shape_version));
    } else {
      text = object_text(*call_->kind, call_->gv(), *object, true);
    }
    send_line(type, text);
  }

  void send_event(const char* type, const Json& object) {
    if (!protobuf_) return send_line(type, compact_text(object));
    if (const auto answer = encode_protobuf_answer(object)) write(protobuf_watch_frame(type, *answer));
  }

  void send_line(const char* type, const std::string& object_text) {
    write(R"({"type":")" + std::string(type) + R"(","object":)" + object_text + "}\n");
  }

  void write(const std::string& event) {
    work_ += event.size();
    env_.watches.wrote(event.size());
    if (!call_->responder->write(event) && !over_) {
      over_ = true;
      leave();
    }
  }

  void send_bookmark(bool initial_end) {
    if (over_ || waiting_) return;  // a bookmark says that everything before it was sent
    Json metadata = {{"resourceVersion", std::to_string(env_.store.revision())}};
    if (initial_end) metadata["annotations"] = {{"k8s.io/initial-events-end", "true"}};
    Json object;
    if (call_->form.shape == OutputShape::kTable) {
      object = *make_table(env_, {*call_->kind, call_->gv(), call_->form.shape_version, "", !columns_sent_}, {});
      columns_sent_ = true;
      Json row = {{"cells", Json::array()}, {"object", partial_object(metadata, call_->form.shape_version)}};
      object["rows"].push_back(std::move(row));
      object["metadata"]["resourceVersion"] = metadata["resourceVersion"];
    } else if (call_->form.shape == OutputShape::kPartialObjectMetadata) {
      object = partial_object(metadata, call_->form.shape_version);
    } else {
      const ObjectType* type = builtin_schemas().find(call_->version->schema_package, call_->kind->info().kind);
      if (type != nullptr) object = zero_object(*type);
      object["kind"] = call_->kind->info().kind;
      object["apiVersion"] = call_->gv().text();
      object["metadata"] = metadata;
    }
    send_event("BOOKMARK", object);
  }

  void too_old(const std::string& revision) {
    Status s =
        gone("too old resource version: " + revision + " (" + std::to_string(env_.store.floor(call_->table())) + ")");
    send_event("ERROR", to_json(s));
    end();
  }

  // The hub has the last reference; it must not be released while a member function runs.
  void leave() {
    timeout_.cancel();
    bookmark_.cancel();
    last_bookmark_.cancel();
    if (listener_ != 0) env_.store.unlisten(call_->table(), std::exchange(listener_, 0));
    env_.reactor.post([hub = &env_.watches, self = shared_from_this()] { hub->remove(self.get()); });
  }

  Env env_;
  CallPtr call_;
  ListOptions options_;
  uint64_t after_ = 0;  // all changes up to this revision are delivered
  bool over_ = false;
  bool columns_sent_ = false;
  bool protobuf_ = false;
  bool swept_ = false;    // the initial state is sent
  std::string swept_to_;  // the last key of it that is
  bool marks_end_ = false;
  bool waiting_ = false;  // there is more, once the client has read
  MonoTime waiting_since_{};
  size_t work_ = 0;  // bytes written, and ListOptions::work_of_matching()
  uint64_t id_ = 0;
  uint64_t listener_ = 0;
  Handle timeout_;
  Handle bookmark_;
  Handle last_bookmark_;
};

void WatchHub::add(std::shared_ptr<WatchSession> session) {
  session->set_id(++last_id_);
  sessions_[last_id_] = std::move(session);
}
void WatchHub::remove(const WatchSession* session) {
  sessions_.erase(session->id());
}

void WatchHub::end_all() {
  const auto all = sessions_;
  for (const auto& [id, session] : all) session->end();
  sessions_.clear();
}

bool WatchHub::make_place(const std::string& user, size_t most, MonoTime now) {
  std::map<std::string, size_t> counts{{user, 0}};
  size_t all = 0;
  for (const auto& [id, session] : sessions_) {
    if (!session->has_connection()) continue;
    ++counts[session->user()];
    ++all;
  }
  if (all < most) return true;
  std::string largest = user;
  for (const auto& [name, count] : counts)
    if (count > counts[largest]) largest = name;
  std::shared_ptr<WatchSession> victim;
  for (const auto& [id, session] : sessions_) {
    if (!session->has_connection() || session->user() != largest) continue;
    const auto since = session->unread_since();
    if (!victim || (since && (!victim->unread_since() || *since < *victim->unread_since()))) victim = session;
  }
  const auto since = victim->unread_since();
  if (largest == user && (!since || now - *since < kReadsNothing)) return false;
  victim->end();
  return true;
}

bool WatchHub::writes_at_once(uint64_t revision) {
  if (change_ != revision) {
    change_ = revision;
    bytes_of_change_ = 0;
  }
  return bytes_of_change_ < kBytesOfChange;
}

void begin_watch(const Env& env, const CallPtr& call, ListOptions options) {
  if (call->form.shape == OutputShape::kTable) {
    if (auto ok = check_include_object(call->query.get("includeObject")); !ok) return send_status(*call, ok.error());
  }
  if (!call->request.remote.empty() &&
      !env.watches.make_place(call->user.name, env.options.max_watches, env.reactor.clock().mono_now()))
    return send_status(*call, too_many_requests("too many watches are open, please try again later"));
  auto session = std::make_shared<WatchSession>(env, call, std::move(options));
  env.watches.add(session);
  session->start();
}

}  // namespace dra::apiserver
