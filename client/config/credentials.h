// Credentials: who this client is to the API server, from wherever they come.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "pkg/base/error.h"

namespace dra::client {

struct Credential {
  // The value of the Authorization header ("Bearer ..."); empty: none.
  std::string authorization;
  // PEM texts of a client certificate and its key; both or none.
  std::string certificate;
  std::string key;
  bool operator==(const Credential&) const = default;
};

// Belongs to the reactor's thread.
class CredentialSource {
 public:
  virtual ~CredentialSource() = default;
  // Calls back once, perhaps inside this call: with what is cached, or after it was read or made anew. Errors are
  // kUnauthenticated and say where the credentials should have come from.
  virtual void get(std::function<void(Result<Credential>)> done) = 0;
  // The server answered 401 to this credential: the next get() must not come from a cache that holds the same.
  virtual void rejected(const Credential& credential) = 0;
  // The program ends: whatever makes a credential is broken off, and each get() that waits for it fails soon.
  virtual void cancel() {}
};

// The same credential always.
std::shared_ptr<CredentialSource> fixed_credentials(Credential credential);

}  // namespace dra::client
