// TlsMaterial: a certificate authority, a server certificate and a client certificate created for one test run.
#pragma once

#include <string>

namespace dra::client::testing {

struct TlsMaterial {
  std::string ca;  // PEM
  std::string server_certificate;
  std::string server_key;
  std::string client_certificate;
  std::string client_key;
};

// The server certificate is valid for `server_name` (a DNS name) and the address 127.0.0.1.
TlsMaterial make_tls_material(const std::string& server_name);

}  // namespace dra::client::testing
