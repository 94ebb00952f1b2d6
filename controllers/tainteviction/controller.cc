#include "pkg/reconcile/controller.h"

#include <algorithm>

#include "controllers/tainteviction/tainteviction.h"

namespace dra::tainteviction {

using reconcile::Settings;

namespace {

constexpr const char* kDra = "resource.k8s.io";
// How long kube-controller-manager may take to evict before a pod that stays is reported.
constexpr Duration kReportAfter = std::chrono::seconds(30);

bool evicts(const Settings& settings) {
  return settings.device_taint_eviction == reconcile::DeviceTaintEviction::kOwn;
}

reconcile::Parts make(const Settings& settings, const reconcile::Tools& tools) {
  Options options;
  options.evicts = evicts(settings);
  if (!options.evicts) options.grace = kReportAfter;
  options.max_evictions_per_rule = settings.max_evictions_per_rule;
  options.pace = {settings.device_taint_eviction_rate, std::max(1.0, settings.device_taint_eviction_rate)};
  return parts(options, tools.inventory);
}

}  // namespace

const reconcile::Controller& describe() {
  static const reconcile::Controller controller{
      .name = "tainteviction",
      .aliases = {"device-taint-eviction-controller"},
      .does = "evicts pods from devices with NoExecute taints",
      .roles = {{.name = "tainteviction",
                 .without = "controller tainteviction is off",
                 .rules = {{"", "pods", {"get", "list", "watch"}, ""},
                           {kDra, "devicetaintrules", {"list", "watch"}, ""},
                           {kDra, "resourceclaims", {"list", "watch"}, ""},
                           {kDra, "resourceslices", {"list", "watch"}, ""}}},
                {.name = "tainteviction-evict",
                 .without = "controller tainteviction is off; --device-taint-eviction=observe does not need it",
                 .rules = {{"", "pods", {"delete"}, ""},
                           {"", "pods/status", {"patch"}, ""},
                           {kDra, "devicetaintrules/status", {"patch"}, ""}},
                 .needed = evicts}},
      .flags = {},
      .must_read_all_of = {},
      .runs = [](const Settings& s) { return s.scheduling != reconcile::Scheduling::kObserve && s.device_taints; },
      .make = make};
  return controller;
}

}  // namespace dra::tainteviction
