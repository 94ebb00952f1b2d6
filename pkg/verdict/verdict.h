// Verdict: whether a pod with its claims fits, and if not, what is wrong with every node and every device.
//
//   verdict::Facts facts{cluster, inventory, allocator};
//   verdict::Verdict v = verdict::judge(facts, {.pod = &pod, .claims = claims});
//   if (v.answer == Answer::kFits) ... v.node, v.results
//   else: verdict::sentence(v)   // for events and conditions: one sentence of at most 1 KiB, main obstacle first
//         verdict::text(v)       // for people at a terminal
//
// The manager, which has decided already, calls explain() instead. It examines no more devices than the allocator's
// slice allows, and the verdict says how many that were.
//
// Guarantees: pure except for caches of the allocator and the cluster; bounded by the allocator's slice
// (Options::slice). Every device of an examined node is counted exactly once for each request: not_selected and the
// devices of `groups` add up to `examined`. Texts are valid UTF-8 without control characters, whatever objects contain.
// Not thread-safe: one thread owns the facts.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/allocator/allocator.h"
#include "pkg/api/core.h"
#include "pkg/api/resource.h"
#include "pkg/inventory/inventory.h"
#include "pkg/placement/decision.h"
#include "pkg/placement/node_numbers.h"
#include "pkg/verdict/nodes.h"

namespace dra::verdict {

// A claim that holds devices, as far as the asker may know it.
struct Holder {
  std::string claim;  // namespace/name; empty: it may not be named
  std::string uid;
  std::vector<std::string> pods;  // namespace/name of the pods it is reserved for
  uint32_t devices = 0;           // how many of the group's devices it holds
  std::string kept;               // "kept until ...": no pod uses it (pkg/protocol/keep.h)
};
// Names the claim with this uid, which holds part of the pool. Called for at most kMaxNames claims per group.
using NameOfHolder = std::function<Holder(std::string_view uid)>;

// Why a request cannot have devices that its class selects.
enum class DeviceProblem : uint8_t {
  kFree,            // nothing: it can be had, but there are not enough, or not together
  kFreeElsewhere,   // nothing, but the pod cannot go to its node
  kHeld,            // held by other claims (`holders`)
  kCut,             // its counters are taken by partitions or by the whole that they are cut from (`holders`, `text`)
  kCounter,         // short of a counter for another reason (`text`)
  kCapacity,        // short of a capacity (`text`: which, and by how much)
  kTaint,           // `text`: "key=value:Effect"
  kSelector,        // refused by a selector of the request (`text`: the expression)
  kSelectorFails,   // a selector fails with an error on it (`text`)
  kConstraint,      // too few devices share a value, or too few different values (`text`)
  kPoolIncomplete,  // `text`: "2 of 3 slices of generation 7 seen"
  kPoolInvalid,     // `text`: why
  kUnknownField,    // it or its pool has a field that this build does not know (`text`: why, and what to do)
  kFeature,         // needs a feature gate that is off (`text`)
  kLimit,           // usable, but a claim can have at most 32
  kNotShared,       // others have shares of it, and this claim may have none beside them (`text`: why)
  kSameSilicon,     // the same hardware as a device that is held (`text`: which, and by which value)
  kPlugin,          // the device plugin of its node serves it (`text`)
  kSetAside,        // kept from this pod (`text`: why); no claim holds it
};
std::string_view device_problem_name(DeviceProblem problem);  // "Held"; part of the interface

struct DeviceGroup {
  DeviceProblem problem = DeviceProblem::kFree;
  std::string text;
  // kSelector, if no device passes: what is compared and what there is, "memory >= 80Gi: the largest has 81559Mi".
  std::string values{};
  uint32_t devices = 0;
  std::vector<std::string> names;  // driver/pool/device, the first kMaxNames
  std::vector<Holder> holders;     // most devices first, at most kMaxNames
  uint32_t more_holders = 0;
  bool holders_sampled = false;  // there may be still more
};

struct RequestVerdict {
  std::string claim;    // namespace/name
  std::string entry;    // its name in the pod's resourceClaims; empty if the question names none
  std::string request;  // "req" or "req/sub"
  std::string device_class;
  uint32_t wanted = 0;              // 0: mode All
  uint32_t asked = 0;               // devices that exist
  uint32_t examined = 0;            // of these, examined
  uint32_t not_selected = 0;        // by the class: not a reason for anything
  std::vector<DeviceGroup> groups;  // largest obstacle first; the devices that the class selects
  // If the class selects none at all: the nearest miss, "no device has driver gpu.nvidia.com".
  std::string nearest_miss;
  // Usable devices on the node that has most of them, if there are enough in all but too few on each node.
  std::optional<uint32_t> most_on_one_node;
  // Devices that the request selects, in use or not, on the node that has most, if no node has enough: waiting does not
  // help. Not set where fewer exist in all because the request's selectors reject others.
  std::optional<uint32_t> most_there;
  // Mode All: nodes on which a pool that is incomplete or invalid, of whichever driver, rules it out; and the first
  // such pool: "pool a.example.com/p is invalid: WHY".
  uint32_t nodes_blocked = 0;
  std::string blocked_by;
  // Nothing can satisfy the request: unknown class, unreadable selector.
  std::string invalid;

  // Devices of kFree.
  uint32_t free() const;
  // Devices selected by class and request.
  uint32_t selected() const;
  // The request alone, without the pod's other requests, can have enough devices of one node.
  bool possible = false;

  // The request without the name of the alternative, within its claim: alternatives of one request have it in common.
  std::string base() const;
};

enum class Answer : uint8_t {
  kFits,
  kDoesNotFit,
  kUndecided,  // the search ended at its budget or its slice
};

struct Verdict {
  Answer answer = Answer::kDoesNotFit;

  // kFits: the node, and the devices of each claim of the question that was not allocated, in order.
  std::string node;
  std::vector<api::AllocationResult> results;

  // Refused whatever nodes and devices there are: one sentence that names object and field.
  std::string refused;

  uint32_t nodes = 0;                  // examined
  uint32_t passed = 0;                 // that accept the pod, devices aside
  std::vector<NodeGroup> node_groups;  // the main obstacle first; the nodes that pass form a group of kDevices
  std::vector<RequestVerdict> requests;
  // Drivers of the devices that the classes select: their slices and claims could change the answer. Sorted.
  std::vector<std::string> drivers;
  // Several requests that are each possible alone, but not together: what refuted them.
  std::string together;

  // Nodes with too few groups for a rule about pairs: "node a has 6 such pairs (gpu+nic by ...), 8 are asked". Those
  // with the most first, at most kMaxNames; and on how many nodes more.
  std::vector<std::string> short_of_pairs;
  uint32_t more_short_of_pairs = 0;

  // What sentence() and text() begin with.
  enum class Main : uint8_t { kRefused, kNodes, kDevices, kTogether, kUndecided };
  Main main = Main::kDevices;
  size_t main_request = 0;  // kDevices: index into requests
};

// No node has enough devices for this request or alternative, whatever ends: not even one that does not take the pod
// now.
bool no_node_ever(const Verdict& verdict, const RequestVerdict& request);
// The same for the request and all its alternatives.
bool never_fits(const Verdict& verdict, const RequestVerdict& request);
// The request by itself, or an alternative of it, can have enough devices of one node.
bool has_possible_alternative(const Verdict& verdict, const RequestVerdict& request);

// Devices that count as held for this decision alone: by whom (not the uid of a claim), and why.
struct SetAside {
  std::string uid;
  std::string why;  // "avoided for this pod", after the number of devices
};

struct Facts {
  placement::Cluster& cluster;
  inventory::Inventory& inventory;
  allocator::Allocator& allocator;
  NameOfHolder name_of_holder;  // empty: holders are not named
  placement::Volumes volumes = placement::Volumes::kIgnored;
  placement::NodeNumbers* numbers = nullptr;  // for this cluster and inventory; without it names are looked up
  std::span<const SetAside> set_aside{};
};

struct Question {
  const api::Pod* pod = nullptr;  // null: every node accepts it
  // The pod's claims, in the order of its entries. Allocated ones restrict the nodes.
  std::vector<std::shared_ptr<const api::ResourceClaim>> claims;
  std::vector<std::string> entries;          // their names in the pod, for texts; may be empty
  std::vector<std::string> nodes;            // only these; empty: all
  std::vector<allocator::PairRule> pairs{};  // as in allocator::Request
  allocator::RoomOnNode room{};              // likewise
};

// Removes from `passed` the nodes on which the devices that `claim` already has cannot be used: "claim a/b WHY".
void pin_nodes(NodeFindings& findings, std::vector<inventory::NodeId>& passed, const inventory::Inventory& inventory,
               const std::string& claim, const std::function<bool(inventory::NodeId)>& usable, const std::string& why);

// Decides, and explains what does not fit. For kubectl-dra and tests.
Verdict judge(const Facts& facts, const Question& question);
// Why the pod is refused whatever nodes and devices there are: a malformed annotation, for example.
Verdict refusal(const std::string& why);

// The same as judge() without the explanation: the node where it fits.
std::optional<std::string> fits_on(const Facts& facts, const Question& question);

// The input of explain().
struct DeviceFacts {
  inventory::Inventory& inventory;
  allocator::Allocator& allocator;
  const NameOfHolder& name_of_holder;
  size_t most_named = kMaxNames;  // holders of a group; names are most of what an explanation costs
  std::span<const SetAside> set_aside{};
};
// Explains a refusal: `findings` of the nodes, and the nodes that passed, in the order in which they were tried.
Verdict explain(const DeviceFacts& facts, const Question& question, const NodeFindings& findings,
                std::span<const inventory::NodeId> passed, const allocator::FoundNodes* found);

struct SentenceOptions {
  std::string claim;      // only the requests of this claim (namespace/name); empty: all
  std::string only_node;  // the pod is bound to this node already
  bool name_holders = true;
};
inline constexpr size_t kMaxSentence = 1024;
inline constexpr size_t kNamedInSentence = 2;  // holders of a group of devices
// One sentence, at most kMaxSentence bytes. "0 of 3 nodes fit: 2 have 96 of the 100 cpu asked for (and free devices); 1
// lacks devices for 1 x gpu: 8 of 8 held".
std::string sentence(const Verdict& verdict, const SentenceOptions& options = {});

struct TextOptions {
  size_t width = 80;  // where lines are wrapped; 0: nowhere
  bool wide = false;  // all known names
};
// Several lines, each with its newline; the answer first, then nodes, then devices by request.
std::string text(const Verdict& verdict, const TextOptions& options = {});

// Two verdicts of one kind differ only in figures and names: not worth a new event.
std::string kind(const Verdict& verdict);

}  // namespace dra::verdict
