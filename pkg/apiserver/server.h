// The embedded API server: a function from HTTP requests to answers over a Store, on one reactor.
//
// It has no sockets of its own. pkg/http delivers requests from the network; an in-process transport calls handle()
// itself. With a simulated reactor and a seeded Random every run is the same, bit for bit.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "pkg/apiserver/model/kind.h"
#include "pkg/apiserver/options.h"
#include "pkg/apiserver/store/store.h"
#include "pkg/base/error.h"
#include "pkg/http/message.h"
#include "pkg/reactor/reactor.h"

namespace dra::apiserver {

// The administrator, in system:masters, under this token.
std::map<std::string, UserInfo> admin_token(const std::string& token);

class Server {
 public:
  // All references must outlive the server. Creates the namespaces default, kube-system, kube-public, kube-node-lease.
  Server(Reactor& reactor, Random& random, ServerOptions options);
  // As above with persistence. Errors name the directory or file and what is wrong with it.
  static Result<std::unique_ptr<Server>> create(Reactor& reactor, Random& random, ServerOptions options);
  ~Server();

  // Answers one request, at once or (watches, waits) over time. Never throws.
  void handle(http::Request request, std::shared_ptr<http::Responder> responder);

  Store& store();
  const KindRegistry& kinds() const;
  // The number of open watches, for tests and metrics.
  size_t watches() const;
  // Ends all watches in order, as at a shutdown.
  void end_watches();

  struct Impl;

 private:
  explicit Server(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace dra::apiserver
