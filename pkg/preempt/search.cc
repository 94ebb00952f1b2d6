#include "pkg/preempt/search.h"

#include <algorithm>
#include <queue>
#include <string>
#include <unordered_map>

#include "pkg/preempt/pooled.h"

namespace dra::preempt {
namespace {

using Set = std::vector<uint32_t>;

Set with(const Set& set, const Set& more) {
  Set all;
  std::set_union(set.begin(), set.end(), more.begin(), more.end(), std::back_inserter(all));
  return all;
}

bool meets(const Set& a, const Set& b) {
  return std::any_of(a.begin(), a.end(), [&b](uint32_t one) { return std::binary_search(b.begin(), b.end(), one); });
}

struct Tried {
  Harm harm;
  Set pods;
  bool operator>(const Tried& other) const {
    if (harm != other.harm) return harm > other.harm;
    return pods > other.pods;
  }
};

}  // namespace

Search::Search(World& world, Stage& stage, Fit& fit, const Candidates& candidates, Kind kind,
               std::vector<uint32_t> promises, const Options& options)
    : world_(world),
      stage_(stage),
      fit_(fit),
      candidates_(candidates),
      kind_(kind),
      promises_(std::move(promises)),
      options_(options),
      harms_(world) {
  for (uint32_t claim = 0; claim < world.claims.size(); ++claim)
    shares_claims_ = shares_claims_ || stage.consumers(claim).size() > 1;
  if (options_.clock != nullptr) began_ = options_.clock->mono_now();
}

Harm Search::harm_of(std::span<const uint32_t> pods) const {
  return kind_ == Kind::kVictims ? harms_.of_victims(pods) : harms_.of_moves(pods);
}

bool Search::spent() const {
  return fit_.checks() >= options_.max_checks || (options_.clock != nullptr && options_.time > Duration::zero() &&
                                                  options_.clock->mono_now() - began_ >= options_.time);
}

// True: the best set was found by counting. Otherwise perhaps some set, and a better one is searched.
bool Search::try_counting() {
  if (kind_ == Kind::kMoves || world_.pending.size() < 2 || matters_everywhere()) return false;
  stage_.arrange({true, {}, promises_});
  const Counted::Outcome counted = Counted(world_, stage_, fit_, candidates_, [this] { return spent(); }).least();
  if (counted.finding == Counted::Finding::kNothing || !candidates_.allowed(counted.pods)) return false;
  Found found;
  if (test(counted.pods, {}, false, &found) != Fits::kYes) return false;
  best_ = {true, counted.pods, harm_of(counted.pods), std::move(found)};
  return counted.finding == Counted::Finding::kSet;
}

// Also what is tried after the budget takes no longer than the search.
bool Search::late() const {
  return options_.clock != nullptr && options_.time > Duration::zero() &&
         options_.clock->mono_now() - began_ >= 2 * options_.time;
}

Search::Outcome Search::run() {
  if (kind_ == Kind::kMoves) {
    stage_.arrange({true, {}, promises_});
    if (!moves_may_suffice(world_, stage_, fit_, candidates_)) {
      best_.decided = true;
      return std::move(best_);
    }
  }
  if (try_counting()) return std::move(best_);
  for (const Area& area : areas()) {
    if (bounds_ && best_.pods && !(area.bound < best_.harm)) break;  // all others are no better
    const std::optional<Area> left = worth_it(area);
    if (left) run_area(*left);
    if (!spent()) continue;
    if (!best_.pods) find_some_set(area);
    unsure_ = true;
    break;
  }
  best_.decided = !unsure_;
  return std::move(best_);
}

// ---- which pods matter

// Pods on other nodes may matter to a node by more than the devices that they hold.
bool Search::matters_everywhere() const {
  const api::Pod& pod = *world_.pods[world_.pending.front()].object;
  return !pod.pod_affinity.required.empty() || !pod.pod_anti_affinity.required.empty() ||
         !pod.topology_spread.empty() || !pod.volumes.empty() || world_.cluster.terms().terms() > 0;
}

std::vector<Search::Area> Search::areas() {
  std::vector<Harm> harm(world_.pods.size());
  for (const uint32_t pod : candidates_.all()) harm[pod] = harm_of({&pod, 1});
  const auto cheaper = [&harm](uint32_t a, uint32_t b) { return harm[a] < harm[b]; };
  if (kind_ == Kind::kMoves || world_.pending.size() != 1 || matters_everywhere()) {
    Set cheapest_first = candidates_.all();
    std::stable_sort(cheapest_first.begin(), cheapest_first.end(), cheaper);
    return {{std::nullopt, std::move(cheapest_first), 0, {}}};
  }
  const std::vector<inventory::NodeId> nodes = world_.devices.nodes();
  std::vector<std::string> names;
  names.reserve(nodes.size());
  std::unordered_map<std::string_view, size_t> by_name;
  by_name.reserve(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) {
    names.push_back(world_.devices.node_name(nodes[i]));
    by_name.emplace(names.back(), i);
  }
  const std::vector<bool> reaches_further = stage_.reaches_further();
  std::vector<Set> of_node(nodes.size());
  Set everywhere;
  for (const uint32_t pod : candidates_.all()) {
    if (reaches_further[pod]) {
      everywhere.push_back(pod);
    } else if (const auto node = by_name.find(world_.pods[pod].object->node_name); node != by_name.end()) {
      of_node[node->second].push_back(pod);
    }
  }
  std::stable_sort(everywhere.begin(), everywhere.end(), cheaper);
  std::vector<Area> all;
  all.reserve(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) {
    Set& own = of_node[i];
    std::stable_sort(own.begin(), own.end(), cheaper);
    Area& area = all.emplace_back(Area{nodes[i], {}, i, {}});
    if (everywhere.empty()) {
      area.pods = std::move(own);
    } else {
      std::merge(own.begin(), own.end(), everywhere.begin(), everywhere.end(), std::back_inserter(area.pods), cheaper);
    }
  }
  return areas_by_bound(std::move(all));
}

std::vector<Search::Area> Search::areas_by_bound(std::vector<Area> areas) {
  std::vector<inventory::NodeId> nodes;
  for (const Area& area : areas) nodes.push_back(*area.node);
  stage_.arrange({true, {}, promises_});
  bounds_.emplace(world_, stage_, fit_, world_.pending.front(), nodes);
  std::vector<Area> promising;
  for (Area& area : areas)
    if (const std::optional<Harm> bound = bounds_->least(area.at, area.pods)) {
      area.bound = *bound;
      promising.push_back(std::move(area));
    }
  std::stable_sort(promising.begin(), promising.end(), [](const Area& a, const Area& b) { return a.bound < b.bound; });
  return promising;
}

// ---- the tree of sets

bool Search::may_be_better(const Set& pods) const {
  const Harm harm = harm_of(pods);
  if (kind_ == Kind::kMoves && (harm.violations > 0 || (world_.max_moves && pods.size() > *world_.max_moves)))
    return false;
  return !best_.pods || harm < best_.harm;
}

std::optional<Search::Area> Search::worth_it(const Area& whole) {
  Area area = whole;
  area.pods.clear();
  // A pod that is no better alone than the best set so far is in no better set.
  for (const uint32_t pod : whole.pods)
    if (const std::optional<Set> least = candidates_.closed({pod}); least && may_be_better(*least))
      area.pods.push_back(pod);
  if (!bounds_) return area;
  const std::optional<Harm> bound = bounds_->least(area.at, area.pods);
  if (!bound || (best_.pods && !(*bound < best_.harm))) return std::nullopt;
  return area;
}

void Search::run_area(const Area& area) {
  node_ = area.node;
  conflicts_.clear();
  roomy_.clear();
  Set everyone = area.pods;
  std::sort(everyone.begin(), everyone.end());
  if (test(everyone, {}, false, nullptr) == Fits::kNo) return;
  std::priority_queue<Tried, std::vector<Tried>, std::greater<>> queue;
  std::set<Set> seen{{}};
  queue.push({harm_of({}), {}});
  while (!queue.empty() && !spent()) {
    const Tried top = queue.top();
    queue.pop();
    if (!may_be_better(top.pods)) {
      if (kind_ == Kind::kVictims) return;  // all others are worse
      continue;
    }
    Set next;
    if (try_set(area, top.pods, next)) return;
    for (const uint32_t pod : next) {
      std::optional<Set> more = candidates_.closed(with(top.pods, {pod}));
      if (!more || !may_be_better(*more) || !seen.insert(*more).second) continue;
      queue.push({harm_of(*more), std::move(*more)});
    }
  }
}

const Search::Conflict* Search::known_conflict(const Set& pods) const {
  for (const Conflict& conflict : conflicts_)
    if (!meets(conflict.outside, pods) &&
        std::includes(pods.begin(), pods.end(), conflict.base.begin(), conflict.base.end()))
      return &conflict;
  return nullptr;
}

// Whether the pending pods fit when these are gone, wherever those go.
Fits Search::makes_room(const Set& pods, Found* found) {
  // The caller knows that they do not while nobody goes.
  if (pods.empty()) return Fits::kNo;
  const bool known = std::any_of(roomy_.begin(), roomy_.end(), [&](const Set& fewer) {
    return std::includes(pods.begin(), pods.end(), fewer.begin(), fewer.end());
  });
  if (known && found == nullptr) return Fits::kYes;
  const Fits answer = test(pods, {}, false, found);
  if (answer == Fits::kYes) roomy_.push_back(pods);
  return answer;
}

// True: the set suffices, and is the best of the area. Else `next` are the pods one of which must join it.
bool Search::try_set(const Area& area, const Set& pods, Set& next) {
  if (const Conflict* conflict = known_conflict(pods)) {
    next = conflict->outside;
    return false;
  }
  Found found;
  Fits answer = makes_room(pods, kind_ == Kind::kVictims ? &found : nullptr);
  if (answer == Fits::kNo) {
    next = learn(area, pods, {});
    return false;
  }
  if (kind_ == Kind::kMoves && answer == Fits::kYes) {
    answer = test(pods, pods, false, &found);
    const bool loosely_too = answer == Fits::kNo && (!shares_claims_ || test(pods, pods, true, nullptr) == Fits::kNo);
    if (loosely_too) {
      next = learn(area, pods, pods);
      return false;
    }
  }
  if (answer == Fits::kYes) {
    best_ = {true, pods, harm_of(pods), std::move(found)};
    return true;
  }
  unsure_ = unsure_ || answer == Fits::kUnknown;
  for (const uint32_t pod : area.pods)
    if (!std::binary_search(pods.begin(), pods.end(), pod)) next.push_back(pod);
  return false;
}

// The set does not suffice, with `base` of it to be placed elsewhere: what is outside of a largest such set.
std::vector<uint32_t> Search::learn(const Area& area, const Set& pods, const Set& base) {
  Set rest;
  for (const uint32_t pod : area.pods)
    if (!std::binary_search(pods.begin(), pods.end(), pod)) rest.push_back(pod);
  Set insufficient = pods;
  if (pods.empty()) {
    grow_by_halves(insufficient, base, rest);  // all together suffice
  } else {
    grow(insufficient, base, rest);
  }
  Conflict conflict{base, {}};
  for (const uint32_t pod : rest)
    if (!std::binary_search(insufficient.begin(), insufficient.end(), pod)) conflict.outside.push_back(pod);
  std::sort(conflict.outside.begin(), conflict.outside.end());
  conflicts_.push_back(conflict);
  return conflict.outside;
}

void Search::grow(Set& insufficient, const Set& base, const Set& more) {
  if (more.empty() || spent()) return;
  Set sorted = more;
  std::sort(sorted.begin(), sorted.end());
  const Set all = with(insufficient, sorted);
  if (test(all, base, true, nullptr) == Fits::kNo) {
    insufficient = all;
    return;
  }
  grow_by_halves(insufficient, base, more);
}

void Search::grow_by_halves(Set& insufficient, const Set& base, const Set& more) {
  if (more.size() < 2) return;
  const auto middle = more.begin() + static_cast<std::ptrdiff_t>(more.size() / 2);
  grow(insufficient, base, Set(more.begin(), middle));
  grow(insufficient, base, Set(middle, more.end()));
}

Fits Search::test(const Set& gone, const Set& moved, bool loosely, Found* found) {
  stage_.arrange({true, gone, promises_});
  return fit_.fits({moved, loosely, node_}, found);
}

// After the budget: everybody goes, and then those are left alone, the dearest first, without whom it still fits.
void Search::find_some_set(const Area& area) {
  if (kind_ == Kind::kMoves) return;
  Set pods = area.pods;
  std::sort(pods.begin(), pods.end());
  if (!candidates_.allowed(pods) || test(pods, {}, false, nullptr) != Fits::kYes) return;
  uint64_t tests = kMostTestsAfterwards;
  spare(pods, Set(area.pods.rbegin(), area.pods.rend()), tests);
  Found found;
  if (test(pods, {}, false, &found) == Fits::kYes) best_ = {false, pods, harm_of(pods), std::move(found)};
}

void Search::spare(Set& pods, const Set& some, uint64_t& tests) {
  if (tests == 0 || some.empty()) return;
  --tests;
  if (late()) return;
  Set sorted = some, fewer;
  std::sort(sorted.begin(), sorted.end());
  std::set_difference(pods.begin(), pods.end(), sorted.begin(), sorted.end(), std::back_inserter(fewer));
  if (candidates_.allowed(fewer) && test(fewer, {}, false, nullptr) == Fits::kYes) {
    pods = std::move(fewer);
    return;
  }
  if (some.size() == 1) return;
  const auto middle = some.begin() + static_cast<std::ptrdiff_t>(some.size() / 2);
  spare(pods, Set(some.begin(), middle), tests);
  spare(pods, Set(middle, some.end()), tests);
}

}  // namespace dra::preempt
