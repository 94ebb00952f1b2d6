// BestFit: picks the devices on one node for a request for one kind of device.
#include <algorithm>
#include <bit>
#include <tuple>

#include "pkg/allocator/nodes/best_fit.h"

namespace dra::allocator {
namespace {

using inventory::Amount;
using inventory::NodeView;
using inventory::Pool;
using strategy::kMillion;

// Free shares are rounded down to millionths and requests up: a difference of one millionth is ignored.
uint32_t cells_of(int64_t ppm) {
  return static_cast<uint32_t>(
      std::clamp<int64_t>((ppm + 1) * static_cast<int64_t>(strategy::kCells) / kMillion, 0, strategy::kCells));
}

}  // namespace

// Collects the available devices of the node in choices_.
BestFit::Priced BestFit::gather(const PlanAlternative& alternative, NodeId node) {
  choices_.clear();
  const NodeView& view = device_index_.view(node);
  for (uint32_t s = 0; s < view.segments.size(); ++s) {
    const Pool& pool = pool_at(view, s);
    if (!view.segments[s].complete()) continue;
    const FilterMask* mask = filters_.mask(alternative.filter, pool);
    if (mask == nullptr) return Priced::kSliceEnded;
    const inventory::Words& here = view.segments[s].mask;
    const PoolValue* value = nullptr;
    for (size_t w = 0; w < pool.words(); ++w) {
      uint64_t word =
          mask->usable()[w] & filters_.available(alternative.filter, pool)[w] & (here.empty() ? ~uint64_t{0} : here[w]);
      if (word == 0) continue;
      if (value == nullptr) value = &values_.of(pool.id);
      for (; word != 0; word &= word - 1) {
        const auto device = static_cast<uint32_t>(w * 64 + static_cast<size_t>(std::countr_zero(word)));
        std::optional<Choice> choice = choice_of(alternative, pool, *value, device);
        if (!choice) continue;
        choice->segment = s;
        choice->uncertain = view.segments[s].conditional;
        choices_.push_back(*choice);
      }
    }
  }
  return choices_.size() < alternative.count ? Priced::kNo : Priced::kYes;
}

int64_t BestFit::need_ppm(const PlanAlternative& alternative, const inventory::CapacityShape& shape) {
  if (last_shape_ == &shape) return last_need_;
  const CapacityFit& fit = filters_.fit(filters_.get(alternative.filter), shape);
  int64_t need = 0;
  for (size_t i = 0; i < fit.amounts.size(); ++i) {
    const Amount whole = shape.entries[i].amount;
    if (whole <= 0) continue;
    const double part = static_cast<double>(fit.amounts[i]) / static_cast<double>(whole);
    need = std::max(need, static_cast<int64_t>(part * kMillion + 0.5));
  }
  last_shape_ = &shape;
  return last_need_ = need;
}

std::optional<BestFit::Choice> BestFit::choice_of(const PlanAlternative& alternative, const Pool& pool,
                                                  const PoolValue& value, uint32_t number) {
  const DeviceValue& device = value.devices[number];
  Choice choice;
  choice.device = number;
  choice.name_rank = device.name_rank;
  choice.size = device.size;
  choice.broken = device.whole;
  if (!device.shareable) {
    choice.lost = device.group == inventory::kNone ? strategy::kWholeDevice : device.lost;
    return choice;
  }
  if (!filters_.may_share(alternative.filter, pool, number)) return std::nullopt;
  const inventory::CapacityShape& shape = pool.shape(number);
  const int64_t need = need_ppm(alternative, shape);
  if (device.one_capacity && device.free_ppm + 1 < need) return std::nullopt;
  // Compares the exact amounts only if millionths do not decide.
  const std::vector<Amount>* held = device.free_ppm > need ? nullptr : pool.shared(number);
  if (held != nullptr) {
    const CapacityFit& fit = filters_.fit(filters_.get(alternative.filter), shape);
    for (size_t i = 0; i < held->size(); ++i)
      if ((*held)[i] + fit.amounts[i] > shape.entries[i].amount) return std::nullopt;
  }
  choice.lost = rest_value(value, device.free_ppm) - rest_value(value, device.free_ppm - need);
  choice.lost += crowd(alternative, pool, number);
  if (device.group != inventory::kNone) choice.lost += device.lost;
  return choice;
}

// Of two devices that lose the same, a class whose policy packs shares takes the one with more of them, and one that
// spreads them the one with fewer: shares may consume nothing.
int64_t BestFit::crowd(const PlanAlternative& alternative, const Pool& pool, uint32_t device) const {
  constexpr int64_t kPerShare = 100, kMostShares = 1000;
  const auto& ask = filters_.get(alternative.filter).ask;
  const std::vector<inventory::SharedTerms>* held = ask ? pool.shared_terms(device) : nullptr;
  if (held == nullptr || ask->order == sharing::Order::kAny) return 0;
  int64_t shares = 0;
  for (const inventory::SharedTerms& one : *held) shares += one.shares;
  shares = std::min(shares, kMostShares) * kPerShare;
  return ask->order == sharing::Order::kPack ? -shares : shares;
}

// The value of the free rest of a shareable device. Plain packing prefers the fullest, spreading the emptiest.
int64_t BestFit::rest_value(const PoolValue& value, int64_t free_ppm) const {
  switch (strategy_) {
    case Strategy::kPack:
      return free_ppm == kMillion ? 2 * kMillion : -free_ppm / 1000 * (free_ppm / 1000);
    case Strategy::kSpread:
      return free_ppm / 1000 * (kMillion - free_ppm) / 1000;
    case Strategy::kFirstFit:
    case Strategy::kBestFit:
      break;
  }
  return mix_.kind(value.kind).prices[cells_of(free_ppm)];
}

bool BestFit::pick(const NodeView& view, uint32_t count, std::vector<Choice>& picked) {
  picked.clear();
  if (count == 1) {
    picked.push_back(*std::min_element(choices_.begin(), choices_.end()));
    return true;
  }
  const auto draws = [&](const Choice& choice) {
    return values_.of(pool_at(view, choice.segment).id).devices[choice.device].group != inventory::kNone;
  };
  if (std::any_of(choices_.begin(), choices_.end(), draws))
    return few_combinations(choices_.size(), count) ? pick_best_combination(view, count, picked)
                                                    : pick_one_by_one(view, count, picked);
  std::nth_element(choices_.begin(), choices_.begin() + (count - 1), choices_.end());
  picked.assign(choices_.begin(), choices_.begin() + count);
  return true;
}

bool BestFit::picked_rivals(NodeId node, const NodeView& view) const {
  if (picked_.size() < 2 || !device_index_.silicon().any_rivals(node)) return false;
  const auto picked = [&](inventory::PoolId pool, uint32_t device) {
    return std::any_of(picked_.begin(), picked_.end(), [&](const Choice& choice) {
      return choice.device == device && view.segments[choice.segment].pool == pool;
    });
  };
  const std::vector<inventory::RivalPair> rivals = device_index_.silicon().rivals(node);
  return std::any_of(rivals.begin(), rivals.end(), [&](const inventory::RivalPair& pair) {
    return picked(pair.pool, pair.device) && picked(pair.other_pool, pair.other);
  });
}

bool BestFit::few_combinations(size_t of, uint32_t count) {
  if (count > of) return true;
  size_t combinations = 1;
  for (size_t i = 0; i < count && combinations <= kMaxCombinations; ++i)
    combinations = combinations * (of - i) / (i + 1);
  return combinations <= kMaxCombinations;
}

// Tries all combinations in the order of choices, so that of equal ones the first by name wins.
bool BestFit::pick_best_combination(const NodeView& view, uint32_t count, std::vector<Choice>& picked) {
  struct Best {
    std::tuple<uint32_t, int64_t, int64_t, int64_t> cost;
    std::vector<Choice> choices;
  };
  std::optional<Best> best;
  std::vector<Choice> taken;
  std::sort(choices_.begin(), choices_.end());
  const auto try_from = [&](const auto& self, size_t from) -> void {
    if (taken.size() == count) {
      std::vector<Choice> charged = taken;
      if (!charge_groups(view, charged)) return;
      std::tuple<uint32_t, int64_t, int64_t, int64_t> cost{};
      for (const Choice& choice : charged) {
        std::get<0>(cost) += choice.uncertain;
        std::get<1>(cost) += choice.lost;
        std::get<2>(cost) += choice.broken;
        std::get<3>(cost) += choice.size;
      }
      std::get<1>(cost) = without_rounding(std::get<1>(cost));
      if (!best || cost < best->cost) best = Best{cost, std::move(charged)};
      return;
    }
    for (size_t i = from; i < choices_.size(); ++i) {
      taken.push_back(choices_[i]);
      self(self, i + 1);
      taken.pop_back();
    }
  };
  try_from(try_from, 0);
  if (best) picked = std::move(best->choices);
  return best.has_value();
}

// Charges the loss of all devices that share counters to the first of them. False if they do not fit together.
bool BestFit::charge_groups(const NodeView& view, std::vector<Choice>& taken) {
  for (size_t i = 0; i < taken.size(); ++i) {
    const Pool& pool = pool_at(view, taken[i].segment);
    const PoolValue& value = values_.of(pool.id);
    const auto group_of = [&](const Choice& choice) { return value.devices[choice.device].group; };
    const uint32_t in_group = group_of(taken[i]);
    if (in_group == inventory::kNone) continue;
    std::vector<uint32_t> devices, before;
    for (size_t k = 0; k < taken.size(); ++k) {
      if (taken[k].segment != taken[i].segment || group_of(taken[k]) != in_group) continue;
      if (k < i) before.push_back(taken[k].device);
      devices.push_back(taken[k].device);
    }
    if (!PoolValues::fits_beside(pool, taken[i].device, before)) return false;
    const int64_t alone = value.devices[taken[i].device].lost;
    taken[i].lost += (before.empty() ? PoolValues::lost_by(pool, value.groups[in_group], devices) : 0) - alone;
    if (!before.empty()) taken[i].broken = 0;
  }
  return true;
}

// Devices of one group change each other's losses: takes the cheapest, then recomputes the group it belongs to.
bool BestFit::pick_one_by_one(const NodeView& view, uint32_t count, std::vector<Choice>& picked) {
  std::vector<Choice> left = choices_;
  while (picked.size() < count) {
    if (left.empty()) return false;
    const auto best = std::min_element(left.begin(), left.end());
    picked.push_back(*best);
    const Choice last = *best;
    left.erase(best);
    if (picked.size() == count) break;
    const Pool& pool = pool_at(view, last.segment);
    const PoolValue& value = values_.of(pool.id);
    const uint32_t in_group = value.devices[last.device].group;
    if (in_group == inventory::kNone) continue;
    const GroupValue& group = value.groups[in_group];
    std::vector<uint32_t> taken;
    int64_t lost = 0;
    for (const Choice& choice : picked)
      if (choice.segment == last.segment && value.devices[choice.device].group == in_group) {
        taken.push_back(choice.device);
        lost += choice.lost;
      }
    std::erase_if(left, [&](Choice& choice) {
      if (choice.segment != last.segment || value.devices[choice.device].group != in_group) return false;
      if (!PoolValues::fits_beside(pool, choice.device, taken)) return true;
      taken.push_back(choice.device);
      choice.lost = PoolValues::lost_by(pool, group, taken) - lost;
      choice.broken = 0;
      taken.pop_back();
      return false;
    });
  }
  return true;
}

}  // namespace dra::allocator
