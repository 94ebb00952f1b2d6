#include "pkg/reconcile/controller.h"

#include <algorithm>

#include "controllers/tainteviction/tainteviction.h"

namespace dra::tainteviction {

using reconcile::Settings;

namespace {

constexpr const char* kDra = "resource.k8s.io";
// How long kube-controller-manager is left to evict by itself.
constexpr Duration kBackupGrace = std::chrono::seconds(30);

std::unique_ptr<reconcile::Reconciler> make(const Settings& settings, const reconcile::Tools& tools) {
  Options options;
  if (!settings.own_taint_eviction) options.grace = kBackupGrace;
  options.pace = {settings.taint_eviction_rate, std::max(1.0, settings.taint_eviction_rate)};
  return std::make_unique<TaintEvictionReconciler>(options, tools.inventory);
}

}  // namespace

const reconcile::Controller& describe() {
  static const reconcile::Controller controller{
      .name = "tainteviction",
      .aliases = {"device-taint-eviction-controller"},
      .does = "evicts pods from devices with NoExecute taints",
      .roles = {{.name = "tainteviction",
                 .without = "controller tainteviction is off",
                 .rules = {{"", "pods", {"delete", "get", "list", "watch"}, ""},
                           {"", "pods/status", {"patch"}, ""},
                           {kDra, "resourceclaims", {"list", "watch"}, ""},
                           {kDra, "resourceslices", {"list", "watch"}, ""}}}},
      .flags = {},
      .must_read_all_of = {},
      .runs = [](const Settings& s) { return s.scheduling != reconcile::Scheduling::kObserve && s.device_taints; },
      .make = make};
  return controller;
}

}  // namespace dra::tainteviction
