// SimControlPlane: the embedded API server (with garbage collection) on a simulated clock. The same seed gives the same
// run, bit for bit.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "client/transport/in_process.h"
#include "pkg/apiserver/server.h"
#include "pkg/reactor/sim_reactor.h"
#include "pkg/sandbox/server_handler.h"
#include "test/integration/control_plane.h"

namespace dra::integration {

struct SimOptions {
  uint64_t seed = 1;
  // ServerOptions of the same name.
  std::vector<std::string> withdrawn_versions;
  bool pod_groups = false;
};

class SimControlPlane : public ControlPlane {
 public:
  explicit SimControlPlane(SimOptions options = {});
  ~SimControlPlane() override;

  Reactor& reactor() override { return reactor_; }
  bool run_until(const std::function<bool()>& done, Duration limit) override { return reactor_.run_until(done, limit); }
  void pass(Duration time) override { reactor_.advance(time); }
  client::Transport& transport() override { return transport_; }
  std::unique_ptr<client::Transport> connect(const std::string& token) override;
  bool simulated() const override { return true; }
  Random& random() override { return random_; }
  bool collects_garbage() const override { return true; }

  apiserver::Server& server() { return server_; }

 private:
  ManualClock clock_;
  SimReactor reactor_;
  SeededRandom random_;
  apiserver::Server server_;
  sandbox::ServerHandler handler_;
  client::InProcessTransport transport_;
};

}  // namespace dra::integration
