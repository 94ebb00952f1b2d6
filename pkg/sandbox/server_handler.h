// ServerHandler: lets a client's in-process transport talk to an embedded API server, without sockets. Neither side
// knows the other.
#pragma once

#include <memory>
#include <string>

#include "client/transport/in_process.h"
#include "pkg/apiserver/server.h"

namespace dra::sandbox {

class ServerHandler : public client::RequestHandler {
 public:
  // The server must outlive the handler.
  explicit ServerHandler(apiserver::Server& server) : server_(server) {}
  void handle(const client::Request& request, const std::string& token,
              std::shared_ptr<client::ServerExchange> exchange) override;

 private:
  apiserver::Server& server_;
};

}  // namespace dra::sandbox
