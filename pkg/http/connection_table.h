// ConnectionTable: chooses which connections a server closes when there are too many. Bookkeeping without sockets.
//
// A connection whose answer is still being made (kBusy) is never closed for another one. The others go in the order of
// Phase, the oldest first, and a peer over its limit loses its own connections. So a client that connects and sends its
// request at once, as a probe does, is served however many connections wait, send slowly or do not read.
//
// One thread, the server's.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

namespace dra::http {

// In the order in which connections are closed.
enum class Phase {
  kFresh,      // has not sent a whole request yet (TLS handshake included)
  kIdle,       // between two requests
  kReading,    // a request after the first has begun to arrive
  kAnswering,  // the answer is complete, the peer is reading it
  kBusy,       // waits for its answer, or receives a stream
};

class ConnectionTable {
 public:
  using Id = uint64_t;
  struct Limits {
    size_t total = 1024;
    size_t per_peer = 1024;
    size_t fresh = 128;
    size_t idle = 256;  // idle and reading together
    size_t answering = 1024;
    size_t received_bytes = size_t{24} << 20;  // of incomplete requests, in all connections
  };

  explicit ConnectionTable(Limits limits) : limits_(limits) {}

  // `peer` is an address without port.
  Id add(const std::string& peer);
  void remove(Id id);
  void enter(Id id, Phase phase);
  void set_received(Id id, size_t bytes);

  // After any of the calls above for `changed`: a connection to close so that the limits hold again, or `changed`
  // itself if nothing else can go. Close it, remove() it and ask again.
  std::optional<Id> excess(Id changed) const;
  // The connection to close first; nullopt if all are busy.
  std::optional<Id> first_to_go() const { return first_of(all_, 0); }
  size_t size() const { return entries_.size(); }

 private:
  static constexpr size_t kPhases = 5;
  // By the time at which they entered the phase.
  using Lists = std::array<std::set<std::pair<uint64_t, Id>>, kPhases>;
  struct Peer {
    Lists lists;
    size_t count = 0;
  };
  struct Entry {
    std::string peer;
    Phase phase = Phase::kFresh;
    uint64_t since = 0;
    size_t received = 0;
  };

  const std::set<std::pair<uint64_t, Id>>& in(Phase phase) const { return all_[static_cast<size_t>(phase)]; }
  // Among connections that are not busy and not `except`.
  static std::optional<Id> first_of(const Lists& lists, Id except);
  void unlist(Id id, const Entry& entry);
  void list(Id id, const Entry& entry);

  Limits limits_;
  std::unordered_map<Id, Entry> entries_;
  Lists all_;
  std::map<std::string, Peer> peers_;
  size_t received_ = 0;
  uint64_t ticks_ = 0;
};

}  // namespace dra::http
