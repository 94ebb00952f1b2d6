// Settings: what the operator chose, as far as controllers need it. The flags of the manager write here and nowhere
// else; each controller's `make` builds its own options from it. Plain values.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/base/clock.h"

namespace dra::reconcile {

enum class Scheduling {
  kObserve,  // explain only: no writes
  kGate,     // allocate for pods that carry our gate, when it is the last one left, then lift it
  kBind,     // the same, and bind pods of our scheduler names
};

enum class ClaimTemplates {
  kObserve,  // kube-controller-manager makes and deletes claims; we only back it up
  kOwn,      // its resourceclaim-controller is off: we do both
};

// Who evicts the pods of devices with NoExecute taints.
enum class DeviceTaintEviction {
  kObserve,  // kube-controller-manager's device-taint-eviction-controller (where it is on); we back it up
  kOwn,      // we alone: it is off
};

struct Settings {
  std::vector<std::string> controllers;  // the chosen ones, by name
  Scheduling scheduling = Scheduling::kGate;
  // With kBind: the values of spec.schedulerName whose pods are ours to bind.
  std::vector<std::string> scheduler_names;
  // Before an uninstall: no new allocations, and each gate is lifted once what the pod holds is proven or withdrawn.
  bool release_gates = false;
  ClaimTemplates claim_templates = ClaimTemplates::kObserve;
  DeviceTaintEviction device_taint_eviction = DeviceTaintEviction::kObserve;
  double device_taint_eviction_rate = 50;  // pods a second; 0: no limit
  // With kOwn: a DeviceTaintRule that would evict more pods than this waits for an annotation; 0: no limit.
  uint64_t max_evictions_per_rule = 0;
  Duration gang_hold_timeout = std::chrono::seconds(30);     // --gang-hold-timeout
  Duration gang_starvation_after = std::chrono::minutes(5);  // --gang-starvation-after
  std::vector<std::string> topology_levels;                  // --topology-levels
  uint32_t max_moves = 4;                                    // --max-moves: for one pod that waits
  Duration move_after = std::chrono::minutes(10);            // --move-after: no pod moves before that
  uint32_t moves_per_hour = 20;                              // --moves-per-hour: in all
  // The controllers' own flags, by name without dashes: Controller::flags.
  std::map<std::string, std::string> flags;
  // Off only in models, to show what it is for: what pods were promised is not proven before others are evicted.
  bool prove_promises = true;
  // The feature gate DRADeviceTaints. No flag writes it: manager::settings_of() takes it from the chosen features.
  bool device_taints = true;
};

// The words of a flag that switches something on or off.
inline constexpr std::array<std::string_view, 4> kSwitchWords{"off", "on", "false", "true"};

// Whether the switch of this name is on. What reads a switch (controller, roles, permissions) reads it here.
bool switched_on(const Settings& settings, std::string_view name);

}  // namespace dra::reconcile
