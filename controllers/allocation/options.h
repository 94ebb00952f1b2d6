// Options of the allocation controller, made from reconcile::Settings (controller.cc), and the names that others know
// it by. Plain values.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/base/clock.h"
#include "pkg/reconcile/settings.h"

namespace dra::allocation {

inline constexpr std::string_view kAllocationGate = "dra-controller-manager/allocation";
// The flag behind Options::recreate_pinned_pods, without dashes.
inline constexpr std::string_view kRecreateFlag = "recreate-pinned-pods";

using Mode = reconcile::Scheduling;

struct Options {
  Mode mode = Mode::kGate;
  // Bind mode: the values of spec.schedulerName whose pods are ours to bind.
  std::vector<std::string> scheduler_names;
  // Before an uninstall: makes no new allocations, and lifts each of our gates once our allocations for the pod are
  // proven or withdrawn.
  bool release_gates = false;
  // This program makes the claims of template entries: they may be used before the pod's status names them.
  bool own_claims = false;
  // Evicts pods that kube-scheduler does not place on the
  // node of their devices, in labelled namespaces (pinned.h).
  bool recreate_pinned_pods = false;
  // What pods were promised that take the place of others is kept for them (kept/promised_devices.h).
  bool promises = false;
  // An incomplete group withdraws its unproven allocations after this time at the latest (group_reconcile.h).
  Duration gang_hold_timeout = std::chrono::seconds(30);
  // A group that has waited this long keeps the nodes it needs from pods of its priority and below (kept_nodes.h).
  Duration gang_starvation_after = std::chrono::minutes(5);
  // Labels of nodes, or attributes of devices, from wide domains to narrow ones (topology.h).
  std::vector<std::string> topology_levels;
  // Off only in models, to show what it is for: marks wait for G9 (docs/design/groups-commit.md).
  bool prove_rails = true;
  // A waiting pod is retried after this time even if nothing that it waits for has changed.
  Duration retry_parked = std::chrono::minutes(5);
};

// The label values of dra_allocation_failures_total: allocator::cause_name's, and those of whole decisions.
std::vector<std::string> failure_causes();

}  // namespace dra::allocation
