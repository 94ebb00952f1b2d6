// InProcessTransport: requests go to a handler in this process, over the reactor, without sockets.
//
// The handler's side is independent of this project's API server: the code that connects the two adapts one interface
// to the other.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "client/transport/transport.h"

namespace dra::client {

// The server's end of one request. Either respond() once, or open() once, write() any number of times, end() once. May
// be kept and used later on the reactor's thread; calls after the client has gone have no effect.
class ServerExchange {
 public:
  virtual ~ServerExchange() = default;
  virtual void respond(Response response) = 0;
  // Starts a streamed answer with this head (its body is ignored).
  virtual void open(Response head) = 0;
  virtual void write(std::string_view bytes) = 0;
  // Ends a streamed answer; an error cuts it instead of ending it in order.
  virtual void end() = 0;
  virtual void cut(Error error) = 0;
  // True if nobody waits for the answer any more.
  virtual bool gone() const = 0;
  // Called once if the client leaves before the end.
  virtual void on_gone(std::function<void()> callback) = 0;
};

class RequestHandler {
 public:
  virtual ~RequestHandler() = default;
  // `token`: the bearer token the transport was created with.
  virtual void handle(const Request& request, const std::string& token, std::shared_ptr<ServerExchange> exchange) = 0;
};

struct InProcessOptions {
  std::string bearer_token;
  Duration default_timeout = std::chrono::seconds(30);
};

class InProcessTransport : public Transport {
 public:
  // Both must outlive the transport and every exchange.
  InProcessTransport(Reactor& reactor, RequestHandler& handler, InProcessOptions options = {});
  Handle send(Request request, Done done) override;
  Handle stream(Request request, StreamCallbacks callbacks) override;

 private:
  Reactor& reactor_;
  RequestHandler& handler_;
  InProcessOptions options_;
};

}  // namespace dra::client
