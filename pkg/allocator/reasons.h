// Reasons: why a request could not be satisfied, counted by cause. pkg/verdict turns this data into
// sentences.
//
// Each device in the scope is counted once per request and alternative, under the first applicable cause of the enum
// below. So the counts of one RequestReason add up to its `devices_examined`, which is not all devices if selectors
// take long. A device usable on its own is counted as kCombination; `proof` then gives what refuted the whole: too few
// devices left for a request, no value common to enough of them, demand beyond counters and capacities (Hall's
// condition), or an exhausted search. With several nodes it is from the first node on which every request alone has
// enough devices, else from the first node.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/allocator/pairs.h"
#include "pkg/inventory/inventory.h"

namespace dra::allocator {

// The closed set of causes, in the order in which they are checked. The names (cause_name) are part of the
// interface.
enum class Cause : uint8_t {
  kWrongNode,        // WrongNode: the device cannot be used on the nodes in the scope
  kClassSelector,    // ClassSelector: `index` of the class's selector that rejects it or, with `detail`, fails on it
  kPoolIncomplete,   // PoolIncomplete: the pool is being updated
  kPoolInvalid,      // PoolInvalid: the pool was published wrongly
  kUnknownField,     // UnknownField: the device or its pool has a field that this build does not know; see `example`
  kFeatureDisabled,  // FeatureDisabled: the device needs a feature gate that is off
  kRequestSelector,  // RequestSelector: `index` of the request's selector
  kEvaluationError,  // EvaluationError: a selector of the request failed on it; see `detail`
  kTaint,            // Taint: `detail` is "key=value:effect" of the first taint not tolerated
  kCapacityShort,    // CapacityShort: `detail` is the capacity's name
  kInUse,            // InUse: held by another claim
  kNotShared,        // NotShared: others have shares of it, and this request may have none beside them; see `example`
  kCounterShort,     // CounterShort: `detail` is "set/counter"
  kSameSilicon,      // SameSilicon: the device is the same hardware as one that a claim holds; see `example`
  kDevicePlugin,     // DevicePlugin: the device belongs to the device plugin of its node; see `example`
  kConstraint,       // Constraint: `detail` is the attribute: missing on the device, or no value is common to enough
  kLimit,            // Limit: more than 32 results
  kNodeRefused,      // NodeRefused: usable alone, but the pod cannot go to any of its nodes (ExplainScope::passed)
  kCombination,      // Combination: usable alone, but not together with the rest
  // Causes of a request without devices:
  kClassMissing,    // ClassMissing: `detail` is the class
  kInvalidRequest,  // InvalidRequest: nothing can satisfy the request; see `detail`
};
std::string_view cause_name(Cause cause);

// A claim that holds devices, or consumes their counters.
struct HeldBy {
  std::string claim_uid;
  uint32_t devices = 0;
};

struct CauseCount {
  Cause cause = Cause::kCombination;
  int index = -1;  // of a selector
  std::string detail;
  std::string device;  // driver/pool/device: the first one counted here, for administrators
  uint32_t devices = 0;
  // For people: the selector's expression, "device takes 40Gi memory of set gpu-0, 20Gi left", a pool's reason. From
  // the first device; does not affect which causes are counted together.
  std::string example;
  // kRequestSelector, if no device passes the request's selectors: the comparison that none of these devices passes,
  // and the values that they have: "memory >= 80Gi: the largest has 81559Mi".
  std::string values;
  // kInUse and kCounterShort: most devices first, at most kMaxHolders; and how many more there are.
  std::vector<HeldBy> holders;
  uint32_t more_holders = 0;
  bool holders_sampled = false;  // there may be even more: not all of the devices were examined
};
inline constexpr size_t kMaxHolders = 8;
inline constexpr size_t kMaxAble = 4096;

struct RequestReason {
  std::string claim;    // namespace/name
  std::string request;  // "req" or "req/sub"
  std::string device_class;
  uint32_t devices_examined = 0;
  uint32_t devices_asked = 0;      // number of devices in the scope
  uint32_t devices_wanted = 0;     // 0: mode All
  std::vector<CauseCount> counts;  // in the order of the enum; they add up to devices_examined
  uint32_t most_on_one_node = 0;   // usable alone (kCombination), on the node with the most
  // If several devices are wanted: devices the selectors match, whatever else excludes them, on the node with the most
  // (an upper bound, if pools are shared by nodes); UINT32_MAX: some node has enough, or it is unknown.
  uint32_t most_there = UINT32_MAX;
  // If the class selects no device: "no device has driver gpu.nvidia.com", "memory >= 80Gi: the largest has 81559Mi".
  std::string nearest_miss;
  // Mode All: nodes that the pod can go to and that have a pool, of whichever driver, which is incomplete or invalid;
  // and the first such pool: "pool a.example.com/p is invalid: WHY".
  uint32_t nodes_blocked = 0;
  std::string blocked_by;
};

struct Reasons;
// Some alternative of every request has enough usable devices on one node.
bool each_possible_alone(const Reasons& reasons);

// The nodes an explanation is about.
struct ExplainScope {
  // Count the devices of all pools, whatever their nodes; otherwise those of `passed` and `others`.
  bool everywhere = false;
  std::span<const inventory::NodeId> passed;  // nodes that the pod can go to
  std::span<const inventory::NodeId> others;  // nodes that it cannot
};

// An explanation examines no more devices than this (it would take longer than the decision's own budget): further
// nodes are omitted; see nodes_examined.
inline constexpr uint32_t kMaxExplainedDevices = 50'000;

// The proof of a search that tried everything.
inline constexpr std::string_view kExhausted = "no choice among the devices left satisfies all requests";

struct Reasons {
  std::vector<RequestReason> requests;
  uint32_t nodes_asked = 0;
  uint32_t nodes_examined = 0;
  std::vector<std::string> drivers;  // of pools with selected or unexamined devices, sorted: they could change this
  std::string proof;                 // never empty for a request found infeasible on at least one known node
  // Nodes that each have enough devices for every request alone, but that the pod cannot go to; the first
  // kMaxAble.
  std::vector<inventory::NodeId> able_though_refused;
  // Nodes that have a device of the class of every request (of an alternative of it), selected and free or not; in
  // order. Nothing: that is not known, all nodes can use one, there is none, or there are more than 1024.
  std::optional<std::vector<inventory::NodeId>> of_class;
  // Nodes of ExplainScope::passed with too few groups for a rule about pairs, as many as were counted in time; and the
  // texts of Request::pairs.
  std::vector<PairShort> short_of_pairs;
  std::vector<std::string> pair_texts;
  // Of the node and rule that lack the fewest groups: which devices find no partner, "2 gpu of pcieRoot pci0000:60 have
  // no free nic"; empty: not known.
  std::string pair_gaps;
  // All of it on one line of at most 1 KiB: for tests and logs.
  std::string summary() const;
};

}  // namespace dra::allocator
