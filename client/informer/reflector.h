// Reflector: keeps an ObjectStore equal to the server's list of one resource.
//
// It opens a WatchList (a watch that begins with the whole state); where the server refuses that, or three in a row
// break off before their end mark, it lists in pages and watches from there. It follows bookmarks; starts over on 410;
// waits as told on 429; takes a peer that is silent for 90 s for dead (an API server sends a bookmark a minute); and
// waits between failures with doubling, jittered delays. The first state and every relist is a consistent read, never
// one from an arbitrarily old cache (resourceVersion "0").
//
// Types that can be read in protobuf are asked for in protobuf. A server that does not offer it (406, or an answer in
// JSON) or sends what cannot be read is asked for JSON from then on: nothing of a broken answer is used.
//
// Belongs to the reactor's thread. All changes of the store happen in tasks of the reactor.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "client/informer/backoff.h"
#include "client/informer/object_store.h"
#include "client/informer/wire.h"
#include "client/rest/resource_path.h"
#include "client/transport/transport.h"

namespace dra::client {

// What is known of a server, shared by all reflectors that talk to it.
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
  // A WatchList that delivers nothing for so long before its end mark is given up for a plain list.
  Duration watch_list_patience = std::chrono::seconds(30);
  Duration list_timeout = std::chrono::seconds(60);
  // List bodies of at least this size are decoded on a worker thread.
  size_t offload_bytes = 64 * 1024;
  // More objects than this in one list end it with an error.
  size_t max_objects = 1'000'000;
  // A server that does not know the resource (404) has none of it: the store is empty then, and the server is asked
  // again after a back-off. Else nothing is known until the resource is there.
  bool may_be_absent = false;
};

// Counts since the start, for metrics.
struct ReflectorStats {
  uint64_t lists = 0;        // whole states received, by list or WatchList
  uint64_t watches = 0;      // streams opened
  uint64_t events = 0;       // events applied
  uint64_t expired = 0;      // 410s
  uint64_t failures = 0;     // rounds that ended in a back-off
  uint64_t undecodable = 0;  // objects that could not be read; what is known of them stays as it was
  MonoTime last_contact{};   // when the server was last heard
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
  // Leaves the store as it is. start() may follow.
  void stop();

  // Fetches the whole state anew, by a read that begins after this call; `done` runs once the store holds it. Several
  // calls in a row are served by one read, if it begins after the last of them.
  void refresh(std::function<void()> done);

  const ReflectorStats& stats() const { return stats_; }
  // The last failure, until the next success; for health checks and messages.
  const std::string& trouble() const { return trouble_; }
  // The server is asked for protobuf, and has answered so as far as it has answered.
  bool protobuf() const { return protobuf_; }
  // The state is empty because the server does not know the resource (ReflectorOptions::may_be_absent).
  bool absent() const { return absent_; }

  // Objects whose present state could not be read, by key ("": one without a name), and why. The store keeps what it
  // knew of them, or nothing: it is not the server's state until they are readable or gone.
  const std::map<std::string, std::string>& unreadable() const { return unreadable_; }
  // Called when unreadable() has changed, before any handler of the store is told of later changes.
  void on_unreadable(std::function<void()> handler) { unreadable_changed_ = std::move(handler); }

 private:
  // Each begins one kind of request and returns; what is under way lives in call_ and timer_.
  void begin_state();
  void open_watch_list();
  void begin_list();
  void list_page(const std::string& continue_token);
  void page_arrived(Result<EntryPage> page);
  void open_watch();
  void open_stream(Query particular, Duration patience);

  void on_message(std::string_view message);
  void on_initial_event(WatchEvent event);
  void on_watch_event(WatchEvent event);
  void on_error_event(const WatchEvent& event);
  void on_stream_end(Result<Response> result);
  void on_watch_list_refused(const Error& error);
  void on_watch_refused(const Error& error);
  void on_list_failed(const Error& error);
  void state_failed(const Error& error);

  Result<Entry> decode(const WatchEvent& event) const;
  // What the server sends of this resource from now on. The state or the stream is begun again by the caller.
  void use_json(const Error& why);
  // True when the server was asked for protobuf and does not have it; it is asked for JSON from now on.
  bool refuses_protobuf(const Error& error);
  void heard_content_type(std::string_view content_type);
  void cannot_read(const WatchEvent& event, const Error& error);
  void set_unreadable(std::map<std::string, std::string> now);
  // What the store knows of unreadable objects goes on in the new state.
  void keep_unreadable(std::vector<Entry>& entries) const;
  void install(std::vector<Entry> entries, uint64_t revision, bool absent = false);
  void relist_expired();
  // Waits, then does `next` (begin_state or open_watch).
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
  bool protobuf_ = false;  // what to ask for
  // Distinguishes what is under way now from answers of calls that were given up.
  uint64_t generation_ = 0;
  Handle call_;
  Handle timer_;
  MonoTime opened_at_{};
  bool stream_open_ = false;
  uint64_t opened_from_ = 0;  // the store's revision then
  // WatchLists that were accepted and broke off before their end mark, in a row: something on the way cuts long
  // streams, pages are shorter. Of this resource only: others' states may be small enough.
  int broken_watch_lists_ = 0;
  int brief_streams_ = 0;
  int silent_streams_ = 0;  // in a row, without a message
  MonoTime expired_at_{};
  bool collecting_ = false;  // in the first part of a WatchList
  bool state_exact_ = true;  // the next whole state must be a consistent read (resourceVersion unset)
  bool unpaged_ = false;     // the continue token expired: list everything at once
  std::map<std::string, Entry> collected_;
  std::map<std::string, std::string> collected_unreadable_;
  std::map<std::string, std::string> unreadable_;
  std::function<void()> unreadable_changed_;
  uint64_t paged_revision_ = 0;
  std::vector<std::function<void()>> waiting_;  // refresh() callbacks for the state under way
};

}  // namespace dra::client
