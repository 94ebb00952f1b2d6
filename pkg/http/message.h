// HTTP messages, and the interface through which a handler answers. No sockets here: the same handler serves the
// network (server.h) and an in-process transport that implements Responder itself.
//
// Everything happens on the reactor's thread.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dra::http {

// Header fields in the order received or to be sent; names compare case-insensitively.
class Headers {
 public:
  void add(std::string name, std::string value) { fields_.emplace_back(std::move(name), std::move(value)); }
  // The first value of that name, "" when absent.
  std::string_view get(std::string_view name) const;
  bool has(std::string_view name) const;
  const std::vector<std::pair<std::string, std::string>>& fields() const { return fields_; }

 private:
  std::vector<std::pair<std::string, std::string>> fields_;
};

struct Request {
  std::string method;  // "GET"
  std::string target;  // origin form, still percent-encoded: "/api/v1/pods?limit=5"
  Headers headers;
  std::string body;
  // The body was longer than the server's limit; `body` is empty then.
  bool body_too_large = false;
  std::string remote;  // "127.0.0.1:50412", "" in process
};

struct Response {
  int status = 200;
  Headers headers;  // the server sets Content-Length, Transfer-Encoding, Date and Connection
  std::string body;
};

// The answer to one request. Exactly one of send() and begin_stream() is called, once. If the last reference is dropped
// without either, the server answers 500.
class Responder {
 public:
  virtual ~Responder() = default;

  virtual void send(Response response) = 0;

  // Sends the head immediately; the body follows in pieces, each flushed immediately, until end().
  virtual void begin_stream(Response head) = 0;
  // Appends to the stream; returns false and drops the piece if the peer is gone. Data the peer does not read is
  // buffered: check buffered().
  virtual bool write(std::string_view piece) = 0;
  virtual void end() = 0;
  // Bytes written but not yet accepted by the peer.
  virtual size_t buffered() const = 0;
  // For a stream with much to send: calls `next` once, later, when the peer has accepted most of what was written and
  // it is the turn of this request's flow (turns.h). Never, if the peer is gone. False: the answer has no such moment,
  // because it is not sent over a network; write on.
  virtual bool when_accepted(std::function<void()> /*next*/) { return false; }
  // For an answer that takes long to make: calls `next` once, later, when it is the turn of this request's flow again.
  // Never, if the connection is gone. False: there are no turns; go on.
  virtual bool in_turn(std::function<void()> /*next*/) { return false; }
  // Called once if the peer disconnects before the answer is complete. Not called after end() or send().
  virtual void on_close(std::function<void()> callback) = 0;
};

using Handler = std::function<void(Request, std::shared_ptr<Responder>)>;

// "Not Found" for 404; "" for codes without a standard text.
std::string_view reason_phrase(int status);

}  // namespace dra::http
