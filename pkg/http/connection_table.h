// ConnectionTable: which connections a server keeps when there are too many. Plain bookkeeping without sockets.
//
// A connection that is being answered is never given up for another one. Of the others the oldest goes first, and a
// peer that has too many pays with its own: whoever connects and asks at once, as a probe does, is served, however
// many connections wait, send slowly or take nothing.
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

// In the order in which connections are given up.
enum class Phase {
  kFresh,      // has not sent a whole request yet (TLS handshake included)
  kIdle,       // between two requests
  kReading,    // a request after the first has begun to arrive
  kAnswering,  // the answer is complete, the peer is taking it
  kBusy,       // waits for its answer, or gets a stream
};

class ConnectionTable {
 public:
  using Id = uint64_t;
  struct Limits {
    size_t total = 1024;
    size_t per_peer = 1024;
    size_t fresh = 128;
    size_t idle = 256;  // or reading
    size_t answering = 1024;
    size_t received_bytes = size_t{24} << 20;  // of requests that are not complete yet, in all
  };

  explicit ConnectionTable(Limits limits) : limits_(limits) {}

  // `peer` is an address without port.
  Id add(const std::string& peer);
  void remove(Id id);
  void enter(Id id, Phase phase);
  void set_received(Id id, size_t bytes);

  // A connection that must be closed so that the limits hold again, after any of the calls above for `changed`;
  // `changed` itself when nothing else can go. Close it, remove() it and ask again.
  std::optional<Id> excess(Id changed) const;
  // The one that would go first; nothing when all are busy.
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
  // Of those that are not busy and not `except`.
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
