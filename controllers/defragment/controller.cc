#include "pkg/reconcile/controller.h"

#include <algorithm>

#include "controllers/defragment/defragment.h"

namespace dra::defragment {

using reconcile::Settings;

namespace {

constexpr const char* kDra = "resource.k8s.io";

protocol::Defragment flag_of(const Settings& settings) {
  const auto said = settings.flags.find(std::string(protocol::kDefragmentFlag));
  if (said == settings.flags.end()) return protocol::Defragment::kOff;
  return protocol::read_defragment(said->second).value_or(protocol::Defragment::kOff);
}

reconcile::Parts make(const Settings& settings, const reconcile::Tools& tools) {
  Options options;
  options.flag = flag_of(settings);
  if (settings.scheduling != reconcile::Scheduling::kBind)
    options.flag = std::min(options.flag, protocol::Defragment::kAdvice);  // kube-scheduler gives the places
  options.moves_per_hour = settings.moves_per_hour;
  options.preempts = settings.scheduling == reconcile::Scheduling::kBind &&
                     reconcile::switched_on(settings, protocol::kPreemptionFlag);
  if (settings.scheduling == reconcile::Scheduling::kBind) options.search.scheduler_names = settings.scheduler_names;
  options.search.kind = preempt::Kind::kMoves;
  options.search.max_moves = settings.max_moves;
  options.search.move_after = settings.move_after;
  return parts(options, {tools.inventory, tools.allocator, tools.nodes});
}

}  // namespace

const reconcile::Controller& describe() {
  static const reconcile::Controller controller{
      .name = "defragment",
      .aliases = {},
      .does =
          "says which pods would have to move so that a pod that waits fits (--defragment=advice), and moves them (on)",
      .roles = {{.name = "defragment",
                 .without = "controller defragment is off: no moves are advised, kubectl dra whatif make-room does",
                 .rules = {{"", "nodes", {"list", "watch"}, ""},
                           {"", "pods", {"list", "watch"}, ""},
                           {"policy", "poddisruptionbudgets", {"list", "watch"}, ""},
                           {kDra, "deviceclasses", {"list", "watch"}, ""},
                           {kDra, "resourceclaims", {"list", "watch"}, ""},
                           {kDra, "resourceslices", {"list", "watch"}, ""}}},
                {.name = "defragment-on",
                 .without = "controller defragment is off: no pod is moved; --defragment=advice does not need it",
                 .rules = {{"", "pods/eviction", {"create"}, ""}, {"", "pods/status", {"patch"}, ""}},
                 .needed = [](const Settings& s) { return flag_of(s) == protocol::Defragment::kOn; }}},
      .flags = {{protocol::kDefragmentFlag,
                 "off",
                 "advice: says by an event which pods would have to move, and where to, so that a pod that fits "
                 "nowhere fits; on, with --scheduling=bind: moves them, by evictions that budgets allow, each to a "
                 "place that is kept for the next pod of its controller; a DeviceClass may say off or advice: "
                 "annotation dra-controller-manager/defragment. off: kubectl dra whatif make-room advises",
                 {"off", "advice", "on"}}},
      // What cannot be read may hold any device.
      .must_read_all_of = {reconcile::Kind::kClaim, reconcile::Kind::kSlice, reconcile::Kind::kTaintRule},
      .runs =
          [](const Settings& s) {
            return s.scheduling != reconcile::Scheduling::kObserve && !s.release_gates &&
                   flag_of(s) != protocol::Defragment::kOff;
          },
      .make = make};
  return controller;
}

}  // namespace dra::defragment
