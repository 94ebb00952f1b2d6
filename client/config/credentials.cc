#include "client/config/credentials.h"

#include <utility>

namespace dra::client {
namespace {

class FixedCredentials : public CredentialSource {
 public:
  explicit FixedCredentials(Credential credential) : credential_(std::move(credential)) {}
  void get(std::function<void(Result<Credential>)> done) override { done(credential_); }
  void rejected(const Credential&) override {}

 private:
  Credential credential_;
};

}  // namespace

std::shared_ptr<CredentialSource> fixed_credentials(Credential credential) {
  return std::make_shared<FixedCredentials>(std::move(credential));
}

}  // namespace dra::client
