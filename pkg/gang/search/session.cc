#include "pkg/gang/search/session.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "pkg/api/selectors.h"
#include "pkg/inventory/device_index.h"

namespace dra::gang {

namespace {

constexpr uint64_t kCandidatesPerStep = 8;                                      // of Nodes::candidates()
constexpr uint64_t kCountedPerStep = 64;                                        // nodes of allocator::fit_counts()
constexpr uint64_t kStepsOfCount = 8;                                           // to plan such a request
constexpr size_t kBytesOfCandidate = sizeof(Candidate) + 4 * sizeof(uint32_t);  // with its number, counts and most_

void add_values(inventory::Hash128& hash, const alignment::MemberRails& devices) {
  hash.add(devices.size());
  for (const alignment::DeviceRails& device : devices) {
    hash.add(device.size());
    for (const std::string& value : device) hash.add(std::hash<std::string>{}(value));
  }
}

void add_rails(inventory::Hash128& hash, const RailRule& rule) {
  hash.add(std::hash<std::string>{}(rule.attribute));
  hash.add(uint64_t{rule.soft});
  for (const RailRule::Of& of : rule.of) {
    hash.add(of.requests.size());
    for (const auto& [claim, request] : of.requests) {
      hash.add(uint64_t{claim});
      hash.add(std::hash<std::string>{}(request));
    }
    add_values(hash, of.taken);
  }
  hash.add(rule.running.size());
  for (const auto& [name, devices] : rule.running) add_values(hash, devices);
}

void add_part(inventory::Hash128& hash, const GroupPart& part) {
  hash.add(part.parent.value_or(UINT32_MAX));
  hash.add(part.need);
  hash.add(part.members.size());
  for (const uint32_t member : part.members) hash.add(member);
  for (const std::string& level : part.topology.levels) hash.add(std::hash<std::string>{}(level));
  hash.add(part.topology.required.value_or(UINT32_MAX));
  for (const NodeId node : part.placed) hash.add(node);
}

}  // namespace

inventory::Hash128 Session::identity(const GangRequest& request) {
  inventory::Hash128 hash;
  const auto add_text = [&](const std::string& text) { hash.add(std::hash<std::string>{}(text)); };
  hash.add(request.min_count);
  hash.add(request.members.size());
  for (const Member& member : request.members) {
    add_text(member.uid);
    add_text(member.shape);
    hash.add(static_cast<uint64_t>(member.cpu_milli));
    hash.add(member.claims.size());
    for (const auto& claim : member.claims) hash.add(reinterpret_cast<uintptr_t>(claim.get()));
    hash.add(member.pairs.size());
    for (const alignment::PairEntry& entry : member.pairs) add_text(entry.text);
  }
  for (const std::string& level : request.topology.levels) add_text(level);
  hash.add(request.topology.required.value_or(UINT32_MAX));
  hash.add(request.topology.preferred.value_or(UINT32_MAX));
  for (const NodeId node : request.placed) hash.add(node);
  for (const RailRule& rule : request.rails) add_rails(hash, rule);
  for (const GroupPart& part : request.parts) add_part(hash, part);
  return hash;
}

// Recomputes what was derived from another state; spent steps stay spent.
void Session::begin_slice(Nodes& nodes) {
  ++slices_;
  const bool differs = inventory_version_ != inventory_.version() || nodes_version_ != nodes.version();
  if (slices_ > 1 && !differs) return;
  changed_ = slices_ > 1;
  first_claims_known_ = counted_ = prepared_ = things_known_ = false;
  first_claims_at_ = 0;
  kinds_.assign(table_.kinds.size(), {});
  domains_.clear();
  at_domain_ = 0;
  best_ = {};
  never_ = true;
  progress_.undecided = false;
}

Decision Session::go_on(const GangRequest& request, Nodes& nodes) {
  begin_slice(nodes);
  Decision decision;
  if (!prepare(request, nodes)) {
    decision.outcome = progress_.error ? Outcome::kError : Outcome::kUnfinished;
  } else {
    decision = search(request, nodes);
  }
  if (decision.outcome == Outcome::kError) {
    decision.error = progress_.error;
    decision.guilty = progress_.guilty;
  }
  if (decision.outcome == Outcome::kUnfinished && progress_.steps >= options_.step_budget)
    decision = undecided(request);
  if (decision.outcome == Outcome::kUnfinished) decision.ask_again = progress_.ask_again;
  decision.unknown_levels = unknown_levels_;
  decision.steps = progress_.steps;
  decision.slices = slices_;
  inventory_version_ = inventory_.version();
  nodes_version_ = nodes.version();
  return decision;
}

void Session::begin_from(const Decision& found, uint64_t nodes_version, uint64_t tables_version) {
  memory_ = {};
  memory_.nodes_version = nodes_version;
  memory_.tables_version = tables_version;
  changed_ = true;
  std::unordered_map<const api::ResourceClaim*, const api::AllocationResult*> results;
  for (const ClaimResult& one : found.claims) results.emplace(one.claim.get(), &one.result);
  for (const Placed& placed : found.members) {
    SearchMemory::Step& step = memory_.path.emplace_back();
    step.member = static_cast<uint32_t>(placed.member);
    step.node = placed.node;
    for (const uint32_t claim : table_.claims_of[placed.member])
      if (const auto result = results.find(table_.claims[claim].object.get()); result != results.end()) {
        step.results.emplace_back(claim, *result->second);
        results.erase(result);  // of members that share a claim, the first one decides it
      }
  }
}

// ---- what is known while nothing is placed

// False: the slice ended first.
bool Session::prepare(const GangRequest& request, Nodes& nodes) {
  if (prepared_) return true;
  if (counted_) return make_domains(request, nodes);
  if (!first_claims_known_ && !find_first_claims()) return false;
  for (uint32_t kind = 0; kind < kinds_.size(); ++kind) {
    if (kinds_[kind].ready) continue;
    if (meter_.stopped() && kind > 0) return false;
    if (!prepare_kind(request, kind, nodes)) return false;
  }
  // Counters that others draw on may keep a request with administrative access from a device, but such a request takes
  // nothing from them: it must come before them.
  const bool any_admin =
      std::any_of(table_.claims.begin(), table_.claims.end(), [](const TableClaim& claim) { return claim.any_admin; });
  any_order_ = nodes.influence() == Nodes::Influence::kAny || first_claims_order_matters_ || any_admin;
  node_local_ = nodes.influence() == Nodes::Influence::kNode && !any_order_;
  std::vector<uint64_t> room(kinds_.size(), 0);
  for (uint32_t kind = 0; kind < kinds_.size(); ++kind) {
    node_local_ = node_local_ && kinds_[kind].fits.node_local && !kinds_[kind].fits.order_matters;
    any_order_ = any_order_ || kinds_[kind].fits.order_matters;
    for (const uint32_t now : kinds_[kind].fits.now) room[kind] += std::min<uint32_t>(now, kMaxMembers);
  }
  if (!std::exchange(things_known_, true)) find_things();
  if (!count_things()) return false;
  find_resources(nodes);
  // Hardest first: those that must be together, then those with the least capacity.
  kind_order_.resize(kinds_.size());
  std::iota(kind_order_.begin(), kind_order_.end(), 0);
  std::stable_sort(kind_order_.begin(), kind_order_.end(), [&](uint32_t a, uint32_t b) {
    return std::tuple(!must_be_placed(a), !tied_[a], room[a]) < std::tuple(!must_be_placed(b), !tied_[b], room[b]);
  });
  find_most();
  begin_domains(request);
  counted_ = true;
  return make_domains(request, nodes);
}

// Shared claims with devices that several nodes can use: their members need not be on one node.
bool Session::find_first_claims() {
  if (first_claims_at_ == 0) {
    first_claims_.clear();
    is_first_.assign(table_.claims.size(), false);
    first_claims_order_matters_ = false;
  }
  const std::vector<NodeId> all = inventory_.nodes();
  for (uint32_t& claim = first_claims_at_; claim < table_.claims.size(); ++claim) {
    if (!table_.claims[claim].shared()) continue;
    if (meter_.stopped()) return false;
    allocator::Request alone;
    alone.claims.push_back(table_.claims[claim].object);
    const allocator::FitCounts fits = allocator_.fit_counts(alone, all);
    meter_.charge(all.size() / kCountedPerStep + kStepsOfCount);
    if (!fits.finished) return false;
    first_claims_order_matters_ = first_claims_order_matters_ || fits.order_matters;
    if (fits.node_local) continue;
    is_first_[claim] = true;
    first_claims_.push_back(claim);
  }
  tied_.assign(table_.kinds.size(), false);
  for (uint32_t kind = 0; kind < table_.kinds.size(); ++kind)
    for (const uint32_t claim : table_.claims_of[table_.kinds[kind].members[0]])
      if (table_.claims[claim].shared() && !is_first_[claim]) tied_[kind] = true;
  first_claims_known_ = true;
  return true;
}

bool Session::prepare_kind(const GangRequest& request, uint32_t kind, Nodes& nodes) {
  KindNodes& made = kinds_[kind];
  const uint32_t member = table_.kinds[kind].members[0];
  if (made.candidates.empty()) {
    made.candidates = nodes.candidates(member);
    const inventory::DeviceIndex& device_index = inventory_.device_index();
    std::erase_if(made.candidates, [&](const Candidate& candidate) {
      return !device_index.knows(candidate.node) ||
             !std::all_of(table_.selectors_of[member].begin(), table_.selectors_of[member].end(),
                          [&](const api::NodeSelector* selector) {
                            return api::matches(*selector, device_index.node_name(candidate.node),
                                                device_index.node_labels(candidate.node));
                          });
    });
    made.candidates.shrink_to_fit();
    made.ids.reserve(made.candidates.size());
    for (const Candidate& candidate : made.candidates) made.ids.push_back(candidate.node);
    size_t listed = 0;
    for (const KindNodes& known : kinds_) listed += known.ids.size();
    if (listed * kBytesOfCandidate > kMaxListBytes) {
      progress_.error = too_different(request, kinds_.size(), " on " + std::to_string(made.ids.size()) + " nodes");
      kinds_.clear();
      kinds_.resize(table_.kinds.size());
      return false;
    }
    const uint64_t steps = made.candidates.size() / kCandidatesPerStep + 1;
    progress_.steps += steps;
    meter_.charge(steps);
  }
  allocator::Request own;
  for (const uint32_t claim : table_.claims_of[member])
    if (!table_.claims[claim].shared()) own.claims.push_back(table_.claims[claim].object);
  made.fits = allocator_.fit_counts(own, made.ids);
  meter_.charge(made.ids.size() / kCountedPerStep + kStepsOfCount);
  made.ready = made.fits.finished;
  return made.ready;
}

size_t Session::bytes() const {
  constexpr size_t kOfMember = 256;  // in the table
  constexpr size_t kOfClaim = 256;
  constexpr size_t kOfResult = 512;  // a claim's, with its strings
  constexpr size_t kOfState = 48;
  size_t sum = sizeof *this + table_.kind_of.size() * kOfMember + table_.claims.size() * kOfClaim;
  for (const KindNodes& kind : kinds_) sum += kind.ids.size() * kBytesOfCandidate;
  for (const Domain& domain : domains_)
    sum += sizeof domain + domain.nodes.size() * sizeof(NodeId) + domain.text.size();
  for (const std::string& path : paths_) sum += sizeof path + path.size();
  for (const auto* steps : {&memory_.path, &memory_.unchecked})
    for (const SearchMemory::Step& step : *steps) sum += sizeof step + step.results.size() * kOfResult;
  sum += (memory_.dead.size() + memory_.refused.size()) * kOfState;
  return sum + (things_.size() * sizeof(uint32_t) + (left_.empty() ? 0 : sizeof left_[0])) *
                   inventory_.device_index().node_slots();
}

// ---- the search

Decision Session::search(const GangRequest& request, Nodes& nodes) {
  Decision decision;
  const DomainSearch::World world{request,    table_,   kind_order_, first_claims_, kinds_, inventory_,
                                  allocator_, nodes,    options_,    meter_,        tied_,  node_local_,
                                  any_order_, changed_, rails_,      must_place_};
  for (; at_domain_ < domains_.size(); ++at_domain_) {
    if (meter_.stopped()) {
      decision.outcome = Outcome::kUnfinished;
      return decision;
    }
    Domain& domain = domains_[at_domain_];
    constexpr uint64_t kDomainsPerStep = 8;  // refuted by their count
    if (at_domain_ % kDomainsPerStep == 0) meter_.charge(1);
    if (!std::exchange(domain.joint, true) && domain.fits >= request.min_count)
      domain.fits = std::min(domain.fits, together(domain, request.min_count));
    if (domain.fits < request.min_count) {
      memory_ = {};
      note_refuted(domain, request);
      continue;
    }
    switch (search_domain(domain, world, nodes, decision)) {
      case End::kFound:
        return decision;
      case End::kStopped:
        decision.outcome = Outcome::kUnfinished;
        return decision;
      case End::kError:
        decision.outcome = Outcome::kError;
        return decision;
      case End::kNone:
        note_refuted(domain, request);
        memory_ = {};
    }
  }
  return progress_.undecided ? undecided(request) : impossible(request);
}

Session::End Session::search_domain(const Domain& domain, const DomainSearch::World& world, Nodes& nodes,
                                    Decision& decision) {
  Trial trial(table_, inventory_, nodes);
  DomainSearch search(world, memory_, progress_, trial);
  End end = search.run(domain, world.request.min_count);
  changed_ = false;  // what it keeps from now on is of this state
  if (end != End::kFound) return end;
  end = search.extend(chain_from(domain, nodes));
  if (end == End::kFound) take_over(trial, domain, decision);
  return end;
}

void Session::take_over(const Trial& trial, const Domain& domain, Decision& decision) const {
  decision.outcome = Outcome::kFeasible;
  decision.level = domain.level;
  decision.domain = domain.text;
  for (const Trial::Step& step : trial.steps())
    if (step.member != Trial::kNoMember) decision.members.push_back({step.member, step.node});
  for (uint32_t claim = 0; claim < table_.claims.size(); ++claim) {
    const std::vector<uint32_t>& users = table_.claims[claim].users;
    const bool used = std::any_of(users.begin(), users.end(), [&](uint32_t user) { return trial.is_placed(user); });
    if (used && trial.decided(claim)) decision.claims.push_back({table_.claims[claim].object, *trial.decided(claim)});
  }
}

}  // namespace dra::gang
