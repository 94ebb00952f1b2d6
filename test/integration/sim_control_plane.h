// SimControlPlane: embedded API server (with garbage collection), simulated kubelets and the stand-ins, on a simulated
// clock. The same seed gives the same run, bit for bit.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "client/transport/in_process.h"
#include "pkg/apiserver/server.h"
#include "pkg/reactor/sim_reactor.h"
#include "pkg/sandbox/server_handler.h"
#include "pkg/sandbox/simulation.h"
#include "test/integration/claim_controller.h"
#include "test/integration/control_plane.h"
#include "test/integration/kube_scheduler.h"

namespace dra::integration {

struct SimOptions {
  uint64_t seed = 1;
  bool scheduler = true;
  // The stand-in allocates claims that nobody allocated, as the real one does.
  bool scheduler_allocates = true;
  bool kubelets = true;
  // kube-controller-manager's resourceclaim-controller.
  bool claim_controller = false;
  // ServerOptions of the same name.
  std::vector<std::string> withdrawn_versions;
};

class SimControlPlane : public ControlPlane {
 public:
  explicit SimControlPlane(SimOptions options = {});
  ~SimControlPlane() override;

  Reactor& reactor() override { return reactor_; }
  bool run_until(const std::function<bool()>& done, Duration limit) override { return reactor_.run_until(done, limit); }
  void pass(Duration time) override { reactor_.advance(time); }
  client::Transport& transport() override { return transport_; }
  bool simulated() const override { return true; }

  apiserver::Server& server() { return server_; }
  KubeScheduler* scheduler() { return scheduler_.get(); }
  ClaimController* claim_controller() { return claim_controller_.get(); }
  const Clock& clock() const { return clock_; }

 private:
  ManualClock clock_;
  SimReactor reactor_;
  SeededRandom random_;
  apiserver::Server server_;
  sandbox::ServerHandler handler_;
  client::InProcessTransport transport_;
  std::unique_ptr<sandbox::Simulation> kubelets_;
  std::unique_ptr<KubeScheduler> scheduler_;
  std::unique_ptr<ClaimController> claim_controller_;
};

}  // namespace dra::integration
