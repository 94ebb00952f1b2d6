// MeteredTransport: another transport with rest_client_* metrics in front of it.
#pragma once

#include <string>

#include "client/transport/transport.h"
#include "pkg/manager/instruments.h"

namespace dra::manager {

class MeteredTransport : public client::Transport {
 public:
  // All must outlive this.
  MeteredTransport(client::Transport& inner, Instruments& instruments, const Clock& clock, std::string host)
      : inner_(inner), instruments_(instruments), clock_(clock), host_(std::move(host)) {}
  Handle send(client::Request request, Done done) override;
  Handle stream(client::Request request, client::StreamCallbacks callbacks) override;

 private:
  client::Transport& inner_;
  Instruments& instruments_;
  const Clock& clock_;
  std::string host_;
};

}  // namespace dra::manager
