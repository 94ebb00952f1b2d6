// Features: the DRA feature gates that affect allocation, by their upstream names, and the differences between
// Kubernetes releases.
//
//   auto choice = FeatureChoice::parse("DRAAdminAccess=false", "");   // --feature-gates, --kubernetes-version
//   Features features = choice->on("v1.37.0");                        // gitVersion of GET /version
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/api/unknown_fields.h"
#include "pkg/base/error.h"

namespace dra::inventory {

// A plain value. The defaults are those of a 1.36 cluster without settings.
struct Features {
  bool admin_access = true;        // DRAAdminAccess
  bool prioritized_list = true;    // DRAPrioritizedList
  bool device_taints = true;       // DRADeviceTaints
  bool partitionable = true;       // DRAPartitionableDevices
  bool consumable = true;          // DRAConsumableCapacity
  bool binding_conditions = true;  // DRADeviceBindingConditions
  bool list_attributes = false;    // DRAListTypeAttributes (alpha)
  // DRADeviceTaintRules: off in 1.36, but a server that serves the rules has it enabled. Off: rules are not watched.
  bool taint_rules = true;
  bool fractional_ranges = false;  // DRAFractionalCapacityRange (beta, but off on a 1.37 cluster by default)
  // Off: a slice with groups makes its pool incomplete, as for kube-scheduler without the gate.
  bool compatibility_groups = false;  // DRADeviceCompatibilityGroups (alpha in 1.37)
  // Off: a claim that has some is refused by name.
  bool derived_attributes = false;  // DRADerivedAttributes (alpha in 1.37)
  // Off: the devices of a slice that uses it are not allocated.
  bool optional_node_operations = false;  // DRAOptionalNodeOperations (alpha in 1.37)

  // No gate: selectors follow the rules of 1.37 (cel::Release::k137) instead of 1.36.
  bool selectors_of_137 = false;

  // No gate: requests name a capacity of the driver's own domain with or without that domain, whichever the slice has
  // (1.38). Before, only as the slice has it.
  bool either_capacity_name = false;
  // No gate: a request for all devices beside an incomplete pool excludes the node (1.38). Before, kube-scheduler ended
  // the decision with an error. Only Options::strict_selector_errors distinguishes the two.
  bool incomplete_pool_excludes_node = false;

  // No gate: kube-scheduler lets a node use a complete older generation of a pool whose newer slices name only other
  // nodes. Drivers that publish every node under one pool name count generations per node, so this is on. The API says
  // that only the highest generation counts: --stale-pool-generations=false.
  bool stale_generations = true;

  // No gate: what an administrator lists by --ignore-unknown-fields (pkg/api/unknown_fields.h).
  api::IgnoredFields ignored_fields{};

  bool operator==(const Features&) const = default;
  static Features none() {
    return {.admin_access = false,
            .prioritized_list = false,
            .device_taints = false,
            .partitionable = false,
            .consumable = false,
            .binding_conditions = false,
            .taint_rules = false};
  }
  static Features all() {
    return {.list_attributes = true,
            .fractional_ranges = true,
            .compatibility_groups = true,
            .derived_attributes = true,
            .optional_node_operations = true};
  }
};

// The minor versions whose rules are known.
inline constexpr int kOldestKnownRelease = 36, kNewestKnownRelease = 38;

// The named gates on, all others off. DRA gates of 1.36 that do not affect allocation are accepted and ignored; the
// error for any other gate names it.
Result<Features> features_from_gates(const std::vector<std::string>& enabled);
// Applies "Name=true,Name=false", the syntax of --feature-gates, to `base`.
Result<Features> features_from_flag(std::string_view text, Features base = {});

// The minor version in "1.37", "v1.37.0-beta.0" or "v1.36.2+vendor"; nullopt for other texts and major versions.
std::optional<int> minor_version(std::string_view version);

// Its rules are not known: those of kNewestKnownRelease are used.
bool is_newer_than_known(std::string_view version);

// The features to use if only the server's release is known ("v1.36.2", the gitVersion of GET /version; a text that is
// not a version counts as 1.36).
//
// No API reports which gates are on: discovery and OpenAPI list every field, whatever its gate, and /metrics is closed
// to most clients. A server whose gate is off drops the gate's fields from what is written, so a field in a stored
// object shows that the gate is or was on. Therefore features whose rules read only such fields are on. That includes
// DRAListTypeAttributes, off by default upstream: a server whose gate is off refuses an attribute with a list, and on
// devices without lists every selector that compiles without the gate has the same outcome with it
// (ListAttributes.MakeNoDifferenceWhereNoDeviceHasAny in pkg/cel). The alpha gates of 1.37 are off, as they are in
// kube-scheduler: what is stored in spite of that is treated as kube-scheduler treats it, and every refusal names the
// gate. Features without a field follow the release: the selector rules from 1.37 on, both names of a capacity from
// 1.38 on. DRAFractionalCapacityRange is on from 1.38 on: a 1.37 server has it only with --min-compatibility-version.
// A release newer than kNewestKnownRelease has the rules of that.
Features features_of_release(std::string_view server_version);

// The operator's choice of gates and release. Anything not chosen follows the server. A plain value.
class FeatureChoice {
 public:
  FeatureChoice() = default;
  // These features, whatever the server.
  explicit FeatureChoice(const Features& fixed) : fixed_(fixed) {}
  // `gates`: "Name=true,Name=false". `version`: the release whose rules replace the server's; empty: the server's.
  // Errors name the wrong part and what is accepted.
  static Result<FeatureChoice> parse(std::string_view gates, std::string_view version);
  void ignore(api::IgnoredFields fields) { ignored_fields_ = std::move(fields); }

  Features on(std::string_view server_version) const;
  // The operator's choice for this gate; nullopt without one.
  std::optional<bool> said(bool Features::*gate) const;

 private:
  std::optional<Features> fixed_;
  std::string gates_;
  std::string version_;
  api::IgnoredFields ignored_fields_;
};

}  // namespace dra::inventory
