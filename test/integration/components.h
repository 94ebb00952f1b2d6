// Components: the components beside the API server of a test's cluster: kubelets, a scheduler, a claim controller, a
// garbage collector. The scheduler and the controllers are the control plane's own if it has them, otherwise stand-ins;
// the kubelets are always simulated.
#pragma once

#include <memory>

#include "pkg/sandbox/simulation.h"
#include "test/integration/control_plane.h"

namespace dra::integration {

struct ComponentOptions {
  bool scheduler = true;
  // The scheduler allocates claims that nobody allocated. The real one always does; use false for tests in which there
  // is nothing for it to allocate: the stand-in then allocates nothing.
  bool scheduler_allocates = true;
  bool kubelets = true;
  // Simulated binder, provisioner and attacher of volumes; kubelets and the stand-in of kube-scheduler wait for them.
  bool volumes = false;
  // kube-controller-manager's resourceclaim-controller.
  bool claim_controller = false;
};

class Components {
 public:
  // The plane must outlive them.
  Components(ControlPlane& plane, const ComponentOptions& options);
  ~Components();
  Components(const Components&) = delete;
  Components& operator=(const Components&) = delete;

  Scheduler* scheduler() { return scheduler_.get(); }
  void start_scheduler(bool allocates = true, bool volumes = false);

 private:
  ControlPlane& plane_;
  std::unique_ptr<sandbox::Simulation> kubelets_;
  std::unique_ptr<Scheduler> scheduler_;
  std::unique_ptr<Component> claim_controller_;
  std::unique_ptr<Component> garbage_collector_;
};

}  // namespace dra::integration
