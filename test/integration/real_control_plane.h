// RealControlPlane: a control plane for tests from a folder of binaries: etcd and kube-apiserver, and kube-scheduler
// and kube-controller-manager if present. Real time; an administrator's token; RBAC; no kubelets.
//
// Two controllers of kube-controller-manager run: the garbage collector, as long as the plane does, and the
// resourceclaim-controller, for tests that want it. kube-scheduler's writes are known from the API server's audit log.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "client/config/server_config.h"
#include "pkg/base/clock.h"
#include "pkg/base/error.h"
#include "pkg/reactor/asio_reactor.h"
#include "test/integration/child_process.h"
#include "test/integration/control_plane.h"

namespace dra::integration {

class RealControlPlane : public ControlPlane {
 public:
  // Starts both programs of the folder and waits until /readyz answers 200 and the namespace "default" exists. An error
  // says which program is missing, which one ended and its last output, or /readyz's last answer.
  static Result<std::unique_ptr<RealControlPlane>> start(const std::string& folder, Duration patience);
  ~RealControlPlane() override;

  Reactor& reactor() override { return reactor_; }
  bool run_until(const std::function<bool()>& done, Duration limit) override { return reactor_.run_until(done, limit); }
  void pass(Duration time) override {
    reactor_.run_until([] { return false; }, time);
  }
  client::Transport& transport() override { return *transport_; }
  std::unique_ptr<client::Transport> connect(const std::string& token) override;
  bool simulated() const override { return false; }
  Random& random() override { return random_; }
  std::unique_ptr<Scheduler> own_scheduler() override;
  std::unique_ptr<Component> own_claim_controller() override;
  bool collects_garbage() const override { return garbage_collector_ != nullptr; }

  // "etcd, kube-apiserver, kube-scheduler": the folder's programs in use.
  std::string programs() const;

 private:
  explicit RealControlPlane(std::string folder) : folder_(std::move(folder)) {}
  Result<void> launch();
  Result<void> start_garbage_collector();
  Result<void> await_ready(Duration patience);
  bool has(const std::string& program) const;
  Result<std::unique_ptr<ChildProcess>> run(const std::string& program, std::vector<std::string> arguments);
  // Runs it as a client of the API server with this token and waits until it reports that it is ready.
  Result<std::unique_ptr<ChildProcess>> run_client(const std::string& program, const std::string& token,
                                                   std::vector<std::string> arguments);
  client::ServerConfig config(int port, const std::string& token) const;
  // The status of a GET; 0 if there was no answer. `said` is the answer's body or the error.
  int probe(client::Transport& transport, const std::string& target, std::string& said);

  SystemClock clock_;
  AsioReactor reactor_{clock_};
  SeededRandom random_{1};
  std::string folder_;
  std::string directory_;  // data, keys and logs; removed at the end
  std::unique_ptr<ChildProcess> etcd_;
  std::unique_ptr<ChildProcess> apiserver_;
  std::unique_ptr<ChildProcess> garbage_collector_;
  int port_ = 0;
  std::unique_ptr<client::Transport> transport_;
};

}  // namespace dra::integration
