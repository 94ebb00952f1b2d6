#include "pkg/usage/parts.h"

#include <algorithm>
#include <utility>

#include "pkg/api/quantity.h"
#include "pkg/inventory/amount.h"
#include "pkg/inventory/bits.h"
#include "pkg/inventory/pool.h"

namespace dra::usage {

using inventory::Amount;
using inventory::Counter;
using inventory::CounterUse;
using inventory::Pool;
using inventory::StrId;

namespace {

// taken / total in 10^-9, rounded down; 0 to kWholeCard.
int64_t fraction(Amount taken, Amount total) {
  if (total <= 0 || taken <= 0) return 0;
  if (taken >= total) return kWholeCard;
  return static_cast<int64_t>(taken * kWholeCard / total);
}

int64_t times(int64_t nanos, int64_t share) {
  return static_cast<int64_t>(static_cast<Amount>(nanos) * share / kWholeCard);
}

void add_share(std::vector<Share>& shares, std::string_view name, int64_t nanos) {
  const auto found = std::find_if(shares.begin(), shares.end(), [&](const Share& one) { return one.name == name; });
  if (found == shares.end())
    shares.push_back({std::string(name), nanos});
  else
    found->nanos += nanos;
}

// What the result takes of a device that several claims may share.
int64_t share_of_device(const inventory::CapacityShape& shape, const api::DeviceRequestAllocationResult& result,
                        std::string_view counter, std::vector<Share>& shares) {
  if (result.consumed_capacity.empty()) return kWholeCard;
  std::vector<int64_t> taken(shape.entries.size(), 0);
  for (const auto& [name, text] : result.consumed_capacity) {
    const size_t at = shape.find(name, true);
    const auto quantity = api::Quantity::parse(text);
    if (at != inventory::CapacityShape::kNoEntry && quantity)
      taken[at] = fraction(inventory::to_amount(*quantity), shape.entries[at].amount);
  }
  Amount sum = 0;
  int64_t count = 0;
  for (size_t at = 0; at < taken.size(); ++at) {
    if (shape.entries[at].amount <= 0) continue;
    ++count;
    sum += taken[at];
    add_share(shares, shape.entries[at].name, taken[at]);
  }
  if (const size_t named = counter.empty() ? inventory::CapacityShape::kNoEntry : shape.find(counter, true);
      named != inventory::CapacityShape::kNoEntry && shape.entries[named].amount > 0)
    return taken[named];
  return count == 0 ? kWholeCard : static_cast<int64_t>(sum / count);
}

std::string card_of(std::string_view driver, std::string_view pool, std::string_view kind, std::string_view name) {
  std::string card(driver);
  for (const std::string_view part : {pool, kind, name}) card.append("/").append(part);
  return card;
}

}  // namespace

const Weigher::Sets& Weigher::sets_of(const Pool& pool) {
  Sets& sets = pools_[pool.id];
  if (sets.table_version == pool.table_version) return sets;
  sets.table_version = pool.table_version;
  sets.counters.clear();
  for (const Counter& counter : pool.counters())
    if (counter.set != inventory::kNoStr && counter.total > 0) sets.counters[counter.set].push_back(counter.name);
  return sets;
}

void Weigher::weigh_counters(const Pool& pool, uint32_t device, std::string_view counter, int64_t share,
                             DeviceParts& out) {
  struct OfSet {
    StrId set;
    int64_t sum = 0, named = 0;
  };
  const inventory::Strings& strings = index_.strings();
  const StrId named = counter.empty() ? inventory::kNoStr : strings.find(counter);
  std::vector<OfSet> drawn;
  for (const CounterUse* use = pool.uses_begin(device); use != pool.uses_end(device); ++use) {
    if (use->counter == Pool::kUnpublished) continue;
    const Counter& from = pool.counters()[use->counter];
    auto found = std::find_if(drawn.begin(), drawn.end(), [&](const OfSet& one) { return one.set == from.set; });
    if (found == drawn.end()) found = drawn.insert(drawn.end(), {from.set});
    const int64_t nanos = fraction(use->amount, from.total);
    found->sum += nanos;
    if (from.name == named) found->named = nanos;
    if (from.total > 0) add_share(out.shares, strings.text(from.name), times(nanos, share));
  }
  const Sets& sets = sets_of(pool);
  for (const OfSet& one : drawn) {
    const auto found = sets.counters.find(one.set);
    if (found == sets.counters.end()) continue;
    const std::vector<StrId>& names = found->second;
    const bool alone = named != inventory::kNoStr && std::find(names.begin(), names.end(), named) != names.end();
    const int64_t nanos = alone ? one.named : one.sum / static_cast<int64_t>(names.size());
    out.parts.push_back({card_of(pool.driver_text, pool.name_text, "set", strings.text(one.set)), times(nanos, share)});
  }
}

DeviceParts Weigher::weigh(const api::DeviceRequestAllocationResult& result, std::string_view counter) {
  DeviceParts out;
  if (result.admin_access) return out;
  const Pool* pool = index_.find_pool(result.driver, result.pool);
  const StrId name = index_.strings().find(result.device);
  const uint32_t device = pool == nullptr || name == inventory::kNoStr ? inventory::kNone : pool->find_device(name);
  int64_t share = kWholeCard;
  if (device != inventory::kNone) {
    out.known = true;
    if (pool->shareable(device)) share = share_of_device(pool->shape(device), result, counter, out.shares);
    weigh_counters(*pool, device, counter, share, out);
  }
  if (out.parts.empty()) out.parts.push_back({card_of(result.driver, result.pool, "device", result.device), share});
  return out;
}

double cut_off(const Pool& pool) {
  const std::vector<Counter>& counters = pool.counters();
  if (std::none_of(counters.begin(), counters.end(), [](const Counter& one) { return one.consumed > 0; })) return 0;
  struct Usable {
    Amount now = 0, ever = 0;
  };
  std::vector<Usable> usable(counters.size());
  for (uint32_t device = 0; device < pool.size(); ++device) {
    const bool free = inventory::test_bit(pool.available(), device) && !inventory::test_bit(pool.charged(), device);
    for (const CounterUse* use = pool.uses_begin(device); use != pool.uses_end(device); ++use) {
      usable[use->counter].ever += use->amount;
      if (free) usable[use->counter].now += use->amount;
    }
  }
  struct OfSet {
    bool used = false;
    double cut = 0;
    int counters = 0;
  };
  std::unordered_map<StrId, OfSet> sets;
  for (size_t at = 0; at < counters.size(); ++at) {
    const Counter& one = counters[at];
    if (one.set == inventory::kNoStr || one.total <= 0) continue;
    OfSet& set = sets[one.set];
    ++set.counters;
    set.used |= one.consumed > 0;
    const Amount left = std::max<Amount>(one.total - one.consumed, 0);
    const Amount never = one.total - std::min(one.total, usable[at].ever);
    const Amount cut = left - std::min(left, usable[at].now) - never;
    if (cut > 0) set.cut += static_cast<double>(cut) / static_cast<double>(one.total);
  }
  double cards = 0;
  for (const auto& [name, set] : sets)
    if (set.used) cards += set.cut / set.counters;
  return cards;
}

}  // namespace dra::usage
