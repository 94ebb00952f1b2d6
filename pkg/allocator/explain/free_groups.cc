#include "pkg/allocator/explain/free_groups.h"

#include <algorithm>
#include <bit>

namespace dra::allocator {

using inventory::NodeId;
using inventory::Pool;

namespace {

constexpr uint64_t kCountWork = 5'000'000;  // of GroupCounter, for one node
constexpr uint64_t kCountWorkPerStep = 256;
constexpr size_t kMaxShorts = 4096;

// The groups that an entry asks, wherever it is placed; 0: that depends.
uint32_t asked_everywhere(const Plan& plan, const PlanPairs& entry) {
  uint32_t asked = UINT32_MAX;
  for (const PlanPairTerm& term : entry.terms) {
    if (term.allocated != nullptr || plan.requests[term.requests.front()].prioritized) return 0;
    const PlanAlternative& only = plan.requests[term.requests.front()].alternatives.front();
    if (only.all || only.admin) return 0;
    asked = std::min(asked, only.count / term.number);
  }
  return asked;
}

}  // namespace

bool FreeGroups::has_room(const PlanAlternative& alternative, const Pool& pool, uint32_t device) {
  const inventory::CapacityShape& shape = pool.shape(device);
  const CapacityFit& fit = filters_.fit(filters_.get(alternative.filter), shape);
  if (!fit.fits) return false;
  const std::vector<inventory::Amount>* held = pool.shared(device);
  for (size_t i = 0; i < fit.amounts.size(); ++i)
    if (fit.amounts[i] + (held != nullptr ? (*held)[i] : 0) > shape.entries[i].amount) return false;
  return true;
}

// False: the slice ended.
bool FreeGroups::add_devices(const PlanAlternative& alternative, NodeId node, const Column& column, GroupTerm& term) {
  uint32_t first = 0;
  for (const inventory::Segment& segment : device_index_.view(node).segments) {
    const Pool& pool = *device_index_.pool(segment.pool);
    const uint32_t base = first;
    first += static_cast<uint32_t>(pool.words()) * 64;
    if (!segment.complete()) continue;
    const FilterMask* mask = filters_.mask(alternative.filter, pool);
    if (mask == nullptr) return false;
    for (size_t w = 0; w < pool.words(); ++w) {
      uint64_t word = mask->usable()[w] & (segment.mask.empty() ? ~uint64_t{0} : segment.mask[w]);
      if (!alternative.admin) word &= ~pool.in_use()[w];
      for (; word != 0; word &= word - 1) {
        const auto device = static_cast<uint32_t>(w * 64 + static_cast<size_t>(std::countr_zero(word)));
        const uint32_t local = base + device;
        if (column.missing(local)) continue;
        const bool shareable = pool.any_shareable() && pool.shareable(device);
        if (shareable && !has_room(alternative, pool, device)) continue;
        term.free.push_back(
            {column.begin(local), column.end(local), shareable || alternative.admin ? kNoRival : local});
      }
    }
    meter_.charge(1);
  }
  return true;
}

bool FreeGroups::add_terms(const PlanPairs& entry, NodeId node, const Column& column, std::vector<GroupTerm>& terms) {
  terms.resize(entry.terms.size());
  for (size_t t = 0; t < terms.size(); ++t) {
    terms[t].number = entry.terms[t].number;
    if (entry.terms[t].allocated != nullptr) return false;
    const PlanRequest& request = plan_.requests[entry.terms[t].requests.front()];
    if (!add_devices(request.alternatives.front(), node, column, terms[t])) return false;
  }
  return true;
}

std::optional<uint32_t> FreeGroups::on_node(const PlanPairs& entry, NodeId node, uint32_t most) {
  if (!device_index_.knows(node) || meter_.stopped()) return std::nullopt;
  const PlanColumn& key = plan_.columns[entry.column];
  const Column& column = columns_.get(device_index_.view(node), key.key, key.which);
  std::vector<GroupTerm> terms;
  if (!add_terms(entry, node, column, terms)) return std::nullopt;
  const uint64_t before = counter_.work();
  const std::optional<uint32_t> has = counter_.most(terms, most, kCountWork);
  meter_.charge((counter_.work() - before) / kCountWorkPerStep);
  return has;
}

std::vector<PairShort> FreeGroups::shorts(std::span<const NodeId> nodes) {
  std::vector<PairShort> out;
  for (const NodeId node : nodes)
    for (uint32_t e = 0; e < plan_.pair_rules.size() && out.size() < kMaxShorts; ++e) {
      const uint32_t asked = asked_everywhere(plan_, plan_.pairs[e]);
      if (asked == 0) continue;
      if (meter_.stopped()) return out;
      const std::optional<uint32_t> has = on_node(plan_.pairs[e], node, asked);
      if (has && *has < asked) out.push_back({node, e, *has, asked});
    }
  return out;
}

}  // namespace dra::allocator
