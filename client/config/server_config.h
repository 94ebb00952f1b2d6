// ServerConfig: which API server, how to trust it, and who we are to it.
#pragma once

#include <memory>
#include <string>

#include "client/config/credentials.h"

namespace dra::client {

struct ServerConfig {
  // "https://host:port", perhaps with a path in front of /api; no slash at the end.
  std::string server;
  // PEM; empty: the system's certificate authorities.
  std::string certificate_authority;
  // Do not verify the server's certificate.
  bool insecure = false;
  // The name the server's certificate must have, when it is not the host of `server`.
  std::string tls_server_name;
  // Empty: what the environment says (HTTPS_PROXY, NO_PROXY); never for a loopback address.
  std::string proxy_url;
  // The namespace of the context, "default" when it has none.
  std::string default_namespace = "default";
  // Null: anonymous.
  std::shared_ptr<CredentialSource> credentials;
  // Where all this came from, for messages: "context \"x\" of /home/a/.kube/config".
  std::string origin;
};

}  // namespace dra::client
