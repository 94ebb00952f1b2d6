#include "pkg/inspect/state/silicon.h"

#include <algorithm>
#include <string_view>

#include "pkg/inspect/state/shapes.h"

namespace dra::inspect {
namespace {

inventory::Amount drawn_amount(const std::string& text) {
  const auto quantity = api::Quantity::parse(text);
  return quantity ? inventory::to_amount(*quantity) : 0;
}

// Whether `part` takes nothing that `whole` does not take, too.
bool is_within(const CounterAmounts& part, const CounterAmounts& whole) {
  return std::all_of(part.begin(), part.end(), [&](const auto& taken) {
    const auto same = whole.find(taken.first);
    return same != whole.end() && same->second >= taken.second;
  });
}

using InfoByName = std::map<std::string_view, const inventory::DeviceInfo*>;

InfoByName by_name(const std::vector<inventory::DeviceInfo>& devices) {
  InfoByName info;
  for (const inventory::DeviceInfo& device : devices) info[device.name.device] = &device;
  return info;
}

// Cards while they are collected: cards that turn out to be one are merged into the first of them.
class CardCollector {
 public:
  void add(const api::Device& device) {
    const CounterAmounts use = counter_use(device);
    size_t into = at_.size();
    at_.push_back(into);
    cards_.push_back({{&device}, use});
    for (const auto& [counter, amount] : use) {
      const auto [known, fresh] = of_set_.try_emplace(counter.first, into);
      if (!fresh) into = merge(into, known->second);
    }
  }
  std::vector<Card> take() {
    std::erase_if(cards_, [](const Card& card) { return card.devices.empty(); });
    return std::move(cards_);
  }

 private:
  size_t root(size_t card) {
    while (at_[card] != card) card = at_[card] = at_[at_[card]];
    return card;
  }
  size_t merge(size_t one, size_t other) {
    one = root(one);
    other = root(other);
    if (one == other) return one;
    const size_t into = std::min(one, other), from = std::max(one, other);
    at_[from] = into;
    Card &kept = cards_[into], &gone = cards_[from];
    kept.devices.insert(kept.devices.end(), gone.devices.begin(), gone.devices.end());
    for (const auto& [counter, amount] : gone.most) {
      inventory::Amount& most = kept.most[counter];
      most = std::max(most, amount);
    }
    gone = {};
    return into;
  }

  std::vector<Card> cards_;
  std::vector<size_t> at_;  // by card: the card that it was merged into, or itself
  std::map<std::string, size_t> of_set_;
};

}  // namespace

CounterAmounts counter_use(const api::Device& device) {
  CounterAmounts use;
  for (const api::DeviceCounterConsumption& entry : device.consumes_counters)
    for (const auto& [name, text] : entry.counters)
      if (const inventory::Amount amount = drawn_amount(text); amount != 0) use[{entry.counter_set, name}] += amount;
  return use;
}

CounterAmounts counter_totals(const std::vector<const api::ResourceSlice*>& slices) {
  CounterAmounts totals;
  for (const api::ResourceSlice* slice : slices)
    for (const api::CounterSet& set : slice->shared_counters)
      for (const auto& [name, text] : set.counters) totals[{set.name, name}] += drawn_amount(text);
  return totals;
}

bool keeps_claims_away(const api::DeviceTaint& taint, const std::vector<std::string>& ignored_taints) {
  if (taint.effect == "NoExecute") return true;
  return taint.effect == "NoSchedule" &&
         std::find(ignored_taints.begin(), ignored_taints.end(), taint.key) == ignored_taints.end();
}

bool may_be_had(const inventory::DeviceInfo& device, const std::vector<std::string>& ignored_taints) {
  return device.available && device.refused.empty() &&
         std::none_of(device.taints.begin(), device.taints.end(),
                      [&](const api::DeviceTaint& taint) { return keeps_claims_away(taint, ignored_taints); });
}

Silicon::Silicon(const std::vector<const api::ResourceSlice*>& slices) : totals_(counter_totals(slices)) {
  for (const api::ResourceSlice* slice : slices)
    for (const api::Device& device : slice->devices)
      if (!device.consumes_counters.empty()) draws_.push_back({&device.name, counter_use(device)});
}

const Silicon::Draw* Silicon::find(const std::string& device) const {
  const auto found = std::find_if(draws_.begin(), draws_.end(), [&](const Draw& draw) { return *draw.name == device; });
  return found == draws_.end() ? nullptr : &*found;
}

bool Silicon::exclude(const CounterAmounts& one, const CounterAmounts& other) const {
  return std::any_of(one.begin(), one.end(), [&](const auto& taken) {
    const auto also = other.find(taken.first);
    if (also == other.end()) return false;
    const auto total = totals_.find(taken.first);
    return taken.second + also->second > (total == totals_.end() ? 0 : total->second);
  });
}

std::vector<std::string> Silicon::excluded_by(const std::string& device) const {
  std::vector<std::string> names;
  const Draw* of = find(device);
  if (of == nullptr) return names;
  for (const Draw& draw : draws_)
    if (*draw.name != device && exclude(of->use, draw.use)) names.push_back(*draw.name);
  return names;
}

std::vector<std::string> Silicon::parts_of(const std::string& device) const {
  std::vector<std::string> names;
  const Draw* of = find(device);
  if (of == nullptr) return names;
  for (const Draw& draw : draws_)
    if (*draw.name != device && exclude(of->use, draw.use) && is_within(draw.use, of->use)) names.push_back(*draw.name);
  return names;
}

std::vector<std::string> on_same_silicon(const Objects& objects, const std::string& driver, const std::string& pool,
                                         const std::string& device) {
  const auto pools = slices_by_pool(objects);
  const auto slices = pools.find({driver, pool});
  return slices == pools.end() ? std::vector<std::string>() : Silicon(slices->second).excluded_by(device);
}

std::vector<Card> cards_of(const std::vector<const api::ResourceSlice*>& slices,
                           const std::vector<inventory::DeviceInfo>& devices) {
  const InfoByName info = by_name(devices);
  CardCollector cards;
  for (const api::ResourceSlice* slice : slices)
    for (const api::Device& device : slice->devices)
      if (info.contains(device.name)) cards.add(device);
  return cards.take();
}

CardCounts& CardCounts::operator+=(const CardCounts& more) {
  total += more.total;
  whole += more.whole;
  cut += more.cut;
  free += more.free;
  bad += more.bad;
  return *this;
}

CardCounts count_cards(const std::vector<Card>& cards, const std::vector<inventory::DeviceInfo>& devices, bool usable,
                       const std::vector<std::string>& ignored_taints) {
  const InfoByName info = by_name(devices);
  CardCounts counts;
  for (const Card& card : cards) {
    // In use under another name: counted there.
    if (std::all_of(card.devices.begin(), card.devices.end(),
                    [&](const api::Device* device) { return info.at(device->name)->held_as.has_value(); }))
      continue;
    ++counts.total;
    bool held = false, held_whole = false, has_whole = false, whole_to_be_had = false, any_to_be_had = false;
    for (const api::Device* device : card.devices) {
      const inventory::DeviceInfo& known = *info.at(device->name);
      // A device that takes as much of each counter as any other one is the whole card.
      const bool whole = card.devices.size() == 1 || counter_use(*device) == card.most;
      const bool to_be_had = may_be_had(known, ignored_taints);
      has_whole = has_whole || whole;
      whole_to_be_had = whole_to_be_had || (whole && to_be_had);
      any_to_be_had = any_to_be_had || to_be_had;
      if (known.holders.empty()) continue;
      held = true;
      held_whole = held_whole || (whole && !known.allow_multiple_allocations);
    }
    if (held)
      ++(held_whole ? counts.whole : counts.cut);
    else if (usable && (has_whole ? whole_to_be_had : any_to_be_had))
      ++counts.free;
    else
      ++counts.bad;
  }
  return counts;
}

}  // namespace dra::inspect
