// DomainSearch: exhaustive search for places of members; remembers states that have no solution.
#include <algorithm>

#include "pkg/gang/search/domain_search.h"
#include "pkg/identity/record.h"

namespace dra::gang {

using inventory::Hash128;

namespace {

void add_text(Hash128& hash, const std::string& text) {
  hash.add(std::hash<std::string>{}(text));
  hash.add(text.size());
}

void add_requirements(Hash128& hash, const std::vector<api::NodeSelectorRequirement>& requirements) {
  hash.add(requirements.size());
  for (const api::NodeSelectorRequirement& one : requirements) {
    add_text(hash, one.key);
    add_text(hash, one.op);
    hash.add(one.values.size());
    for (const std::string& value : one.values) add_text(hash, value);
  }
}

// Hashes a result's selector: one term, or none.
void add_selector(Hash128& hash, const api::AllocationResult& result) {
  if (!result.node_selector) return;
  for (const api::NodeSelectorTerm& term : result.node_selector->terms) {
    add_requirements(hash, term.match_expressions);
    add_requirements(hash, term.match_fields);
  }
}

}  // namespace

// Hashes what the result takes from others.
Hash128 DomainSearch::hash_of(const api::AllocationResult& result) {
  Hash128 sum{0, 0};
  for (const api::DeviceRequestAllocationResult& device : result.results) {
    if (device.admin_access) continue;
    Hash128 one;
    add_text(one, device.driver);
    add_text(one, device.pool);
    add_text(one, device.device);
    for (const auto& [name, amount] : device.consumed_capacity) {
      add_text(one, name);
      add_text(one, amount);
    }
    sum = plus(sum, one);
  }
  // Whether it excludes other names of its devices.
  for (const api::DeviceAllocationConfiguration& entry : result.config)
    if (entry.opaque && entry.opaque->driver == identity::kRecordDriver) {
      Hash128 one;
      add_text(one, entry.opaque->parameters_json);
      sum = plus(sum, one);
    }
  return sum;
}

// Everything that decides how the search continues, except the members' places.
Hash128 DomainSearch::state(size_t at) const {
  Hash128 hash;
  hash.add(at);
  Hash128 devices{0, 0};
  for (uint32_t claim = 0; claim < world_.table.claims.size(); ++claim) {
    const std::optional<api::AllocationResult>& decided = trial_.decided(claim);
    if (!decided) continue;
    const bool shared = world_.table.claims[claim].shared();
    // If members affect their own node alone, it does not matter who has which of its devices.
    if (world_.node_local && !shared) continue;
    Hash128 one = hash_of(*decided);
    if (shared) {
      one.add(claim);
      add_selector(one, *decided);
    }
    devices = plus(devices, one);
  }
  hash.add(devices);
  return hash;
}

Hash128 DomainSearch::state_with(Hash128 state, const Hash128& places) {
  state.add(places);
  return state;
}

DomainSearch::End DomainSearch::dead_end(const Hash128& key) {
  if (memory_.dead.size() < SearchMemory::kMaxStates) memory_.dead.insert(key);
  return End::kNone;
}

// Members of the kinds from `at` on that may still be placed.
uint64_t DomainSearch::still_possible(size_t at) const {
  uint64_t sum = 0;
  for (; at < world_.kind_order.size(); ++at) {
    const uint32_t kind = world_.kind_order[at];
    const uint32_t most = memory_.alone.empty() ? size_of(kind) : memory_.alone[kind];
    sum += most - std::min(most, trial_.placed_of_kind(kind));
  }
  return sum;
}

// The step that the previous slice had reached; null: there is none.
const SearchMemory::Step* DomainSearch::next_hint() {
  if (hint_ >= memory_.path.size()) return nullptr;
  return &memory_.path[hint_];
}

// ---- members that affect their own node alone

DomainSearch::End DomainSearch::place_kinds(size_t at) {
  if (enough()) return End::kFound;
  while (at < world_.kind_order.size() &&
         trial_.placed_of_kind(world_.kind_order[at]) == size_of(world_.kind_order[at]))
    ++at;
  const Hash128 key = state_with(state(at), trial_.places());
  if (memory_.dead.contains(key)) return End::kNone;
  if (trial_.placed() + still_possible(at) < need_) return dead_end(key);
  if (must_stop()) return stop();  // here, so that what was placed is new and the next slice continues below it
  const bool last = at + 1 == world_.kind_order.size() && fills_exactly(world_.kind_order[at]);
  const End end = last ? place_last(at) : place_next(at);
  return end == End::kNone ? dead_end(key) : end;
}

// Each node gets as many as fit: nothing is better.
DomainSearch::End DomainSearch::place_last(size_t at) {
  const size_t before = trial_.steps().size();
  for (const SearchMemory::Step* hint = next_hint(); hint != nullptr; hint = next_hint()) {
    push(hint->member, {hint->node, hint->results});
    ++hint_;
  }
  End end = fill(world_.kind_order[at], need_);
  if (end == End::kFound && !enough()) end = End::kNone;
  if (end == End::kNone) undo(before);
  return end;
}

// Nodes on which the next member of the kind would lead to a state known to be dead: a slice that continues must not
// ask for them again.
DomainSearch::NodeSet DomainSearch::known_dead_ends(size_t at) const {
  NodeSet nodes;
  const uint32_t kind = world_.kind_order[at];
  if (memory_.dead.empty() || world_.tied[kind]) return nodes;
  size_t next = at;
  if (trial_.placed_of_kind(kind) + 1 == size_of(kind)) ++next;
  while (next > at && next < world_.kind_order.size() &&
         trial_.placed_of_kind(world_.kind_order[next]) == size_of(world_.kind_order[next]))
    ++next;
  // Of the claims' part of the state, only the places differ from the current state.
  const Hash128 rest = state(next);
  for (const Candidate& candidate : world_.kinds[kind].candidates) {
    if (!in_domain(candidate.node)) continue;
    if (memory_.dead.contains(state_with(rest, plus(trial_.places(), Trial::mark(kind, candidate.node)))))
      nodes.insert(candidate.node);
  }
  return nodes;
}

DomainSearch::End DomainSearch::place_next(size_t at) {
  const uint32_t kind = world_.kind_order[at];
  if (const SearchMemory::Step* hint = next_hint()) {
    const bool skipped = world_.table.kind_of[hint->member] != kind;
    if (!skipped) {
      ++hint_;
      push(hint->member, {hint->node, hint->results});
    }
    const End end = place_kinds(skipped ? at + 1 : at);
    if (end != End::kNone) return end;
    if (!skipped) pop();
    hint_ = memory_.path.size();
  }
  NodeSet tried = known_dead_ends(at);
  while (true) {
    Child child;
    const uint32_t member = trial_.next_of(kind);
    const Next next = next_child(kind, tried, child);
    if (next == Next::kStopped) return stop();
    if (next == Next::kError) return End::kError;
    if (next == Next::kNone && must_place(kind)) return End::kNone;
    if (next == Next::kNone) return place_kinds(at + 1);  // without the rest of this kind
    tried.insert(child.node);
    push(member, std::move(child));
    const End end = place_kinds(at);
    if (end != End::kNone) return end;
    pop();
  }
}

// ---- members that affect others

// The order of placing matters: any kind may be next.
static constexpr size_t kAnyKind = 0;

DomainSearch::End DomainSearch::place_any(size_t from) {
  if (enough()) return End::kFound;
  if (from == world_.kind_order.size() || trial_.placed() + still_possible(from) < need_) return End::kNone;
  const Hash128 key = state_with(state(from), trial_.places());
  if (memory_.dead.contains(key)) return End::kNone;
  if (must_stop()) return stop();
  const bool any_order = world_.any_order;
  if (const SearchMemory::Step* hint = next_hint()) {
    const bool skipped = !any_order && world_.table.kind_of[hint->member] != world_.kind_order[from];
    if (!skipped) {
      ++hint_;
      push(hint->member, {hint->node, hint->results});
    }
    const End end = place_any(skipped ? from + 1 : from);
    if (end != End::kNone) return end;
    if (!skipped) pop();
    hint_ = memory_.path.size();
  }
  for (size_t at = from; at < (any_order ? world_.kind_order.size() : from + 1); ++at) {
    const uint32_t kind = world_.kind_order[at];
    if (trial_.placed_of_kind(kind) == size_of(kind)) continue;
    const End end = any_child(kind, any_order ? kAnyKind : from);
    if (end != End::kNone) return end;
  }
  if (!any_order && !must_place(world_.kind_order[from])) {
    const End end = place_any(from + 1);
    if (end != End::kNone) return end;
  }
  return dead_end(key);
}

DomainSearch::End DomainSearch::any_child(uint32_t kind, size_t from) {
  const uint32_t member = trial_.next_of(kind);
  if (lacks_claim(member)) return End::kNone;
  NodeSet none;
  gather(kind, member, none);
  const std::vector<NodeId> nodes = order_;
  for (const NodeId node : nodes) {
    const End end = each_solution(member, node, from);
    if (end != End::kNone) return end;
  }
  return End::kNone;
}

// Tries the member on this node with every choice of devices.
DomainSearch::End DomainSearch::each_solution(uint32_t member, NodeId node, size_t from) {
  const std::vector<uint32_t> claims = trial_.undecided(member);
  if (claims.empty()) {
    work(1);
    push(member, {node, {}});
    const End end = place_any(from);
    if (end == End::kNone) pop();
    return end;
  }
  const allocator::Request request = request_for(member, claims);
  // Few at first: usually the first one suffices.
  for (size_t skip = 0, limit = 4;; skip += limit, limit = 64) {
    allocator::Solutions solutions = world_.allocator.solutions(request, node, skip, limit);
    work(solutions.steps + 1);
    if (solutions.outcome == allocator::Outcome::kError) {
      fail_with(member, std::move(solutions.error));
      return End::kError;
    }
    progress_.undecided = progress_.undecided || solutions.outcome == allocator::Outcome::kBudgetSpent;
    for (allocator::Decision& decision : solutions.decisions) {
      work(2);
      Child child{node, {}};
      for (size_t i = 0; i < claims.size(); ++i) child.results.emplace_back(claims[i], std::move(decision.results[i]));
      push(member, std::move(child));
      const End end = place_any(from);
      if (end != End::kNone) return end;
      pop();
    }
    if (solutions.outcome == allocator::Outcome::kFeasible) continue;
    refuse(claims);
    return End::kNone;
  }
}

// ---- claims to be decided before any member

DomainSearch::End DomainSearch::search_ways() {
  // First claims are not tried after members.
  if (world_.any_order && !world_.first_claims.empty()) progress_.undecided = true;
  uint64_t way = 0;
  return decide_first_claims(0, way);
}

DomainSearch::End DomainSearch::search_way(uint64_t& way) {
  if (way++ < memory_.ways) return End::kNone;
  // The path continues below the way in which the slice ended.
  while (next_hint() != nullptr && next_hint()->member == Trial::kNoMember) ++hint_;
  const End end = world_.node_local ? place_kinds(0) : place_any(0);
  if (end != End::kNone) return end;
  memory_.ways = way;
  memory_.refused.clear();
  memory_.path.clear();
  hint_ = 0;
  return End::kNone;
}

DomainSearch::End DomainSearch::decide_first_claims(size_t at, uint64_t& way) {
  if (at == world_.first_claims.size()) return search_way(way);
  HashSet seen;
  for (const NodeId node : domain_->nodes) {
    const End end = each_way(at, node, seen, way);
    if (end != End::kNone) return end;
  }
  // Tries without the claim, if enough members do not need it.
  const size_t users = world_.table.claims[world_.first_claims[at]].users.size();
  if (world_.request.members.size() - users < need_) return End::kNone;
  return decide_first_claims(at + 1, way);
}

DomainSearch::End DomainSearch::each_way(size_t at, NodeId node, HashSet& seen, uint64_t& way) {
  const uint32_t claim = world_.first_claims[at];
  const allocator::Request request = request_for(Trial::kNoMember, {claim});
  for (size_t skip = 0, limit = 4;; skip += limit, limit = 64) {
    allocator::Solutions solutions = world_.allocator.solutions(request, node, skip, limit);
    progress_.steps += solutions.steps + 1;
    world_.meter.charge(solutions.steps + 1);
    if (solutions.outcome == allocator::Outcome::kError) {
      fail_with(Trial::kNoMember, std::move(solutions.error));
      return End::kError;
    }
    progress_.undecided = progress_.undecided || solutions.outcome == allocator::Outcome::kBudgetSpent;
    for (allocator::Decision& decision : solutions.decisions) {
      Hash128 key = hash_of(decision.results[0]);
      add_selector(key, decision.results[0]);
      if (!seen.insert(key).second) continue;
      if (out_of_budget()) return stop();
      push(Trial::kNoMember, {node, {{claim, std::move(decision.results[0])}}});
      const End end = decide_first_claims(at + 1, way);
      if (end != End::kNone) return end;
      pop();
    }
    if (solutions.outcome != allocator::Outcome::kFeasible) return End::kNone;
  }
}

}  // namespace dra::gang
