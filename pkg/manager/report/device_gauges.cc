#include "pkg/manager/report/device_gauges.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "pkg/inventory/bits.h"
#include "pkg/inventory/device_index.h"
#include "pkg/inventory/pool.h"
#include "pkg/usage/parts.h"

namespace dra::manager {

namespace {

using Labels = std::vector<std::string>;

constexpr const char* kStates[] = {"total", "used", "free", "tainted"};

double figure_of(const inventory::Usage& usage, size_t state) {
  const uint32_t figures[] = {usage.total, usage.used, usage.free, usage.tainted};
  return figures[state];
}

void set_all(metrics::GaugeFamily& family, Labels labels, const inventory::Usage& usage) {
  labels.emplace_back();
  for (size_t state = 0; state < std::size(kStates); ++state) {
    labels.back() = kStates[state];
    family.with(labels).set(figure_of(usage, state));
  }
}

void remove_all(metrics::GaugeFamily& family, Labels labels) {
  labels.emplace_back();
  for (const char* state : kStates) {
    labels.back() = state;
    family.remove(labels);
  }
}

// Serves exactly these series.
void serve(metrics::GaugeFamily& family, const std::map<Labels, inventory::Usage>& figures, std::set<Labels>& served) {
  for (auto old = served.begin(); old != served.end();) {
    if (figures.contains(*old)) {
      ++old;
      continue;
    }
    remove_all(family, *old);
    old = served.erase(old);
  }
  for (const auto& [labels, usage] : figures) {
    set_all(family, labels, usage);
    served.insert(labels);
  }
}

}  // namespace

DeviceGauges::DeviceGauges(metrics::Registry& r, const inventory::Inventory& inventory, allocator::Allocator& allocator,
                           std::vector<std::string> ignored_taints)
    : inventory_(inventory),
      allocator_(allocator),
      ignored_taints_(std::move(ignored_taints)),
      by_driver_(
          r.gauges("dra_devices",
                   "[ALPHA] Devices that ResourceSlices publish, by driver and state. A device may be in several "
                   "states; the free ones could be handed out now, all of them together.",
                   {"driver", "state"})),
      by_pool_(r.gauges("dra_pool_devices",
                        "[ALPHA] Devices by driver, pool and state; the pools after the first 400 by name are counted "
                        "together as (others).",
                        {"driver", "pool", "state"})),
      by_class_(r.gauges("dra_class_devices",
                         "[ALPHA] Devices of complete pools that the selectors of a DeviceClass choose, by class and "
                         "state.",
                         {"class", "state"})),
      cards_(r.gauges("dra_cards",
                      "[ALPHA] Cards by driver: in total, and used, where a card that is used in part counts in part. "
                      "All devices that draw on one counter set are one card, like a GPU and its partitions. cut_off: "
                      "what is left of cards in use and no partition can use any more, in cards.",
                      {"driver", "state"})) {}

bool DeviceGauges::refresh_some() {
  switch (step_) {
    case Step::kBegin:
      if (current_ && version_ == inventory_.version()) return true;
      version_ = inventory_.version();
      next_pool_ = 0;
      counted_.clear();
      step_ = Step::kPools;
      [[fallthrough]];
    case Step::kPools:
      count_pools();
      if (next_pool_ < inventory_.device_index().pool_slots()) return false;
      serve_pools();
      begin_classes();
      step_ = Step::kClasses;
      return names_.empty() && end(true);
    case Step::kClasses:
      if (!count_class()) return end(false);
      return ++class_ == names_.size() && end(true);
  }
  return end(true);
}

bool DeviceGauges::end(bool current) {
  current_ = current;
  step_ = Step::kBegin;
  return true;
}

DeviceGauges::Cards DeviceGauges::cards_of(const inventory::Pool& pool) {
  std::unordered_map<inventory::StrId, double> used_of;  // by counter set
  for (const inventory::Counter& counter : pool.counters()) {
    if (counter.set == inventory::kNoStr) continue;  // an unused entry
    double& used = used_of.try_emplace(counter.set, 0).first->second;
    if (counter.total > 0)
      used = std::max(used, static_cast<double>(counter.consumed) / static_cast<double>(counter.total));
  }
  Cards cards{static_cast<double>(used_of.size()), 0, 0};
  for (const auto& [set, used] : used_of) cards.used += std::min(used, 1.0);
  cards.cut_off = usage::cut_off(pool);
  for (uint32_t device = 0; device < pool.size(); ++device) {
    if (pool.uses_begin(device) != pool.uses_end(device)) continue;
    cards.total += 1;
    if (inventory::test_bit(pool.charged(), device)) cards.used += 1;
  }
  return cards;
}

void DeviceGauges::serve_cards(const std::map<std::string, Cards>& drivers) {
  std::erase_if(card_drivers_, [&](const std::string& driver) {
    if (drivers.contains(driver)) return false;
    for (const char* state : {"total", "used", "cut_off"}) cards_.remove({driver, state});
    return true;
  });
  for (const auto& [driver, cards] : drivers) {
    cards_.with({driver, "total"}).set(cards.total);
    cards_.with({driver, "used"}).set(cards.used);
    cards_.with({driver, "cut_off"}).set(cards.cut_off);
    card_drivers_.insert(driver);
  }
}

void DeviceGauges::count_pools() {
  const inventory::DeviceIndex& index = inventory_.device_index();
  const auto end = static_cast<inventory::PoolId>(std::min(index.pool_slots(), next_pool_ + kPoolsOfPiece));
  for (; next_pool_ < end; ++next_pool_)
    if (const inventory::Pool* pool = index.pool(next_pool_); pool != nullptr && pool->has_slices())
      counted_.push_back({next_pool_, inventory_.usage(next_pool_, ignored_taints_), cards_of(*pool)});
}

void DeviceGauges::serve_pools() {
  const inventory::DeviceIndex& index = inventory_.device_index();
  // A pool may have gone since it was counted.
  std::erase_if(counted_, [&](const Counted& one) {
    const inventory::Pool* pool = index.pool(one.pool);
    return pool == nullptr || !pool->has_slices();
  });
  const size_t named = std::min(counted_.size(), kMaxPools);
  std::partial_sort(counted_.begin(), counted_.begin() + static_cast<std::ptrdiff_t>(named), counted_.end(),
                    [&](const Counted& a, const Counted& b) {
                      const inventory::Pool &one = *index.pool(a.pool), &other = *index.pool(b.pool);
                      return std::tie(one.driver_text, one.name_text) < std::tie(other.driver_text, other.name_text);
                    });
  usage_.clear();
  std::map<Labels, inventory::Usage> drivers, pools;
  std::map<std::string, inventory::Usage> others;
  std::map<std::string, Cards> cards;
  for (size_t i = 0; i < counted_.size(); ++i) {
    const inventory::Pool& pool = *index.pool(counted_[i].pool);
    usage_[pool.driver_text] += counted_[i].usage;
    Cards& of_driver = cards[pool.driver_text];
    of_driver.total += counted_[i].cards.total;
    of_driver.used += counted_[i].cards.used;
    of_driver.cut_off += counted_[i].cards.cut_off;
    if (i < named)
      pools[{pool.driver_text, pool.name_text}] += counted_[i].usage;
    else
      others[pool.driver_text] += counted_[i].usage;
  }
  for (const auto& [driver, usage] : others) pools[{driver, "(others)"}] += usage;
  for (const auto& [driver, usage] : usage_) drivers[{driver}] = usage;
  serve(by_driver_, drivers, drivers_);
  serve(by_pool_, pools, pools_);
  serve_cards(cards);
  counted_ = {};
}

void DeviceGauges::begin_classes() {
  budget_ = kJudgedPerRefresh;
  names_ = inventory_.classes();
  if (names_.size() > kMaxClasses) names_.resize(kMaxClasses);
  const std::set<std::string> known(names_.begin(), names_.end());
  for (auto old = classes_.begin(); old != classes_.end();) {
    if (known.contains(old->front())) {
      ++old;
      continue;
    }
    remove_all(by_class_, *old);
    old = classes_.erase(old);
  }
  class_ = 0;
}

// False: the budget was used up before the class was counted.
bool DeviceGauges::count_class() {
  const size_t at = (next_class_ + class_) % names_.size();
  if (const auto usage = allocator_.class_usage(names_[at], budget_)) {
    set_all(by_class_, {names_[at]}, *usage);
    classes_.insert({names_[at]});
  } else if (budget_ == 0) {
    next_class_ = at;
    return false;
  }
  return true;
}

}  // namespace dra::manager
