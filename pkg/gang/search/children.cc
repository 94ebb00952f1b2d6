// DomainSearch: where the next member of a kind can go.
#include <algorithm>

#include "pkg/api/selectors.h"
#include "pkg/gang/search/domain_search.h"
#include "pkg/inventory/device_index.h"

namespace dra::gang {

namespace {

constexpr uint64_t kChildSteps = 16;       // for a question to the allocator and recording its answer
constexpr uint64_t kExaminedPerStep = 64;  // nodes

}  // namespace

allocator::Request DomainSearch::request_for(uint32_t member, const std::vector<uint32_t>& claims) const {
  allocator::Request request;
  for (const uint32_t claim : claims) request.claims.push_back(world_.table.claims[claim].object);
  request.weigh_alternatives = true;
  if (member != Trial::kNoMember) request.cpu_milli = world_.request.members[member].cpu_milli;
  request.step_budget = world_.options.node_step_budget;
  request.preferences = allocator::preferences_of(request.claims).of;
  if (world_.table.any_pairs) add_pairs(request, concerned(member, claims, false), claims);
  if (!world_.rails.empty()) add_rails(request, member, claims);
  return request;
}

// The member's claims that are allocated or already decided can be used there.
bool DomainSearch::usable(uint32_t member, NodeId node) const {
  const inventory::DeviceIndex& device_index = world_.inventory.device_index();
  for (const api::NodeSelector* selector : world_.table.selectors_of[member])
    if (!api::matches(*selector, device_index.node_name(node), device_index.node_labels(node))) return false;
  for (const uint32_t claim : world_.table.claims_of[member]) {
    const std::optional<api::AllocationResult>& decided = trial_.decided(claim);
    if (decided && decided->node_selector &&
        !api::matches(*decided->node_selector, device_index.node_name(node), device_index.node_labels(node)))
      return false;
  }
  return true;
}

bool DomainSearch::is_first(uint32_t claim) const {
  return std::find(world_.first_claims.begin(), world_.first_claims.end(), claim) != world_.first_claims.end();
}

// One of its claims should have been decided first and could not be.
bool DomainSearch::lacks_claim(uint32_t member) const {
  if (relaxed_ || world_.first_claims.empty()) return false;
  const std::vector<uint32_t>& claims = world_.table.claims_of[member];
  return std::any_of(claims.begin(), claims.end(),
                     [&](uint32_t claim) { return is_first(claim) && !trial_.decided(claim); });
}

// The allocator found no devices for all of these together. With administrative access that is not a proof: one
// decision gives no device to two claims, although one after the other they could have it.
void DomainSearch::refuse(const std::vector<uint32_t>& claims) {
  if (claims.size() > 1 &&
      std::any_of(claims.begin(), claims.end(), [&](uint32_t claim) { return world_.table.claims[claim].any_admin; }))
    progress_.undecided = true;
}

std::optional<NodeFacts> DomainSearch::look(uint32_t kind, uint32_t member, NodeId node) {
  Seen& seen = looks_[uint64_t{kind} << 32 | node];
  const uint64_t changed = touched_.at(node);
  if (seen.stamp < changed) seen = {changed, world_.nodes.look(member, node)};
  return seen.facts;
}

// Nodes of the domain that were not tried, in the order of Nodes.
void DomainSearch::gather(uint32_t kind, uint32_t member, NodeSet& tried) {
  order_.clear();
  facts_.clear();
  const bool fresh = !world_.node_local;
  const std::vector<Candidate> now = fresh ? world_.nodes.candidates(member) : std::vector<Candidate>();
  const std::vector<Candidate>& candidates = fresh ? now : world_.kinds[kind].candidates;
  const bool restricted = fresh || (world_.table.kinds[kind].shares && !relaxed_);
  work(candidates.size() / kExaminedPerStep + 1);
  for (const Candidate& candidate : candidates) {
    const NodeId node = candidate.node;
    if (!in_domain(node) || tried.contains(node)) continue;
    if (restricted && !usable(member, node)) continue;
    NodeFacts facts = candidate.facts;
    if (!fresh && touched_.contains(node)) {
      const std::optional<NodeFacts> seen = look(kind, member, node);
      if (!seen) continue;
      facts = *seen;
    }
    order_.push_back(node);
    facts_.push_back(facts);
  }
}

DomainSearch::Next DomainSearch::fail_with(uint32_t member, std::optional<Error> error) {
  progress_.error = error ? std::move(error) : Error(Code::kInternal, "the allocator failed without saying why");
  if (member != Trial::kNoMember) progress_.guilty = member;
  return Next::kError;
}

// The best child by the strategy; nodes that cannot be one are added to `tried`.
DomainSearch::Next DomainSearch::next_child(uint32_t kind, NodeSet& tried, Child& child) {
  const uint32_t member = trial_.next_of(kind);
  std::vector<uint32_t> claims = trial_.undecided(member);
  if (relaxed_) std::erase_if(claims, [&](uint32_t claim) { return is_first(claim); });
  if (lacks_claim(member)) return Next::kNone;
  gather(kind, member, tried);
  if (!order_.empty()) {
    allocator::Request request = request_for(member, claims);
    request.step_budget = world_.allocator.options().step_budget;
    request.facts = facts_;
    allocator::FoundNodes found = world_.allocator.find_nodes(request, order_, 1);
    work(found.steps + kChildSteps);
    switch (found.outcome) {
      case allocator::Outcome::kFeasible:
        child.node = found.decisions[0].node;
        child.results.clear();
        for (size_t i = 0; i < claims.size(); ++i)
          child.results.emplace_back(claims[i], std::move(found.decisions[0].results[i]));
        return Next::kChild;
      case allocator::Outcome::kUnfinished:
        progress_.ask_again = found.ask_again;
        return Next::kStopped;
      case allocator::Outcome::kError:
        return fail_with(member, std::move(found.error));
      case allocator::Outcome::kBudgetSpent:
        progress_.undecided = true;
        break;
      case allocator::Outcome::kInfeasible:
        refuse(claims);
        break;
    }
  }
  if (!world_.node_local || claims.empty()) return Next::kNone;
  // Asking again is useless for nodes where nothing can be packed again.
  for (const NodeId node : order_)
    if (trial_.members_on(node) == nullptr) tried.insert(node);
  return pack_anew(kind, member, tried, child);
}

// Nodes with members: decides all claims there again together with those of one more member.
DomainSearch::Next DomainSearch::pack_anew(uint32_t kind, uint32_t member, NodeSet& tried, Child& child) {
  const std::vector<NodeId> nodes = order_;
  bool asked = false;  // each slice examines at least one more node
  for (const NodeId node : nodes) {
    if (tried.contains(node)) continue;
    const inventory::Hash128 kinds = plus(trial_.kinds_on(node), Trial::mark(kind, node));
    if (!memory_.refused.contains(kinds)) {
      if (asked && must_stop()) return Next::kStopped;
      asked = true;
      const Next next = pack_node(member, node, child);
      if (next != Next::kNone) return next;
      if (memory_.refused.size() < SearchMemory::kMaxStates) memory_.refused.insert(kinds);
    }
    tried.insert(node);
  }
  return Next::kNone;
}

DomainSearch::Next DomainSearch::pack_node(uint32_t member, NodeId node, Child& child) {
  std::vector<uint32_t> claims;
  const auto add = [&](uint32_t claim, bool decided) {
    if (decided && world_.table.claims[claim].only_admin) return;  // blocks no other claim
    if (!is_first(claim) && trial_.decided(claim).has_value() == decided &&
        std::find(claims.begin(), claims.end(), claim) == claims.end())
      claims.push_back(claim);
  };
  for (const uint32_t there : *trial_.members_on(node))
    for (const uint32_t claim : world_.table.claims_of[there]) add(claim, true);
  const size_t decided = claims.size();
  if (decided == 0) return Next::kNone;
  for (const uint32_t claim : world_.table.claims_of[member]) add(claim, false);
  trial_.suspend({claims.data(), decided});
  allocator::Decision decision = world_.allocator.allocate(request_for(member, claims), node);
  trial_.resume({claims.data(), decided});
  work(decision.steps + kChildSteps + 2 * claims.size());
  if (decision.outcome == allocator::Outcome::kFeasible) {
    child.node = node;
    child.results.clear();
    for (size_t i = 0; i < claims.size(); ++i) child.results.emplace_back(claims[i], std::move(decision.results[i]));
    return Next::kChild;
  }
  // An error means that one question has too many claims: each of them was fine alone.
  if (decision.outcome != allocator::Outcome::kInfeasible) progress_.undecided = true;
  refuse(claims);
  return Next::kNone;
}

void DomainSearch::push(uint32_t member, Child child) {
  if (member != Trial::kNoMember) touched_[child.node] = ++clock_;
  trial_.push(member, child.node, std::move(child.results));
  memory_.most_placed = std::max<uint64_t>(memory_.most_placed, relaxed_ ? 0 : trial_.placed());
}

void DomainSearch::pop() {
  const NodeId node = trial_.steps().back().node;
  if (trial_.steps().back().member != Trial::kNoMember) touched_[node] = ++clock_;
  trial_.pop();
}

}  // namespace dra::gang
