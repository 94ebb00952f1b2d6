#include "pkg/allocator/nodes/node_search.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "pkg/allocator/search/result.h"

namespace dra::allocator {

namespace {

// An attempt that continues over slices may cost this many times its budget of search steps, including evaluation; then
// it counts as undecided.
constexpr uint64_t kWorkPerBudget = 16;
// The part of the budget that one of several nodes may use before the others had their turn.
constexpr uint64_t kFirstShare = 16;

int score_of(const Decision& decision) {
  return std::accumulate(decision.prioritized_scores.begin(), decision.prioritized_scores.end(), 0);
}

}  // namespace

void NodeSearch::decide(const Plan& plan, NodeId node, const Search::Terms& terms, Decision& decision) {
  const Search::End end = search_.run(plan, node, terms);
  decision.steps = search_.steps();
  switch (end) {
    case Search::End::kError:
      decision.outcome = Outcome::kError;
      decision.error = Error(Code::kInvalidArgument, search_.error());
      return;
    case Search::End::kBudget:
      decision.outcome = search_.slice_ended() ? Outcome::kUnfinished : Outcome::kBudgetSpent;
      return;
    case Search::End::kNone:
      decision.outcome = Outcome::kInfeasible;
      if (options_.strict_selector_errors && search_.matrix().invalid() != nullptr) {
        decision.outcome = Outcome::kError;
        decision.error = Error(Code::kInvalidArgument,
                               "invalid resource pools were encountered: " + search_.matrix().invalid_reason());
      }
      return;
    case Search::End::kFound:
      break;
  }
  auto results = make_results(plan, search_, device_index_, random_, options_.strict_selector_errors);
  if (!results) {
    decision.outcome = Outcome::kError;
    decision.error = results.error();
    return;
  }
  decision.outcome = Outcome::kFeasible;
  decision.takes_of_node = search_.takes_of_node();
  decision.results = std::move(*results);
  if (!plan.any_prioritized) return;
  decision.prioritized_scores.assign(plan.claims.size(), 0);
  for (size_t r = 0; r < plan.requests.size(); ++r)
    if (plan.requests[r].prioritized)
      decision.prioritized_scores[plan.requests[r].claim] += 8 - static_cast<int>(search_.chosen()[r]);
}

// False: the slice ended.
bool NodeSearch::make_bounds(const Plan& plan) {
  bounds_.clear();
  // Errors must occur where upstream meets them.
  if (options_.strict_selector_errors || plan.any_derived) return true;
  std::unordered_map<NodeCounts*, uint64_t> sums;
  // Bounds only save searches: with very many alternatives, the later ones get none.
  const size_t most = index_.most_filters();
  size_t needs = 0;
  // Pointers into the index stay valid: it is a node-based map.
  for (const PlanRequest& request : plan.requests) {
    if (needs + request.alternatives.size() > most) continue;
    needs += request.alternatives.size();
    Bound bound;
    for (const PlanAlternative& alternative : request.alternatives) {
      NodeCounts* counts = index_.counts(alternative.filter, alternative.admin);
      if (counts == nullptr) return false;
      bound.any_of.push_back({counts, alternative.all ? 1 : alternative.count});
      if (request.alternatives.size() == 1 && !alternative.admin) sums[counts] += bound.any_of.back().devices;
    }
    bounds_.push_back(std::move(bound));
  }
  if (plan.requests.size() > 1)
    for (const auto& [counts, sum] : sums) bounds_.push_back({{{counts, sum}}, true});
  return true;
}

// Runs for every node of the fleet: plain loops.
NodeSearch::Within NodeSearch::within_bounds(NodeId node) {
  constexpr size_t kNeedsPerStep = 64;
  for (const Bound& bound : bounds_) {
    bool possible = false;
    for (const Need& need : bound.any_of) {
      if (++needs_checked_ % kNeedsPerStep == 0) meter_.charge(1);
      NodeCounts::Count most;
      if (!index_.bound(*need.counts, node, most)) return Within::kSliceEnded;
      possible = most.candidates >= need.devices || (bound.sum && most.shareable > 0);
      if (possible) break;
    }
    if (!possible) return Within::kNo;
  }
  return Within::kYes;
}

FoundNodes NodeSearch::find(const Plan& plan, const Request& request, std::span<const NodeId> order, size_t limit) {
  plan_ = &plan;
  found_ = {};
  known_ = &refutations_.of(plan.shape);
  budget_ = request.step_budget != 0 ? request.step_budget : std::max(known_->budget, options_.step_budget);
  found_.budget = budget_;
  used_before_ = meter_.used();
  room_ = plan.counts_takes && request.room ? &request.room : nullptr;
  limit_ = limit;
  perfect_ = 0;
  weighs_ = plan.any_prioritized && request.weigh_alternatives;
  wanted_ = weighs_ ? std::max(limit, kScoredNodes) : limit;
  best_score_ = 0;
  for (const PlanRequest& one : plan.requests) best_score_ += one.prioritized ? 8 : 0;
  undecided_ = slice_ended_ = false;
  // A step budget from the caller applies to this call alone.
  if (request.step_budget != 0) known_->end_attempt(known_->budget);
  if (!make_bounds(plan)) {
    slice_ended_ = true;
  } else if (visit_all(order, false) == Go::kOn) {
    visit_all(order, true);
  }
  finish();
  return std::move(found_);
}

// One round over the nodes: either those known as undecided, or the others.
NodeSearch::Go NodeSearch::visit_all(std::span<const NodeId> order, bool undecided) {
  const size_t slots = device_index_.node_slots();
  for (NodeId node : order) {
    if (node >= slots) continue;
    if (!options_.strict_selector_errors && known_->refuted.contains(node)) continue;
    if (known_->undecided.contains(node) != undecided) continue;
    if (known_->spent >= budget_) {
      undecided_ = true;
      return Go::kStop;
    }
    const Within within = within_bounds(node);
    if (within == Within::kNo || !device_index_.knows(node)) continue;
    slice_ended_ = within == Within::kSliceEnded || (meter_.stopped() && found_.nodes_searched > 0);
    if (slice_ended_) return Go::kStop;
    const uint64_t left = budget_ - known_->spent;
    uint64_t share = undecided ? left / 2 : budget_ / kFirstShare;
    if (order.size() == 1) share = left;
    if (visit(node, std::clamp<uint64_t>(share, 1, left)) == Go::kStop || enough()) return Go::kStop;
  }
  return Go::kOn;
}

NodeSearch::Go NodeSearch::visit(NodeId node, uint64_t share) {
  ++found_.nodes_searched;
  // Only one search is kept for resumption: that of the node searched last.
  if (known_->begun != node) refutations_.forget_begun(*known_);
  known_->begun = node;
  Search::Terms terms;
  terms.strict = options_.strict_selector_errors;
  terms.prove_first = !plan_->constraints.empty();
  terms.budget = share > known_->begun_steps ? share - known_->begun_steps : 1;
  terms.room = room_;
  // Room changes without a change of the inventory, so nothing is kept of a search that looks at it.
  if (room_ == nullptr) terms.dead = &known_->dead;
  Decision decision;
  decision.node = node;
  decide(*plan_, node, terms, decision);
  found_.steps += decision.steps + 1;
  known_->spent += decision.steps + 1;
  known_->begun_steps += decision.steps;
  return conclude(node, std::move(decision));
}

NodeSearch::Go NodeSearch::conclude(NodeId node, Decision decision) {
  switch (decision.outcome) {
    case Outcome::kUnfinished:
      slice_ended_ = true;
      return Go::kStop;
    case Outcome::kBudgetSpent:
      known_->begun_steps = 0;  // a new share each time
      known_->undecided.add(node);
      undecided_ = true;
      return Go::kOn;
    case Outcome::kInfeasible:
      if (search_.short_of_room().empty())
        known_->refuted.add(node);
      else if (found_.short_of_room.empty())
        found_.short_of_room = "node " + device_index_.node_name(node) + ": " + search_.short_of_room();
      break;
    case Outcome::kError:
      found_.outcome = Outcome::kError;
      found_.error = std::move(decision.error);
      return Go::kStop;
    case Outcome::kFeasible:
      perfect_ += weighs_ && score_of(decision) == best_score_;
      found_.decisions.push_back(std::move(decision));
  }
  refutations_.forget_begun(*known_);
  known_->undecided.remove(node);
  return Go::kOn;
}

void NodeSearch::finish() {
  if (found_.outcome == Outcome::kError) return;
  known_->work += meter_.used() - used_before_;
  found_.slices = ++known_->slices;
  if (!found_.decisions.empty()) {
    found_.short_of_room.clear();
    // As kube-scheduler scores nodes: by how early the offered alternatives are. Ties keep the given
    // order.
    if (weighs_)
      std::stable_sort(found_.decisions.begin(), found_.decisions.end(),
                       [](const Decision& a, const Decision& b) { return score_of(a) > score_of(b); });
    if (found_.decisions.size() > limit_) found_.decisions.resize(limit_);
    found_.outcome = Outcome::kFeasible;
    return known_->end_attempt(0);
  }
  if (slice_ended_ && known_->work < kWorkPerBudget * budget_) {
    found_.outcome = Outcome::kUnfinished;
    return;
  }
  found_.outcome = undecided_ || slice_ended_ ? Outcome::kBudgetSpent : Outcome::kInfeasible;
  known_->end_attempt(undecided_ || slice_ended_ ? std::min(budget_ * 2, std::max(options_.max_step_budget, budget_))
                                                 : 0);
}

}  // namespace dra::allocator
