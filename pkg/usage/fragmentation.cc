#include "pkg/usage/fragmentation.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "pkg/inventory/bits.h"
#include "pkg/inventory/pool.h"

namespace dra::usage {

using inventory::Amount;
using inventory::Counter;
using inventory::CounterUse;
using inventory::Pool;
using inventory::StrId;

namespace {

constexpr double kRounding = 1e-9;

double part(Amount amount, Amount total) {
  return static_cast<double>(amount) / static_cast<double>(total);
}

}  // namespace

// The cards of a pool of which the class selects devices. A device that draws on several counter sets makes them one
// card.
struct Fragmentation::Cards {
  struct Card {
    std::vector<StrId> sets;  // none: it was merged into another one
    std::vector<uint32_t> devices;
  };
  std::vector<Card> all;
  std::unordered_map<StrId, size_t> of_set;

  void add(uint32_t device, const std::vector<StrId>& sets) {
    const auto known = std::find_if(sets.begin(), sets.end(), [this](StrId set) { return of_set.contains(set); });
    const size_t into = known == sets.end() ? all.size() : of_set.at(*known);
    if (into == all.size()) all.emplace_back();
    all[into].devices.push_back(device);
    for (const StrId set : sets) {
      const auto [entry, is_new] = of_set.try_emplace(set, into);
      if (is_new)
        all[into].sets.push_back(set);
      else if (entry->second != into)
        merge(entry->second, into);
    }
  }

 private:
  void merge(size_t from, size_t into) {
    Card &gone = all[from], &kept = all[into];
    for (const StrId set : gone.sets) of_set[set] = into;
    kept.sets.insert(kept.sets.end(), gone.sets.begin(), gone.sets.end());
    kept.devices.insert(kept.devices.end(), gone.devices.begin(), gone.devices.end());
    gone = {};
  }
};

uint32_t ClassFragmentation::if_packed() const {
  return std::max(largest, std::min(on_empty, free));
}

Fragmentation::Place& Fragmentation::place_of(const Pool& pool, uint32_t device) {
  const inventory::Where& where = pool.where(device);
  return places_[where.kind == inventory::Where::kNode ? where.node : inventory::kNoStr];
}

void Fragmentation::add(const Pool& pool, const uint64_t* usable) {
  if (!pool.differs_by_node() && pool.state != inventory::PoolState::kComplete) return;
  Cards cards;
  for (size_t word = 0; word < pool.words(); ++word) {
    ++work_;
    for (uint64_t left = usable[word] & ~pool.plugins()[word]; left != 0; left &= left - 1) {
      const auto device = static_cast<uint32_t>(64 * word + static_cast<size_t>(std::countr_zero(left)));
      if (!pool.differs_by_node() || index_.judge_device(pool, device).state == inventory::PoolState::kComplete)
        add_device(pool, device, cards);
    }
  }
  if (cards.all.empty()) return;
  std::vector<std::vector<uint32_t>> counters(cards.all.size());
  for (uint32_t at = 0; at < pool.counters().size(); ++at) {
    ++work_;
    if (pool.counters()[at].total <= 0) continue;
    if (const auto card = cards.of_set.find(pool.counters()[at].set); card != cards.of_set.end())
      counters[card->second].push_back(at);
  }
  for (size_t card = 0; card < cards.all.size(); ++card)
    if (!cards.all[card].devices.empty()) add_card(pool, cards.all[card].devices, counters[card]);
}

void Fragmentation::add_device(const Pool& pool, uint32_t device, Cards& cards) {
  ++work_;
  if (pool.uses_begin(device) == pool.uses_end(device)) {
    const bool is_free = inventory::test_bit(pool.available(), device);
    Place& place = place_of(pool, device);
    ++place.on_empty;
    if (!is_free) return;
    ++place.now;
    free_ += 1;
    return;
  }
  std::vector<StrId> sets;
  for (const CounterUse* use = pool.uses_begin(device); use != pool.uses_end(device); ++use) {
    if (use->counter == Pool::kUnpublished) return;
    const StrId set = pool.counters()[use->counter].set;
    if (std::find(sets.begin(), sets.end(), set) == sets.end()) sets.push_back(set);
  }
  cards.add(device, sets);
}

void Fragmentation::add_card(const Pool& pool, const std::vector<uint32_t>& devices,
                             const std::vector<uint32_t>& counters) {
  std::unordered_map<uint32_t, uint32_t> place;  // of a counter in the list
  for (uint32_t at = 0; at < counters.size(); ++at) place.emplace(counters[at], at);
  std::vector<Amount> left, totals;
  double held = 0;
  for (const uint32_t at : counters) {
    const Counter& counter = pool.counters()[at];
    left.push_back(counter.total - counter.consumed);
    totals.push_back(counter.total);
    held += part(counter.consumed, counter.total) / static_cast<double>(counters.size());
  }
  std::vector<Takes> now, ever;
  double smallest = 0;
  Place& here = place_of(pool, devices.front());
  for (const uint32_t device : devices) {
    Takes takes;
    double share = 0;
    bool possible = true;
    for (const CounterUse* use = pool.uses_begin(device); use != pool.uses_end(device); ++use) {
      ++work_;
      if (use->amount <= 0) continue;
      const auto counter = place.find(use->counter);
      possible = possible && counter != place.end();
      if (!possible) break;
      takes.emplace_back(counter->second, use->amount);
      share += part(use->amount, totals[counter->second]) / static_cast<double>(counters.size());
    }
    if (!possible) continue;
    if (share > 0 && (smallest == 0 || share < smallest)) smallest = share;
    if (inventory::test_bit(pool.available(), device)) {
      // A device that is shared already takes no more of the counters.
      if (inventory::test_bit(pool.charged(), device))
        ++here.now;
      else
        now.push_back(takes);
    }
    ever.push_back(std::move(takes));
  }
  const Packed of_now = packings_.most(std::move(now), left), of_empty = packings_.most(std::move(ever), totals);
  exact_ = exact_ && of_now.exact && of_empty.exact;
  here.now += of_now.count;
  here.on_empty += of_empty.count;
  if (smallest > 0) free_ += std::max(0.0, 1 - held) / smallest;
}

ClassFragmentation Fragmentation::found() const {
  ClassFragmentation found;
  found.exact = exact_;
  for (const auto& [node, place] : places_) {
    const auto now = static_cast<uint32_t>(std::min<uint64_t>(place.now, api::kMaxAllocationResults));
    const auto on_empty = static_cast<uint32_t>(std::min<uint64_t>(place.on_empty, api::kMaxAllocationResults));
    found.on_empty = std::max({found.on_empty, on_empty, now});
    if (now == 0 || now < found.largest) continue;
    // Of several nodes the first by name.
    const std::string_view name = node == inventory::kNoStr ? std::string_view() : index_.strings().text(node);
    if (now > found.largest || name < found.node) found.node = std::string(name);
    found.largest = now;
  }
  found.free = std::max(found.largest, static_cast<uint32_t>(std::min(std::floor(free_ + kRounding), 4e9)));
  return found;
}

}  // namespace dra::usage
