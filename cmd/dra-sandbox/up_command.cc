// dra-sandbox up: API server, simulated fleet and controller manager in one process, until SIGINT or SIGTERM.
#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>

#include "client/election/elector.h"
#include "client/transport/in_process.h"
#include "cmd/command.h"
#include "cmd/dra-sandbox/api_endpoint.h"
#include "cmd/flag_values.h"
#include "cmd/identity_flags.h"
#include "cmd/sharing_flags.h"
#include "pkg/apiserver/model/release.h"
#include "pkg/fake_scheduler/fake_scheduler.h"
#include "pkg/log/log.h"
#include "pkg/manager/manager.h"
#include "pkg/manager/serve/serving.h"
#include "pkg/metrics/metrics.h"
#include "pkg/protocol/manager_lease.h"
#include "pkg/reactor/asio_reactor.h"
#include "pkg/sandbox/fleet.h"
#include "pkg/sandbox/server_handler.h"
#include "pkg/sandbox/simulation.h"

namespace dra::sandbox_program {
namespace {

struct UpOptions {
  EndpointOptions endpoint;
  std::string fleet_path;  // empty: the fleet that ships with the program
  bool without_manager = false;
  reconcile::Scheduling scheduling = reconcile::Scheduling::kBind;
  int metrics_port = -1;  // of the manager; negative: none
  identity::Rules identities;
  sharing::Rules sharing = sharing::Rules::usual();
};

Result<sandbox::Fleet> read_fleet(const std::string& path) {
  if (path.empty()) return sandbox::load_fleet(sandbox::default_fleet(), "default fleet");
  std::ifstream file(path, std::ios::binary);
  if (!file)
    return fail(Code::kNotFound, "fleet file \"" + path + "\" cannot be opened; give an existing file with --fleet");
  std::ostringstream text;
  text << file.rdbuf();
  return sandbox::load_fleet(text.str(), path);
}

manager::ManagerOptions manager_options(const UpOptions& up, const inventory::FeatureChoice& features) {
  manager::ManagerOptions options;
  options.features = features;
  options.identities = up.identities;
  options.sharing = up.sharing;
  options.settings.claim_templates = manager::ClaimTemplates::kOwn;
  options.settings.device_taint_eviction = manager::DeviceTaintEviction::kOwn;
  options.settings.scheduling = up.scheduling;
  // No other scheduler runs in bind mode, so pods of the default scheduler are ours.
  if (up.scheduling == reconcile::Scheduling::kBind) options.settings.scheduler_names = {"default-scheduler"};
  options.identity = "dra-sandbox";
  return options;
}

// For a terminal in another folder.
std::string absolute(const std::string& path) {
  std::error_code wrong;
  const std::filesystem::path whole = std::filesystem::absolute(path, wrong);
  return wrong ? path : whole.string();
}

// Everything that runs, in the order of construction; destroyed in reverse.
class Session {
 public:
  Session(const UpOptions& options, sandbox::Fleet fleet, inventory::FeatureChoice features)
      : options_(options),
        fleet_(std::move(fleet)),
        features_(std::move(features)),
        reactor_(clock_),
        random_(entropy_seed()) {}

  Result<void> run() {
    auto endpoint = ApiEndpoint::start(reactor_, random_, options_.endpoint, /*housekeeping=*/true);
    if (!endpoint) return tl::make_unexpected(endpoint.error());
    endpoint_ = std::move(*endpoint);
    handler_ = std::make_unique<sandbox::ServerHandler>(endpoint_->server());
    transport_ = std::make_unique<client::InProcessTransport>(
        reactor_, *handler_, client::InProcessOptions{.bearer_token = endpoint_->token()});
    simulation_ = std::make_unique<sandbox::Simulation>(reactor_, *transport_, random_,
                                                        sandbox::SimulationOptions{.volumes = true});
    const Handle signals = reactor_.on_signals({SIGINT, SIGTERM}, [this](int) { stop(); });
    simulation_->publish(fleet_, [this](Result<void> published) { fleet_published(std::move(published)); });
    reactor_.run();
    return outcome_;
  }

 private:
  void fleet_published(Result<void> published) {
    if (!published) {
      outcome_ = std::move(published);
      reactor_.stop();
      return;
    }
    simulation_->start();
    if (options_.scheduling == reconcile::Scheduling::kGate)
      start_scheduler([this] { start_manager(); });
    else
      start_manager();
  }

  // The stand-in holds kube-scheduler's Lease, by which managers know that a scheduler binds pods.
  void start_scheduler(std::function<void()> started) {
    scheduler_ = std::make_unique<fake_scheduler::FakeScheduler>(
        reactor_, *transport_, random_, fake_scheduler::FakeSchedulerOptions{.volumes = true, .reports = true});
    lease_client_ = std::make_unique<client::RestClient>(*transport_);
    client::ElectorCallbacks callbacks;
    callbacks.on_started = [this, started = std::move(started)]() mutable {
      if (auto once = std::exchange(started, nullptr)) {
        scheduler_->start();
        once();
      }
    };
    client::ElectorOptions options;
    options.name = "kube-scheduler";
    options.identity = "dra-sandbox";
    lease_ =
        std::make_unique<client::Elector>(reactor_, *lease_client_, random_, std::move(options), std::move(callbacks));
    lease_->start();
  }

  void start_manager() {
    if (!options_.without_manager) {
      manager_ = std::make_unique<manager::Manager>(reactor_, *transport_, random_, metrics_,
                                                    manager_options(options_, features_));
      manager_->start();
      elect_manager();
      if (auto serving = serve_metrics(); !serving) {
        outcome_ = std::move(serving);
        return stop();
      }
    }
    announce_when_ready();
  }

  // A manager that somebody starts beside this one stands by.
  void elect_manager() {
    if (lease_client_ == nullptr) lease_client_ = std::make_unique<client::RestClient>(*transport_);
    client::ElectorOptions options;
    options.identity = "dra-sandbox";
    options.labels = {{std::string(protocol::kManagerLabel), std::string(protocol::kManagerName)}};
    options.annotations = [this] { return manager_->lease_annotations("sandbox"); };
    client::ElectorCallbacks callbacks;
    callbacks.on_taking = [this](const auto& annotations) { manager_->lease_taken(annotations); };
    callbacks.on_started = [this] { manager_->lead(); };
    callbacks.on_stopped = [this](const std::string&) { manager_->stop_leading(); };
    manager_lease_ =
        std::make_unique<client::Elector>(reactor_, *lease_client_, random_, std::move(options), std::move(callbacks));
    manager_lease_->start();
  }

  manager::EndpointSources endpoint_sources() {
    manager::EndpointSources sources;
    sources.live = [] { return std::vector<manager::HealthCheck>{{"ping", true, ""}}; };
    sources.ready = [this] { return manager_->checks(); };
    sources.config_json = [this] {
      return manager::config_json(manager_options(options_, features_), manager_->drivers());
    };
    sources.version = "sandbox";
    sources.registry = &metrics_;
    return sources;
  }

  // /metrics and the probes of the manager, over plain HTTP on this machine.
  Result<void> serve_metrics() {
    if (options_.metrics_port < 0) return {};
    access_ = std::make_unique<manager::AccessReview>(reactor_, *transport_);
    manager::ServingOptions serving;
    serving.metrics_port = options_.metrics_port;
    auto started = manager::Serving::start(reactor_, endpoint_sources(), *access_, serving);
    if (!started) return tl::make_unexpected(started.error());
    serving_ = std::move(*started);
    return {};
  }

  // Logs that the sandbox is ready once everything in it is.
  void announce_when_ready() {
    if (!simulation_->synced() || (scheduler_ != nullptr && !scheduler_->synced()) ||
        (manager_ != nullptr && !manager_->ready())) {
      waiting_ = reactor_.after(std::chrono::milliseconds(10), [this] { announce_when_ready(); });
      return;
    }
    std::printf("dra-sandbox is ready: %zu nodes with %zu devices at %s%s\n", fleet_.nodes, fleet_.devices,
                endpoint_->url().c_str(), options_.without_manager ? ", without a controller manager" : "");
    std::printf("  fleet: %s\n  mode:  %s\n",
                options_.fleet_path.empty() ? "the default one (--fleet FILE)" : options_.fleet_path.c_str(), mode());
    std::printf("  note:  admission policies, network policies and disruption budgets are stored, not enforced\n");
    if (serving_) std::printf("  metrics: http://127.0.0.1:%u/metrics\n", unsigned{serving_->metrics_port()});
    std::printf(
        "Four things to try:\n"
        "  export KUBECONFIG=%s\n"
        "  kubectl get nodes,resourceslices,deviceclasses\n"
        "%s"
        "  kubectl get events -A                                  # why a pod waits, and what it got\n"
        "Stop it with Ctrl-C.\n",
        absolute(options_.endpoint.kubeconfig_file).c_str(),
        // The examples are for the classes of the default fleet.
        options_.fleet_path.empty()
            ? "  kubectl apply -f examples/v1/3-mig.yaml && kubectl get resourceclaims\n"
            : "  kubectl dra top classes                                # what a deviceClassName of this fleet has\n");
    std::fflush(stdout);
  }

  const char* mode() const {
    const bool gate = options_.scheduling == reconcile::Scheduling::kGate;
    if (options_.without_manager)
      return gate ? "no manager: a stand-in for kube-scheduler binds, gated pods wait until you start a manager"
                  : "no manager: nothing is allocated until you start one";
    return gate ? "gate: the manager serves pods that carry the gate dra-controller-manager/allocation (see "
                  "examples/v1/6-gate.yaml);\n         a stand-in for kube-scheduler binds them, and serves all others"
                : "bind: the manager makes claims, allocates, binds and evicts; there is no kube-scheduler";
  }

  void stop() {
    serving_.reset();
    manager_lease_.reset();
    if (manager_ != nullptr) manager_->stop();
    lease_.reset();
    scheduler_.reset();
    simulation_->stop();
    reactor_.stop();
  }

  const UpOptions& options_;
  sandbox::Fleet fleet_;
  inventory::FeatureChoice features_;
  SystemClock clock_;
  AsioReactor reactor_;
  SeededRandom random_;
  metrics::Registry metrics_;
  Result<void> outcome_;
  Handle waiting_;
  std::unique_ptr<ApiEndpoint> endpoint_;
  std::unique_ptr<sandbox::ServerHandler> handler_;
  std::unique_ptr<client::InProcessTransport> transport_;
  std::unique_ptr<sandbox::Simulation> simulation_;
  std::unique_ptr<fake_scheduler::FakeScheduler> scheduler_;  // null in bind mode, like its Lease below
  std::unique_ptr<client::RestClient> lease_client_;
  std::unique_ptr<client::Elector> lease_;
  std::unique_ptr<manager::Manager> manager_;
  std::unique_ptr<client::Elector> manager_lease_;
  std::unique_ptr<manager::AccessReview> access_;
  std::unique_ptr<manager::Serving> serving_;
};

// A fleet is written in these versions.
Result<void> check_versions_of_fleet(const std::string& runtime_config) {
  auto configured = parse_runtime_config(runtime_config);
  if (!configured) return fail(configured.error());
  for (const auto& [version, served] : *configured)
    if (!served && (version == "resource.k8s.io/v1" || version == "storage.k8s.io/v1"))
      return fail(Code::kInvalidArgument, "--runtime-config: `up` publishes its fleet in " + version +
                                              " and cannot leave it out; `dra-sandbox apiserver --runtime-config " +
                                              version + "=false` starts a server without it and without a fleet");
  return {};
}

Result<void> start_session(const UpOptions& options) {
  if (auto checked = check_versions_of_fleet(options.endpoint.runtime_config); !checked) return checked;
  auto fleet = read_fleet(options.fleet_path);
  if (!fleet) return tl::make_unexpected(fleet.error());
  // Before the manager reads them: its words for a gate that it does not know are about itself.
  if (auto serves = apiserver::serve_release(options.endpoint.kubernetes_version, options.endpoint.feature_gates);
      !serves)
    return serves;
  auto features = inventory::FeatureChoice::parse(apiserver::gates_of_manager(options.endpoint.feature_gates), "");
  if (!features) return tl::make_unexpected(features.error());
  return Session(options, std::move(*fleet), std::move(*features)).run();
}

// Flags that are right alone, but contradict each other; empty when none do.
std::string contradiction_of_up(const UpOptions& options) {
  if (options.without_manager && options.metrics_port >= 0)
    return "--metrics-port serves the metrics of the manager, which --without-manager leaves out; give one of them";
  if (options.metrics_port > 0 && options.metrics_port == options.endpoint.port)
    return "--port and --metrics-port are the same port; choose another one for one of them, or 0 for a free one";
  return "";
}

int run_up(const std::vector<std::string>& arguments) {
  CLI::App app("API server, simulated fleet and controller manager in one process.", "dra-sandbox up");
  UpOptions options;
  options.endpoint.kubeconfig_file = "dra-sandbox.kubeconfig";
  options.endpoint.pod_groups = true;
  int verbosity = 0;
  add_endpoint_flags(app, options.endpoint);
  app.add_option("--fleet", options.fleet_path,
                 "YAML file that describes nodes and devices (docs/fleet.md): device taints, binding conditions, "
                 "health, slices that "
                 "appear late, drivers that set device status; a small fleet when not given");
  app.add_flag("--without-manager", options.without_manager,
               "leave out the controller manager, to run it as a process of its own");
  using reconcile::Scheduling;
  cmd::add_choice<Scheduling>(app, "--scheduling", options.scheduling,
                              {{"bind", Scheduling::kBind}, {"gate", Scheduling::kGate}},
                              "bind: the manager binds all pods; gate: as in clusters by default, it serves pods with "
                              "its scheduling gate, and a stand-in for kube-scheduler binds")
      ->type_name("bind|gate");
  app.add_option("--metrics-port", options.metrics_port,
                 "serve the manager's /metrics and probes over plain HTTP on 127.0.0.1; 0: any free port")
      ->check(cmd::port_from(0));
  cmd::add_identity_flags(app, options.identities);
  cmd::add_sharing_flags(app, options.sharing);
  app.add_option("-v,--v", verbosity, "verbosity of the log, 0 to 10")
      ->capture_default_str()
      ->check(cmd::in_range(0, 10, "whole number"));
  if (const auto code = cmd::parse_or_exit(app, arguments)) return *code;
  if (const std::string wrong = contradiction_of_up(options); !wrong.empty()) {
    std::fprintf(stderr, "dra-sandbox up: %s; see --help\n", wrong.c_str());
    return 2;
  }
  log::set_verbosity(verbosity);
  const Result<void> result = start_session(options);
  if (result) return 0;
  std::fprintf(stderr, "dra-sandbox up: %s\n", result.error().message().c_str());
  return 1;
}

const cmd::RegisterCommand kUp("up", "API server, simulated fleet and controller manager in one process", &run_up);

}  // namespace

}  // namespace dra::sandbox_program
