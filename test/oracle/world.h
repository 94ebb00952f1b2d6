// World: everything one allocation decision depends on, in one value, and its text form: one JSON object per world, the
// format of the allocator's conformance files.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pkg/api/core.h"
#include "pkg/api/resource.h"
#include "pkg/base/error.h"
#include "pkg/identity/record.h"
#include "pkg/identity/rules.h"

namespace dra::oracle {

struct DeviceName {
  std::string driver;
  std::string pool;
  std::string device;
  auto operator<=>(const DeviceName&) const = default;
  std::string text() const { return driver + "/" + pool + "/" + device; }
};

// "driver/pool/device" (a pool's name may contain slashes); nullopt without two slashes.
std::optional<DeviceName> parse_device_name(std::string_view text);

struct World {
  std::string id;
  std::set<std::string, std::less<>> gates;
  std::vector<api::Node> nodes;  // tried in this order; all claims go to one node
  bool single_node = true;       // written as "node" rather than "nodes"
  std::vector<api::DeviceClass> classes;
  std::vector<api::ResourceSlice> slices;
  std::vector<api::ResourceClaim> claims;         // of one pod, none allocated
  std::vector<api::DeviceTaintRule> taint_rules;  // "deviceTaintRules" in the text form; added to the slices' taints
  // Held by other claims: exclusively, as shares, and how much of each capacity the shares took.
  std::set<DeviceName> allocated;
  std::set<std::pair<DeviceName, std::string>> allocated_shares;
  std::map<DeviceName, api::StringMap> consumed;

  // What the allocations recorded of the devices that they hold, and what adminAccess alone holds
  // ("recordedIdentities", "adminDevices"); pods of nodes; what flags add to the rules ("settings").
  std::map<DeviceName, identity::Record> recorded;
  std::set<DeviceName> admin_held;
  std::vector<api::Pod> pods;
  identity::Rules identity_rules;

  // 1.36 lets a node keep using a complete older generation of a pool whose newer slices are for other nodes only. The
  // API says that only the highest generation counts; upstream's tables need the older one. Not part of the text form.
  bool stale_generations = false;
  // 1.38: requests name capacities with or without the driver's domain. Not part of the text form.
  bool either_capacity_name = false;

  bool on(std::string_view gate) const { return gates.count(gate) > 0; }
};

// The expectation in a conformance file, if it has one.
struct Expectation {
  std::optional<bool> feasible;
  bool error = false;
  std::optional<std::vector<api::AllocationResult>> results;  // empty: cannot be allocated
};

struct Case {
  World world;
  Expectation expect;
  std::string upstream_json;  // recorded upstream times; "" if there are none
};

// kInvalidArgument names the field that is wrong.
Result<Case> read_case(std::string_view json);
// One line; read_case gives the same world back.
std::string write_case(const World& world, std::optional<bool> feasible = std::nullopt);

// The gates of a world with all features, by their upstream names.
const std::set<std::string, std::less<>>& all_gates();

}  // namespace dra::oracle
