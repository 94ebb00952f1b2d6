// Credentials: how this client authenticates to the API server, whatever their source.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "pkg/base/error.h"

namespace dra::client {

struct Credential {
  // The value of the Authorization header ("Bearer ..."); empty: none.
  std::string authorization;
  // PEM texts of a client certificate and its key; both or neither.
  std::string certificate;
  std::string key;
  bool operator==(const Credential&) const = default;
};

// Belongs to the reactor's thread.
class CredentialSource {
 public:
  virtual ~CredentialSource() = default;
  // Calls back once, perhaps inside this call, with the cached credential or with one just read or produced. Errors are
  // kUnauthenticated and name the source of the credentials.
  virtual void get(std::function<void(Result<Credential>)> done) = 0;
  // The server answered 401 to this credential: the next get() must not return the same one from a cache.
  virtual void rejected(const Credential& credential) = 0;
  // The program is ending: stops any run that produces a credential; each get() waiting for it fails soon.
  virtual void cancel() {}
};

// Always returns the same credential.
std::shared_ptr<CredentialSource> fixed_credentials(Credential credential);

}  // namespace dra::client
