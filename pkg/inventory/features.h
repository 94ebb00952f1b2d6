// Features: the DRA feature gates that change what an allocator may do, by their upstream names (1.36).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pkg/base/error.h"

namespace dra::inventory {

// A plain value. The default is what a 1.36 cluster has with nothing set.
struct Features {
  bool admin_access = true;        // DRAAdminAccess
  bool prioritized_list = true;    // DRAPrioritizedList
  bool device_taints = true;       // DRADeviceTaints
  bool partitionable = true;       // DRAPartitionableDevices
  bool consumable = true;          // DRAConsumableCapacity
  bool binding_conditions = true;  // DRADeviceBindingConditions
  bool list_attributes = false;    // DRAListTypeAttributes (alpha)
  // DRADeviceTaintRules: off in 1.36, but where the rules are served somebody has switched it on. Off: not watched.
  bool taint_rules = true;

  // No gate: 1.36 lets a node go on using a complete older generation of a pool whose newer slices name other nodes
  // only. The API says that only the highest generation counts, so this is for comparison with upstream's tables.
  bool stale_generations = false;

  bool operator==(const Features&) const = default;
  static Features none() { return {false, false, false, false, false, false, false, false, false}; }
  static Features all() { return {true, true, true, true, true, true, true, true, false}; }
};

// Exactly the named gates on, all others off. DRA gates of 1.36 that change no allocation are accepted
// and ignored; any other name is refused by name.
Result<Features> features_from_gates(const std::vector<std::string>& enabled);
// "Name=true,Name=false" over `base`, as --feature-gates takes it.
Result<Features> features_from_flag(std::string_view text, Features base = {});

}  // namespace dra::inventory
