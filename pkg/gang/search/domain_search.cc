#include "pkg/gang/search/domain_search.h"
#include "pkg/inventory/device_index.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

namespace dra::gang {

DomainSearch::DomainSearch(const World& world, SearchMemory& memory, Progress& progress, Trial& trial)
    : world_(world), memory_(memory), progress_(progress), trial_(trial) {}

void DomainSearch::set_domain(const Domain& domain) {
  domain_ = &domain;
  in_domain_.assign(world_.inventory.device_index().node_slots(), false);
  for (const NodeId node : domain.nodes)
    if (node < in_domain_.size()) in_domain_[node] = true;
}

// ---- from one slice to the next

void DomainSearch::save_path(bool ends) {
  memory_.path.clear();
  memory_.path.reserve(trial_.steps().size());
  std::vector<bool> saved(world_.table.claims.size(), false);
  for (const Trial::Step& step : trial_.steps()) {
    SearchMemory::Step& kept = memory_.path.emplace_back();
    kept.member = step.member;
    kept.node = step.node;
    for (const auto& [claim, before] : step.before) {
      if (saved[claim]) continue;  // decided again later: its present value counts from the first step on
      saved[claim] = true;
      kept.results.emplace_back(claim, ends ? trial_.give_up_decided(claim) : *trial_.decided(claim));
    }
  }
}

// False: it no longer fits there.
bool DomainSearch::place_again(SearchMemory::Step step, bool check) {
  if (!check) {
    push(step.member, {step.node, std::move(step.results)});
    return true;
  }
  std::vector<uint32_t> claims;
  if (step.member != Trial::kNoMember) {
    if (!in_domain(step.node) || !usable(step.member, step.node) || !world_.nodes.look(step.member, step.node))
      return false;
    claims = trial_.undecided(step.member);
  } else {
    for (const auto& [claim, result] : step.results) claims.push_back(claim);
  }
  allocator::Decision decision = world_.allocator.allocate(request_for(step.member, claims), step.node);
  work(decision.steps + 1);
  if (decision.outcome != allocator::Outcome::kFeasible) return false;
  Child child{step.node, {}};
  for (size_t i = 0; i < claims.size(); ++i) child.results.emplace_back(claims[i], std::move(decision.results[i]));
  push(step.member, std::move(child));
  return true;
}

// The step is that of another member of the kind from now on. Their claims have equal specs, in the same order.
void DomainSearch::hand_over(SearchMemory::Step& step, uint32_t member) const {
  if (step.member == member) return;
  const std::vector<uint32_t>& from = world_.table.claims_of[step.member];
  const std::vector<uint32_t>& to = world_.table.claims_of[member];
  for (auto& [claim, result] : step.results) {
    const auto at = std::find(from.begin(), from.end(), claim);
    if (at != from.end()) claim = to.at(static_cast<size_t>(at - from.begin()));
  }
  step.member = member;
}

bool DomainSearch::is_untouched(const SearchMemory::Step& step) const {
  return world_.node_local && step.member != Trial::kNoMember && in_domain(step.node) &&
         memory_.tables_version == world_.inventory.tables_version() &&
         step.results.size() == trial_.undecided(step.member).size() &&
         world_.nodes.still_takes(step.member, step.node, memory_.nodes_version) && usable(step.member, step.node) &&
         std::all_of(step.results.begin(), step.results.end(), [&](const auto& one) {
           return !trial_.decided(one.first) && world_.inventory.are_free(one.second);
         });
}

// Places again what still fits. The exhaustive search follows the path step by step instead.
DomainSearch::End DomainSearch::replay() {
  std::vector<SearchMemory::Step> steps = std::exchange(memory_.path, {});
  const size_t checked = world_.changed ? 0 : steps.size();
  std::move(memory_.unchecked.begin(), memory_.unchecked.end(), std::back_inserter(steps));
  memory_.unchecked.clear();
  const bool often = memory_.restarts >= kMostRestarts;
  if (often) world_.meter.grant(world_.options.slice.time * (memory_.restarts + 2) / kMostRestarts);
  for (size_t i = 0; i < steps.size(); ++i) {
    // Of a kind, members are placed in order: after a step that failed, each takes the place of the one before it.
    if (i >= checked && steps[i].member != Trial::kNoMember) {
      const uint32_t kind = world_.table.kind_of[steps[i].member];
      if (trial_.placed_of_kind(kind) == size_of(kind)) continue;
      hand_over(steps[i], trial_.next_of(kind));
    }
    const bool check = i >= checked && !is_untouched(steps[i]);
    if (check && (often ? world_.meter.is_late() : must_stop())) {
      memory_.unchecked.assign(std::make_move_iterator(steps.begin() + static_cast<ptrdiff_t>(i)),
                               std::make_move_iterator(steps.end()));
      return stop();
    }
    place_again(std::move(steps[i]), check);
  }
  memory_.restarts = 0;
  memory_.nodes_version = world_.nodes.version();
  memory_.tables_version = world_.inventory.tables_version();
  if (!steps.empty()) world_.meter.grant(kLeastAfterReplay);
  worked_ = false;
  return End::kNone;
}

void DomainSearch::begin_stage(SearchMemory::Stage stage) {
  memory_.stage = stage;
  memory_.kind = 0;
  memory_.path.clear();
  memory_.refused.clear();
}

void DomainSearch::undo(size_t steps) {
  while (trial_.steps().size() > steps) pop();
}

// ---- stages

DomainSearch::End DomainSearch::run(const Domain& domain, uint32_t need) {
  using Stage = SearchMemory::Stage;
  need_ = need;
  set_domain(domain);
  if (world_.changed && !memory_.unchecked.empty()) ++memory_.restarts;
  if (world_.changed && memory_.stage != Stage::kDive) {
    // Old proofs are void; what was placed may still be a good start.
    SearchMemory begun;
    begun.path = std::move(memory_.path);
    begun.unchecked = std::move(memory_.unchecked);
    begun.restarts = memory_.restarts;
    begun.nodes_version = memory_.nodes_version;
    begun.tables_version = memory_.tables_version;
    begun.most_placed = memory_.most_placed;
    memory_ = std::move(begun);
  }
  if (world_.changed) {
    memory_.refused.clear();
    memory_.kind = 0;
  }
  if (memory_.stage == Stage::kExtend) {
    const End end = replay();
    return end == End::kNone ? End::kFound : end;
  }
  if (memory_.stage == Stage::kDive) {
    if (const End end = replay(); end != End::kNone) return end;
    const End end = dive();
    if (end != End::kNone) return end;
    undo(0);
    if (world_.kind_order.size() == 1 && world_.first_claims.empty() && fills_exactly(0)) return End::kNone;
    begin_stage(world_.node_local ? Stage::kAlone : Stage::kSearch);
  }
  if (memory_.stage == Stage::kAlone) {
    relaxed_ = true;
    if (const End end = replay(); end != End::kNone) return end;
    const End end = alone();
    if (end != End::kFound) return end;
    relaxed_ = false;
    begin_stage(Stage::kSearch);
  }
  hint_ = 0;
  searching_ = true;
  searched_from_ = progress_.steps;
  const End end = search_ways();
  const bool enough = searched_enough();
  searching_ = false;
  memory_.searched += progress_.steps - searched_from_;
  if (end != End::kStopped || !enough) return end;
  progress_.undecided = true;
  undo(0);
  return End::kNone;
}

// Each kind as far as possible.
DomainSearch::End DomainSearch::dive() {
  dive_into_claims();
  for (; memory_.kind < world_.kind_order.size(); ++memory_.kind) {
    const End end = fill(world_.kind_order[memory_.kind], need_);
    if (end != End::kNone) return end == End::kFound && !enough() ? End::kNone : end;
  }
  return enough() ? End::kFound : End::kNone;
}

// Decides the first claims wherever they can be had. Members do without those that cannot be decided.
void DomainSearch::dive_into_claims() {
  for (const uint32_t claim : world_.first_claims) {
    if (trial_.decided(claim)) continue;
    allocator::FoundNodes found =
        world_.allocator.find_nodes(request_for(Trial::kNoMember, {claim}), domain_->nodes, 1);
    work(found.steps + 1);
    if (found.outcome != allocator::Outcome::kFeasible) continue;
    push(Trial::kNoMember, {found.decisions[0].node, {{claim, std::move(found.decisions[0].results[0])}}});
  }
}

// Places members of the kind until `until` are placed. kNone: fewer fit.
DomainSearch::End DomainSearch::fill(uint32_t kind, uint64_t until) {
  NodeSet tried;
  while (trial_.placed() < until) {
    if (trial_.placed_of_kind(kind) == size_of(kind)) return End::kNone;
    if (must_stop()) return stop_in_fill();
    Child child;
    const uint32_t member = trial_.next_of(kind);
    const Next next = next_child(kind, tried, child);
    if (next == Next::kStopped) return stop_in_fill();
    if (next != Next::kChild) return end_of(next);
    push(member, std::move(child));
  }
  return End::kFound;
}

// How many of each kind fit without the others. kNone: too few in sum.
DomainSearch::End DomainSearch::alone() {
  memory_.alone.resize(world_.table.kinds.size(), 0);
  for (; memory_.kind < world_.kind_order.size(); ++memory_.kind) {
    const uint32_t kind = world_.kind_order[memory_.kind];
    memory_.alone[kind] = size_of(kind);
    if (!fills_exactly(kind)) continue;
    const End end = fill(kind, size_of(kind));
    if (end == End::kStopped || end == End::kError) return end;
    if (!progress_.undecided) memory_.alone[kind] = trial_.placed_of_kind(kind);
    memory_.refused.clear();
    undo(0);
  }
  const uint64_t sum = std::accumulate(memory_.alone.begin(), memory_.alone.end(), uint64_t{0});
  return sum < need_ ? End::kNone : End::kFound;
}

// The members beyond the minimum, near the others: in each of the domains in turn, narrow to wide.
DomainSearch::End DomainSearch::extend(const std::vector<const Domain*>& domains) {
  if (memory_.stage != SearchMemory::Stage::kExtend) begin_stage(SearchMemory::Stage::kExtend);
  relaxed_ = false;
  const bool undecided = progress_.undecided;
  const auto kinds = static_cast<uint32_t>(world_.kind_order.size());
  const auto last = static_cast<uint32_t>(domains.size()) * kinds;
  uint32_t in = UINT32_MAX;
  for (; memory_.kind < last && trial_.placed() < world_.request.members.size() && !out_of_budget(); ++memory_.kind) {
    if (in != memory_.kind / kinds) set_domain(*domains[in = memory_.kind / kinds]);
    const End end = fill(world_.kind_order[memory_.kind % kinds], world_.request.members.size());
    if (end == End::kError) return end;
    if (end == End::kStopped && !out_of_budget()) return end;
  }
  progress_.undecided = undecided;  // members that are not placed wait, whatever the reason
  return End::kFound;
}

}  // namespace dra::gang
