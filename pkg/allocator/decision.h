// What the allocator is asked and what it answers: plain values.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/allocator/budget/meter.h"
#include "pkg/allocator/locality.h"
#include "pkg/allocator/pairs.h"
#include "pkg/allocator/value_list.h"
#include "pkg/api/resource.h"
#include "pkg/base/error.h"
#include "pkg/inventory/inventory.h"

namespace dra::allocator {

using inventory::NodeId;

enum class Strategy : uint8_t {
  kFirstFit,  // the first solution in upstream's order, on the first node that fits
  kBestFit,   // over all nodes: leaves the most that recent requests can use (pkg/strategy)
  kPack,      // devices and nodes already in use first, the fullest that suffice
  kSpread,    // the emptiest first
};
// "first-fit", "best-fit", "pack" and "spread"; nullopt for other texts.
std::optional<Strategy> parse_strategy(std::string_view text);
std::string_view strategy_name(Strategy strategy);

// On a DeviceClass: the strategy for requests of this class; overrides Options::strategy.
inline constexpr std::string_view kStrategyAnnotation = "dra-controller-manager/strategy";

// What placement knows about a node.
struct NodeFacts {
  int64_t free_cpu_milli = 0;
  int64_t preferred = 0;  // score of the pod's preferences (affinity, taints, spreading); higher is better
  bool operator==(const NodeFacts&) const = default;
};

// One search step is one attempt to take one device (0.1 to 1 microsecond). The default is the budget of the first
// attempt. It doubles after each attempt without an answer, up to the maximum.
inline constexpr uint64_t kDefaultStepBudget = 50'000;
inline constexpr uint64_t kDefaultMaxStepBudget = 3'200'000;

struct Options {
  Strategy strategy = Strategy::kFirstFit;
  // Off: if a selector fails at run time, the device is unusable for that request, and the failure is reported. On: it
  // ends the decision with an error, in upstream's order and conditions; so does an All request with an unusable pool
  // or under a constraint. Conformance with upstream's tables needs it on.
  bool strict_selector_errors = false;
  uint64_t step_budget = kDefaultStepBudget;
  uint64_t max_step_budget = kDefaultMaxStepBudget;
  // The latest end of one call of find_nodes, explain or class_usage, except for the selector in progress (20 ms at
  // most). Zero steps: no limit. On a simulated clock only steps count. The clock must outlive the allocator; it also
  // charges the namespaces' budgets (budget/namespace_budget.h).
  SliceLimit slice;
  // Keys of NoSchedule taints that this allocator ignores ("devices that only this allocator hands out").
  std::vector<std::string> ignored_taints;
  bool quantity_operators = false;  // pkg/cel EnvironmentOptions
};

// How much devices of the request may take of the node's resource beside what its pods request ("cpu", "memory",
// "ephemeral-storage", "hugepages-2Mi"); below zero: nothing. Constant while a call runs.
using RoomOnNode = std::function<api::Quantity(NodeId, const std::string& resource)>;

struct Request {
  // Of one pod, in the pod's order; allocated together or not at all. Must not be null. Plans are cached per object, so
  // pass the store's object, not a copy.
  std::vector<std::shared_ptr<const api::ResourceClaim>> claims;
  // For firstAvailable: find_nodes compares the first nodes that fit (NodeSearch::kScoredNodes) and prefers earlier
  // alternatives, as kube-scheduler does. Otherwise it takes the first node that fits.
  bool weigh_alternatives = false;
  // 0: that of the options, doubled per attempt. In find_nodes it covers all nodes together.
  uint64_t step_budget = 0;
  // The strategy of find_nodes. Unset: from the first class of the requests that has kStrategyAnnotation, otherwise
  // from the options.
  std::optional<Strategy> strategy;
  // The pod's CPU request, and facts for each node of the order; empty: unknown.
  int64_t cpu_milli = 0;
  std::span<const NodeFacts> facts;
  // For find_nodes: devices that should agree in an attribute. They outrank everything else the strategy weighs: met if
  // any node can meet them. At most kMaxPreferences. Not with strict_selector_errors.
  std::vector<Preference> preferences;
  // Values that devices must stand for; all must hold. explain() leaves them aside.
  std::vector<ValueList> lists;
  // Groups of devices that must share a value of an attribute; hard. At most alignment::kMaxEntries.
  std::vector<PairRule> pairs;
  // For find_nodes and explain: set, devices that take something of their node (pkg/inventory/node_takes.h) are given,
  // as many as there is room for; then first-fit chooses, whatever the strategy. Otherwise such devices are refused.
  // Not with strict_selector_errors.
  RoomOnNode room;
};

enum class Outcome : uint8_t {
  kFeasible,
  kInfeasible,   // proven: nothing fits with the inventory as it is
  kBudgetSpent,  // neither found nor refuted within the step budget
  kUnfinished,   // the slice ended first: call again to continue
  kError,        // the request or (strict) a selector is unusable; see `error`
};
std::string_view outcome_name(Outcome outcome);

struct Decision {
  Outcome outcome = Outcome::kInfeasible;
  NodeId node = inventory::kNone;
  // One per claim, in order. allocationTimestamp is left empty for the caller to set.
  std::vector<api::AllocationResult> results;
  // Per claim: sum over its firstAvailable requests of (8 - index of the chosen alternative), as upstream scores nodes.
  std::vector<int> prioritized_scores;
  std::optional<Error> error;
  uint64_t steps = 0;
  // Why this node, as a clause ("keeps 3 of 4 cards of gpu.nvidia.com whole on a100-2"); empty for first-fit, which has
  // no preference.
  std::string reason;
  // The Request::preferences that are met, as bits.
  uint32_t met = 0;
  bool takes_of_node = false;  // some of its devices take something of the node (Request::room)
};

struct FoundNodes {
  // Only feasible ones, at most `limit`: in the order of the nodes or, if weighed, best score first. Exactly one if the
  // strategy is not first-fit.
  std::vector<Decision> decisions;
  Outcome outcome =
      Outcome::kInfeasible;  // kFeasible if there is any; kBudgetSpent if a node is undecided and none fits
  std::optional<Error> error;
  // kError: the faulty one of Request::claims; nullopt: no single one.
  std::optional<uint32_t> guilty_claim;
  uint64_t steps = 0;
  uint32_t nodes_searched = 0;  // the rest was refuted by summaries
  uint64_t budget = 0;          // of the attempt, in steps
  uint32_t slices = 0;          // of the attempt, so far
  // A class whose kStrategyAnnotation names no known strategy: it was ignored.
  std::string class_of_unknown_strategy;
  // Where nothing fits and Request::room was too small for some choice of devices: the first such node and resource,
  // "node n: devices would take 3 cpu, and there is room for 900m". Capacity that becomes free may change the answer.
  std::string short_of_room;
  Duration ask_again{};  // kUnfinished: do not call again before this time has passed, for the sake of other namespaces
};

// How many groups of one of Request::pairs the devices make that its requests could each take on a node now.
struct GroupsOnNode {
  NodeId node = inventory::kNone;
  uint32_t has = 0;  // at most `most`
};

// Several ways to serve a request on one node.
struct Solutions {
  std::vector<Decision> decisions;
  // kFeasible: as many as requested, there may be more. kInfeasible: there are no more. kBudgetSpent: unknown.
  Outcome outcome = Outcome::kInfeasible;
  std::optional<Error> error;
  uint64_t steps = 0;
};

// How many equal requests might fit on nodes together, by counting devices.
struct FitCounts {
  static constexpr uint32_t kUnbounded = UINT32_MAX;
  bool finished = false;               // else the slice ended: call again
  std::vector<uint32_t> now, at_best;  // upper bounds by node of the order; at_best: if no device were held
  // On all nodes together; less than the sum if several nodes can use a device.
  uint64_t total_now = UINT64_MAX, total_at_best = UINT64_MAX;
  // Every device that can serve the request belongs to a pool of one node, so an allocation on one node changes nothing
  // on the others.
  bool node_local = false;
  // Mode All means fewer devices once shared ones are used up: taking some may make the request possible.
  bool order_matters = false;
};

}  // namespace dra::allocator
