#include "pkg/allocator/allocator.h"

#include <algorithm>
#include <bit>
#include <unordered_map>

#include "pkg/allocator/budget/namespace_budget.h"
#include "pkg/allocator/explain/explain.h"
#include "pkg/allocator/explain/free_groups.h"
#include "pkg/allocator/nodes/best_fit.h"
#include "pkg/allocator/nodes/node_index.h"
#include "pkg/allocator/nodes/node_search.h"
#include "pkg/allocator/plan/columns.h"
#include "pkg/allocator/plan/derived_columns.h"
#include "pkg/allocator/plan/filters.h"
#include "pkg/allocator/plan/plan.h"
#include "pkg/allocator/search/candidate_matrix.h"
#include "pkg/allocator/search/refutations.h"
#include "pkg/allocator/search/search.h"
#include "pkg/base/check.h"

namespace dra::allocator {

std::string_view outcome_name(Outcome outcome) {
  switch (outcome) {
    case Outcome::kFeasible:
      return "Feasible";
    case Outcome::kInfeasible:
      return "Infeasible";
    case Outcome::kBudgetSpent:
      return "BudgetSpent";
    case Outcome::kUnfinished:
      return "Unfinished";
    case Outcome::kError:
      break;
  }
  return "Error";
}

std::optional<Strategy> parse_strategy(std::string_view text) {
  for (const Strategy one : {Strategy::kFirstFit, Strategy::kBestFit, Strategy::kPack, Strategy::kSpread})
    if (text == strategy_name(one)) return one;
  return std::nullopt;
}

std::string_view strategy_name(Strategy strategy) {
  switch (strategy) {
    case Strategy::kBestFit:
      return "best-fit";
    case Strategy::kPack:
      return "pack";
    case Strategy::kSpread:
      return "spread";
    case Strategy::kFirstFit:
      break;
  }
  return "first-fit";
}

class Allocator::Impl {
 public:
  Impl(inventory::Inventory& inventory, Options options, Random& random)
      : options_(std::move(options)),
        device_index_(inventory.device_index()),
        deferred_frees_(options_.slice.steps != 0),
        selectors_(device_index_, options_.quantity_operators, meter_, deferred_frees_),
        filters_(device_index_, selectors_, options_.ignored_taints, meter_, deferred_frees_),
        columns_(device_index_),
        derived_columns_(device_index_),
        index_(device_index_, filters_, meter_, deferred_frees_),
        refutations_(device_index_, deferred_frees_),
        search_(device_index_, selectors_, filters_, columns_, derived_columns_, meter_, deferred_frees_),
        node_search_(device_index_, options_, index_, refutations_, search_, meter_, random),
        best_fit_(device_index_, filters_, search_, node_search_, meter_),
        namespace_budget_(options_.slice.clock) {}

  const Options& options() const { return options_; }

  void clear_caches() {
    drop_plans();
    best_fit_.clear();
    index_.clear();
    refutations_.clear();
    counts_by_filter_.clear();
    filters_.clear();
    columns_.clear();
    derived_columns_.clear();
    selectors_.clear();
  }

  bool tidy() {
    deferred_frees_.free_some();
    return !deferred_frees_.empty();
  }

  Decision allocate(const Request& request, NodeId node) {
    meter_.begin_slice({});
    std::shared_ptr<const Plan> plan = plan_for(request);
    Decision decision;
    decision.node = node;
    if (refused(*plan, decision.outcome, decision.error) || !device_index_.knows(node)) return decision;
    Search::Terms terms;
    terms.strict = options_.strict_selector_errors;
    terms.budget = request.step_budget == 0 ? options_.step_budget : request.step_budget;
    node_search_.decide(*plan, node, terms, decision);
    if (decision.outcome != Outcome::kFeasible || !prefers_apart(decision)) return decision;
    Decision apart;
    apart.node = node;
    plan = plan_for(request, 0, true);
    node_search_.decide(*plan, node, terms, apart);
    const uint64_t steps = decision.steps + apart.steps;
    if (apart.outcome == Outcome::kFeasible) decision = std::move(apart);
    decision.steps = steps;
    return decision;
  }

  Solutions solutions(const Request& request, NodeId node, size_t skip, size_t limit) {
    meter_.begin_slice({});
    std::shared_ptr<const Plan> plan = plan_for(request);
    Solutions out;
    if (refused(*plan, out.outcome, out.error) || !device_index_.knows(node) || limit == 0) return out;
    const uint64_t budget = request.step_budget == 0 ? options_.step_budget : request.step_budget;
    node_search_.solutions(*plan, node, budget, skip, limit, out);
    std::stable_partition(out.decisions.begin(), out.decisions.end(),
                          [this](const Decision& decision) { return !prefers_apart(decision); });
    return out;
  }

  FitCounts fit_counts(const Request& request, std::span<const NodeId> order) {
    meter_.begin_slice(options_.slice);
    std::shared_ptr<const Plan> plan = plan_for(request);
    FitCounts fits;
    if (plan->unfinished) return fits;
    Outcome outcome;
    std::optional<Error> error;
    if (refused(*plan, outcome, error)) {
      fits.finished = fits.node_local = true;
      fits.now.assign(order.size(), 0);
      fits.at_best = fits.now;
      fits.total_now = fits.total_at_best = 0;
      return fits;
    }
    fits.finished = node_search_.count_fits(*plan, order, fits);
    return fits;
  }

  ValueSupply value_supply(const Request& request, NodeId node) {
    meter_.begin_slice(options_.slice);
    std::shared_ptr<const Plan> plan = plan_for(request);
    ValueSupply supply;
    if (plan->unfinished) return supply;
    Outcome outcome{};
    std::optional<Error> error;
    supply.finished = true;
    if (refused(*plan, outcome, error) || !device_index_.knows(node)) return supply;
    // Lists are the last constraints of a plan.
    return search_.supply(*plan, node, static_cast<uint32_t>(plan->constraints.size() - plan->lists.size()));
  }

  Duration must_wait(const std::string& ns) {
    const Duration wait = options_.slice.steps == 0 ? Duration::zero() : namespace_budget_.wait_for(ns);
    return wait > NamespaceBudget::kMostOwed ? wait : Duration::zero();
  }

  Duration share_wait(const std::string& ns) {
    return options_.slice.steps == 0 ? Duration::zero() : namespace_budget_.wait_for(ns);
  }

  void open_bill() {
    if (open_bills_++ > 0) return;
    bill_from_steps_ = meter_.used();
    if (options_.slice.clock != nullptr) bill_from_ = options_.slice.clock->mono_now();
  }

  // On a simulated clock no time passes, so the steps count.
  void close_bill(const std::string& ns) {
    if (--open_bills_ > 0 || options_.slice.steps == 0) return;
    const Duration by_steps = kStepTime * static_cast<int64_t>(meter_.used() - bill_from_steps_);
    const Duration by_clock =
        options_.slice.clock == nullptr ? Duration::zero() : options_.slice.clock->mono_now() - bill_from_;
    const Duration took = by_clock > Duration::zero() ? by_clock : by_steps;
    if (took >= kFreeSlice) namespace_budget_.charge(ns, took);
  }

  FoundNodes find_nodes(const Request& request, std::span<const NodeId> order, size_t limit) {
    const std::string ns = namespace_of(request);
    FoundNodes found;
    SliceLimit slice = options_.slice;
    if (slice.steps > NamespaceBudget::kShortSlice && namespace_budget_.wait(ns) > Duration::zero())
      slice.steps = NamespaceBudget::kShortSlice;
    meter_.begin_slice(slice);
    if (const Duration wait = must_wait(ns); wait > Duration::zero()) {
      found.outcome = Outcome::kUnfinished;
      found.ask_again = wait;
      return found;
    }
    found = request.preferences.empty() || options_.strict_selector_errors ? find_with(request, 0, order, limit)
                                                                           : find_preferred(request, order, limit);
    charge_share(ns);
    if (found.outcome == Outcome::kUnfinished) found.ask_again = namespace_budget_.wait(ns);
    return found;
  }

  bool learn(const Request& request) {
    meter_.begin_slice(options_.slice);
    const std::shared_ptr<const Plan> plan = plan_for(request);
    if (plan->unfinished) return false;
    Outcome outcome{};
    std::optional<Error> error;
    return refused(*plan, outcome, error) || best_fit_.note(*plan, request);
  }

  std::optional<inventory::Usage> class_usage(const std::string& class_name, uint64_t& budget) {
    inventory::Usage usage;
    inventory::PoolId next = 0;
    if (!each_mask(class_name, next, budget, [&](const inventory::Pool& pool, const FilterMask& mask) {
          usage += usage_in(pool, mask);
          return true;
        }))
      return std::nullopt;
    return usage;
  }

  bool each_pool_of_class(const std::string& class_name, inventory::PoolId& next, uint64_t& budget,
                          const VisitPool& visit) {
    return each_mask(class_name, next, budget,
                     [&](const inventory::Pool& pool, const FilterMask& mask) { return visit(pool, mask.usable()); });
  }

  std::vector<GroupsOnNode> count_groups(const Request& request, uint32_t entry, std::span<const NodeId> nodes,
                                         uint32_t most) {
    meter_.begin_slice(options_.slice);
    std::vector<GroupsOnNode> out;
    const std::shared_ptr<const Plan> plan = plan_for(request);
    if (plan->unfinished || plan->error || entry >= plan->pair_rules.size()) return out;
    FreeGroups groups(*plan, device_index_, filters_, columns_, meter_);
    for (const NodeId node : nodes) {
      if (meter_.stopped()) break;
      if (const auto has = groups.on_node(plan->pairs[entry], node, most)) out.push_back({node, *has});
    }
    return out;
  }

  SiliconReasons silicon_reasons(const Request& request, std::span<const NodeId> nodes) {
    meter_.begin_slice({});
    const std::shared_ptr<const Plan> plan = plan_for(request);
    return plan->error ? SiliconReasons() : allocator::silicon_reasons(*plan, nodes, device_index_, filters_);
  }

  std::map<std::string, std::string> plugin_drivers(NodeId node, std::span<const PluginResource> resources) {
    meter_.begin_slice({});
    trim();
    return allocator::plugin_drivers(device_index_, selectors_, node, resources);
  }

  std::set<std::string> drivers_of_resource(NodeId node, const std::string& resource) {
    meter_.begin_slice({});
    trim();
    return allocator::drivers_of_resource(device_index_, selectors_, node, resource);
  }

  Reasons explain(const Request& request, const ExplainScope& scope) {
    if (!request.lists.empty()) {
      Request plain = request;
      plain.lists.clear();
      return explain(plain, scope);
    }
    // Half a slice to compile and count, the other half to prove.
    const std::string ns = namespace_of(request);
    SliceLimit half = options_.slice;
    if (half.steps > NamespaceBudget::kShortSlice && namespace_budget_.wait_for(ns) > Duration::zero())
      half.steps = NamespaceBudget::kShortSlice;
    half.steps /= 2;
    half.time /= 2;
    meter_.begin_slice(half);
    std::shared_ptr<const Plan> plan = plan_for(request, 0, false, counts_takes(request));
    Reasons reasons;
    if (plan->unfinished) {
      charge_share(ns);
      return reasons;
    }
    if (const auto& refusal = plan->error ? plan->error : plan->ambiguous) {
      reasons.proof = refusal->message();
      RequestReason reason;
      if (!plan->claims.empty()) reason.claim = plan->claims[plan->guilty_claim.value_or(0)]->metadata.key();
      CauseCount count;
      count.cause = plan->error_cause;
      count.detail = refusal->message();
      reason.counts.push_back(std::move(count));
      reasons.requests.push_back(std::move(reason));
      charge_share(ns);
      return reasons;
    }
    reasons = explain_plan(*plan, scope, device_index_, selectors_, filters_, counts_by_filter_, meter_);
    charge_share(ns);
    meter_.begin_slice(half);
    if (!plan->pair_rules.empty()) {
      for (const PairRule& rule : plan->pair_rules) reasons.pair_texts.push_back(rule.text);
      FreeGroups groups(*plan, device_index_, filters_, columns_, meter_);
      reasons.short_of_pairs = groups.shorts(scope.passed);
      if (const PairShort* one = nearest_to_enough(reasons.short_of_pairs))
        reasons.pair_gaps = groups.gaps(plan->pairs[one->entry], plan->pair_rules[one->entry], one->node);
      charge_share(ns);
      meter_.begin_slice(half);
    }
    // If the counts already refute the request, nobody reads the proof, which needs a search on every node.
    if (scope.everywhere && !each_possible_alone(reasons)) return reasons;
    reasons.proof = proof_for(*plan, scope.passed.first(reasons.nodes_examined));
    charge_share(ns);
    return reasons;
  }

 private:
  // Some claim has a shared device twice, and its driver would rather have two.
  bool prefers_apart(const Decision& decision) const {
    const sharing::Rules& rules = device_index_.shares().rules();
    if (options_.strict_selector_errors || !rules.prefers_apart()) return false;
    for (const api::AllocationResult& claim : decision.results)
      for (auto one = claim.results.begin(); one != claim.results.end(); ++one)
        if (one->share_id && rules.requests_of(one->driver) == sharing::Requests::kApart &&
            std::any_of(claim.results.begin(), one, [&](const api::DeviceRequestAllocationResult& other) {
              return other.device == one->device && other.pool == one->pool && other.driver == one->driver;
            }))
          return true;
    return false;
  }

  // `ties`: the preferences that must be met, as bits. First as all drivers take it; only if that gives a claim one
  // device twice, it is searched for different ones, too, so that nothing is lost where no device is shared.
  FoundNodes find_with(const Request& request, uint32_t ties, std::span<const NodeId> order, size_t limit) {
    FoundNodes found = find_once(request, ties, false, order, limit);
    if (found.outcome != Outcome::kFeasible ||
        std::none_of(found.decisions.begin(), found.decisions.end(),
                     [this](const Decision& decision) { return prefers_apart(decision); }))
      return found;
    FoundNodes apart = find_once(request, ties, true, order, limit);
    const uint64_t steps = found.steps + apart.steps;
    if (apart.outcome == Outcome::kFeasible || apart.outcome == Outcome::kUnfinished) found = std::move(apart);
    found.steps = steps;
    return found;
  }

  FoundNodes find_once(const Request& request, uint32_t ties, bool apart, std::span<const NodeId> order, size_t limit) {
    if (!counts_takes(request)) return find_by(request, plan_for(request, ties, apart), false, order, limit);
    FoundNodes found = find_by(request, plan_for(request, ties, apart, true), true, order, limit);
    if (found.outcome != Outcome::kFeasible || found.decisions.front().takes_of_node) return found;
    // None of the devices takes anything: the strategy chooses, without those that would.
    const uint64_t steps = found.steps;
    FoundNodes plain = find_by(request, plan_for(request, ties, apart), false, order, limit);
    if (plain.outcome == Outcome::kInfeasible) return found;
    plain.steps += steps;
    return plain;
  }

  bool counts_takes(const Request& request) const {
    return request.room && device_index_.any_takes() && !options_.strict_selector_errors;
  }

  FoundNodes find_by(const Request& request, std::shared_ptr<const Plan> plan, bool first_fit,
                     std::span<const NodeId> order, size_t limit) {
    FoundNodes found;
    if (plan->unfinished) {
      found.outcome = Outcome::kUnfinished;
    } else if (refused(*plan, found.outcome, found.error)) {
      found.guilty_claim = plan->guilty_claim;
    } else if (limit > 0) {
      std::string unknown;
      const Strategy strategy = request.strategy ? *request.strategy : strategy_of(*plan, unknown);
      found = first_fit || strategy == Strategy::kFirstFit || options_.strict_selector_errors
                  ? node_search_.find(*plan, request, order, limit)
                  : best_fit_.find(*plan, request, strategy, order);
      found.class_of_unknown_strategy = std::move(unknown);
    }
    return found;
  }

  // Finds the heaviest set of preferences that some node can meet. A later slice returns to the current set quickly:
  // the refutations of heavier sets are remembered per node.
  FoundNodes find_preferred(const Request& request, std::span<const NodeId> order, size_t limit) {
    DRA_CHECK(request.preferences.size() <= kMaxPreferences);
    uint64_t steps = 0;
    bool undecided = false;
    for (const uint32_t set : by_weight(request.preferences)) {
      FoundNodes found = find_with(request, set, order, limit);
      found.steps += std::exchange(steps, steps + found.steps);
      undecided = undecided || found.outcome == Outcome::kBudgetSpent;
      const bool refuted = found.outcome == Outcome::kInfeasible || found.outcome == Outcome::kBudgetSpent;
      if (refuted && set != 0) continue;
      for (Decision& decision : found.decisions) {
        decision.met = set;
        decision.reason +=
            (decision.reason.empty() ? "" : " and ") + locality_clause(request.preferences, set, undecided);
      }
      return found;
    }
    return {};
  }

  static constexpr size_t kMaxPlans = 1024;
  static constexpr size_t kFreesOfPlan = 256;
  static constexpr uint64_t kTrimEvery = 64;  // steps, about 32 us of decisions
  static constexpr size_t kMaxKeptPlanBytes = 8u << 20;
  // Shorter decisions are not charged to a namespace.
  static constexpr Duration kFreeSlice = std::chrono::milliseconds(1);

  // Pools from `next` on, until `visit` returns false. False: see class_usage().
  template <class Visit>
  bool each_mask(const std::string& class_name, inventory::PoolId& next, uint64_t& budget, const Visit& visit) {
    const inventory::ClassEntry* entry = device_index_.find_class(class_name);
    if (entry == nullptr) return false;
    meter_.begin_slice(options_.slice);
    trim();
    Filter bare;
    for (const std::string& expression : entry->object->selectors) {
      if (expression.empty()) return false;
      bare.class_selectors.push_back(selectors_.intern(expression));
      if (!selectors_.compile_error(bare.class_selectors.back()).empty()) return false;
    }
    const FilterId filter = filters_.intern(std::move(bare));
    filters_.touch(filter);
    for (bool more = true; more && next < device_index_.pool_slots(); ++next) {
      const inventory::Pool* pool = device_index_.pool(next);
      if (pool == nullptr || !pool->has_slices()) continue;
      if (!filters_.has_mask(filter, *pool)) {
        if (budget == 0) return false;
        budget -= std::min<uint64_t>(budget, pool->size());
      }
      const FilterMask* mask = filters_.mask(filter, *pool);
      if (mask == nullptr) {
        budget = 0;
        return false;
      }
      more = visit(*pool, *mask);
    }
    return true;
  }

  static inventory::Usage usage_in(const inventory::Pool& pool, const FilterMask& mask) {
    inventory::Usage usage;
    for (size_t w = 0; w < pool.words(); ++w) {
      usage.total += static_cast<uint32_t>(std::popcount(mask.selectable()[w]));
      usage.used += static_cast<uint32_t>(std::popcount(mask.selectable()[w] & pool.charged()[w]));
      usage.tainted += static_cast<uint32_t>(std::popcount(mask.selectable()[w] & ~mask.usable()[w]));
      usage.cut += static_cast<uint32_t>(std::popcount(mask.usable()[w] & ~(pool.charged()[w] | pool.available()[w])));
    }
    for (uint32_t device = 0; pool.refuses_any() && device < pool.size(); ++device)
      if (pool.refuses(device) && inventory::test_bit(mask.selectable(), device)) --usage.tainted;
    usage.free = pool.count_free(mask.usable());
    return usage;
  }

  static std::string namespace_of(const Request& request) {
    return request.claims.empty() ? "" : request.claims[0]->metadata.ns;
  }

  // Charges the current slice.
  void charge_share(const std::string& ns) {
    if (open_bills_ > 0) return;
    if (options_.slice.steps != 0 && meter_.slice_time() >= kFreeSlice)
      namespace_budget_.charge(ns, meter_.slice_time());
  }

  void drop_plans() {
    deferred_frees_.add(plans_, kFreesOfPlan);
    plan_bytes_ = 0;
  }

  // `unknown` becomes the name of a class whose annotation names no known strategy.
  Strategy strategy_of(const Plan& plan, std::string& unknown) const {
    for (const PlanRequest& request : plan.requests)
      for (const PlanAlternative& alternative : request.alternatives) {
        if (alternative.device_class == nullptr) continue;
        const api::ObjectMeta& metadata = alternative.device_class->metadata;
        const auto& ask = filters_.of(alternative.filter).ask;
        const auto text = metadata.annotations.find(std::string(kStrategyAnnotation));
        if (text == metadata.annotations.end()) {
          // A class that packs or spreads shares chooses devices by it, too.
          if (ask && ask->order != sharing::Order::kAny)
            return ask->order == sharing::Order::kPack ? Strategy::kPack : Strategy::kSpread;
          continue;
        }
        if (const std::optional<Strategy> named = parse_strategy(text->second)) return *named;
        unknown = metadata.name;
      }
    return options_.strategy;
  }

  // Only the cached plans may hold a FilterId, SelectorId, mask or count when this is called.
  void trim() {
    deferred_frees_.free_some();
    // Checking the bounds costs as much as a short decision. Few steps add few bytes, except for the texts of a plan.
    if (!plan_begun_ && meter_.used() - trimmed_at_ < kTrimEvery) return;
    trimmed_at_ = meter_.used();
    plan_begun_ = false;
    if (filters_.full() || selectors_.full()) {
      clear_caches();
    } else if (plans_.size() >= kMaxPlans || plan_bytes_ > kMaxKeptPlanBytes) {
      drop_plans();
    }
    filters_.trim();
    index_.trim();
    refutations_.trim();
    columns_.trim();
    derived_columns_.trim();
  }

  // The preferences whose bit is set in `ties`.
  static std::vector<Preference> ties_of(const Request& request, uint32_t ties) {
    std::vector<Preference> tied;
    for (size_t i = 0; ties >> i != 0; ++i)
      if (ties >> i & 1) tied.push_back(request.preferences[i]);
    return tied;
  }

  static bool are_ties(const Plan& plan, const Request& request, uint32_t ties) {
    return ties == 0 ? plan.ties.empty() : plan.ties == ties_of(request, ties);
  }

  // Never null. The caller must have begun a slice.
  std::shared_ptr<const Plan> plan_for(const Request& request, uint32_t ties = 0, bool apart = false,
                                       bool takes = false) {
    trim();
    uint64_t hash = request.claims.size() | uint64_t{ties} << 32 | uint64_t{apart} << 31 | uint64_t{takes} << 30;
    for (const auto& claim : request.claims) {
      DRA_CHECK(claim != nullptr);
      hash = (hash ^ reinterpret_cast<uintptr_t>(claim.get())) * 0x9e3779b97f4a7c15ull;
    }
    for (const ValueList& list : request.lists)
      for (const std::string& entry : list.entries)
        hash = (hash ^ std::hash<std::string>{}(entry)) * 0x9e3779b97f4a7c15ull;
    for (const PairRule& rule : request.pairs)
      hash = (hash ^ std::hash<std::string>{}(rule.text)) * 0x9e3779b97f4a7c15ull;
    std::shared_ptr<Plan>& plan = plans_[hash];
    const bool same = plan != nullptr && plan->classes_version == device_index_.classes_version() &&
                      plan->claims == request.claims && plan->apart == apart && plan->counts_takes == takes &&
                      are_ties(*plan, request, ties) && plan->pair_rules == request.pairs &&
                      plan->lists == request.lists;
    if (same && !plan->unfinished) return plan;
    if (!same) {
      if (plan) plan_bytes_ -= plan->bytes;
      plan =
          begin_plan(request.claims, ties_of(request, ties), request.pairs, request.lists, apart, takes, device_index_);
      plan_begun_ = true;
    }
    plan_bytes_ -= plan->bytes;
    go_on(*plan, device_index_, selectors_, filters_, meter_);
    plan_bytes_ += plan->bytes;
    return plan;
  }

  bool refused(const Plan& plan, Outcome& outcome, std::optional<Error>& error) const {
    if (!plan.error && plan.ambiguous && !options_.strict_selector_errors) {
      outcome = Outcome::kError;
      error = plan.ambiguous;
      return true;
    }
    if (!plan.error) return false;
    outcome = plan.error_only_when_strict && !options_.strict_selector_errors ? Outcome::kInfeasible : Outcome::kError;
    error = plan.error;
    return true;
  }

  // The refutation on the first node where every request alone has enough devices, else on the first node.
  std::string proof_for(const Plan& plan, std::span<const NodeId> nodes) {
    constexpr size_t kMostNodes = 256;
    std::string proof;
    uint64_t steps = 0;
    for (NodeId node : nodes.first(std::min(nodes.size(), kMostNodes))) {
      if (!device_index_.knows(node)) continue;
      if (steps >= options_.step_budget || (meter_.stopped() && !proof.empty())) break;
      Search::Terms terms;
      terms.budget = options_.step_budget - steps;
      const Search::End end = search_.run(plan, node, terms);
      steps += search_.steps() + 1;
      if (end == Search::End::kFound || (search_.too_few() && !proof.empty())) continue;
      proof = (nodes.size() > 1 ? "node " + device_index_.node_name(node) + ": " : "") +
              (end == Search::End::kBudget ? "undecided within the step budget" : search_.proof());
      if (!search_.too_few()) break;
    }
    return proof;
  }

  Options options_;
  inventory::DeviceIndex& device_index_;
  Meter meter_;
  DeferredFrees deferred_frees_;
  Selectors selectors_;
  Filters filters_;
  DeviceCountsByFilter counts_by_filter_;
  Columns columns_;
  DerivedColumnsCache derived_columns_;
  NodeIndex index_;
  Refutations refutations_;
  Search search_;
  NodeSearch node_search_;
  BestFit best_fit_;
  NamespaceBudget namespace_budget_;
  uint32_t open_bills_ = 0;
  uint64_t bill_from_steps_ = 0;
  MonoTime bill_from_{};
  std::unordered_map<uint64_t, std::shared_ptr<Plan>> plans_;
  size_t plan_bytes_ = 0;
  uint64_t trimmed_at_ = 0;  // Meter::used
  bool plan_begun_ = false;  // since the last trim
};

Allocator::Allocator(inventory::Inventory& inventory, Options options, Random& random)
    : impl_(std::make_unique<Impl>(inventory, std::move(options), random)) {}
Allocator::~Allocator() = default;

const Options& Allocator::options() const {
  return impl_->options();
}
Decision Allocator::allocate(const Request& request, NodeId node) {
  return impl_->allocate(request, node);
}
Duration Allocator::must_wait(const std::string& ns) {
  return impl_->must_wait(ns);
}
Duration Allocator::share_wait(const std::string& ns) {
  return impl_->share_wait(ns);
}
Allocator::Bill::Bill(Allocator& allocator, std::string ns) : allocator_(allocator), ns_(std::move(ns)) {
  allocator_.impl_->open_bill();
}
Allocator::Bill::~Bill() {
  allocator_.impl_->close_bill(ns_);
}
FoundNodes Allocator::find_nodes(const Request& request, std::span<const NodeId> order, size_t limit) {
  return impl_->find_nodes(request, order, limit);
}
bool Allocator::learn(const Request& request) {
  return impl_->learn(request);
}
Solutions Allocator::solutions(const Request& request, NodeId node, size_t skip, size_t limit) {
  return impl_->solutions(request, node, skip, limit);
}
ValueSupply Allocator::value_supply(const Request& request, NodeId node) {
  return impl_->value_supply(request, node);
}
FitCounts Allocator::fit_counts(const Request& request, std::span<const NodeId> order) {
  return impl_->fit_counts(request, order);
}
std::optional<inventory::Usage> Allocator::class_usage(const std::string& class_name, uint64_t& budget) {
  return impl_->class_usage(class_name, budget);
}
bool Allocator::each_pool_of_class(const std::string& class_name, inventory::PoolId& next, uint64_t& budget,
                                   const VisitPool& visit) {
  return impl_->each_pool_of_class(class_name, next, budget, visit);
}
std::vector<GroupsOnNode> Allocator::count_groups(const Request& request, uint32_t entry, std::span<const NodeId> nodes,
                                                  uint32_t most) {
  return impl_->count_groups(request, entry, nodes, most);
}
Reasons Allocator::explain(const Request& request, const ExplainScope& scope) {
  return impl_->explain(request, scope);
}
SiliconReasons Allocator::silicon_reasons(const Request& request, std::span<const NodeId> nodes) {
  return impl_->silicon_reasons(request, nodes);
}
std::map<std::string, std::string> Allocator::plugin_drivers(NodeId node, std::span<const PluginResource> resources) {
  return impl_->plugin_drivers(node, resources);
}
std::set<std::string> Allocator::drivers_of_resource(NodeId node, const std::string& resource) {
  return impl_->drivers_of_resource(node, resource);
}
void Allocator::clear_caches() {
  impl_->clear_caches();
}

bool Allocator::tidy() {
  return impl_->tidy();
}

}  // namespace dra::allocator
