#include "pkg/http/connection_table.h"

namespace dra::http {

ConnectionTable::Id ConnectionTable::add(const std::string& peer) {
  const Id id = ++ticks_;
  const Entry& entry = entries_.emplace(id, Entry{peer, Phase::kFresh, id, 0}).first->second;
  ++peers_[peer].count;
  list(id, entry);
  return id;
}

void ConnectionTable::remove(Id id) {
  const auto found = entries_.find(id);
  if (found == entries_.end()) return;
  unlist(id, found->second);
  received_ -= found->second.received;
  const auto peer = peers_.find(found->second.peer);
  if (--peer->second.count == 0) peers_.erase(peer);
  entries_.erase(found);
}

void ConnectionTable::enter(Id id, Phase phase) {
  const auto found = entries_.find(id);
  if (found == entries_.end()) return;
  Entry& entry = found->second;
  unlist(id, entry);
  entry.phase = phase;
  entry.since = ++ticks_;
  list(id, entry);
}

void ConnectionTable::set_received(Id id, size_t bytes) {
  const auto found = entries_.find(id);
  if (found == entries_.end()) return;
  received_ += bytes - found->second.received;
  found->second.received = bytes;
}

std::optional<ConnectionTable::Id> ConnectionTable::excess(Id changed) const {
  const auto found = entries_.find(changed);
  if (found == entries_.end()) return std::nullopt;
  const Peer& peer = peers_.at(found->second.peer);
  if (peer.count > limits_.per_peer) return first_of(peer.lists, changed).value_or(changed);
  if (entries_.size() > limits_.total) return first_of(all_, changed).value_or(changed);
  const auto& fresh = in(Phase::kFresh);
  if (fresh.size() > limits_.fresh) return fresh.begin()->second;
  const auto& idle = in(Phase::kIdle);
  const auto& reading = in(Phase::kReading);
  if (idle.size() + reading.size() > limits_.idle) return (idle.empty() ? reading : idle).begin()->second;
  const auto& answering = in(Phase::kAnswering);
  if (answering.size() > limits_.answering) return answering.begin()->second;
  if (received_ <= limits_.received_bytes) return std::nullopt;
  for (const Phase phase : {Phase::kReading, Phase::kFresh}) {
    for (const auto& [since, id] : in(phase)) {
      if (entries_.at(id).received > 0) return id;
    }
  }
  return changed;
}

std::optional<ConnectionTable::Id> ConnectionTable::first_of(const Lists& lists, Id except) {
  for (size_t phase = 0; phase < static_cast<size_t>(Phase::kBusy); ++phase) {
    for (const auto& [since, id] : lists[phase]) {
      if (id != except) return id;
    }
  }
  return std::nullopt;
}

void ConnectionTable::unlist(Id id, const Entry& entry) {
  const auto phase = static_cast<size_t>(entry.phase);
  all_[phase].erase({entry.since, id});
  peers_.at(entry.peer).lists[phase].erase({entry.since, id});
}

void ConnectionTable::list(Id id, const Entry& entry) {
  const auto phase = static_cast<size_t>(entry.phase);
  all_[phase].emplace(entry.since, id);
  peers_.at(entry.peer).lists[phase].emplace(entry.since, id);
}

}  // namespace dra::http
