// Manager: the operator without its process. It discovers what the API server serves, keeps stores of everything up to
// date with it and, while it leads, runs the reconcilers.
//
// States: discovering (which versions are served) -> syncing (stores fill) -> standing by -> leading. After a lost
// term: standing by; a new term begins with stores read after it was won, and without assumptions.
//
// Everything belongs to the reactor's thread. The same class runs in the manager's process over the network and in the
// sandbox's process over an in-process transport.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "client/transport/paced.h"
#include "client/transport/transport.h"
#include "controllers/all.h"
#include "controllers/allocation/allocation.h"
#include "pkg/base/random.h"
#include "pkg/manager/exclusivity.h"
#include "pkg/metrics/metrics.h"
#include "pkg/reactor/reactor.h"

namespace dra::manager {

enum class ClaimTemplates {
  kObserve,  // kube-controller-manager makes and deletes claims; we only back it up
  kOwn,      // its resourceclaim-controller is off: we do both
};

// Who evicts the pods of devices with NoExecute taints.
enum class DeviceTaintEviction {
  kObserve,  // kube-controller-manager's device-taint-eviction-controller (where it is on); we back it up
  kOwn,      // we alone: it is off
};

struct ManagerOptions {
  ClaimTemplates claim_templates = ClaimTemplates::kObserve;
  // With kOwn: the operator states that kube-controller-manager's resourceclaim-controller is off (own_mode.h).
  bool claim_controller_is_off = false;
  DeviceTaintEviction device_taint_eviction = DeviceTaintEviction::kObserve;
  // Evictions per second; 0: no limit.
  double device_taint_eviction_rate = 50;
  // A DeviceTaintRule that would evict more pods than this waits for an annotation; 0: no limit. With kOwn only.
  uint64_t max_evictions_per_rule = 0;
  allocation::Options allocation;
  // The controllers that run, by name (controllers/list.inc).
  std::vector<std::string> controllers = controller_names();
  // The flags given for the controllers themselves, by name without dashes (reconcile::Controller::flags).
  std::map<std::string, std::string> controller_flags;
  // Feature gates and release. Those not set follow the server, which is asked at the start of each term.
  inventory::FeatureChoice features;
  // Taint keys (NoSchedule) that only our allocator ignores.
  std::vector<std::string> ignored_taints;
  // The most steps that one attempt to decide may take: allocator::Options::max_step_budget.
  uint64_t step_budget = allocator::kDefaultMaxStepBudget;
  // How node and devices are chosen unless a class says otherwise.
  allocator::Strategy strategy = allocator::Strategy::kBestFit;
  // inventory::Features and allocator::Options of the same names. With kFirstFit and both, devices are chosen as
  // kube-scheduler 1.36 does, and as dra-conformance judges.
  bool stale_generations = true;
  bool strict_selector_errors = false;
  bool quantity_operators = false;
  // --kube-api-qps and --kube-api-burst; 0: no limit of our own; the server's 429 is obeyed.
  client::PaceOptions pace;
  Duration audit_period = std::chrono::seconds(10);
  // The lease of the leader election, whose permissions are checked with the others; nothing: no leader election.
  struct LeaseRef {
    std::string ns, name;
  };
  std::optional<LeaseRef> lease;
  // The server's host, for metrics.
  std::string host = "in-process";
  // The reporting instance of events.
  std::string identity = "dra-controller-manager";
  // Called right before each write of a reconciler is sent; may be empty.
  std::function<void(std::string_view controller, const reconcile::Write&)> on_write;
  // Called right before each reconcile of a key ("pod:default/a"); may be empty.
  std::function<void(std::string_view controller, const std::string& key)> on_reconcile;
};

// The options as controllers see them.
reconcile::Settings settings_of(const ManagerOptions& options);
// Per driver: whether only this manager allocates its devices, for /configz (see exclusivity.h).
using Drivers = std::map<std::string, Exclusivity::Driver>;
// The options and the drivers as JSON, for /configz.
std::string config_json(const ManagerOptions& options, const Drivers& drivers);

struct HealthCheck {
  std::string name;
  bool ok = false;
  std::string message;  // why the check fails
  std::string note;     // shown with ?verbose when it passes
};

class Manager {
 public:
  // Everything must outlive the manager.
  Manager(Reactor& reactor, client::Transport& transport, Random& random, metrics::Registry& registry,
          ManagerOptions options);
  ~Manager();
  Manager(const Manager&) = delete;
  Manager& operator=(const Manager&) = delete;

  void start();
  // Takes the lead as soon as the stores are synced; gives it up. Without leader election: lead() right after start().
  void lead();
  void stop_leading();
  // Ends watches. Does not wait for writes in flight; see busy().
  void stop();
  // Sends the queued events, for `limit` at most.
  void flush_events(Duration limit, std::function<void()> done);
  // Some reconciles have writes in flight.
  bool busy() const;
  bool leading() const;
  // Pods that have our gate, as far as the store knows; nothing before this manager leads.
  std::optional<size_t> gated_pods() const;
  // Leading, with no key ready and no reconcile under way. For tests and demos.
  bool idle();

  // Every driver whose slices were seen. As costly as a scrape of the metrics.
  Drivers drivers() const;
  // What must hold to be ready: the API is served, every store is synced.
  std::vector<HealthCheck> checks() const;
  bool ready() const;

  struct Impl;

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace dra::manager
