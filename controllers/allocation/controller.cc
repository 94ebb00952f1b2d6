#include "pkg/reconcile/controller.h"

#include <utility>

#include "controllers/allocation/allocation.h"
#include "pkg/protocol/moves.h"
#include "pkg/protocol/promise.h"

namespace dra::allocation {

using reconcile::Scheduling;
using reconcile::Settings;

namespace {

constexpr const char* kDra = "resource.k8s.io";

bool recreates(const Settings& settings) {
  return reconcile::switched_on(settings, kRecreateFlag);
}

reconcile::Parts make(const Settings& settings, const reconcile::Tools& tools) {
  Options options;
  options.mode = settings.scheduling;
  options.scheduler_names = settings.scheduler_names;
  options.release_gates = settings.release_gates;
  options.recreate_pinned_pods = recreates(settings);
  options.promises =
      settings.scheduling == Scheduling::kBind && (reconcile::switched_on(settings, protocol::kPreemptionFlag) ||
                                                   reconcile::switched_on(settings, protocol::kDefragmentFlag));
  options.gang_hold_timeout = settings.gang_hold_timeout;
  options.gang_starvation_after = settings.gang_starvation_after;
  options.topology_levels = settings.topology_levels;
  return parts(std::move(options), tools.inventory, tools.allocator, tools.nodes);
}

}  // namespace

const reconcile::Controller& describe() {
  static const reconcile::Controller controller{
      .name = "allocation",
      .aliases = {},
      .does = "allocates devices to the claims of waiting pods, then lifts their gate or binds them",
      .roles = {{.name = "allocation",
                 .without = "controller allocation is off",
                 .rules = {{"", "nodes", {"list", "watch"}, ""},
                           {"", "pods", {"get", "list", "patch", "watch"}, ""},
                           {"", "pods/status", {"patch"}, ""},
                           {kDra, "deviceclasses", {"list", "watch"}, ""},
                           {kDra, "devicetaintrules", {"list", "watch"}, ""},
                           {kDra, "resourceclaims", {"get", "list", "patch", "watch"}, ""},
                           {kDra, "resourceclaims/binding", {"patch"}, ""},
                           {kDra, "resourceclaims/status", {"patch"}, ""},
                           {kDra, "resourceslices", {"list", "watch"}, ""}},
                 .needed = nullptr,
                 .reads_only = [](const Settings& s) { return s.scheduling == Scheduling::kObserve; }},
                {.name = "allocation-bind",
                 .without = "controller allocation is off; --scheduling=gate does not need it",
                 .rules = {{"", "pods/binding", {"create"}, ""}, {kDra, "resourceclaims", {"create", "delete"}, ""}},
                 .needed = [](const Settings& s) { return s.scheduling == Scheduling::kBind; }},
                {.name = "allocation-recreate",
                 .without = "controller allocation is off; without --recreate-pinned-pods it is not needed",
                 .rules = {{"", "pods/eviction", {"create"}, ""}},
                 .needed = recreates}},
      .flags = {{kRecreateFlag, "off",
                 "on: in namespaces with the label dra-controller-manager/recreate-pinned-pods=true, evict pods that "
                 "kube-scheduler has not placed on the node of their devices for 10 minutes: 3 pods of an owner at a "
                 "time, the next when those made in their place run; off: leave them. true and false mean on and off"}},
      // An unreadable claim may hold any device, an unreadable slice any counter; an unreadable rule may taint any.
      .must_read_all_of = {reconcile::Kind::kClaim, reconcile::Kind::kSlice, reconcile::Kind::kTaintRule},
      .runs = nullptr,
      .make = make};
  return controller;
}

}  // namespace dra::allocation
