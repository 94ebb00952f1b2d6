// ServerHandler: connects a client's in-process transport to an embedded API server without sockets. Neither side knows
// the other.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "client/transport/in_process.h"
#include "pkg/apiserver/server.h"

namespace dra::sandbox {

class ServerHandler : public client::RequestHandler {
 public:
  // The server must outlive the handler. The user agent, up to its first slash, names the writer in managedFields if a
  // request has no field manager.
  explicit ServerHandler(apiserver::Server& server, std::string user_agent = "dra-sandbox/in-process")
      : server_(server), user_agent_(std::move(user_agent)) {}
  void handle(const client::Request& request, const std::string& token,
              std::shared_ptr<client::ServerExchange> exchange) override;

 private:
  apiserver::Server& server_;
  const std::string user_agent_;
};

}  // namespace dra::sandbox
