#include "pkg/gang/parts/parted_session.h"

#include <algorithm>
#include <map>
#include <utility>

#include "pkg/api/topology_level.h"
#include "pkg/base/strings.h"
#include "pkg/gang/levels.h"
#include "pkg/gang/parts/some_nodes.h"
#include "pkg/inventory/device_index.h"

namespace dra::gang {

namespace {

constexpr uint64_t kStepsOfChoice = 4;

}  // namespace

PartedSession::PartedSession(inventory::Inventory& inventory, allocator::Allocator& allocator, const Options& options,
                             allocator::Meter& meter, bool parted, Table table, uint64_t spent)
    : inventory_(inventory),
      allocator_(allocator),
      options_(options),
      meter_(meter),
      parted_(parted),
      table_(parted ? std::move(table) : Table()),
      steps_(spent) {
  if (!parted) flat_ = std::make_unique<RailedSession>(inventory, allocator, options, meter, std::move(table), spent);
}

size_t PartedSession::bytes() const {
  constexpr size_t kOfMember = 256;
  return sizeof *this + (flat_ == nullptr ? 0 : flat_->bytes()) + (choices_ == nullptr ? 0 : choices_->bytes()) +
         table_.kind_of.size() * kOfMember;
}

void PartedSession::begin_from(const Decision& found, uint64_t nodes_version, uint64_t tables_version) {
  // The choice that was found is still the current one, and is asked about again.
  if (!parted_) flat_->begin_from(found, nodes_version, tables_version);
}

// Of members that are placed already, the one domain that holds them all.
std::vector<NodeBits> PartedSession::domains_of(const GroupPart& part, const Nodes& nodes) const {
  if (!part.topology.required) return {};
  const auto path = [&](NodeId node) {
    return path_of(*part.topology.required, [&](uint32_t level) -> std::optional<std::string> {
      const std::string& key = part.topology.levels[level];
      if (key.starts_with(api::kAttributeLevel)) return attribute_of_node(inventory_, node, key);
      const std::string* label = nodes.label(node, key);
      return label == nullptr ? std::nullopt : std::optional(*label);
    });
  };
  std::map<std::string, std::shared_ptr<std::vector<bool>>> by_path;
  for (const NodeId node : inventory_.nodes()) {
    const std::optional<std::string> own = path(node);
    if (!own) continue;
    std::shared_ptr<std::vector<bool>>& bits = by_path[*own];
    if (bits == nullptr) bits = std::make_shared<std::vector<bool>>(inventory_.device_index().node_slots(), false);
    if (node < bits->size()) (*bits)[node] = true;
  }
  std::vector<NodeBits> domains;
  for (const auto& [own, bits] : by_path)
    if (std::all_of(part.placed.begin(), part.placed.end(),
                    [&, &in = *bits](NodeId node) { return node < in.size() && in[node]; }))
      domains.push_back(bits);
  return domains;
}

void PartedSession::begin(const GangRequest& request, Nodes& nodes) {
  PartChoices::Tree tree{request.parts, table_.kind_of, {}};
  for (const GroupPart& part : request.parts) tree.domains.push_back(domains_of(part, nodes));
  meter_.charge(request.parts.size() + inventory_.nodes().size());
  choices_ = std::make_unique<PartChoices>(std::move(tree));
  more_ = choices_->begin();
  changed_ = undecided_ = false;
  flat_.reset();
  furthest_ = 0;
  reason_.clear();
  guilty_.reset();
}

GangRequest PartedSession::question(const GangRequest& request) const {
  GangRequest asked;
  asked.uid = request.uid;
  asked.name = request.name;
  asked.ns = request.ns;
  asked.topology = request.topology;
  asked.placed = request.placed;
  std::map<const std::vector<bool>*, size_t> sets;
  for (const ChosenMember& one : choices_->chosen()) {
    Member& member = asked.members.emplace_back(request.members[one.member]);
    // Members that may go to different nodes are of different kinds.
    if (!member.shape.empty() && one.allowed != nullptr)
      member.shape += "\nin " + std::to_string(sets.try_emplace(one.allowed.get(), sets.size()).first->second);
  }
  asked.min_count = static_cast<uint32_t>(asked.members.size());
  for (const RailRule& rule : request.rails) {
    RailRule& own = asked.rails.emplace_back();
    own.attribute = rule.attribute;
    own.soft = rule.soft;
    own.running = rule.running;
    for (const ChosenMember& one : choices_->chosen()) own.of.push_back(rule.of[one.member]);
  }
  return asked;
}

Decision PartedSession::ask(const GangRequest& request, Nodes& nodes) {
  const GangRequest asked = question(request);
  SomeNodes some(nodes, choices_->chosen());
  Decision decision;
  if (flat_ == nullptr) {
    Result<Table> table = compile(asked);
    if (!table) {
      decision.outcome = Outcome::kError;
      decision.error = table.error();
      return decision;
    }
    flat_ = std::make_unique<RailedSession>(inventory_, allocator_, options_, meter_, std::move(*table), steps_);
  }
  decision = flat_->go_on(asked, some);
  steps_ = std::max(steps_, decision.steps);
  if (decision.outcome != Outcome::kUnfinished) flat_.reset();
  for (Placed& placed : decision.members) placed.member = choices_->chosen()[placed.member].member;
  if (decision.guilty) decision.guilty = choices_->chosen()[*decision.guilty].member;
  unknown_levels_ = decision.unknown_levels;
  return decision;
}

void PartedSession::note_refuted(const GangRequest& request, Decision& decision) {
  undecided_ = undecided_ || decision.outcome == Outcome::kBudgetSpent;
  if (!reason_.empty() && choices_->chosen().size() <= furthest_) return;
  furthest_ = choices_->chosen().size();
  guilty_ = decision.guilty;
  reason_ =
      (choices_->part() == 0 ? "" : "with group " + request.parts[choices_->part()].name + ": ") + decision.reason;
}

Decision PartedSession::impossible(const GangRequest& request) const {
  Decision decision;
  decision.outcome = undecided_ ? Outcome::kBudgetSpent : Outcome::kInfeasible;
  decision.reason = reason_;
  decision.guilty = guilty_;
  if (reason_.empty())
    decision.reason = "not enough of its groups have the members, or a domain, that they need: " +
                      std::to_string(request.parts[0].need) + " are needed";
  return decision;
}

Decision PartedSession::go_on(const GangRequest& request, Nodes& nodes) {
  if (!parted_) return flat_->go_on(request, nodes);
  ++slices_;
  if (choices_ == nullptr)
    begin(request, nodes);
  else if (inventory_version_ != inventory_.version() || nodes_version_ != nodes.version())
    changed_ = true;
  // A member that is not placed yet may be what makes a node possible for another.
  const bool grows = nodes.influence() != Nodes::Influence::kAny;
  Decision decision;
  while (true) {
    if (!more_ && std::exchange(changed_, false)) {
      begin(request, nodes);  // what was refuted before may be possible by now
      continue;
    }
    if (!more_) {
      decision = impossible(request);
      break;
    }
    const bool complete = choices_->complete();
    if ((complete || (grows && choices_->at_members())) && !choices_->chosen().empty()) {
      decision = ask(request, nodes);
      if (decision.outcome == Outcome::kUnfinished || decision.outcome == Outcome::kError) break;
      if (decision.outcome == Outcome::kFeasible && complete) break;
      if (decision.outcome != Outcome::kFeasible) note_refuted(request, decision);
      const bool spent = steps_ >= options_.step_budget;
      if (decision.outcome == Outcome::kBudgetSpent && spent) break;
      more_ = decision.outcome == Outcome::kFeasible ? choices_->deeper() : choices_->skip();
    } else if (complete) {
      decision.outcome = Outcome::kFeasible;  // nothing is missing
      break;
    } else {
      more_ = choices_->deeper();
    }
    steps_ += kStepsOfChoice;
    meter_.charge(kStepsOfChoice);
    decision = Decision();
    if (steps_ >= options_.step_budget) {
      undecided_ = true;
      decision = impossible(request);
      break;
    }
    if (meter_.stopped() && more_) {
      decision.outcome = Outcome::kUnfinished;
      break;
    }
  }
  decision.steps = steps_;
  decision.slices = slices_;
  decision.unknown_levels = unknown_levels_;
  inventory_version_ = inventory_.version();
  nodes_version_ = nodes.version();
  return decision;
}

}  // namespace dra::gang
