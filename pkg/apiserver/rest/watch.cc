#include "pkg/apiserver/rest/watch.h"

#include <nlohmann/json.hpp>

#include "pkg/apiserver/codec/codec.h"
#include "pkg/apiserver/codec/protobuf_answer.h"
#include "pkg/apiserver/guard.h"
#include "pkg/apiserver/json_text.h"

namespace dra::apiserver {

namespace {

// A bookmark just before the end lets the client resume cheaply, if the watch is long enough to be worth it.
constexpr std::chrono::seconds kLastBookmarkBefore{2};
constexpr std::chrono::seconds kShortestWithLastBookmark{10};
constexpr int64_t kMaxTimeoutSeconds = 24 * 3600;

// The initial state is sent in portions of this many objects, so that other requests have their turns meanwhile, and as
// its peer reads it.
constexpr size_t kInitialPortion = 200;

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
    if (!initial && !from_now_on) {
      if (options_.revision < env_.store.floor(call_->table())) {
        too_old(options_.resource_version);
        return;
      }
      after_ = options_.revision;
      for (const auto& change : env_.store.changes_since(call_->table(), after_)) deliver(*change);
    } else {
      after_ = env_.store.revision();
      if (initial) {
        for_each_in_scope(*call_, env_.store.objects(call_->table()), [&](const std::string& key, const StoredPtr& o) {
          if (list_matches(*call_, options_, key, *o)) initial_.push_back(o);
          return true;
        });
      }
      marks_end_ = options_.send_initial_events.value_or(initial) && options_.allow_bookmarks;
      return send_initial();
    }
    follow();
  }

  // The rest of the initial state. Then the changes since it was taken, if the store still has them.
  void send_initial() {
    while (next_initial_ < initial_.size() && !over_) {
      send("ADDED", std::exchange(initial_[next_initial_++], nullptr));
      if (next_initial_ % kInitialPortion == 0 && next_initial_ < initial_.size() && !over_ && goes_on_later()) return;
    }
    if (over_) return;
    std::vector<StoredPtr>().swap(initial_);
    if (marks_end_) send_bookmark(true, after_);
    if (after_ < env_.store.floor(call_->table())) return too_old(std::to_string(after_));
    for (const auto& change : env_.store.changes_since(call_->table(), after_)) deliver(*change);
    follow();
  }

  bool goes_on_later() {
    return call_->responder->when_accepted([weak = weak_from_this()] {
      const auto self = weak.lock();
      if (self && !run_guarded("a watch", [&] { self->send_initial(); })) self->end();
    });
  }

  void follow() {
    if (over_) return;
    listener_ = env_.store.listen(call_->table(), [this](const ChangePtr& change) {
      // A watch that lost an event must end: its client lists again.
      if (!run_guarded("a watch", [&] { deliver(*change); })) end();
    });
    start_timers();
  }

  void end() {
    if (over_) return;
    over_ = true;
    call_->responder->end();
    leave();
  }

 private:
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
    if (over_ || change.revision <= after_) return;
    after_ = change.revision;
    const bool now = list_matches(*call_, options_, change.key, *change.object);
    const bool before = change.previous && list_matches(*call_, options_, change.key, *change.previous);
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
    if (!call_->responder->write(event) && !over_) {
      over_ = true;
      leave();
    }
  }

  void send_bookmark(bool initial_end) { send_bookmark(initial_end, env_.store.revision()); }

  void send_bookmark(bool initial_end, uint64_t revision) {
    if (over_) return;
    Json metadata = {{"resourceVersion", std::to_string(revision)}};
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
  // The initial state, and what of it is sent.
  std::vector<StoredPtr> initial_;
  size_t next_initial_ = 0;
  bool marks_end_ = false;
  uint64_t listener_ = 0;
  Handle timeout_;
  Handle bookmark_;
  Handle last_bookmark_;
};

void WatchHub::add(std::shared_ptr<WatchSession> session) {
  sessions_[session.get()] = std::move(session);
}
void WatchHub::remove(const WatchSession* session) {
  sessions_.erase(session);
}

void WatchHub::end_all() {
  const auto all = sessions_;
  for (const auto& [key, session] : all) session->end();
  sessions_.clear();
}

void begin_watch(const Env& env, const CallPtr& call, ListOptions options) {
  if (call->form.shape == OutputShape::kTable) {
    if (auto ok = check_include_object(call->query.get("includeObject")); !ok) return send_status(*call, ok.error());
  }
  auto session = std::make_shared<WatchSession>(env, call, std::move(options));
  env.watches.add(session);
  session->start();
}

}  // namespace dra::apiserver
