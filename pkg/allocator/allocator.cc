#include "pkg/allocator/allocator.h"

#include <algorithm>
#include <bit>
#include <unordered_map>

#include "pkg/allocator/board.h"
#include "pkg/allocator/columns.h"
#include "pkg/allocator/explain.h"
#include "pkg/allocator/filters.h"
#include "pkg/allocator/node_index.h"
#include "pkg/allocator/plan.h"
#include "pkg/allocator/refutations.h"
#include "pkg/allocator/result.h"
#include "pkg/allocator/search.h"
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
    case Outcome::kError:
      break;
  }
  return "Error";
}

class Allocator::Impl {
 public:
  Impl(inventory::Inventory& inventory, Options options, Random& random)
      : options_(std::move(options)),
        core_(inventory.core()),
        random_(random),
        selectors_(core_, options_.quantity_operators),
        filters_(core_, selectors_, options_.ignored_taints),
        columns_(core_),
        index_(core_, filters_),
        refutations_(core_),
        search_(core_, filters_, columns_) {}

  const Options& options() const { return options_; }

  void clear_caches() {
    plans_.clear();
    index_.clear();
    refutations_.clear();
    filters_.clear();
    columns_.clear();
    selectors_.clear();
  }

  Decision allocate(const Request& request, NodeId node) {
    std::shared_ptr<const Plan> plan = plan_for(request);
    Decision decision;
    decision.node = node;
    if (refused(*plan, decision.outcome, decision.error) || node >= core_.node_count()) return decision;
    decide(*plan, node, request.step_budget == 0 ? options_.step_budget : request.step_budget, decision);
    return decision;
  }

  FoundNodes find_nodes(const Request& request, std::span<const NodeId> order, size_t limit) {
    std::shared_ptr<const Plan> plan = plan_for(request);
    FoundNodes found;
    if (refused(*plan, found.outcome, found.error)) found.guilty_claim = plan->guilty_claim;
    if (found.error || limit == 0) return found;
    uint64_t budget = request.step_budget == 0 ? options_.step_budget : request.step_budget;
    bool undecided = false;
    uint64_t work = filters_.work();
    make_bounds(*plan);
    Refutations::Nodes& refuted = refutations_.of(plan->shape);
    const size_t nodes = core_.node_count();
    for (NodeId node : order) {
      if (node >= nodes) continue;
      if (found.steps >= budget) {
        undecided = true;
        break;
      }
      if (!options_.strict_selector_errors && refuted.contains(node)) continue;
      bool possible = within_bounds(node);
      // Looking at devices for the first time costs, too. What was looked at is kept, so that the next attempt comes
      // further.
      found.steps += filters_.work() - work;
      work = filters_.work();
      if (!possible) continue;
      if (found.steps >= budget) {
        undecided = true;
        break;
      }
      ++found.nodes_searched;
      Decision decision;
      decision.node = node;
      // One hard node must not use up what the others need.
      decide(*plan, node, std::max<uint64_t>((budget - found.steps) / 4, 1), decision, !plan->constraints.empty());
      found.steps += decision.steps + 1 + (filters_.work() - work);
      work = filters_.work();
      if (decision.outcome == Outcome::kInfeasible) refuted.add(node);
      if (decision.outcome == Outcome::kError) {
        found.outcome = Outcome::kError;
        found.error = std::move(decision.error);
        return found;
      }
      undecided = undecided || decision.outcome == Outcome::kBudgetSpent;
      if (decision.outcome != Outcome::kFeasible) continue;
      found.decisions.push_back(std::move(decision));
      if (found.decisions.size() >= limit) break;
    }
    found.outcome = !found.decisions.empty() ? Outcome::kFeasible
                    : undecided              ? Outcome::kBudgetSpent
                                             : Outcome::kInfeasible;
    return found;
  }

  std::optional<inventory::Usage> class_usage(const std::string& class_name, uint64_t& budget) {
    const inventory::ClassEntry* entry = core_.find_class(class_name);
    if (entry == nullptr) return std::nullopt;
    trim();
    Filter bare;
    for (const std::string& expression : entry->object->selectors) {
      if (expression.empty()) return std::nullopt;
      bare.class_selectors.push_back(selectors_.intern(expression));
      if (!selectors_.compile_error(bare.class_selectors.back()).empty()) return std::nullopt;
    }
    const FilterId filter = filters_.intern(std::move(bare));
    inventory::Usage usage;
    for (inventory::PoolId id = 0; id < core_.pool_slots(); ++id) {
      const inventory::Pool* pool = core_.pool(id);
      if (pool == nullptr || !pool->has_slices()) continue;
      if (!filters_.has_mask(filter, *pool)) {
        if (budget == 0) return std::nullopt;
        budget -= std::min<uint64_t>(budget, pool->size());
      }
      usage += usage_in(*pool, filters_.mask(filter, *pool));
    }
    return usage;
  }

  Reasons explain(const Request& request, std::span<const NodeId> nodes) {
    std::shared_ptr<const Plan> plan = plan_for(request);
    Reasons reasons;
    if (const auto& refusal = plan->error ? plan->error : plan->ambiguous) {
      reasons.proof = refusal->message();
      RequestReason reason;
      if (!plan->claims.empty()) reason.claim = plan->claims[plan->guilty_claim.value_or(0)]->metadata.key();
      CauseCount count;
      count.cause = plan->error_cause;
      count.detail = refusal->message();
      reason.counts.push_back(std::move(count));
      reasons.requests.push_back(std::move(reason));
      return reasons;
    }
    reasons = explain_plan(*plan, nodes, core_, selectors_, filters_);
    reasons.proof = proof_for(*plan, nodes.first(reasons.nodes_examined));
    return reasons;
  }

 private:
  static constexpr size_t kMaxPlans = 1024;

  static inventory::Usage usage_in(const inventory::Pool& pool, const FilterMask& mask) {
    inventory::Usage usage;
    for (size_t w = 0; w < pool.words(); ++w) {
      usage.total += static_cast<uint32_t>(std::popcount(mask.selectable()[w]));
      usage.used += static_cast<uint32_t>(std::popcount(mask.selectable()[w] & pool.charged()[w]));
      usage.tainted += static_cast<uint32_t>(std::popcount(mask.selectable()[w] & ~mask.usable()[w]));
    }
    usage.free = pool.count_free(mask.usable());
    return usage;
  }

  // Nothing holds a FilterId or SelectorId when this is called.
  void trim() {
    if (filters_.full()) {
      plans_.clear();
      index_.clear();
      refutations_.clear();
      filters_.clear();
      selectors_.clear();
    }
  }

  std::shared_ptr<const Plan> plan_for(const Request& request) {
    trim();
    columns_.trim();
    uint64_t hash = request.claims.size();
    for (const auto& claim : request.claims) {
      DRA_CHECK(claim != nullptr);
      hash = (hash ^ reinterpret_cast<uintptr_t>(claim.get())) * 0x9e3779b97f4a7c15ull;
    }
    if (auto it = plans_.find(hash); it != plans_.end()) {
      const Plan& plan = *it->second;
      if (plan.classes_version == core_.classes_version() && plan.claims == request.claims) return it->second;
    }
    std::shared_ptr<const Plan> plan = make_plan(request.claims, core_, selectors_, filters_);
    if (plans_.size() >= kMaxPlans) plans_.clear();
    plans_[hash] = plan;
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

  // What refuted the claims: on the first node where every request alone has enough devices, else on the first node.
  std::string proof_for(const Plan& plan, std::span<const NodeId> nodes) {
    constexpr size_t kMostNodes = 256;
    std::string proof;
    uint64_t steps = 0;
    for (NodeId node : nodes.first(std::min(nodes.size(), kMostNodes))) {
      if (node >= core_.node_count()) continue;
      if (steps >= options_.step_budget) break;
      Search::End end = search_.run(plan, node, false, options_.step_budget - steps);
      steps += search_.steps() + 1;
      if (end == Search::End::kFound || (search_.too_few() && !proof.empty())) continue;
      proof = (nodes.size() > 1 ? "node " + core_.node_name(node) + ": " : "") +
              (end == Search::End::kBudget ? "undecided within the step budget" : search_.proof());
      if (!search_.too_few()) break;
    }
    return proof;
  }

  void decide(const Plan& plan, NodeId node, uint64_t budget, Decision& decision, bool prove_first = false) {
    Search::End end = search_.run(plan, node, options_.strict_selector_errors, budget, prove_first);
    decision.steps = search_.steps();
    switch (end) {
      case Search::End::kError:
        decision.outcome = Outcome::kError;
        decision.error = Error(Code::kInvalidArgument, search_.error());
        return;
      case Search::End::kBudget:
        decision.outcome = Outcome::kBudgetSpent;
        return;
      case Search::End::kNone:
        decision.outcome = Outcome::kInfeasible;
        if (options_.strict_selector_errors && search_.board().invalid() != nullptr) {
          decision.outcome = Outcome::kError;
          decision.error = Error(Code::kInvalidArgument,
                                 "invalid resource pools were encountered: " + search_.board().invalid()->reason);
        }
        return;
      case Search::End::kFound:
        break;
    }
    auto results = make_results(plan, search_, core_, random_, options_.strict_selector_errors);
    if (!results) {
      decision.outcome = Outcome::kError;
      decision.error = results.error();
      return;
    }
    decision.outcome = Outcome::kFeasible;
    decision.results = std::move(*results);
    if (!plan.any_prioritized) return;
    decision.prioritized_scores.assign(plan.claims.size(), 0);
    for (size_t r = 0; r < plan.requests.size(); ++r)
      if (plan.requests[r].prioritized)
        decision.prioritized_scores[plan.requests[r].claim] += 8 - static_cast<int>(search_.chosen()[r]);
  }

  // What a node must have at least: counts of one filter, or one of several (alternatives).
  struct Need {
    NodeCounts* counts;
    uint64_t devices;
  };
  struct Bound {
    std::vector<Need> any_of;
    bool sum = false;  // of several requests: shared devices may serve more than one of them
  };

  void make_bounds(const Plan& plan) {
    bounds_.clear();
    if (options_.strict_selector_errors) return;  // errors must be met where upstream meets them
    std::unordered_map<NodeCounts*, uint64_t> sums;
    // References into the index stay valid: it is a node-based map.
    for (const PlanRequest& request : plan.requests) {
      Bound bound;
      for (const PlanAlternative& alternative : request.alternatives) {
        NodeCounts& counts = index_.counts(alternative.filter, alternative.admin);
        bound.any_of.push_back({&counts, alternative.all ? 1 : alternative.count});
        if (request.alternatives.size() == 1 && !alternative.admin) sums[&counts] += bound.any_of.back().devices;
      }
      bounds_.push_back(std::move(bound));
    }
    if (plan.requests.size() > 1)
      for (const auto& [counts, sum] : sums) bounds_.push_back({{{counts, sum}}, true});
  }

  // Asked for every node of the fleet: plain loops.
  bool within_bounds(NodeId node) {
    for (const Bound& bound : bounds_) {
      bool possible = false;
      for (const Need& need : bound.any_of) {
        NodeCounts::Count most = index_.bound(*need.counts, node);
        possible = most.candidates >= need.devices || (bound.sum && most.shareable > 0);
        if (possible) break;
      }
      if (!possible) return false;
    }
    return true;
  }

  Options options_;
  inventory::Core& core_;
  Random& random_;
  Selectors selectors_;
  Filters filters_;
  Columns columns_;
  NodeIndex index_;
  Refutations refutations_;
  Search search_;
  std::unordered_map<uint64_t, std::shared_ptr<const Plan>> plans_;
  std::vector<Bound> bounds_;
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
FoundNodes Allocator::find_nodes(const Request& request, std::span<const NodeId> order, size_t limit) {
  return impl_->find_nodes(request, order, limit);
}
std::optional<inventory::Usage> Allocator::class_usage(const std::string& class_name, uint64_t& budget) {
  return impl_->class_usage(class_name, budget);
}
Reasons Allocator::explain(const Request& request, std::span<const NodeId> nodes) {
  return impl_->explain(request, nodes);
}
void Allocator::clear_caches() {
  impl_->clear_caches();
}

}  // namespace dra::allocator
