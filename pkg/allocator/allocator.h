// Allocator: which devices for the claims of one pod, on one node or on the first node that fits.
//
//   Allocator allocator(inventory, options, random);
//   Decision d = allocator.allocate(Request{claims}, inventory.node_id("n0"));
//   if (d.outcome == Outcome::kFeasible) for each claim i: inventory.assume(uid_i, d.results[i]);
//
// Exact: a decision is feasible, infeasible, or "budget spent"; never a guess. Pure: no I/O, no clock; it reads the
// inventory and changes only caches of its own. Semantics: resource.k8s.io/v1 (API documentation) and
// k8s.io/dynamic-resource-allocation/structured of 1.36, first-fit in upstream's order (claims, requests, alternatives;
// pools by driver and name with binding conditions last; slices by name; devices as listed; combinations, not
// permutations). docs/decisions and README.md name each place where upstream is wrong and the API's documentation is
// followed.
//
// Not thread-safe: one thread owns an allocator and its inventory.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "pkg/allocator/locality.h"
#include "pkg/allocator/meter.h"
#include "pkg/allocator/reasons.h"
#include "pkg/api/resource.h"
#include "pkg/base/error.h"
#include "pkg/base/random.h"
#include "pkg/inventory/inventory.h"

namespace dra::allocator {

using inventory::NodeId;

enum class Strategy : uint8_t {
  kFirstFit,  // the first solution in upstream's order, on the first node that fits
  kBestFit,   // over all nodes: what leaves most of use to the requests of late (pkg/strategy)
  kPack,      // devices and nodes in use first, the fullest that suffice
  kSpread,    // the emptiest first
};
// "first-fit", "best-fit", "pack" and "spread"; nothing for other texts.
std::optional<Strategy> parse_strategy(std::string_view text);
std::string_view strategy_name(Strategy strategy);

// On a DeviceClass: how node and devices are chosen for requests of this class, whatever Options::strategy says.
inline constexpr std::string_view kStrategyAnnotation = "dra-controller-manager/strategy";

// What placement knows of a node.
struct NodeFacts {
  int64_t free_cpu_milli = 0;
  int64_t preferred = 0;  // score of the pod's preferences (affinity, taints, spreading); more is better
};

// One search step is one attempt to take one device (0.1 to 1 microsecond). The budget of the first attempt, and the
// most that later ones may have: it doubles with each that ends without an answer.
inline constexpr uint64_t kDefaultStepBudget = 50'000;
inline constexpr uint64_t kDefaultMaxStepBudget = 3'200'000;

struct Options {
  Strategy strategy = Strategy::kFirstFit;
  // Off: a selector's run-time error makes that device unusable for that request, and is reported. On: it ends the
  // decision with an error, in the order and under the conditions in which upstream meets it; so do an All request over
  // an unusable pool or against a constraint. Conformance with upstream's tables needs it on.
  bool strict_selector_errors = false;
  uint64_t step_budget = kDefaultStepBudget;
  uint64_t max_step_budget = kDefaultMaxStepBudget;
  // Where one call of find_nodes, explain or class_usage ends at the latest, but for the selector being evaluated (20
  // ms at most). Without steps: nowhere. On a simulated clock only steps count. The clock must outlive the allocator;
  // it also measures the shares of namespaces (shares.h).
  SliceLimit slice;
  // Keys of taints with effect NoSchedule that this allocator ignores ("devices that only we hand out").
  std::vector<std::string> ignored_taints;
  bool quantity_operators = false;  // pkg/cel EnvironmentOptions
};

struct Request {
  // Of one pod, in the pod's order; allocated together or not at all. Must not be null. A plan is cached per object, so
  // pass the store's object, not a copy.
  std::vector<std::shared_ptr<const api::ResourceClaim>> claims;
  // With firstAvailable, find_nodes chooses among the first nodes that fit (NodeSearch::kScoredNodes) by how early the
  // alternatives are that they offer, as kube-scheduler does; else the first node that fits is taken.
  bool weigh_alternatives = false;
  // 0: that of the options, doubled with each attempt. For find_nodes it covers all nodes together.
  uint64_t step_budget = 0;
  // How find_nodes chooses; unset: as the first class of the requests says that bears kStrategyAnnotation, or else the
  // options.
  std::optional<Strategy> strategy;
  // What the pod wants of the node's CPU, and the nodes of the order, one by one; empty: unknown.
  int64_t cpu_milli = 0;
  std::span<const NodeFacts> facts;
  // For find_nodes: devices that should agree in an attribute. Met wherever one of the nodes meets them, before
  // anything else that the strategy weighs; at most kMaxPreferences. Not with strict_selector_errors.
  std::vector<Preference> preferences;
};

enum class Outcome : uint8_t {
  kFeasible,
  kInfeasible,   // proven: nothing fits with the inventory as it is
  kBudgetSpent,  // neither found nor refuted within the step budget
  kUnfinished,   // the slice ended first: asking again goes on
  kError,        // the request or (strict) a selector is unusable; `error` says why
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
  // Why this node, as a clause ("keeps 3 whole devices on a100-2"); empty with first-fit, where nothing is preferred.
  std::string reason;
  // Which of Request::preferences are met, as bits.
  uint32_t met = 0;
};

struct FoundNodes {
  // Feasible ones only, at most `limit`: in the order asked or, weighed, best score first. One where the strategy is
  // not first-fit.
  std::vector<Decision> decisions;
  Outcome outcome =
      Outcome::kInfeasible;  // kFeasible when any; kBudgetSpent when a node was left undecided and none fits
  std::optional<Error> error;
  // kError: which of Request::claims is at fault; nothing: no single one.
  std::optional<uint32_t> guilty_claim;
  uint64_t steps = 0;
  uint32_t nodes_searched = 0;  // the rest was refuted by summaries
  uint64_t budget = 0;          // of the attempt, in steps
  uint32_t slices = 0;          // of the attempt, so far
  // A class whose kStrategyAnnotation names no strategy: it was ignored.
  std::string class_of_unknown_strategy;
  Duration ask_again{};  // kUnfinished: no earlier than after this time, for the sake of others
};

// Of one node: several ways to serve a request.
struct Solutions {
  std::vector<Decision> decisions;
  // kFeasible: as many as asked for, there may be more. kInfeasible: there are no more. kBudgetSpent: perhaps.
  Outcome outcome = Outcome::kInfeasible;
  std::optional<Error> error;
  uint64_t steps = 0;
};

// How many requests like one might fit on nodes together, by counting devices.
struct Room {
  static constexpr uint32_t kUnbounded = UINT32_MAX;
  bool finished = false;               // else the slice ended: ask again
  std::vector<uint32_t> now, at_best;  // by node of the order, at most; at best: if nobody held any device
  // On all of them together; less than the sum where several nodes can use a device.
  uint64_t total_now = UINT64_MAX, total_at_best = UINT64_MAX;
  // Every device that could serve the request belongs to a pool of one node, so that what is taken on one node changes
  // nothing on others.
  bool node_local = false;
  // Mode All means fewer devices where shared ones are used up: taking some may make the request possible.
  bool order_matters = false;
};

class Allocator {
 public:
  // The inventory and the random source (shareIDs) must outlive the allocator.
  Allocator(inventory::Inventory& inventory, Options options, Random& random);
  ~Allocator();
  Allocator(const Allocator&) = delete;
  Allocator& operator=(const Allocator&) = delete;

  const Options& options() const;

  Decision allocate(const Request& request, NodeId node);

  // The namespace used so much more than its share that find_nodes() would only answer kUnfinished for so long; zero:
  // ask.
  Duration must_wait(const std::string& ns);

  // The first `limit` nodes of `order` on which the request fits, without a search on nodes that summaries refute; with
  // another strategy than first-fit the best of all, as far as the slice reaches.
  FoundNodes find_nodes(const Request& request, std::span<const NodeId> order, size_t limit = 1);

  // Strategies that weigh the requests of late count this one, as if it had been asked for (cpu_milli below 0: not
  // known). False: the slice ended first, ask again. Costs about as much as planning the request.
  bool learn(const Request& request);

  // What the request could be served with on the node, in upstream's order: `limit` solutions after the first `skip`.
  // For a caller who combines requests of several nodes. One step budget covers all of them; no slice ends it.
  Solutions solutions(const Request& request, NodeId node, size_t skip, size_t limit);

  // An upper bound, never a guess: more do not fit. Costs a few nanoseconds a node once masks are made.
  Room room(const Request& request, std::span<const NodeId> order);

  // Why the request does not fit on these nodes. Costs a pass over their devices, as many as a slice allows; meant for
  // after a failure.
  Reasons explain(const Request& request, const ExplainScope& scope);
  Reasons explain(const Request& request, std::span<const NodeId> nodes) {
    return explain(request, {false, nodes, {}});
  }

  // The devices of complete pools that the class selects. Nothing when the class is unknown, one of its selectors is no
  // expression, or the budget or a slice is used up before all devices are judged: what was judged is kept, so that the
  // next call gets further. The budget shrinks by the devices judged anew; a slice that ends uses it up.
  std::optional<inventory::Usage> class_usage(const std::string& class_name, uint64_t& budget);

  // Forgets everything cached (plans, masks, summaries), as is needed after Inventory::set_features. The memory is
  // freed piece by piece, by later decisions and tidy().
  void clear_caches();
  // Frees a piece of what caches dropped, 1 to 2 ms; returns whether more waits.
  bool tidy();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dra::allocator
