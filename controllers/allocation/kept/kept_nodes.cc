#include "controllers/allocation/kept/kept_nodes.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string_view>

#include "controllers/allocation/group/group_reconcile.h"
#include "pkg/api/encode.h"
#include "pkg/api/topology_level.h"
#include "pkg/base/timestamp.h"
#include "pkg/gang/levels.h"

namespace dra::allocation {

using namespace reconcile;

bool KeptNodes::keep(const std::string& group, One one, size_t all_nodes) {
  const auto known = kept_.find(group);
  one.began = known == kept_.end() ? one.since : known->second.began;
  if (one.since - one.began > kLongest) return false;  // tidy() ends it
  // The first entry of a namespace, by rank, is not limited: a group may need most of the cluster.
  std::set<std::string_view> of_others(one.nodes.begin(), one.nodes.end());
  bool is_first = true;
  for (const auto& [name, other] : kept_) {
    if (name == group || other.ns != one.ns || other.nodes.empty()) continue;
    is_first = is_first && one.rank < other.rank;
    of_others.insert(other.nodes.begin(), other.nodes.end());
  }
  if (!is_first && 2 * of_others.size() > all_nodes) {
    if (known != kept_.end()) kept_.erase(known);
    return false;
  }
  kept_.insert_or_assign(group, std::move(one));
  if (kept_.size() <= kMost) return true;
  std::map<std::string_view, size_t> of_namespace;
  for (const auto& [name, other] : kept_) ++of_namespace[other.ns];
  const auto last = std::max_element(kept_.begin(), kept_.end(), [&](const auto& a, const auto& b) {
    const size_t of_a = of_namespace[a.second.ns], of_b = of_namespace[b.second.ns];
    return of_a != of_b ? of_a < of_b : a.second.rank < b.second.rank;
  });
  const bool kept = last->first != group;
  kept_.erase(last);
  return kept;
}

const KeptNodes::One* KeptNodes::keeps(std::string_view node, const api::Pod& pod, const std::string& group) const {
  const auto own = group.empty() ? kept_.end() : kept_.find(group);
  for (const auto& [name, one] : kept_) {
    if (name == group || pod.priority > one.priority || !one.nodes.contains(node)) continue;
    if (own != kept_.end() && own->second.rank < one.rank) continue;
    return &one;
  }
  return nullptr;
}

void KeptNodes::tidy(const View& view, const Options& options) {
  const auto lasts = [&](const One& one) { return view.now() - one.began; };
  for (auto& [group, one] : kept_)
    if (lasts(one) > kLongest) one.nodes.clear();
  std::erase_if(kept_, [&](const auto& entry) {
    const One& one = entry.second;
    const api::Pod* pod = view.pod(one.pod);
    if (pod == nullptr || pod->metadata.uid != one.pod_uid) return true;
    if (one.nodes.empty() ? lasts(one) > kLongest + kRest : view.now() - one.since > kForget) return true;
    const Role role = role_of(*pod, options);
    return role != Role::kGated && role != Role::kToBind;
  });
}

KeptDevices::Kept PodReconcile::leave_kept_devices(int64_t priority) {
  if (kept_devices_.empty()) return {};
  const std::optional<GroupRef> group = group_of(pod_);
  KeptDevices::Kept kept = kept_devices_.kept_from(priority, group ? group->key() : "", view_.now(), inventory_);
  if (!kept.shown.empty())
    kept_from_ += "; " +
                  (kept.devices.results.size() == 1 ? "1 device is"
                                                    : std::to_string(kept.devices.results.size()) + " devices are") +
                  " kept for " + kept.shown + ", until its member that ended comes again";
  return kept;
}

// Removes from the choice the nodes that are kept from the pod.
void PodReconcile::leave_kept(NodeChoice& choice) {
  if (kept_.empty() || choice.nodes.empty()) return kept_nodes_.clear();
  kept_.tidy(view_, options_);
  const std::optional<GroupRef> group = group_of(pod_);
  const std::string own = group ? group->key() : "";
  if (kept_devices_.keeps_for(own)) return kept_nodes_.clear();  // its group already runs there
  kept_nodes_.clear();
  const size_t dropped = choice.drop_nodes([&](std::string_view node) {
    const KeptNodes::One* one = kept_.keeps(node, pod_, own);
    if (one != nullptr) kept_nodes_[one->shown].emplace_back(node);
    return one != nullptr;
  });
  if (dropped == 0) return;
  // Nothing unparks the pod when the nodes are no longer kept.
  outcome_.requeue_in(std::chrono::seconds(30));
  if (choice.nodes.empty()) choice.why_none = "the nodes that would take the pod are kept" + kept_nodes_clause();
}

// " for group a/b (12 nodes) and group c/d (3 nodes), which ...".
std::string PodReconcile::kept_nodes_clause() const {
  constexpr size_t kShown = 3;
  if (kept_nodes_.empty()) return "";
  std::string text;
  size_t shown = 0;
  for (const auto& [group, nodes] : kept_nodes_) {
    if (shown++ == kShown) {
      text += " and " + std::to_string(kept_nodes_.size() - kShown) + " more";
      break;
    }
    text += (text.empty() ? " for " : ", for ") + group + " (" + std::to_string(nodes.size()) +
            (nodes.size() == 1 ? " node)" : " nodes)");
  }
  return text + std::string(verdict::kWhyKept);
}

// As groups of refused nodes, each with the group of pods that it is kept for.
void PodReconcile::refuse_kept_nodes(verdict::NodeFindings& findings) const {
  for (const auto& [group, nodes] : kept_nodes_)
    verdict::refuse_nodes(findings, verdict::NodeProblem::kKept, "kept for " + group + std::string(verdict::kWhyKept),
                          nodes);
}

Duration GroupReconcile::until_starving() const {
  Timestamp since;
  const Duration after = tools_.options.gang_starvation_after;
  if (!parse_rfc3339(rank_of(members_.waiting).since, since)) return after;
  return std::clamp(since + after - view_.now(), Duration::zero(), after);
}

int64_t GroupReconcile::lowest_priority() const {
  int64_t lowest = INT64_MAX;
  for (const api::Pod* pod : members_.waiting) lowest = std::min<int64_t>(lowest, pod->priority);
  return lowest;
}

// Returns how many nodes it keeps.
size_t GroupReconcile::keep_nodes(const std::vector<Member*>& asked, GroupNodes& nodes) {
  struct Place {
    std::string node, domain;
    uint32_t now = 0, at_best = 0;
  };
  std::map<std::string, Place> places;
  // Members are of few kinds; one member per kind is asked.
  std::set<std::string> shapes;
  for (size_t i = 0; i < asked.size(); ++i) {
    constexpr size_t kMostKinds = 8;
    allocator::Request request;
    for (const ClaimState& claim : asked[i]->steps->state_.claims)
      if (!claim.allocated()) request.claims.push_back(claim.claim);
    std::string shape;
    for (const auto& claim : request.claims) shape += api::encode(claim->spec);
    if (!shapes.insert(shape).second) continue;
    if (shapes.size() > kMostKinds) break;
    std::vector<allocator::NodeId> order;
    for (const gang::Candidate& candidate : nodes.candidates(i)) order.push_back(candidate.node);
    const allocator::FitCounts fits = tools_.allocator.fit_counts(request, order);
    if (!fits.finished) break;  // try again in the next reconcile
    for (size_t n = 0; n < order.size(); ++n) {
      if (fits.at_best[n] == 0) continue;
      const std::string name = tools_.inventory.node_name(order[n]);
      Place& place = places[name];
      const bool first = place.node.empty();
      place.node = name;
      place.now = std::max(place.now, fits.now[n]);
      place.at_best = first ? fits.at_best[n] : std::min(place.at_best, fits.at_best[n]);
      const std::string& required = members_.topology.required;
      if (required.starts_with(api::kAttributeLevel))
        place.domain = gang::attribute_of_node(tools_.inventory, order[n], required).value_or("");
      else if (const std::string* label = required.empty() ? nullptr : nodes.label(order[n], required))
        place.domain = *label;
    }
  }
  // Of the domains that are large enough, chooses the one with the most capacity now.
  std::map<std::string, std::pair<uint64_t, uint64_t>> domains;  // now, at best
  for (const auto& [name, place] : places) {
    domains[place.domain].first += std::min<uint64_t>(place.now, members_.min_count);
    domains[place.domain].second += place.at_best;
  }
  const std::string* chosen = nullptr;
  uint64_t most = 0;
  for (const auto& [domain, sums] : domains) {
    if (sums.second < members_.min_count || (chosen != nullptr && sums.first <= most)) continue;
    chosen = &domain;
    most = sums.first;
  }
  if (chosen == nullptr) return 0;
  std::vector<const Place*> sorted;
  for (const auto& [name, place] : places)
    if (place.domain == *chosen) sorted.push_back(&place);
  std::stable_sort(sorted.begin(), sorted.end(), [](const Place* a, const Place* b) { return a->now > b->now; });
  KeptNodes::One one;
  one.rank = rank_of(members_.waiting);
  one.shown = members_.group.shown();
  one.ns = members_.group.ns;
  one.pod = first_->pod_.metadata.key();
  one.pod_uid = first_->pod_.metadata.uid;
  one.since = view_.now();
  one.priority = lowest_priority();
  uint64_t sum = 0;
  for (const Place* place : sorted) {
    if (sum >= members_.min_count) break;
    sum += place->at_best;
    one.nodes.insert(place->node);
  }
  const size_t kept = one.nodes.size();
  tools_.kept.tidy(view_, tools_.options);
  return tools_.kept.keep(members_.group.key(), std::move(one), tools_.inventory.nodes().size()) ? kept : 0;
}

}  // namespace dra::allocation
