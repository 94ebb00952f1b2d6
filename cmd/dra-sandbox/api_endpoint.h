// The API server on a port, with its kubeconfig: what `apiserver` and `up` have in common.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "pkg/apiserver/server.h"
#include "pkg/http/server.h"
#include "pkg/reactor/asio_reactor.h"

namespace CLI {
class App;
}

namespace dra::sandbox_program {

struct EndpointOptions {
  std::string bind_address = "127.0.0.1";
  uint16_t port = 0;
  std::string token;  // of the administrator; if it is empty, start() makes a random one
  std::string certificate_file;
  std::string key_file;
  std::string kubeconfig_file;
  std::string data_dir;
  std::string runtime_config;
  std::string kubernetes_version;  // the release that is served: "1.37"; empty: 1.36
  std::string feature_gates;       // of the server and of a manager beside it
  bool pod_groups = false;         // apiserver::ServerOptions; --api-versions and --runtime-config can override it
  bool only_stable_versions = false;
  apiserver::AuthorizationMode authorization = apiserver::AuthorizationMode::kRbac;
};
// Adds --bind-address, --port, --token, --cert, --key, --kubeconfig, --data-dir, --authorization-mode, --api-versions,
// --runtime-config, --kubernetes-version and --feature-gates.
void add_endpoint_flags(CLI::App& app, EndpointOptions& options);

// What --runtime-config says: "GROUP/VERSION", and whether it is served. Errors name the item that cannot be read.
Result<std::vector<std::pair<std::string, bool>>> parse_runtime_config(const std::string& text);

class ApiEndpoint {
 public:
  // Starts the server and writes the kubeconfig. `reactor` and `random` must outlive the endpoint.
  static Result<std::unique_ptr<ApiEndpoint>> start(AsioReactor& reactor, Random& random, EndpointOptions options,
                                                    bool housekeeping);
  // Ends watches in order and closes all connections.
  ~ApiEndpoint();

  apiserver::Server& server() { return *server_; }
  const std::string& url() const { return url_; }  // "https://127.0.0.1:6443"
  const std::string& certificate_pem() const { return certificate_pem_; }
  const std::string& token() const { return token_; }  // the administrator's

 private:
  ApiEndpoint() = default;
  // Checks the files once a minute.
  void reload_later(AsioReactor& reactor, const EndpointOptions& options);

  std::string url_;
  std::string certificate_pem_;
  std::string token_;
  std::unique_ptr<apiserver::Server> server_;
  std::unique_ptr<http::Server> listener_;
  Handle reload_;
};

}  // namespace dra::sandbox_program
