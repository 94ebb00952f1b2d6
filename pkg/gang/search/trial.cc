#include "pkg/gang/search/trial.h"

#include "pkg/base/check.h"

namespace dra::gang {

using inventory::Hash128;

Trial::Trial(const Table& table, inventory::Inventory& inventory, Nodes& nodes)
    : table_(table),
      inventory_(inventory),
      nodes_(nodes),
      decided_(table.claims.size()),
      node_of_(table.claims_of.size(), inventory::kNone),
      placed_of_kind_(table.kinds.size(), 0) {}

Trial::~Trial() {
  while (!steps_.empty()) pop();
}

void Trial::decide(uint32_t claim, std::optional<api::AllocationResult> result) {
  if (result)
    inventory_.assume(table_.claims[claim].trial_uid, *result, table_.claims[claim].object.get());
  else
    inventory_.forget(table_.claims[claim].trial_uid);
  decided_[claim] = std::move(result);
}

void Trial::push(uint32_t member, NodeId node, ClaimResults results) {
  Step step{member, node, {}};
  for (auto& [claim, result] : results) {
    step.before.emplace_back(claim, std::move(decided_[claim]));
    decide(claim, std::move(result));
  }
  if (member != kNoMember) {
    DRA_CHECK(!is_placed(member));
    nodes_.place(member, node);
    node_of_[member] = node;
    on_node_[node].push_back(member);
    ++placed_of_kind_[table_.kind_of[member]];
    ++placed_;
    sum_ = plus(sum_, mark(table_.kind_of[member], node));
  }
  steps_.push_back(std::move(step));
}

void Trial::pop() {
  DRA_CHECK(!steps_.empty());
  Step step = std::move(steps_.back());
  steps_.pop_back();
  for (size_t i = step.before.size(); i-- > 0;) decide(step.before[i].first, std::move(step.before[i].second));
  if (step.member == kNoMember) return;
  nodes_.take_back(step.member);
  node_of_[step.member] = inventory::kNone;
  on_node_[step.node].pop_back();
  --placed_of_kind_[table_.kind_of[step.member]];
  --placed_;
  const Hash128 gone = mark(table_.kind_of[step.member], step.node);
  sum_ = {sum_.a - gone.a, sum_.b - gone.b};
}

const std::vector<uint32_t>* Trial::members_on(NodeId node) const {
  const auto at = on_node_.find(node);
  return at == on_node_.end() || at->second.empty() ? nullptr : &at->second;
}

std::vector<uint32_t> Trial::undecided(uint32_t member) const {
  std::vector<uint32_t> out;
  for (const uint32_t claim : table_.claims_of[member])
    if (!decided_[claim]) out.push_back(claim);
  return out;
}

uint32_t Trial::next_of(uint32_t kind) const {
  const std::vector<uint32_t>& members = table_.kinds[kind].members;
  // Members of a kind are placed in order and removed in reverse order.
  const uint32_t member = members[placed_of_kind_[kind]];
  DRA_CHECK(!is_placed(member));
  return member;
}

Hash128 Trial::mark(uint32_t kind, NodeId node) {
  Hash128 hash;
  hash.add(uint64_t{kind} << 32 | node);
  hash.add(1);
  return hash;
}

void Trial::suspend(std::span<const uint32_t> claims) {
  for (const uint32_t claim : claims) inventory_.forget(table_.claims[claim].trial_uid);
}

void Trial::resume(std::span<const uint32_t> claims) {
  for (const uint32_t claim : claims)
    inventory_.assume(table_.claims[claim].trial_uid, *decided_[claim], table_.claims[claim].object.get());
}

Hash128 Trial::kinds_on(NodeId node) const {
  Hash128 sum{0, 0};
  if (const std::vector<uint32_t>* members = members_on(node))
    for (const uint32_t member : *members) sum = plus(sum, mark(table_.kind_of[member], node));
  return sum;
}

}  // namespace dra::gang
