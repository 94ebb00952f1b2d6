#include "test/integration/sim_control_plane.h"

namespace dra::integration {
namespace {

constexpr const char* kToken = "admin";

apiserver::ServerOptions server_options(const SimOptions& sim) {
  apiserver::ServerOptions options;
  options.tokens = apiserver::admin_token(kToken);
  options.housekeeping = true;
  options.withdrawn_versions = sim.withdrawn_versions;
  options.pod_groups = sim.pod_groups;
  options.store.max_changes = 200'000;
  return options;
}

}  // namespace

SimControlPlane::SimControlPlane(SimOptions options)
    : reactor_(clock_),
      random_(options.seed),
      server_(reactor_, random_, server_options(options)),
      handler_(server_),
      transport_(reactor_, handler_, client::InProcessOptions{.bearer_token = kToken}) {}

SimControlPlane::~SimControlPlane() = default;

std::unique_ptr<client::Transport> SimControlPlane::connect(const std::string& token) {
  return std::make_unique<client::InProcessTransport>(reactor_, handler_,
                                                      client::InProcessOptions{.bearer_token = token});
}

}  // namespace dra::integration
