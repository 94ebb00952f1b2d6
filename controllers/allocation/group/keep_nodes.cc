// A group that has waited for too long keeps nodes from pods of its priority and below (kept/kept_nodes.h): which ones.
#include <algorithm>
#include <map>
#include <set>

#include "controllers/allocation/group/group_reconcile.h"
#include "controllers/allocation/kept/kept_nodes.h"
#include "pkg/api/encode.h"
#include "pkg/api/topology_level.h"
#include "pkg/base/timestamp.h"
#include "pkg/gang/levels.h"

namespace dra::allocation {

using namespace protocol;
using namespace reconcile;

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
    for (const protocol::ClaimState& claim : asked[i]->context.state.claims)
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
  one.pod = first_.context.pod.metadata.key();
  one.pod_uid = first_.context.pod.metadata.uid;
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
