#include "pkg/preempt/counted.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <unordered_map>

#include "pkg/preempt/device_counts.h"
#include "pkg/preempt/harm.h"

namespace dra::preempt {
namespace {

constexpr int64_t kPlenty = INT64_MAX / 4;

}  // namespace

Counted::Counted(World& world, const Stage& stage, Fit& fit, const Candidates& candidates, std::function<bool()> spent)
    : world_(world),
      stage_(stage),
      fit_(fit),
      candidates_(candidates),
      spent_(std::move(spent)),
      nodes_(world.devices.nodes()),
      of_node_(nodes_.size()),
      frees_(world.pods.size()) {}

// All pending pods are alike and share nothing, and what frees devices is on one node.
bool Counted::applies() {
  const Pod& first = world_.pods[world_.pending.front()];
  if (first.shape.empty()) return false;
  std::set<uint32_t> claims;
  for (const uint32_t number : world_.pending) {
    const Pod& pod = world_.pods[number];
    if (pod.shape != first.shape) return false;
    for (const uint32_t claim : pod.claims)
      if (world_.claims[claim]->status.allocation || !claims.insert(claim).second) return false;
  }
  const std::vector<bool> reaches_further = stage_.reaches_further();
  return std::none_of(candidates_.all().begin(), candidates_.all().end(),
                      [&](uint32_t pod) { return reaches_further[pod]; });
}

void Counted::read_nodes() {
  const placement::Charge& charge = fit_.charge_of(world_.pending.front());
  needs_ = {charge.cpu, charge.memory, 1};
  std::unordered_map<std::string, size_t> by_name;
  const std::vector<bool> refused = fit_.refused_for_good(world_.pending.front(), nodes_);
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (refused[i]) continue;  // hosts nobody
    const std::string name(world_.devices.node_name(nodes_[i]));
    by_name.emplace(name, i);
    const auto index = world_.cluster.find_node(name);
    if (!index) continue;
    const placement::NodeRow& row = world_.cluster.row(*index);
    of_node_[i].free = {row.cpu - row.used_cpu, row.memory - row.used_memory, row.max_pods - row.pods};
  }
  for (const uint32_t pod : candidates_.all()) {
    if (!candidates_.closed({pod})) continue;
    const auto node = by_name.find(world_.pods[pod].object->node_name);
    if (node == by_name.end()) continue;
    of_node_[node->second].pods.push_back(pod);
    const placement::PlacedPod* placed = world_.cluster.pod(world_.pods[pod].object->metadata.uid);
    int64_t devices = 0;
    for (const uint32_t claim : stage_.held_by(pod))
      devices += static_cast<int64_t>(world_.claims[claim]->status.allocation->results.size());
    frees_[pod].fill(devices);
    frees_[pod][0] = placed == nullptr ? 0 : placed->charge.cpu;
    frees_[pod][1] = placed == nullptr ? 0 : placed->charge.memory;
    frees_[pod][2] = 1;
  }
}

void Counted::read_devices() {
  const DeviceCounts counts(world_, fit_.claims_to_allocate(world_.pending.front()), nodes_);
  for (const DeviceCounts::Wanted& wanted : counts.wanted()) {
    if (dimensions_ == kMaxDimensions) return;
    needs_[dimensions_] = wanted.devices;
    for (size_t i = 0; i < nodes_.size(); ++i) of_node_[i].free[dimensions_] = wanted.free[i].value_or(kPlenty);
    ++dimensions_;
  }
}

void Counted::read_budgets() {
  budgets_.resize(world_.pods.size());
  violations_.resize(world_.pods.size(), 0);
  for (uint32_t number = 0; number < world_.budgets.size(); ++number)
    for (const uint32_t pod : world_.budgets[number].pods) {
      if (world_.budgets[number].allowed > 0) {
        budgets_[pod].push_back(number);
      } else {
        ++violations_[pod];
      }
    }
}

void Counted::rank_pods() {
  std::vector<std::pair<int64_t, int64_t>> all;
  const auto key = [this](uint32_t pod) {
    return std::pair<int64_t, int64_t>(world_.pods[pod].object->priority, -world_.pods[pod].start);
  };
  for (const NodeOf& node : of_node_)
    for (const uint32_t pod : node.pods) all.push_back(key(pod));
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  rank_.resize(world_.pods.size(), 0);
  for (const NodeOf& node : of_node_)
    for (const uint32_t pod : node.pods)
      rank_[pod] = static_cast<uint32_t>(std::lower_bound(all.begin(), all.end(), key(pod)) - all.begin());
  for (size_t i = 0; i < all.size(); ++i)
    if (i + 1 == all.size() || all[i].first != all[i + 1].first) last_of_priority_.push_back(static_cast<uint32_t>(i));
}

int64_t Counted::members_with(const Amounts& free) const {
  int64_t members = static_cast<int64_t>(fit_.needed());
  for (size_t i = 0; i < dimensions_; ++i)
    if (needs_[i] > 0) members = std::min(members, std::max<int64_t>(0, free[i]) / needs_[i]);
  return members;
}

// If the pod leaves, too.
Counted::Amounts Counted::without(Amounts free, uint32_t pod) const {
  for (size_t i = 0; i < dimensions_; ++i) free[i] = std::min(kPlenty, free[i] + frees_[pod][i]);
  return free;
}

// The pods of the node whose leaving may help, and how many members it hosts at most.
std::vector<Counted::Leaver> Counted::leavers_of(const NodeOf& node, bool may_break, int64_t& most) const {
  Amounts whole = node.free;
  std::vector<uint32_t> pods;
  for (const uint32_t pod : node.pods) {
    if (!may_break && violations_[pod] > 0) continue;
    pods.push_back(pod);
    whole = without(whole, pod);
  }
  most = members_with(whole);
  std::vector<size_t> lacking;
  for (size_t i = 0; i < dimensions_; ++i)
    if (needs_[i] > 0 && node.free[i] < needs_[i] * most) lacking.push_back(i);
  std::vector<Leaver> leavers;
  for (const uint32_t pod : pods) {
    const bool helps =
        std::any_of(lacking.begin(), lacking.end(), [this, pod](size_t i) { return frees_[pod][i] > 0; });
    if (helps) leavers.push_back({pod, 0, {violations_[pod], world_.pods[pod].object->priority + kPriorityOffset, 1}});
  }
  const auto freed = [&](const Leaver& one) {
    int64_t sum = 0;
    for (const size_t i : lacking) sum -= frees_[one.pod][i];
    return sum;
  };
  // Whoever is no worse comes first.
  const auto key = [&](const Leaver& one) {
    return std::tuple(rank_[one.pod], one.cost, budgets_[one.pod].size(), freed(one), one.pod);
  };
  std::sort(leavers.begin(), leavers.end(), [&](const Leaver& a, const Leaver& b) { return key(a) < key(b); });
  const auto no_worse = [&](const Leaver& a, const Leaver& b) {
    const std::vector<uint32_t>&few = budgets_[a.pod], &many = budgets_[b.pod];
    return a.cost.violations <= b.cost.violations && a.cost.sum <= b.cost.sum &&
           std::includes(many.begin(), many.end(), few.begin(), few.end()) &&
           std::all_of(lacking.begin(), lacking.end(), [&](size_t i) { return frees_[a.pod][i] >= frees_[b.pod][i]; });
  };
  for (size_t i = 0; i < std::min<size_t>(leavers.size(), 32); ++i)
    for (size_t j = 0; j < i; ++j)
      if (no_worse(leavers[j], leavers[i])) leavers[i].better |= uint32_t{1} << j;
  return leavers;
}

// All sets of a node's pods that host more members than every set within them, and in which nobody could be replaced by
// one who is no worse.
class Counted::WaysOfNode {
 public:
  WaysOfNode(const Counted& counted, const std::vector<Leaver>& leavers, int64_t most)
      : counted_(counted), leavers_(leavers), most_(most) {}

  // Nothing: there are too many.
  std::optional<std::vector<Way>> find(const Amounts& free) {
    if (leavers_.size() > 32) return std::nullopt;
    look_at({}, free, 0);
    if (sets_ > kMaxSetsOfNode) return std::nullopt;
    keep_best(ways_);
    return std::move(ways_);
  }

 private:
  void look_at(const Way& way, const Amounts& free, size_t from) {
    if (++sets_ > kMaxSetsOfNode) return;
    const int64_t members = counted_.members_with(free);
    if (members > 0 && needs_all(way.set, free, members)) keep(way, members);
    if (members == most_) return;
    for (size_t i = from; i < leavers_.size(); ++i) {
      if ((leavers_[i].better & ~way.set) != 0) continue;
      Way more{0,
               way.set | (uint32_t{1} << i),
               std::max(way.rank, counted_.rank_[leavers_[i].pod]),
               way.cost + leavers_[i].cost,
               {}};
      look_at(more, counted_.without(free, leavers_[i].pod), i + 1);
    }
  }

  bool needs_all(uint32_t set, const Amounts& free, int64_t members) const {
    for (size_t i = 0; i < leavers_.size(); ++i) {
      if (((set >> i) & 1) == 0) continue;
      Amounts fewer = free;
      for (size_t d = 0; d < counted_.dimensions_; ++d) fewer[d] -= counted_.frees_[leavers_[i].pod][d];
      if (counted_.members_with(fewer) == members) return false;
    }
    return true;
  }

  void keep(Way way, int64_t members) {
    way.members = static_cast<uint32_t>(members);
    for (size_t i = 0; i < leavers_.size(); ++i) {
      if (((way.set >> i) & 1) == 0) continue;
      const std::vector<uint32_t>& budgets = counted_.budgets_[leavers_[i].pod];
      way.uses.insert(way.uses.end(), budgets.begin(), budgets.end());
    }
    std::sort(way.uses.begin(), way.uses.end());
    ways_.push_back(std::move(way));
  }

  const Counted& counted_;
  const std::vector<Leaver>& leavers_;
  const int64_t most_;
  size_t sets_ = 0;
  std::vector<Way> ways_;
};

std::optional<Selection> Counted::ways_of_nodes(bool may_break) {
  std::vector<int64_t> allowed;
  for (const Budget& budget : world_.budgets) allowed.push_back(std::max<int64_t>(0, budget.allowed));
  Selection selection(static_cast<uint32_t>(fit_.needed()), std::move(allowed), spent_);
  goes_.assign(nodes_.size(), {});
  for (size_t i = 0; i < nodes_.size(); ++i) {
    int64_t most = 0;
    const std::vector<Leaver> leavers = leavers_of(of_node_[i], may_break, most);
    std::optional<std::vector<Way>> ways =
        most == 0 ? std::vector<Way>{} : WaysOfNode(*this, leavers, most).find(of_node_[i].free);
    if (!ways || spent_()) return std::nullopt;
    for (const Leaver& leaver : leavers) goes_[i].push_back(leaver.pod);
    selection.add(std::move(*ways));
  }
  return selection;
}

Counted::Outcome Counted::found(Finding finding, const Selection::Choice& choice) const {
  Outcome outcome;
  if (!choice.cost) return outcome;
  outcome.finding = finding;
  for (const auto& [node, set] : choice.sets)
    for (size_t i = 0; i < goes_[node].size(); ++i)
      if ((set >> i) & 1) outcome.pods.push_back(goes_[node][i]);
  std::sort(outcome.pods.begin(), outcome.pods.end());
  return outcome;
}

// By one criterion of harm after the other. Nothing: no set suffices, unless more budgets are broken.
std::optional<Counted::Outcome> Counted::least_of(bool may_break) {
  const std::optional<Selection> selection = ways_of_nodes(may_break);
  if (!selection) return Outcome{};
  Selection::Question question;
  question.may_break = may_break;
  question.violations_only = true;
  Selection::Choice best = selection->choose(question);
  if (best.known && !best.cost) return std::nullopt;
  if (!best.known || last_of_priority_.empty()) return found(Finding::kSome, best);
  // The first of `size` ranks up to which there is a choice that is good enough; there is one up to the last.
  const auto lowest = [&](size_t size, auto&& rank_at) -> std::optional<size_t> {
    size_t first = 0, last = size - 1;
    while (first < last) {
      const size_t middle = first + (last - first) / 2;
      question.rank = rank_at(middle);
      Selection::Choice choice = selection->choose(question);
      if (!choice.known || spent_()) return std::nullopt;
      if (choice.cost) {
        last = middle;
        best = std::move(choice);
      } else {
        first = middle + 1;
      }
    }
    return last;
  };
  question.enough = best.cost;
  const auto priority = lowest(last_of_priority_.size(), [this](size_t i) { return last_of_priority_[i]; });
  if (!priority) return found(Finding::kSome, best);
  question = {last_of_priority_[*priority], may_break, false, std::nullopt};
  Selection::Choice choice = selection->choose(question);
  if (!choice.known) return found(Finding::kSome, choice.cost ? choice : best);
  best = std::move(choice);
  question.enough = best.cost;
  const uint32_t eldest = last_of_priority_[*priority];
  const uint32_t youngest = *priority == 0 ? 0 : last_of_priority_[*priority - 1] + 1;
  const auto start =
      lowest(eldest - youngest + 1, [youngest](size_t i) { return youngest + static_cast<uint32_t>(i); });
  return found(start ? Finding::kSet : Finding::kSome, best);
}

Counted::Outcome Counted::least() {
  if (!applies()) return {};
  read_nodes();
  read_devices();
  read_budgets();
  rank_pods();
  for (const bool may_break : {false, true})
    if (std::optional<Outcome> outcome = least_of(may_break)) return std::move(*outcome);
  return {};
}

}  // namespace dra::preempt
