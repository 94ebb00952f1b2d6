#include "pkg/reconcile/controller.h"

#include "controllers/lifecycle/lifecycle.h"
#include "pkg/allocator/allocator.h"

namespace dra::lifecycle {

using reconcile::Settings;

namespace {

constexpr const char* kDra = "resource.k8s.io";
// How long kube-controller-manager may take to clean up by itself.
constexpr Duration kBackupGrace = std::chrono::seconds(30);

reconcile::Parts make(const Settings& settings, const reconcile::Tools& tools) {
  Options options;
  if (settings.claim_templates != reconcile::ClaimTemplates::kOwn) options.grace = kBackupGrace;
  options.ignored_taints = tools.allocator.options().ignored_taints;
  options.release_gates = settings.release_gates;
  return parts(options, &tools.inventory);
}

}  // namespace

const reconcile::Controller& describe() {
  static const reconcile::Controller controller{
      .name = "lifecycle",
      .aliases = {},
      .does = "frees devices and claims that nobody needs any more, and tells what is wrong with those in use",
      .roles = {{.name = "lifecycle",
                 .without = "controller lifecycle is off",
                 .rules = {{"", "pods", {"get", "list", "watch"}, ""},
                           {kDra, "resourceclaims", {"delete", "get", "list", "patch", "watch"}, ""},
                           {kDra, "resourceclaims/binding", {"patch"}, ""},
                           {kDra, "resourceclaims/status", {"patch"}, ""},
                           {kDra, "resourceslices", {"list", "watch"}, ""}}}},
      .flags = {},
      .must_read_all_of = {},
      .runs = [](const Settings& s) { return s.scheduling != reconcile::Scheduling::kObserve; },
      .make = make};
  return controller;
}

}  // namespace dra::lifecycle
