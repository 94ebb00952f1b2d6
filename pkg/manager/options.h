// ManagerOptions: what an operator decides, by flags (cmd/dra-controller-manager/flags.h). Plain values.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "client/transport/paced.h"
#include "controllers/all.h"
#include "pkg/allocator/allocator.h"
#include "pkg/base/clock.h"
#include "pkg/identity/rules.h"
#include "pkg/inventory/features.h"
#include "pkg/reconcile/effect.h"
#include "pkg/reconcile/settings.h"
#include "pkg/sharing/rules.h"

namespace dra::manager {

using reconcile::ClaimTemplates;
using reconcile::DeviceTaintEviction;

struct ManagerOptions {
  // What controllers see of it (settings_of()).
  reconcile::Settings settings = {.controllers = controller_names()};
  // With ClaimTemplates::kOwn: the operator states that kube-controller-manager's resourceclaim-controller is off
  // (own_mode.h).
  bool claim_controller_is_off = false;
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
  // Which names are one piece of silicon, and where the device plugin serves it (--identity, --device-plugin, ...).
  identity::Rules identities;
  // What drivers refuse of devices that several requests share (--shared-device-requests, --shared-device-parameters).
  sharing::Rules sharing = sharing::Rules::usual();
  // The lease of the leader election, whose permissions are checked with the others; nothing: no leader election.
  struct LeaseRef {
    std::string ns, name;
  };
  std::optional<LeaseRef> lease;
  // The ConfigMap for the totals of who used what; nothing: usage is not counted.
  std::optional<LeaseRef> usage;
  // The server's host, for metrics.
  std::string host = "in-process";
  // The reporting instance of events.
  std::string identity = "dra-controller-manager";
  // Called right before each write of a reconciler is sent; may be empty.
  std::function<void(std::string_view controller, const reconcile::Write&)> on_write;
  // Called right before each reconcile of a key ("pod:default/a"); may be empty.
  std::function<void(std::string_view controller, const std::string& key)> on_reconcile;
};

// The settings for controllers, with the feature gates that they need.
reconcile::Settings settings_of(const ManagerOptions& options);

}  // namespace dra::manager
