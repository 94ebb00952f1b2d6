// BestFit: chooses node and devices together, over all nodes that fit, by the objective of pkg/strategy.
//
//   BestFit chooser(device_index, filters, search, node_search, meter);
//   FoundNodes found = chooser.find(plan, request, Strategy::kBestFit, order);
//
// A request for devices of one kind, without constraints, is priced from PoolValues, without a search: on all nodes
// and exactly (except several devices that share counters, if there are more than kMaxCombinations ways). What a node
// would lose is cached until something on it changes (node_marks.h). Any other request is searched for on every node
// as in first-fit; then the other solutions of each node are compared, exactly as long as kMaxImproveSteps last. The
// result is never worse than first-fit's solution on any node that the slice reached. The best solution of each node is
// kept until something on it changes, for the next claims of the same shape (kept_places.h).
// test/allocharness/strategy_test.cc compares it with brute force. If nothing fits, answer and outcome are those of
// NodeSearch.
//
// Ties are broken by name of node and device, so the answer does not depend on the names of slices. One thread.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "pkg/allocator/decision.h"
#include "pkg/allocator/nodes/kept_places.h"
#include "pkg/allocator/nodes/node_marks.h"
#include "pkg/allocator/nodes/node_search.h"
#include "pkg/allocator/nodes/pool_values.h"
#include "pkg/allocator/plan/plan.h"
#include "pkg/allocator/search/search.h"
#include "pkg/strategy/objective.h"
#include "pkg/strategy/request_mix.h"

namespace dra::allocator {

class BestFit {
 public:
  // Search steps that one decision may spend on improving its first solution, over all nodes.
  static constexpr uint64_t kMaxImproveSteps = 20'000;
  // Where every solution must form pairs steps take longer, and a decision among 200 nodes is to take 5 ms.
  static constexpr uint64_t kMaxImprovePairs = 4'000;
  // For devices that share counters: with more combinations they are picked one after the other.
  static constexpr size_t kMaxCombinations = 64;
  static constexpr size_t kMaxKeptPrices = 1 << 18;   // one per node, about 45 MB with their standings
  static constexpr size_t kMaxPriced = 64;            // kinds of request; more would serve a tenant's selectors only
  static constexpr size_t kMaxStandings = 4;          // per kind of request, by the CPU that pods request
  static constexpr size_t kMaxCosts = 1 << 16;        // distinct costs; then all standings are computed anew
  static constexpr uint64_t kLeastImproveSteps = 64;  // for each node, however many there are

  BestFit(inventory::DeviceIndex& device_index, Filters& filters, Search& search, NodeSearch& node_search, Meter& meter)
      : device_index_(device_index),
        filters_(filters),
        search_(search),
        node_search_(node_search),
        meter_(meter),
        values_(device_index),
        marks_(device_index) {}

  FoundNodes find(const Plan& plan, const Request& request, Strategy strategy, std::span<const NodeId> order);
  // Records the request as demand; false: the slice ended first.
  bool note(const Plan& plan, const Request& request);
  void clear();

 private:
  struct Place {
    strategy::Cost cost;
    NodeId node = inventory::kNone;
    std::vector<Pick> picks;
    std::vector<uint32_t> chosen;  // alternative by request
  };
  // One device that can be taken; smaller is better.
  struct Choice {
    bool uncertain = false;
    int64_t lost = 0;
    int64_t broken = 0;
    int64_t size = 0;
    uint32_t segment = 0;
    uint32_t name_rank = 0;
    uint32_t device = 0;
    auto operator<=>(const Choice&) const = default;
  };
  // What a decision takes of a node, apart from the losses of its devices.
  struct Taken {
    int64_t units_ppm = 0;
    int64_t cpu_milli = 0;  // the usual CPU for these units
  };
  struct NodeTotals {
    uint64_t stamp = 0;  // NodeMarks::now() when computed
    int64_t free_ppm = 0;
    int64_t cpu_milli = 0;  // that the free devices would need
    int64_t whole = 0;
    int64_t tight_ppm = 0;
    bool partitioned = false;  // some devices share counters
  };
  // What a node would lose by the request.
  struct NodePrice {
    uint64_t stamp = 0;  // NodeMarks::now() when computed
    int64_t lost = 0, size = 0;
    Taken taken;
    uint32_t broken = 0, uncertain = 0;
    bool fits = false;
  };
  // What a node costs for pods that request this much CPU. Small, because every decision reads one per node.
  struct Standing {
    uint64_t stamp = 0;  // NodeMarks::now() when it was computed
    NodeFacts facts;     // of the node at that time
    uint32_t cost = 0;   // index in costs_; kNoFit: the request does not fit
  };
  static constexpr uint32_t kNoFit = UINT32_MAX;
  struct Standings {
    int64_t cpu_milli = 0;  // that the pods request
    uint64_t used = 0;
    std::vector<Standing> of;  // by node
  };
  // For plain requests: kept per filter and count. The least recently used entry is dropped first.
  struct Prices {
    uint64_t used = 0;
    std::vector<NodePrice> of;         // by node
    std::vector<Standings> standings;  // at most kMaxStandings; the one that was used the longest time ago goes first
  };
  struct Demanded {
    bool known = false;
    uint32_t kind = 0;
    uint32_t cells = strategy::kCells;
  };
  enum class Priced : uint8_t { kYes, kNo, kSliceEnded };

  // learning
  void learn(const Plan& plan, const Request& request);
  Demanded demanded(FilterId filter);

  // best_fit.cc, best_fit_pick.cc: one kind of device
  static bool plain(const Plan& plan);
  Priced price(NodeId node, NodePrice& price);
  void sum_up(const inventory::NodeView& view, const PlanAlternative& alternative, NodePrice& price);
  Place place_on(NodeId node, const strategy::Cost& cost);
  void drop_outdated();
  Prices& prices_for(const Plan& plan);
  Priced gather(const PlanAlternative& alternative, NodeId node);
  std::optional<Choice> choice_of(const PlanAlternative& alternative, const inventory::Pool& pool,
                                  const PoolValue& value, uint32_t device);
  bool pick(const inventory::NodeView& view, uint32_t count, std::vector<Choice>& picked);
  // The losses of groups are quotients, each rounded down: differences below 100 count as equal.
  static int64_t without_rounding(int64_t lost) { return (lost + 50) / 100 * 100; }
  static bool few_combinations(size_t of, uint32_t count);
  bool pick_best_combination(const inventory::NodeView& view, uint32_t count, std::vector<Choice>& picked);
  bool charge_groups(const inventory::NodeView& view, std::vector<Choice>& taken);
  bool pick_one_by_one(const inventory::NodeView& view, uint32_t count, std::vector<Choice>& picked);
  const inventory::Pool& pool_at(const inventory::NodeView& view, uint32_t segment) const {
    return *device_index_.pool(view.segments[segment].pool);
  }
  bool picked_rivals(NodeId node, const inventory::NodeView& view) const;
  int64_t crowd(const PlanAlternative& alternative, const inventory::Pool& pool, uint32_t device) const;
  int64_t need_ppm(const PlanAlternative& alternative, const inventory::CapacityShape& shape);
  strategy::Cost node_cost(size_t position, NodeId node, const NodePrice& price);
  // Prices the node of this position in the order; false: the slice ended first.
  bool stand(size_t position, NodeId node, Prices& prices, Standing& standing);
  std::vector<Standing>& standings_for(Prices& prices);
  // The best node of the order for a plain request; the slice may end before all of them were examined.
  NodeId best_node(Prices& prices);
  uint32_t number_of(const strategy::Cost& cost);
  void forget_costs();
  // None where nobody can say.
  NodeFacts facts_at(size_t position) const {
    return position < request_->facts.size() ? request_->facts[position] : NodeFacts{INT64_MIN, INT64_MIN};
  }
  const NodeTotals& totals_of(NodeId node);
  static int64_t stranded(int64_t free_ppm, int64_t cpu_milli, int64_t free_cpu);
  bool better(const strategy::Cost& cost, NodeId node, const Place& than) const;

  // best_fit_search.cc: anything else
  FoundNodes search_all();
  FoundNodes search_open(KeptPlaces::Of& kept, std::span<const NodeId> open, size_t others, Place& best);
  void improve(NodeId node, size_t position, uint64_t steps, Place& best);
  strategy::Cost cost_of(const Search& search, NodeId node, size_t position);
  FoundNodes conclude(const Place& best, FoundNodes found);
  std::string reason(const Place& place, const Decision& decision);
  bool names_before(const Search& search, const Place& best) const;
  int64_t rest_value(const PoolValue& value, int64_t free_ppm) const;

  void rank_names();

  inventory::DeviceIndex& device_index_;
  Filters& filters_;
  Search& search_;
  NodeSearch& node_search_;
  Meter& meter_;
  PoolValues values_;
  NodeMarks marks_;
  strategy::RequestMix mix_;
  std::unordered_map<FilterId, Demanded> demanded_;
  std::unordered_map<uint64_t, Prices> prices_;
  KeptPlaces places_;
  std::vector<NodeTotals> totals_;  // by node
  // The distinct costs of nodes: nodes of one kind mostly cost the same.
  std::vector<strategy::Cost> costs_;
  std::map<strategy::Cost, uint32_t> cost_numbers_;
  uint64_t uses_ = 0;          // number of prices_for() and standings_for() calls
  uint64_t kept_version_ = 0;  // version of the mix
  Strategy kept_strategy_ = Strategy::kBestFit;
  std::vector<uint32_t> name_rank_;  // by node

  // state of one call
  strategy::Cost best_cost_;
  const Plan* plan_ = nullptr;
  const Request* request_ = nullptr;
  Strategy strategy_ = Strategy::kBestFit;
  std::vector<Choice> choices_, picked_;
  const inventory::CapacityShape* last_shape_ = nullptr;
  int64_t last_need_ = 0;
  uint32_t compared_ = 0;
  std::span<const NodeId> order_;
};

}  // namespace dra::allocator
