#include "pkg/allocator/nodes/best_fit.h"

#include <algorithm>
#include <functional>

namespace dra::allocator {
namespace {

using inventory::NodeView;
using inventory::Pool;
using inventory::test_bit;

using strategy::kMillion;

}  // namespace

void BestFit::clear() {
  demanded_.clear();
  values_.clear();
  prices_.clear();
  places_.clear();
  forget_costs();
  totals_.clear();
}

FoundNodes BestFit::find(const Plan& plan, const Request& request, Strategy strategy, std::span<const NodeId> order) {
  plan_ = &plan;
  request_ = &request;
  strategy_ = strategy;
  order_ = order;
  compared_ = 0;
  last_shape_ = nullptr;
  values_.follow();
  marks_.follow();
  rank_names();
  learn(plan, request);
  drop_outdated();
  if (!plain(plan)) return search_all();
  const NodeId best = best_node(prices_for(plan));
  // Finding nothing is not a proof: the search decides, and can resume after a slice.
  if (best == inventory::kNone) return search_all();
  return conclude(place_on(best, best_cost_), {});
}

NodeId BestFit::best_node(Prices& prices) {
  if (costs_.size() > kMaxCosts) forget_costs();
  std::vector<Standing>& standings = standings_for(prices);
  NodeId best = inventory::kNone;
  uint32_t cost = kNoFit, rank = 0;
  for (size_t i = 0; i < order_.size(); ++i) {
    const NodeId node = order_[i];
    if (node >= standings.size()) continue;
    Standing& standing = standings[node];
    const NodeFacts facts = facts_at(i);
    if ((standing.stamp < marks_.changed(node) || standing.facts != facts) && !stand(i, node, prices, standing)) break;
    if (standing.cost == kNoFit) continue;
    ++compared_;
    const bool better = best == inventory::kNone ||
                        (standing.cost == cost ? name_rank_[node] < rank : costs_[standing.cost] < costs_[cost]);
    if (!better) continue;
    best = node;
    cost = standing.cost;
    rank = name_rank_[node];
  }
  if (best != inventory::kNone) best_cost_ = costs_[cost];
  return best;
}

bool BestFit::stand(size_t position, NodeId node, Prices& prices, Standing& standing) {
  NodePrice& price = prices.of[node];
  const Priced priced = device_index_.knows(node) ? this->price(node, price) : Priced::kNo;
  if (priced == Priced::kSliceEnded || meter_.stopped()) return false;
  standing.cost = priced == Priced::kNo ? kNoFit : number_of(node_cost(position, node, price));
  standing.stamp = marks_.now();
  standing.facts = facts_at(position);
  return true;
}

std::vector<BestFit::Standing>& BestFit::standings_for(Prices& prices) {
  std::vector<Standings>& all = prices.standings;
  auto known =
      std::find_if(all.begin(), all.end(), [&](const Standings& one) { return one.cpu_milli == request_->cpu_milli; });
  if (known == all.end()) {
    if (all.size() >= kMaxStandings)
      all.erase(std::min_element(all.begin(), all.end(),
                                 [](const Standings& a, const Standings& b) { return a.used < b.used; }));
    known = all.insert(all.end(), {request_->cpu_milli, 0, {}});
  }
  known->used = ++uses_;
  known->of.resize(device_index_.node_slots());
  return known->of;
}

uint32_t BestFit::number_of(const strategy::Cost& cost) {
  const auto [known, added] = cost_numbers_.try_emplace(cost, static_cast<uint32_t>(costs_.size()));
  if (added) costs_.push_back(cost);
  return known->second;
}

void BestFit::forget_costs() {
  for (auto& [key, prices] : prices_) prices.standings.clear();
  costs_.clear();
  cost_numbers_.clear();
}

bool BestFit::note(const Plan& plan, const Request& request) {
  values_.follow();
  learn(plan, request);
  return !meter_.stopped();
}

// Ranks nodes by name, to break ties.
void BestFit::rank_names() {
  if (name_rank_.size() == device_index_.node_slots()) return;
  std::vector<NodeId> by_name;
  for (NodeId node = 0; node < device_index_.node_slots(); ++node)
    if (device_index_.knows(node)) by_name.push_back(node);
  std::sort(by_name.begin(), by_name.end(),
            [&](NodeId a, NodeId b) { return device_index_.node_name(a) < device_index_.node_name(b); });
  name_rank_.resize(device_index_.node_slots());
  for (uint32_t rank = 0; rank < by_name.size(); ++rank) name_rank_[by_name[rank]] = rank;
}

bool BestFit::better(const strategy::Cost& cost, NodeId node, const Place& than) const {
  if (cost != than.cost) return cost < than.cost;
  return name_rank_[node] < name_rank_[than.node];
}

// ---- learning

void BestFit::learn(const Plan& plan, const Request& request) {
  std::vector<std::pair<const PlanRequest*, Demanded>> all;
  int64_t units = 0;
  for (const PlanRequest& one : plan.requests) {
    const PlanAlternative& first = one.alternatives.front();
    if (first.all || first.admin) continue;
    const Demanded demand = demanded(first.filter);
    if (!demand.known) continue;
    all.emplace_back(&one, demand);
    units += int64_t{demand.cells} * first.count;
  }
  for (const auto& [one, demand] : all) {
    const uint32_t count = one->alternatives.front().count;
    strategy::Seen seen;
    seen.claim = std::hash<std::string>{}(plan.claims[one->claim]->metadata.uid + "/" + one->spec->name);
    seen.kind = demand.kind;
    seen.cells = demand.cells;
    seen.count = count;
    seen.cpu_milli = request.cpu_milli < 0 || units == 0 ? std::min<int64_t>(request.cpu_milli, 0)
                                                         : request.cpu_milli * (int64_t{demand.cells} * count) / units;
    mix_.note(seen);
  }
  if (mix_.stale()) mix_.refresh();
}

// The kind and size of a filter's devices, judged by the first device it selects in any pool.
BestFit::Demanded BestFit::demanded(FilterId filter) {
  if (const auto kept = demanded_.find(filter); kept != demanded_.end()) return kept->second;
  Demanded demand;
  for (inventory::PoolId id = 0; id < device_index_.pool_slots() && !demand.known; ++id) {
    const Pool* pool = device_index_.pool(id);
    if (pool == nullptr || !pool->has_slices()) continue;
    const FilterMask* mask = filters_.mask(filter, *pool);
    if (mask == nullptr) return {};  // the slice ended: retry in the next call
    const size_t device = inventory::next_bit(mask->selectable(), pool->words(), 0);
    if (device == SIZE_MAX) continue;
    demand.known = true;
    demand.kind = values_.kind_of(pool->driver_text);
    const auto number = static_cast<uint32_t>(device);
    int64_t ppm = values_.of(id).devices[number].units_ppm;
    if (pool->shareable(number)) {
      ppm = 1;
      const inventory::CapacityShape& shape = pool->shape(number);
      const CapacityFit& fit = filters_.fit(filters_.get(filter), shape);
      for (size_t i = 0; i < fit.amounts.size(); ++i)
        if (shape.entries[i].amount > 0)
          ppm = std::max(ppm, static_cast<int64_t>(static_cast<double>(fit.amounts[i]) /
                                                       static_cast<double>(shape.entries[i].amount) * kMillion +
                                                   0.5));
    }
    demand.cells = static_cast<uint32_t>(std::clamp<int64_t>(
        (ppm * static_cast<int64_t>(strategy::kCells) + kMillion - 1) / kMillion, 1, strategy::kCells));
  }
  if (demand.known) demanded_[filter] = demand;
  return demand;
}

// ---- one kind of device

bool BestFit::plain(const Plan& plan) {
  if (plan.requests.size() > 1 || !plan.constraints.empty() || !plan.pairs.empty()) return false;
  if (plan.requests.empty()) return true;
  const PlanRequest& request = plan.requests.front();
  return request.alternatives.size() == 1 && !request.alternatives[0].all && !request.alternatives[0].admin;
}

// What the node would lose; recomputed only when something on it has changed.
BestFit::Priced BestFit::price(NodeId node, NodePrice& price) {
  if (price.stamp >= marks_.changed(node)) return price.fits ? Priced::kYes : Priced::kNo;
  price = {};
  meter_.charge(1);
  if (!plan_->requests.empty()) {
    const PlanAlternative& alternative = plan_->requests[0].alternatives[0];
    const Priced gathered = gather(alternative, node);
    if (gathered == Priced::kSliceEnded) return gathered;
    const NodeView& view = device_index_.view(node);
    // If the best devices are several names of one piece of silicon, the search may find others.
    price.fits = gathered == Priced::kYes && pick(view, alternative.count, picked_) &&
                 (alternative.shares_silicon || !picked_rivals(node, view));
    if (price.fits) sum_up(view, alternative, price);
  } else {
    price.fits = true;
  }
  price.stamp = marks_.now();
  return price.fits ? Priced::kYes : Priced::kNo;
}

void BestFit::sum_up(const NodeView& view, const PlanAlternative& alternative, NodePrice& price) {
  for (const Choice& choice : picked_) {
    const Pool& pool = pool_at(view, choice.segment);
    const PoolValue& value = values_.of(pool.id);
    const DeviceValue& device = value.devices[choice.device];
    const int64_t units = device.shareable ? need_ppm(alternative, pool.shape(choice.device)) : device.units_ppm;
    price.taken.units_ppm += units;
    price.taken.cpu_milli += units * mix_.kind(value.kind).cpu_milli_per_device / kMillion;
    price.uncertain += choice.uncertain;
    price.lost += choice.lost;
    price.broken += static_cast<uint32_t>(choice.broken);
    price.size += choice.size;
  }
}

// Picks the devices on the chosen node.
BestFit::Place BestFit::place_on(NodeId node, const strategy::Cost& cost) {
  Place place;
  place.cost = cost;
  place.node = node;
  place.chosen.assign(plan_->requests.size(), 0);
  if (plan_->requests.empty()) return place;
  const PlanAlternative& alternative = plan_->requests[0].alternatives[0];
  const NodeView& view = device_index_.view(node);
  if (gather(alternative, node) != Priced::kYes || !pick(view, alternative.count, picked_)) return place;
  // In allocation order, as in the results.
  std::sort(picked_.begin(), picked_.end(), [](const Choice& a, const Choice& b) {
    return std::pair(a.segment, a.device) < std::pair(b.segment, b.device);
  });
  uint32_t first_local = 0, segment = 0;
  for (const Choice& choice : picked_) {
    for (; segment < choice.segment; ++segment)
      first_local += static_cast<uint32_t>(pool_at(view, segment).words()) * 64;
    place.picks.push_back({first_local + choice.device, 0, 0, nullptr});
  }
  return place;
}

// Drops what was computed with other prices or for another strategy.
void BestFit::drop_outdated() {
  if (kept_version_ == mix_.version() && kept_strategy_ == strategy_) return;
  prices_.clear();
  places_.clear();
  forget_costs();
  totals_.clear();
  kept_version_ = mix_.version();
  kept_strategy_ = strategy_;
}

BestFit::Prices& BestFit::prices_for(const Plan& plan) {
  const uint64_t key = plan.requests.empty() ? UINT64_MAX
                                             : uint64_t{plan.requests[0].alternatives[0].filter} << 32 |
                                                   plan.requests[0].alternatives[0].count;
  const size_t most =
      std::clamp<size_t>(kMaxKeptPrices / std::max<size_t>(device_index_.node_slots(), 1), 1, kMaxPriced);
  if (!prices_.contains(key) && prices_.size() >= most)
    prices_.erase(std::min_element(prices_.begin(), prices_.end(),
                                   [](const auto& a, const auto& b) { return a.second.used < b.second.used; }));
  Prices& prices = prices_[key];
  prices.used = ++uses_;
  prices.of.resize(device_index_.node_slots());
  return prices;
}

// ---- the node

const BestFit::NodeTotals& BestFit::totals_of(NodeId node) {
  if (totals_.size() < device_index_.node_slots()) totals_.resize(device_index_.node_slots());
  NodeTotals& totals = totals_[node];
  if (totals.stamp >= marks_.changed(node)) return totals;
  totals = {};
  totals.stamp = marks_.now();
  for (const inventory::Segment& segment : device_index_.view(node).segments) {
    const PoolValue& value = values_.of(segment.pool);
    if (!value.local) continue;  // the same for every node
    totals.free_ppm += value.free_ppm;
    totals.whole += value.whole;
    totals.tight_ppm += value.tight_ppm;
    totals.partitioned = totals.partitioned || !value.groups.empty();
    totals.cpu_milli += value.free_ppm * mix_.kind(value.kind).cpu_milli_per_device / kMillion;
  }
  return totals;
}

// Free devices, in millionths, in excess of what the node's free CPU can serve at the usual CPU per device.
int64_t BestFit::stranded(int64_t free_ppm, int64_t cpu_milli, int64_t free_cpu) {
  if (cpu_milli <= free_cpu || cpu_milli <= 0) return 0;
  int64_t product = 0;
  if (!__builtin_mul_overflow(cpu_milli - free_cpu, free_ppm, &product)) return product / cpu_milli;
  return static_cast<int64_t>(static_cast<__int128>(cpu_milli - free_cpu) * free_ppm / cpu_milli);
}

strategy::Cost BestFit::node_cost(size_t position, NodeId node, const NodePrice& price) {
  strategy::Cost cost;
  const NodeTotals& totals = totals_of(node);
  const bool known = position < request_->facts.size();
  if (known) cost.unpreferred = -request_->facts[position].preferred;
  cost.uncertain = price.uncertain;
  if (strategy_ != Strategy::kBestFit) {
    const int64_t sign = strategy_ == Strategy::kPack ? 1 : -1;
    cost.whole = sign * totals.whole;
    cost.tight = sign * totals.tight_ppm;
    return cost;
  }
  cost.lost = price.lost;
  cost.broken = price.broken;
  cost.size = price.size;
  // For shared or whole devices the losses are enough. For partitions they are so often equal that the node's name
  // would decide.
  if (totals.partitioned) {
    cost.lost = without_rounding(price.lost);
    cost.whole = totals.whole;
    cost.tight = -(totals.tight_ppm / kMillion);
  }
  if (!known) return cost;
  const int64_t free_cpu = request_->facts[position].free_cpu_milli;
  cost.lost += stranded(totals.free_ppm - price.taken.units_ppm, totals.cpu_milli - price.taken.cpu_milli,
                        free_cpu - request_->cpu_milli) -
               stranded(totals.free_ppm, totals.cpu_milli, free_cpu);
  return cost;
}

}  // namespace dra::allocator
