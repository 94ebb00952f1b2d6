// Reasons: why a request could not be satisfied, counted by cause.
//
// Each device of the asked nodes (all devices of every pool of which at least one slice is usable on such a node) is
// counted once per request and alternative, under the first cause of the enum below that applies, so the counts of one
// RequestReason add up to its `devices_examined`; where selectors take long that is not all of them. A device that
// nothing speaks against alone is counted as kCombination; the proof that refuted the whole is in `proof`: too few
// devices left for a request, no value common to enough of them, more wanted than counters and capacities give (Hall's
// condition), or a search without result. With several nodes it is that of the first node on which every request by
// itself has enough devices, else of the first.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dra::allocator {

// The closed set of causes, in the order in which they are looked for. The names (cause_name) are part of the
// interface.
enum class Cause : uint8_t {
  kPoolIncomplete,   // PoolIncomplete: the pool is being updated
  kPoolInvalid,      // PoolInvalid: the pool was published wrongly
  kWrongNode,        // WrongNode: the device cannot be used on the node
  kFeatureDisabled,  // FeatureDisabled: the device needs a feature gate that is off
  kClassSelector,    // ClassSelector: `index` of the selector of the class
  kRequestSelector,  // RequestSelector: `index` of the selector of the request
  kEvaluationError,  // EvaluationError: a selector failed on the device; `detail` says how, `device` on which first
  kTaint,            // Taint: `detail` is "key=value:effect" of the first one not tolerated
  kCapacityShort,    // CapacityShort: `detail` is the capacity's name
  kInUse,            // InUse: held by another claim
  kCounterShort,     // CounterShort: `detail` is "set/counter"
  kConstraint,       // Constraint: `detail` is the attribute: missing on the device, or no value that is common enough
  kLimit,            // Limit: more than 32 results
  kCombination,      // Combination: usable alone, but not together with the rest
  // Causes of a request without any device:
  kClassMissing,    // ClassMissing: `detail` is the class
  kInvalidRequest,  // InvalidRequest: the request cannot be satisfied by anything; `detail` says why
};
std::string_view cause_name(Cause cause);

struct CauseCount {
  Cause cause = Cause::kCombination;
  int index = -1;  // of a selector
  std::string detail;
  std::string device;  // driver/pool/device: the first one counted here, for administrators
  uint32_t devices = 0;
};

struct RequestReason {
  std::string claim;    // namespace/name
  std::string request;  // "req" or "req/sub"
  uint32_t devices_examined = 0;
  uint32_t devices_asked = 0;      // how many there are
  uint32_t devices_wanted = 0;     // 0: mode All
  std::vector<CauseCount> counts;  // in the order of the enum; they add up to devices_examined
};

// An explanation looks at no more devices than this (it would take longer than the decision's own budget): further
// nodes are left out, and nodes_examined says so.
inline constexpr uint32_t kMaxExplainedDevices = 50'000;

// The proof of a search that tried everything.
inline constexpr std::string_view kExhausted = "no choice among the devices left satisfies all requests";

struct Reasons {
  std::vector<RequestReason> requests;
  uint32_t nodes_asked = 0;
  uint32_t nodes_examined = 0;
  std::vector<std::string> drivers;  // of the pools examined, sorted: whose devices would have to be freed
  std::string proof;                 // never empty for what was found infeasible on at least one known node
  // At most 1 KiB, without names of devices or of other namespaces' objects: for events and conditions.
  std::string summary() const;
  // The same in one sentence for users, at most 1000 bytes: "no node can provide 2 x gpu: 14 devices in use, 6 rejected
  // by selector 1, 3 tainted (k=v:NoSchedule)". Only requests that cannot be satisfied even alone are counted out;
  // where there are none, the sentence says that they do not fit together. Selectors are counted from 1. `claim`
  // ("namespace/name") restricts it to the requests of one claim; empty: all.
  std::string sentence(std::string_view who_cannot = "no node can provide", std::string_view claim = "") const;
};

}  // namespace dra::allocator
