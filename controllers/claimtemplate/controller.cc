#include "pkg/reconcile/controller.h"

#include <algorithm>

#include "controllers/claimtemplate/claimtemplate.h"

namespace dra::claimtemplate {

using reconcile::Scheduling;
using reconcile::Settings;

namespace {

constexpr const char* kDra = "resource.k8s.io";
constexpr const char* kAllocationGate = "dra-controller-manager/allocation";

// Pods that allocation will ungate get their claim names together with their node.
reconcile::Parts make(const Settings& settings, const reconcile::Tools&) {
  Options options;
  const auto& chosen = settings.controllers;
  const bool allocates = std::find(chosen.begin(), chosen.end(), "allocation") != chosen.end();
  if (allocates && settings.scheduling != Scheduling::kObserve && !settings.release_gates)
    options.held_by_gate = kAllocationGate;
  if (allocates && settings.scheduling == Scheduling::kBind && !settings.release_gates)
    options.scheduler_names = settings.scheduler_names;
  return parts(options);
}

}  // namespace

const reconcile::Controller& describe() {
  static const reconcile::Controller controller{
      .name = "claimtemplate",
      .aliases = {},
      .does = "makes the claims of pods from templates (--claim-templates=own)",
      .roles = {{.name = "claimtemplate",
                 .without = "controller claimtemplate is off",
                 .rules = {{"", "pods", {"get", "list", "watch"}, ""},
                           {"", "pods/status", {"patch"}, ""},
                           {kDra, "resourceclaims", {"create", "get", "list", "watch"}, ""},
                           {kDra, "resourceclaimtemplates", {"get", "list", "watch"}, ""}}}},
      .flags = {},
      .must_read_all_of = {},
      .runs = [](const Settings& s) { return s.claim_templates == reconcile::ClaimTemplates::kOwn; },
      .make = make};
  return controller;
}

}  // namespace dra::claimtemplate
