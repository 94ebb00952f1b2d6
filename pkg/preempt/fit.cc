#include "pkg/preempt/fit.h"

#include <algorithm>
#include <stdexcept>

#include "pkg/api/selectors.h"
#include "pkg/placement/decide.h"

namespace dra::preempt {

size_t needed_together(const World& world, const std::vector<uint32_t>& pending) {
  if (pending.empty()) return 0;
  const uint32_t group = world.pods[pending.front()].group;
  if (group == kNobody) return pending.size();
  const size_t minimum = world.groups[group].min_count;
  const size_t running = static_cast<size_t>(std::count_if(
      world.pods.begin(), world.pods.end(), [group](const Pod& pod) { return pod.group == group && pod.runs(); }));
  return std::clamp<size_t>(minimum > running ? minimum - running : 0, 1, pending.size());
}

// The nodes as placement sees them.
class FitNodes : public gang::Nodes {
 public:
  FitNodes(Fit& fit, std::vector<uint32_t> pods, size_t pending, std::optional<inventory::NodeId> only)
      : fit_(fit), pods_(std::move(pods)), pending_(pending), only_(only) {}

  // Affinity between members may make nodes possible.
  Influence influence() const override {
    for (const uint32_t pod : pods_) {
      const api::Pod& object = *fit_.world_.pods[pod].object;
      if (!object.pod_affinity.required.empty() || !object.pod_anti_affinity.required.empty() ||
          !object.topology_spread.empty())
        return Influence::kAny;
    }
    return fit_.world_.cluster.terms().terms() > 0 ? Influence::kAny : Influence::kNode;
  }
  uint64_t version() const override { return fit_.stage_.version(); }
  std::vector<gang::Candidate> candidates(size_t member) override {
    if (only_ && member < pending_) {
      const std::optional<gang::NodeFacts> facts = look(member, *only_);
      return facts ? std::vector<gang::Candidate>{{*only_, *facts}} : std::vector<gang::Candidate>{};
    }
    return ask(member, nullptr);
  }
  std::optional<gang::NodeFacts> look(size_t member, gang::NodeId node) override {
    if (only_ && member < pending_ && node != *only_) return std::nullopt;
    const auto index = fit_.world_.cluster.find_node(fit_.world_.devices.node_name(node));
    if (!index) return std::nullopt;
    const std::vector<placement::NodeIndex> one{*index};
    const std::vector<gang::Candidate> found = ask(member, &one);
    if (found.empty()) return std::nullopt;
    return found.front().facts;
  }
  void place(size_t member, gang::NodeId node) override {
    fit_.world_.cluster.set_pod(*fit_.needs_of(pods_[member]).pod, fit_.world_.devices.node_name(node), true);
  }
  void take_back(size_t member) override {
    fit_.world_.cluster.remove_pod(fit_.needs_of(pods_[member]).pod->metadata.uid);
  }
  const std::string* label(gang::NodeId node, const std::string& key) const override {
    const auto index = fit_.world_.cluster.find_node(fit_.world_.devices.node_name(node));
    if (!index) return nullptr;
    const api::StringMap& labels = fit_.world_.cluster.rest(*index).node->metadata.labels;
    const auto found = labels.find(key);
    return found == labels.end() ? nullptr : &found->second;
  }

 private:
  std::vector<gang::Candidate> ask(size_t member, const std::vector<placement::NodeIndex>* only) {
    placement::DecisionOptions options;
    options.volumes = fit_.world_.volumes;
    options.preferences_only = true;
    options.only = only;
    const auto& cluster = fit_.world_.cluster;
    std::vector<gang::Candidate> out;
    const placement::Decision decision = placement::decide(cluster, *fit_.needs_of(pods_[member]).needs, options);
    for (const placement::RankedNode& node : decision.nodes) {
      const placement::NodeRow& row = cluster.row(node.node);
      const inventory::NodeId id = fit_.world_.devices.node_id(cluster.rest(node.node).name);
      if (id != inventory::kNone) out.push_back({id, {row.cpu - row.used_cpu, node.preferred}});
    }
    return out;
  }

  Fit& fit_;
  const std::vector<uint32_t> pods_;
  const size_t pending_;  // the first ones; the others are moved
  const std::optional<inventory::NodeId> only_;
};

namespace {

gang::Options gang_options(uint64_t check_steps) {
  gang::Options options;
  options.step_budget = check_steps;
  options.node_step_budget = check_steps;
  return options;
}

}  // namespace

Fit::Fit(World& world, Stage& stage, uint64_t check_steps)
    : world_(world),
      stage_(stage),
      check_steps_(check_steps),
      gangs_(world.devices, world.allocator, gang_options(check_steps)),
      needed_(needed_together(world, world.pending)),
      needs_(world.pods.size()),
      blank_(world.claims.size()) {}

const Fit::Needs& Fit::needs_of(uint32_t number) {
  Needs& needs = needs_[number];
  if (needs.needs) return needs;
  const Pod& one = world_.pods[number];
  auto pod = std::make_shared<api::Pod>(one.next ? *one.next : *one.object);
  pod->node_name.clear();
  needs.pod = std::move(pod);
  Result<placement::PodNeeds> made = placement::PodNeeds::of(*needs.pod);
  if (!made) throw std::invalid_argument(made.error().message());
  needs.needs = std::move(*made);
  return needs;
}

std::shared_ptr<const api::ResourceClaim> Fit::blank(uint32_t claim) {
  if (!world_.claims[claim]->status.allocation) return world_.claims[claim];
  if (!blank_[claim]) {
    auto copy = std::make_shared<api::ResourceClaim>(*world_.claims[claim]);
    copy->status.allocation.reset();
    blank_[claim] = std::move(copy);
  }
  return blank_[claim];
}

std::optional<gang::Member> Fit::member_of(uint32_t number, const Question& question) {
  const Pod& pod = world_.pods[number];
  gang::Member member;
  member.name = pod.object->metadata.key();
  member.uid = pod.object->metadata.uid;
  member.cpu_milli = needs_of(number).needs->charge().cpu;
  member.pairs = pod.pairs;
  member.shape = pod.shape;
  for (const uint32_t claim : pod.claims) {
    if (stage_.is_free(claim)) {
      // Freed together with pods that are not placed anew: for a set without them the claim would stay.
      if (question.loosely && !stage_.frees(claim, question.moved)) {
        member.pairs.clear();  // asks for less, too
        continue;
      }
      member.claims.push_back(blank(claim));
    } else if (!question.loosely || stage_.consumers(claim).size() < 2 || !world_.claims[claim]->status.allocation) {
      member.claims.push_back(world_.claims[claim]);
    } else {
      member.pairs.clear();
    }
  }
  return member;
}

Fits Fit::fits(const Question& question, Found* found) {
  if (question.moved.empty() || needed_ == world_.pending.size()) {
    std::vector<uint32_t> pods = world_.pending;
    pods.insert(pods.end(), question.moved.begin(), question.moved.end());
    return ask(pods, needed_ + question.moved.size(), question, found);
  }
  return each_choice({}, 0, question, found);
}

// All ways to choose enough of the pending pods: those that move must all find a place.
Fits Fit::each_choice(const std::vector<uint32_t>& chosen, size_t from, const Question& question, Found* found) {
  if (chosen.size() == needed_) {
    std::vector<uint32_t> pods = chosen;
    pods.insert(pods.end(), question.moved.begin(), question.moved.end());
    return ask(pods, pods.size(), question, found);
  }
  bool unknown = false;
  for (size_t i = from; i + needed_ - chosen.size() <= world_.pending.size(); ++i) {
    std::vector<uint32_t> more = chosen;
    more.push_back(world_.pending[i]);
    const Fits answer = each_choice(more, i + 1, question, found);
    if (answer == Fits::kYes) return answer;
    unknown = unknown || answer == Fits::kUnknown;
  }
  return unknown ? Fits::kUnknown : Fits::kNo;
}

Fits Fit::ask(const std::vector<uint32_t>& pods, size_t min_count, const Question& question, Found* found) {
  ++checks_;
  const size_t pending = pods.size() - question.moved.size();
  FitNodes nodes(*this, pods, pending, question.only);
  if (pods.size() == 1) return ask_for_one(pods.front(), question, nodes, found);
  gang::GangRequest request;
  request.uid = request.name = "preempt";
  request.min_count = static_cast<uint32_t>(min_count);
  for (const uint32_t pod : pods) {
    std::optional<gang::Member> member = member_of(pod, question);
    if (!member) return Fits::kNo;
    request.members.push_back(std::move(*member));
  }
  const gang::Decision decision = gangs_.decide(request, nodes);
  gangs_.forget(request.uid);
  if (decision.outcome == gang::Outcome::kInfeasible) return Fits::kNo;
  if (decision.outcome != gang::Outcome::kFeasible) return Fits::kUnknown;
  if (found == nullptr) return Fits::kYes;
  for (const gang::Placed& placed : decision.members)
    found->placements[world_.pods[pods[placed.member]].object->metadata.key()] = world_.devices.node_name(placed.node);
  for (const gang::ClaimResult& claim : decision.claims) found->allocations[claim.claim->metadata.key()] = claim.result;
  return Fits::kYes;
}

// As pkg/gang would answer, without what a search for several pods prepares.
Fits Fit::ask_for_one(uint32_t pod, const Question& question, FitNodes& nodes, Found* found) {
  const std::optional<gang::Member> member = member_of(pod, question);
  allocator::Request request;
  request.step_budget = check_steps_;
  for (const auto& claim : member->claims)
    if (!claim->status.allocation) request.claims.push_back(claim);
  request.pairs = allocator::pair_rules(member->pairs, member->claims);
  bool unknown = false;
  for (const gang::Candidate& candidate : nodes.candidates(0)) {
    if (!can_be_used(member->claims, candidate.node)) continue;
    allocator::Decision decision;
    decision.outcome = allocator::Outcome::kFeasible;
    if (!request.claims.empty()) decision = world_.allocator.allocate(request, candidate.node);
    unknown = unknown || (decision.outcome != allocator::Outcome::kInfeasible &&
                          decision.outcome != allocator::Outcome::kFeasible);
    if (decision.outcome != allocator::Outcome::kFeasible) continue;
    if (found == nullptr) return Fits::kYes;
    found->placements[member->name] = world_.devices.node_name(candidate.node);
    for (size_t i = 0; i < request.claims.size(); ++i)
      found->allocations[request.claims[i]->metadata.key()] = decision.results[i];
    return Fits::kYes;
  }
  return unknown ? Fits::kUnknown : Fits::kNo;
}

// The allocated ones of these claims can be used on the node.
bool Fit::can_be_used(const std::vector<std::shared_ptr<const api::ResourceClaim>>& claims,
                      inventory::NodeId node) const {
  const std::string name = world_.devices.node_name(node);
  const auto index = world_.cluster.find_node(name);
  return std::all_of(claims.begin(), claims.end(), [&](const auto& claim) {
    if (!claim->status.allocation || !claim->status.allocation->node_selector) return true;
    return index && api::matches(*claim->status.allocation->node_selector, name,
                                 world_.cluster.rest(*index).node->metadata.labels);
  });
}

std::vector<std::shared_ptr<const api::ResourceClaim>> Fit::claims_to_allocate(uint32_t pod) const {
  std::vector<std::shared_ptr<const api::ResourceClaim>> claims;
  for (const uint32_t claim : world_.pods[pod].claims)
    if (!world_.claims[claim]->status.allocation) claims.push_back(world_.claims[claim]);
  return claims;
}

std::vector<bool> Fit::refused_for_good(uint32_t pod, std::span<const inventory::NodeId> nodes) {
  placement::DecisionOptions options;
  options.volumes = world_.volumes;
  options.preferences_only = true;
  const placement::Decision decision = placement::decide(world_.cluster, *needs_of(pod).needs, options);
  std::vector<bool> by_slot(world_.cluster.slots(), false);
  for (size_t i = 0; i < decision.candidates.size() && i < decision.verdicts.size(); ++i)
    // Plugins up to this one look at nothing but the node and the pod.
    by_slot[decision.candidates[i]] = decision.verdicts[i].plugin != placement::Plugin::kNone &&
                                      decision.verdicts[i].plugin <= placement::Plugin::kNodeAffinity;
  std::vector<bool> refused(nodes.size(), true);
  for (size_t i = 0; i < nodes.size(); ++i)
    if (const auto index = world_.cluster.find_node(world_.devices.node_name(nodes[i]))) refused[i] = by_slot[*index];
  return refused;
}

bool Fit::takes(uint32_t pod, const std::string& node) {
  const inventory::NodeId id = world_.devices.node_id(node);
  return id != inventory::kNone && FitNodes(*this, {pod}, 1, std::nullopt).look(0, id).has_value();
}

void Fit::put(uint32_t pod, const std::string& node) {
  world_.cluster.set_pod(*needs_of(pod).pod, node, true);
}

void Fit::take_back(uint32_t pod) {
  world_.cluster.remove_pod(needs_of(pod).pod->metadata.uid);
}

}  // namespace dra::preempt
