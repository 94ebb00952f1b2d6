// NodeSearch for callers that place several requests together: all solutions of a node, and upper bounds by counting.
#include <algorithm>
#include <map>

#include "pkg/allocator/nodes/node_search.h"
#include "pkg/allocator/search/result.h"

namespace dra::allocator {

void NodeSearch::solutions(const Plan& plan, NodeId node, uint64_t budget, size_t skip, size_t limit, Solutions& out) {
  size_t seen = 0;
  Search::Terms terms;
  terms.budget = budget;
  terms.visit = [&](const Search& search) {
    if (seen++ < skip) return false;
    auto results = make_results(plan, search, device_index_, random_, false);
    if (!results) {
      out.error = results.error();
      return true;
    }
    Decision& decision = out.decisions.emplace_back();
    decision.outcome = Outcome::kFeasible;
    decision.node = node;
    decision.results = std::move(*results);
    return out.decisions.size() >= limit;
  };
  const Search::End end = search_.run(plan, node, terms);
  out.steps = search_.steps();
  if (end == Search::End::kError) out.error = Error(Code::kInvalidArgument, search_.error());
  out.outcome = out.error                     ? Outcome::kError
                : end == Search::End::kFound  ? Outcome::kFeasible
                : end == Search::End::kBudget ? Outcome::kBudgetSpent
                                              : Outcome::kInfeasible;
}

// Bounds by the devices of one filter, of which a request needs `wanted` (0: no bound). False: the slice ended.
bool NodeSearch::bound_fits(NodeCounts& counts, uint64_t wanted, std::span<const NodeId> order,
                            std::vector<uint32_t>& by_node, uint64_t& total, bool& shareable) {
  constexpr size_t kNodesPerStep = 64;
  uint64_t devices = NodeIndex::not_local(counts);
  shareable = false;
  for (size_t i = 0; i < order.size(); ++i) {
    if (!device_index_.knows(order[i])) continue;
    if (i % kNodesPerStep == 0) meter_.charge(1);
    NodeCounts::Count most;
    if (!index_.bound(counts, order[i], most)) return false;
    devices += most.candidates - NodeIndex::not_local(counts);
    shareable = shareable || most.shareable > 0;
    if (most.shareable == 0 && wanted > 0)
      by_node[i] = std::min(by_node[i], static_cast<uint32_t>(most.candidates / wanted));
  }
  if (!shareable && wanted > 0) total = std::min(total, devices / wanted);
  return true;
}

bool NodeSearch::count_fits(const Plan& plan, std::span<const NodeId> order, FitCounts& fits) {
  fits.now.assign(order.size(), FitCounts::kUnbounded);
  fits.at_best = fits.now;
  fits.node_local = true;
  // Devices of one filter that the requests must have. With alternatives, no single filter is required.
  struct Wanted {
    uint64_t devices = 0;
    bool all = false;
  };
  std::map<std::pair<FilterId, bool>, Wanted> wants;
  for (const PlanRequest& request : plan.requests)
    for (const PlanAlternative& alternative : request.alternatives) {
      Wanted& wanted = wants[{alternative.filter, alternative.admin}];
      if (request.alternatives.size() == 1 && !alternative.admin)
        wanted.devices += alternative.all ? 1 : alternative.count;
      wanted.all = wanted.all || (alternative.all && !alternative.admin);
    }
  if (wants.size() > index_.most_filters() / 2) {
    fits.node_local = false;
    fits.order_matters = plan.any_all;
    return true;
  }
  for (const auto& [filter, wanted] : wants) {
    NodeCounts* usable = index_.counts(filter.first, true);
    if (usable == nullptr) return false;
    if (NodeIndex::not_local(*usable) > 0) fits.node_local = false;
    if (wanted.devices == 0 && !wanted.all) continue;
    bool shareable = false;
    if (!bound_fits(*usable, wanted.devices, order, fits.at_best, fits.total_at_best, shareable)) return false;
    fits.order_matters = fits.order_matters || (wanted.all && shareable);
    if (wanted.devices == 0) continue;
    NodeCounts* available = index_.counts(filter.first, false);
    if (available == nullptr || !bound_fits(*available, wanted.devices, order, fits.now, fits.total_now, shareable))
      return false;
  }
  return true;
}

}  // namespace dra::allocator
