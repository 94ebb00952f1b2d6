// ServerConfig: which API server, how to trust it, and how to authenticate to it.
#pragma once

#include <memory>
#include <string>

#include "client/config/credentials.h"

namespace dra::client {

struct ServerConfig {
  // "https://host:port", optionally with a path in front of /api; no trailing slash.
  std::string server;
  // PEM; empty: the system's certificate authorities.
  std::string certificate_authority;
  // Do not verify the server's certificate.
  bool insecure = false;
  // The name the server's certificate must have, if not the host of `server`.
  std::string tls_server_name;
  // Empty: the environment decides (HTTPS_PROXY, NO_PROXY). Never used for a loopback address.
  std::string proxy_url;
  // The namespace of the context; "default" if it has none.
  std::string default_namespace = "default";
  // The user that requests are made as (kubectl's --as); empty: who the credentials say. One line.
  std::string as_user;
  // Null: anonymous.
  std::shared_ptr<CredentialSource> credentials;
  // The source of this configuration, for messages: "context \"x\" of /home/a/.kube/config".
  std::string origin;
};

}  // namespace dra::client
