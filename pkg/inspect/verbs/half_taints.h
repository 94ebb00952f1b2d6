// Half taints: DeviceTaintRules that taint a device and leave devices cut from it usable. Pure.
//
// Kubernetes taints only the device that a rule selects by name (resource.k8s.io DeviceTaintSelector), so a rule for a
// GPU does nothing to its partitions, nor to those that its driver publishes later.
#pragma once

#include <string>
#include <vector>

#include "pkg/inspect/state/objects.h"
#include "pkg/inventory/device.h"

namespace dra::inspect {

// "key=value:Effect", as kubectl dra taint takes it.
std::string taint_text(const api::DeviceTaint& taint);

struct HalfTaint {
  std::string rule;  // its name
  inventory::DeviceName device;
  std::string node;                 // of the device; empty: several, or none
  std::string taint;                // "key=value:Effect"
  std::vector<std::string> usable;  // names of devices of that pool, at least one
};

// Of rules that name a device and do not belong to the taint of another one (kTaintedWith), with the effect NoSchedule
// or NoExecute; by pool, then in the order of its slices.
std::vector<HalfTaint> half_taints(const Objects& objects);

}  // namespace dra::inspect
