#include "pkg/reconcile/controller.h"

#include "controllers/preemption/preemption.h"
#include "pkg/protocol/moves.h"

namespace dra::preemption {

using reconcile::Settings;

namespace {

constexpr const char* kDra = "resource.k8s.io";

reconcile::Parts make(const Settings& settings, const reconcile::Tools& tools) {
  Options options;
  options.scheduler_names = settings.scheduler_names;
  options.prove = settings.prove_promises;
  options.moves_are_made = reconcile::switched_on(settings, protocol::kDefragmentFlag);
  return parts(options, {tools.inventory, tools.allocator, tools.nodes});
}

}  // namespace

const reconcile::Controller& describe() {
  static const reconcile::Controller controller{
      .name = "preemption",
      .aliases = {},
      .does = "takes the place of pods of lower priority, for pods that this manager binds (--preemption=on)",
      .roles = {{.name = "preemption",
                 .without = "controller preemption is off: nobody is evicted, kubectl dra advises",
                 .rules = {{"", "nodes", {"list", "watch"}, ""},
                           {"", "pods", {"delete", "list", "watch"}, ""},
                           {"", "pods/status", {"patch"}, ""},
                           {"policy", "poddisruptionbudgets", {"list", "watch"}, ""},
                           {kDra, "deviceclasses", {"list", "watch"}, ""},
                           {kDra, "resourceclaims", {"list", "watch"}, ""},
                           {kDra, "resourceslices", {"list", "watch"}, ""}}}},
      .flags =
          {{protocol::kPreemptionFlag, "off",
            "on: with --scheduling=bind, in namespaces with the label dra-controller-manager/preemption=true, pods "
            "of this manager's scheduler names that fit nowhere take the place of its pods of lower priority; "
            "off: kubectl dra advises. true and false mean on and off"}},
      // What cannot be read may hold any device.
      .must_read_all_of = {reconcile::Kind::kClaim, reconcile::Kind::kSlice, reconcile::Kind::kTaintRule},
      .runs =
          [](const Settings& s) {
            return s.scheduling == reconcile::Scheduling::kBind && !s.release_gates &&
                   reconcile::switched_on(s, protocol::kPreemptionFlag);
          },
      .make = make};
  return controller;
}

}  // namespace dra::preemption
