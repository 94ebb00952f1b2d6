#include "test/integration/components.h"

#include "pkg/fake_scheduler/fake_scheduler.h"
#include "test/integration/claim_controller.h"
#include "test/integration/garbage_collector.h"

namespace dra::integration {

Components::Components(ControlPlane& plane, const ComponentOptions& options) : plane_(plane) {
  if (options.kubelets) {
    kubelets_ = std::make_unique<sandbox::Simulation>(plane.reactor(), plane.transport(), plane.random(),
                                                      sandbox::SimulationOptions{.volumes = options.volumes});
    kubelets_->start();
  }
  if (options.scheduler) start_scheduler(options.scheduler_allocates, options.volumes);
  if (options.claim_controller) {
    claim_controller_ = plane.own_claim_controller();
    if (!claim_controller_) {
      auto fake = std::make_unique<ClaimController>(plane.reactor(), plane.transport(), plane.random());
      fake->start();
      claim_controller_ = std::move(fake);
    }
  }
  if (!plane.collects_garbage())
    garbage_collector_ = std::make_unique<GarbageCollector>(plane.reactor(), plane.transport(), plane.random());
}

Components::~Components() {
  if (!kubelets_) return;
  kubelets_->stop();
  // Their last posted task must run while they still exist.
  plane_.run_until([] { return false; }, std::chrono::milliseconds(1));
}

void Components::start_scheduler(bool allocates, bool volumes) {
  scheduler_ = plane_.own_scheduler();
  if (scheduler_) return;
  auto fake = std::make_unique<fake_scheduler::FakeScheduler>(
      plane_.reactor(), plane_.transport(), plane_.random(),
      fake_scheduler::FakeSchedulerOptions{.allocates = allocates, .volumes = volumes});
  fake->start();
  scheduler_ = std::move(fake);
}

}  // namespace dra::integration
