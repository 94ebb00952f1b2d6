#include "test/integration/sim_control_plane.h"

namespace dra::integration {
namespace {

constexpr const char* kToken = "admin";

apiserver::ServerOptions server_options(const SimOptions& sim) {
  apiserver::ServerOptions options;
  options.tokens = apiserver::admin_token(kToken);
  options.housekeeping = true;
  options.withdrawn_versions = sim.withdrawn_versions;
  options.store.max_changes = 200'000;
  return options;
}

}  // namespace

SimControlPlane::SimControlPlane(SimOptions options)
    : reactor_(clock_),
      random_(options.seed),
      server_(reactor_, random_, server_options(options)),
      handler_(server_),
      transport_(reactor_, handler_, client::InProcessOptions{.bearer_token = kToken}) {
  if (options.kubelets) {
    kubelets_ = std::make_unique<sandbox::Simulation>(reactor_, transport_, random_);
    kubelets_->start();
  }
  if (options.scheduler) {
    scheduler_ = std::make_unique<KubeScheduler>(reactor_, transport_, random_, options.scheduler_allocates);
    scheduler_->start();
  }
  if (options.claim_controller) {
    claim_controller_ = std::make_unique<ClaimController>(reactor_, transport_, random_);
    claim_controller_->start();
  }
}

SimControlPlane::~SimControlPlane() = default;

}  // namespace dra::integration
