// Reflector: keeps an ObjectStore equal to the server's list of one resource.
//
// It opens a WatchList (a watch that begins with the complete state). If the server refuses that, or three in a row end
// before their end mark, it lists in pages and watches from there. It follows bookmarks, starts over on 410, obeys
// Retry-After on 429, treats a peer silent for 90 s as dead (an API server sends a bookmark a minute), and waits after
// failures with doubling, jittered delays. The first state and every relist is a consistent read, never one from an
// arbitrarily old cache (resourceVersion "0").
//
// Types that have a protobuf decoder are requested in protobuf. If the server does not offer it (406, or an answer in
// JSON) or sends something unreadable (or a field without a name here), requests use JSON from then on.
//
// Belongs to the reactor's thread. The store changes only in tasks of the reactor.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/informer/backoff.h"
#include "client/informer/object_store.h"
#include "client/informer/wire.h"
#include "client/rest/resource_path.h"
#include "client/transport/transport.h"

namespace dra::client {

// What is known about a server, shared by all reflectors that use it.
struct ServerTraits {
  bool watch_list_refused = false;
};

struct ReflectorOptions {
  Resource resource;
  std::string ns;  // empty: all namespaces
  std::string label_selector;
  std::string field_selector;
  size_t page_size = 500;
  Duration silent_peer = std::chrono::seconds(90);
  // A WatchList that delivers nothing for this long before its end mark is replaced by a plain list.
  Duration watch_list_patience = std::chrono::seconds(30);
  Duration list_timeout = std::chrono::seconds(60);
  // Lists and watch messages of at least this size are decoded on worker threads: some objects of the largest size take
  // 40 ms. The messages after one wait for it.
  size_t offload_bytes = 64 * 1024;
  // No more of a watch is read while messages of this size together wait.
  size_t max_waiting_bytes = 8 << 20;
  // A list with more objects than this fails.
  size_t max_objects = 1'000'000;
  // If set, a resource the server does not know (404) is empty: the store is empty and the server is asked again after
  // a back-off. Otherwise the store stays unsynced until the resource exists.
  bool may_be_absent = false;
};

// Counters since the start, for metrics.
struct ReflectorStats {
  uint64_t lists = 0;        // complete states received, by list or WatchList
  uint64_t watches = 0;      // streams opened
  uint64_t events = 0;       // events applied
  uint64_t expired = 0;      // 410s
  uint64_t failures = 0;     // attempts that ended in a back-off
  uint64_t undecodable = 0;  // unreadable objects; their last known state stays
};

class Reflector {
 public:
  // Everything must outlive the reflector.
  Reflector(Reactor& reactor, Transport& transport, Random& random, ObjectType type, ObjectStore& store,
            ReflectorOptions options, std::shared_ptr<ServerTraits> traits = nullptr);
  ~Reflector();
  Reflector(const Reflector&) = delete;
  Reflector& operator=(const Reflector&) = delete;

  void start();
  // Leaves the store unchanged. start() may follow.
  void stop();

  // Fetches the complete state with a read that begins after this call; `done` runs once the store contains it. One
  // read serves several calls if it begins after the last of them.
  void refresh(std::function<void()> done);

  const ReflectorStats& stats() const { return stats_; }
  // The last failure, cleared by the next success; for health checks and messages.
  const std::string& trouble() const { return trouble_; }
  // Requests ask for protobuf, and no answer so far was in another format.
  bool protobuf() const { return protobuf_; }
  // The state is empty because the server does not know the resource (ReflectorOptions::may_be_absent).
  bool absent() const { return absent_; }

  // Objects whose current state could not be read, by key ("": no readable name), and why. The store keeps their last
  // known state, if any: it does not match the server until they are readable or gone.
  const std::map<std::string, std::string>& unreadable() const { return unreadable_; }
  // Called when unreadable() has changed, before the store reports any later change.
  void on_unreadable(std::function<void()> handler) { unreadable_changed_ = std::move(handler); }

 private:
  // Each starts one kind of request and returns; the pending work lives in call_ and timer_.
  void begin_state();
  void open_watch_list();
  void begin_list();
  void list_page(const std::string& continue_token);
  void page_arrived(Result<EntryPage> page);
  void open_watch();
  void open_stream(Query particular, Duration patience);

  struct Message;
  static Message read(const ObjectType& type, std::string_view text);
  // Like read(). An object that the store has in the same version is not decoded: most are, in a state that is read
  // again, and those that we wrote ourselves.
  Message read_news(std::string_view text) const;
  static Result<Entry> decode(const ObjectType& type, const WatchEvent& event);
  // Runs `work` on a worker, and then `then` with its result, unless the calls were dropped meanwhile.
  template <class T>
  void in_background(std::function<T()> work, std::function<void(T)> then);
  void on_text(std::string text, const Hold& hold);
  // Takes messages in their order, up to the first one that a worker has not decoded yet.
  void take_messages();
  void on_message(Message message);
  void on_initial_event(WatchEvent event, Result<Entry> entry);
  // One object of a complete state that is being read.
  void collect(Entry entry);
  void on_watch_event(WatchEvent event, Result<Entry> entry);
  void on_bookmark(const WatchEvent& event);
  void on_error_event(const WatchEvent& event);
  void on_stream_end(Result<Response> result);
  void on_watch_list_refused(const Error& error);
  void list_from_now_on();
  void on_watch_refused(const Error& error);
  void on_list_failed(const Error& error);
  void state_failed(const Error& error);

  // From now on the server sends JSON for this resource. The caller restarts the state or the watch.
  void use_json(const Error& why);
  // True if the server was asked for protobuf and lacks it; from now on requests ask for JSON.
  bool refuses_protobuf(const Error& error);
  void heard_content_type(std::string_view content_type);
  void cannot_read(const WatchEvent& event, const Error& error);
  void set_unreadable(std::map<std::string, std::string> now);
  // Carries the last known state of unreadable objects over into the new state.
  void keep_unreadable(ObjectStore::Objects& state) const;
  void install(ObjectStore::Objects state, uint64_t revision, bool absent = false);
  void relist_expired();
  // Waits, then calls `next` (begin_state or open_watch).
  void retry_later(const Error& error, void (Reflector::*next)());
  void arm_silence(Duration limit);
  void drop_calls();
  Query base_query() const;
  std::string what(const char* verb) const;

  Reactor& reactor_;
  Transport& transport_;
  Random& random_;
  ObjectType type_;
  ObjectStore& store_;
  ReflectorOptions options_;
  std::shared_ptr<ServerTraits> traits_;
  Backoff backoff_;
  ReflectorStats stats_;
  std::string trouble_;
  bool absent_ = false;

  bool running_ = false;
  bool protobuf_ = false;  // which format to request
  // Distinguishes the current calls from answers to abandoned ones.
  uint64_t generation_ = 0;
  const std::shared_ptr<const bool> alive_ = std::make_shared<const bool>(true);  // for what workers bring back
  Handle call_;
  Handle timer_;
  MonoTime opened_at_{};
  bool stream_open_ = false;
  uint64_t opened_from_ = 0;  // the store's revision at that time
  // Consecutive WatchLists that were accepted and ended before their end mark: something in between cuts long streams;
  // pages are shorter. Counted per resource, because other states may be small enough.
  int broken_watch_lists_ = 0;
  int brief_streams_ = 0;
  int silent_streams_ = 0;  // consecutive streams without a message
  MonoTime expired_at_{};
  // Of the current stream: messages that a worker decodes and those after them, and the end after all of them.
  struct Waiting;
  std::deque<std::shared_ptr<Waiting>> messages_;
  size_t waiting_bytes_ = 0;
  Resume resume_;  // set while no more is read
  std::optional<Result<Response>> end_;
  bool taking_later_ = false;
  bool collecting_ = false;  // in the initial part of a WatchList
  bool state_exact_ = true;  // the next complete state must be a consistent read (resourceVersion unset)
  bool unpaged_ = false;     // the continue token expired: list everything in one request
  ObjectStore::Objects collected_;
  bool has_known_ = false;  // some of them are the store's own
  bool whole_ = false;      // every object is read, because the last state was older than the store
  std::map<std::string, std::string> collected_unreadable_;
  std::map<std::string, std::string> unreadable_;
  std::function<void()> unreadable_changed_;
  uint64_t paged_revision_ = 0;
  std::vector<std::function<void()>> waiting_;  // refresh() callbacks waiting for the current read
};

}  // namespace dra::client
