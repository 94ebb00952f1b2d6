// Session: one connection of a server, as the server and the handler's Responder see it. ServerState: what all sessions
// of a server share. Neither knows of sockets: socket_session.h has those.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "pkg/base/clock.h"
#include "pkg/http/connection_table.h"
#include "pkg/http/message.h"
#include "pkg/http/server.h"
#include "pkg/http/turns.h"

namespace dra::http {

class Session;

struct ServerState {
  explicit ServerState(ServerOptions o);

  // Closes connections until the limits hold again.
  void settle(ConnectionTable::Id changed);
  void give_up(ConnectionTable::Id id);
  // Cuts off peers until what is to be sent is within its limits.
  void settle_unsent();
  // Some stream is being sent to a peer that reads it.
  bool stream_makes_progress() const;

  ServerOptions options;
  Handler handler;
  std::shared_ptr<Turns> turns;
  const Clock* clock = nullptr;
  bool cut_off_slowest(bool of_streams);
  ConnectionTable table;
  std::map<ConnectionTable::Id, Session*> sessions;        // all live sessions, including those given up
  size_t sending_streams = 0;                              // streams with much to send
  size_t unsent = 0;                                       // bytes
  size_t unsent_of_streams = 0;                            // those of them that streams have
  std::chrono::steady_clock::time_point stream_sent_at{};  // when the system last took something that a stream sent
};

class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(std::shared_ptr<ServerState> server, const std::string& peer);
  virtual ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  virtual void start() = 0;
  virtual void close() = 0;
  // Closes it for a server that ends: lives on only in its handlers, which the reactor may never run.
  virtual void abandon() = 0;
  // Since when the peer has not taken what is being sent; nullopt: it is not much, which for a stream among many is
  // less.
  virtual std::optional<std::chrono::steady_clock::time_point> lagging_since(bool as_stream) const = 0;
  // Drops what is to be sent, and hangs up in a later task.
  virtual void cut_off_peer() = 0;
  ConnectionTable::Id place() const { return place_; }

  // The Responder's side. `id` distinguishes answers to this request from late ones to an earlier request.
  virtual void send(uint64_t id, Response response) = 0;
  virtual void begin_stream(uint64_t id, Response head) = 0;
  virtual bool write(uint64_t id, std::string_view piece) = 0;
  virtual void end(uint64_t id) = 0;
  virtual size_t buffered(uint64_t id) const = 0;
  virtual void when_accepted(uint64_t id, std::function<void()> next) = 0;
  virtual void in_turn(uint64_t id, std::function<void()> next) = 0;
  virtual void on_close(uint64_t id, std::function<void()> callback) = 0;

 protected:
  // May close connections, this one included.
  void enter(Phase phase);

  std::shared_ptr<ServerState> server_;
  const ConnectionTable::Id place_;
};

// The handler's reference to one exchange of a session. It does not keep the connection open. If it is destroyed
// without an answer, the peer gets a 500.
std::shared_ptr<Responder> make_responder(std::weak_ptr<Session> session, uint64_t exchange);

}  // namespace dra::http
