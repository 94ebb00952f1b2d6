#include "pkg/reconcile/controller.h"

#include "controllers/recovery/recovery.h"

namespace dra::recovery {

using reconcile::Settings;

namespace {

constexpr const char* kDra = "resource.k8s.io";

reconcile::Parts make(const Settings&, const reconcile::Tools& tools) {
  return parts({}, tools.nodes);
}

}  // namespace

const reconcile::Controller& describe() {
  static const reconcile::Controller controller{
      .name = "recovery",
      .aliases = {},
      .does = "makes pods anew whose devices cannot be prepared (--recover-failed-prepares=on)",
      .roles = {{.name = "recovery",
                 .without = "controller recovery is off: pods whose devices cannot be prepared stay",
                 .rules = {{"", "pods", {"list", "watch"}, ""},
                           {"", "pods/eviction", {"create"}, ""},
                           {"events.k8s.io", "events", {"list", "watch"}, ""},
                           {kDra, "resourceclaims", {"list", "watch"}, ""}}}},
      .flags = {{kRecoverFlag, "off",
                 "on: in namespaces with the label dra-controller-manager/recover=true, evict pods whose devices could "
                 "not be prepared three times, so that their controller makes others, which get other devices; off: "
                 "leave them. true and false mean on and off"}},
      .must_read_all_of = {},
      .runs =
          [](const Settings& s) {
            return s.scheduling != reconcile::Scheduling::kObserve && !s.release_gates &&
                   reconcile::switched_on(s, kRecoverFlag);
          },
      .make = make};
  return controller;
}

}  // namespace dra::recovery
