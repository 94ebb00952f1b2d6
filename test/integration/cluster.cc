#include "test/integration/cluster.h"

#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "pkg/log/log.h"
#include "test/integration/real_control_plane.h"
#include "test/integration/wipe.h"

namespace dra::integration {
namespace {

// These tests are about faults: the manager's logs about them only disturb, unless they are requested.
void keep_quiet() {
  static const bool kLoud = std::getenv("DRA_INTEGRATION_LOG") != nullptr;
  if (kLoud)
    log::set_verbosity(std::atoi(std::getenv("DRA_INTEGRATION_LOG")));
  else
    log::configure({log::Format::kText, 0, [](std::string_view) {}, nullptr});
}

std::string lines(const std::vector<std::string>& findings) {
  std::string text;
  for (const std::string& finding : findings) text += finding + "\n";
  return text;
}

// The control plane that all clusters of the program share; null if KUBEBUILDER_ASSETS is not set.
RealControlPlane* shared_real_plane() {
  static const std::string kFolder = real_programs();
  if (kFolder.empty()) return nullptr;
  static const auto kPlane = RealControlPlane::start(kFolder, std::chrono::seconds(60));
  if (!kPlane) throw std::runtime_error(kPlane.error().message());
  static const int kSaid = std::printf("real control plane: %s\n", (*kPlane)->programs().c_str());
  static_cast<void>(kSaid);
  return kPlane->get();
}

std::unique_ptr<SimControlPlane> embedded_plane(const ClusterOptions& options) {
  keep_quiet();
  if (!options.embedded && shared_real_plane()) return nullptr;
  SimOptions sim;
  sim.seed = options.seed;
  sim.pod_groups = options.pod_groups;
  return std::make_unique<SimControlPlane>(sim);
}

Duration patience() {
  return std::chrono::seconds(from_environment("DRA_REAL_PATIENCE", 15));
}

}  // namespace

Cluster::Cluster(ClusterOptions options)
    : options_(options),
      random_(options.seed * 7919 + 1),
      embedded_(embedded_plane(options)),
      plane_(embedded_ ? static_cast<ControlPlane*>(embedded_.get()) : shared_real_plane()),
      api_(*plane_, plane_->transport()) {
  if (!plane_->simulated()) wipe(api_);
  components_ = std::make_unique<Components>(*plane_, options.components);
  api_.create(device_class());
  for (size_t i = 0; i < options.nodes; ++i) {
    api_.create(node(node_name(i)));
    api_.create(slice(node_name(i), options.devices));
  }
  watchdog_ = std::make_unique<Watchdog>(plane_->reactor(), plane_->transport(), random_);
  plane_->run_until([this] { return watchdog_->synced(); }, std::chrono::seconds(10));
}

Cluster::~Cluster() = default;

manager::ManagerOptions Cluster::manager_options() {
  manager::ManagerOptions options;
  options.settings.claim_templates = manager::ClaimTemplates::kOwn;
  options.claim_controller_is_off = true;
  options.settings.scheduling = reconcile::Scheduling::kGate;
  return options;
}

Process& Cluster::start(const std::string& name, ProcessOptions options, bool start) {
  options.identity = name;
  options.seed += options_.seed * 31 + processes_.size();
  auto& process = processes_[name];
  process = std::make_unique<Process>(plane_->reactor(), plane_->transport(), std::move(options));
  if (start) process->start();
  return *process;
}

Process& Cluster::start(const std::string& name) {
  ProcessOptions options;
  options.manager = manager_options();
  return start(name, std::move(options));
}

void Cluster::kill(const std::string& name) {
  processes_.erase(name);
}

bool Cluster::eventually(const std::function<bool()>& done, Duration limit, Duration step) {
  const Clock& clock = plane_->clock();
  for (const MonoTime begin = clock.mono_now(); !done();) {
    if (clock.mono_now() - begin >= limit) return false;
    plane_->pass(step);
  }
  return true;
}

bool Cluster::can_wait(Duration time) const {
  return plane_->simulated() || time <= patience();
}

void Cluster::pass(Duration time) {
  plane_->pass(can_wait(time) ? time : patience());
}

std::string Cluster::verdict(const VerdictOptions& options) {
  return lines(inspect(api_, options)) + lines(watchdog_->violations());
}

std::string Cluster::empty_verdict(const std::set<std::string>& kept_claims) {
  return lines(inspect_empty(api_, kept_claims)) + lines(watchdog_->violations());
}

size_t from_environment(const char* variable, size_t fallback) {
  const char* text = std::getenv(variable);
  return text == nullptr ? fallback : static_cast<size_t>(std::strtoull(text, nullptr, 10));
}

std::string real_programs() {
  const char* folder = std::getenv("KUBEBUILDER_ASSETS");
  return folder == nullptr ? "" : folder;
}

std::vector<uint64_t> seeds(const char* variable, size_t fallback) {
  const size_t count = from_environment(variable, fallback);
  const uint64_t first = from_environment("DRA_SEED", 1);
  std::vector<uint64_t> list;
  for (size_t i = 0; i < count; ++i) list.push_back(first + i);
  std::printf("seeds %llu to %llu (%s=%zu, DRA_SEED=%llu)\n", static_cast<unsigned long long>(first),
              static_cast<unsigned long long>(first + count - 1), variable, count,
              static_cast<unsigned long long>(first));
  return list;
}

}  // namespace dra::integration
