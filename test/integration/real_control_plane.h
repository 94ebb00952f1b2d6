// RealControlPlane: etcd and kube-apiserver from a folder of binaries, as a control plane for tests. Real time; an
// administrator's token; RBAC; no controllers, no scheduler, no kubelets.
#pragma once

#include <memory>
#include <string>

#include "pkg/base/clock.h"
#include "pkg/base/error.h"
#include "pkg/reactor/asio_reactor.h"
#include "test/integration/child_process.h"
#include "test/integration/control_plane.h"

namespace dra::integration {

class RealControlPlane : public ControlPlane {
 public:
  // Starts both programs of the folder and waits until /readyz answers 200 and the namespace "default" is there. An
  // error says which program is missing, which one ended and its last words, or what /readyz said last.
  static Result<std::unique_ptr<RealControlPlane>> start(const std::string& folder, Duration patience);
  ~RealControlPlane() override;

  Reactor& reactor() override { return reactor_; }
  bool run_until(const std::function<bool()>& done, Duration limit) override { return reactor_.run_until(done, limit); }
  void pass(Duration time) override {
    reactor_.run_until([] { return false; }, time);
  }
  client::Transport& transport() override { return *transport_; }
  bool simulated() const override { return false; }

 private:
  RealControlPlane() = default;
  Result<void> launch(const std::string& folder);
  Result<void> await_ready(Duration patience);
  // The status of a GET, 0 when there was no answer; `said` is the answer's body or the error.
  int probe(const std::string& target, std::string& said);

  SystemClock clock_;
  AsioReactor reactor_{clock_};
  std::string directory_;  // data, keys and logs; removed in the end
  std::unique_ptr<ChildProcess> etcd_;
  std::unique_ptr<ChildProcess> apiserver_;
  std::unique_ptr<client::Transport> transport_;
};

}  // namespace dra::integration
