// The values in which the inventory answers: devices, pools, their use and holders, findings of the audit. Plain values
// that own their texts; inventory.h has the questions.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/api/resource.h"

namespace dra::inventory {

// Dense numbers. A node keeps its number while a Node object or a pool names it, and no other node ever gets that
// number. A pool keeps its number while it has slices or holders; then another pool may get it.
using NodeId = uint32_t;
using PoolId = uint32_t;
inline constexpr uint32_t kNone = 0xffffffffu;

struct DeviceName {
  std::string driver;
  std::string pool;
  std::string device;
  auto operator<=>(const DeviceName&) const = default;
  std::string text() const { return driver + "/" + pool + "/" + device; }
};

enum class PoolState : uint8_t {
  kComplete,
  kIncomplete,  // more or fewer slices of the highest generation than announced: being updated
  kInvalid,     // published wrongly; see `reason`
};
std::string_view pool_state_name(PoolState state);  // "complete", "incomplete", "invalid"

struct PoolInfo {
  PoolId id = kNone;
  std::string driver;
  std::string name;
  std::string node;  // the node, if all slices name the same one, or whose part of the pool this is; else empty
  int64_t generation = 0;
  int64_t announced_slices = 0;
  int64_t seen_slices = 0;      // of the highest generation
  int64_t obsolete_slices = 0;  // of lower generations
  PoolState state = PoolState::kComplete;
  std::string reason;            // for kIncomplete and kInvalid: a sentence that names slice, device and field
  bool differs_by_node = false;  // not complete as a whole, and nodes may judge it otherwise: see pools_by_node()
  // Why no device of the pool is allocated, whatever its state: a slice has a field that this build does not know
  // (docs/design/unknown-fields.md). Empty: they are.
  std::string refused;
  bool refuses_some = false;  // some devices are refused for such a field (DeviceInfo::refused)
  uint32_t devices = 0;
  uint32_t held = 0;       // devices with at least one holder
  uint32_t available = 0;  // neither held exclusively nor blocked by counters
};

// The number of devices by state; a device may be in several states.
struct Usage {
  uint32_t total = 0;
  uint32_t used = 0;  // held by a claim
  // Can be allocated now, all together: in a usable pool, not refused for an unknown field, without a taint that
  // excludes claims, not held exclusively, with capacity left. Of devices that share counters, counts those that fit
  // together when taken in allocation order.
  uint32_t free = 0;
  uint32_t tainted = 0;  // NoSchedule or NoExecute
  // Neither held nor tainted, but holders of other devices have taken what it needs of shared counters: a GPU of which
  // a partition is held.
  uint32_t cut = 0;
  // Not held, but another name of the same silicon is; or they are the device plugin's. Also among `cut` or `tainted`.
  uint32_t held_as = 0, plugins = 0;
  Usage& operator+=(const Usage& more);
  bool operator==(const Usage&) const = default;
};

struct Holder {
  std::string claim_uid;
  std::optional<std::string> share_id;
  bool observed = false;  // in the claim's status
  bool assumed = false;   // decided here
};

struct DeviceInfo {
  DeviceName name;
  std::string slice;
  std::string node;  // the node, if the device is local to one
  bool allow_multiple_allocations = false;
  bool available = false;
  std::string refused;                   // why it is not allocated: a field that this build does not know; empty: it is
  std::vector<api::DeviceTaint> taints;  // of the slice and of rules
  std::vector<Holder> holders;
  // Another name of the same silicon is held: which, the value that says so, and the claims. Empty: none is, or this
  // one is held, too.
  struct HeldAs {
    std::string device;  // driver/pool/device
    std::string value;   // "pci 0000:1a:00.0"
    std::vector<std::string> claims;
  };
  std::optional<HeldAs> held_as;
  bool plugins = false;  // it, or another name of it, belongs to the node's device plugin
};

// Something allocated more often than it exists, or a cached value that differs from the recomputed one.
struct AuditFinding {
  enum class Kind : uint8_t {
    kDeviceOverCommitted,    // several claims hold a device that cannot be shared
    kDeviceConflict,         // two names of one piece of silicon are held; `device` is the first of the two
    kShareConflict,          // holders share a device, and its driver refuses them together
    kCounterOverCommitted,   // a shared counter is below zero
    kCapacityOverCommitted,  // a shared device's capacity is below zero
    kDrift,                  // a bug of this project: incremental and recomputed state differ
  };
  Kind kind = Kind::kDrift;
  DeviceName device;        // for counters the device field is empty
  std::string counter_set;  // counters
  std::string name;         // counter or capacity
  std::string message;      // one sentence with every figure
  // Uids of the holders concerned, sorted: at most kMaxClaimsOfFinding of those that were asked about, and as many
  // others.
  std::vector<std::string> claims;
};
inline constexpr size_t kMaxClaimsOfFinding = 256;
std::string_view audit_kind_name(AuditFinding::Kind kind);

// Which holders count: all, or only those in claim statuses.
enum class Layer : uint8_t { kAll, kObserved };

}  // namespace dra::inventory
