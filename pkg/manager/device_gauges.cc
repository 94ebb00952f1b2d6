#include "pkg/manager/device_gauges.h"

#include <utility>

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
                         {"class", "state"})) {}

void DeviceGauges::refresh() {
  if (current_ && version_ == inventory_.version()) return;
  version_ = inventory_.version();
  std::map<Labels, inventory::Usage> drivers, pools;
  usage_.clear();
  size_t named = 0;
  for (const inventory::PoolInfo& pool : inventory_.pools()) {
    const inventory::Usage usage = inventory_.usage(pool.id, ignored_taints_);
    drivers[{pool.driver}] += usage;
    usage_[pool.driver] += usage;
    pools[{pool.driver, named++ < kMaxPools ? pool.name : "(others)"}] += usage;
  }
  serve(by_driver_, drivers, drivers_);
  serve(by_pool_, pools, pools_);
  current_ = refresh_classes();
}

bool DeviceGauges::refresh_classes() {
  std::vector<std::string> names = inventory_.classes();
  if (names.size() > kMaxClasses) names.resize(kMaxClasses);
  const std::set<std::string> known(names.begin(), names.end());
  for (auto old = classes_.begin(); old != classes_.end();) {
    if (known.contains(old->front())) {
      ++old;
      continue;
    }
    remove_all(by_class_, *old);
    old = classes_.erase(old);
  }
  uint64_t budget = kJudgedPerRefresh;
  for (size_t i = 0; i < names.size(); ++i) {
    const size_t at = (next_class_ + i) % names.size();
    if (const auto usage = allocator_.class_usage(names[at], budget)) {
      set_all(by_class_, {names[at]}, *usage);
      classes_.insert({names[at]});
    } else if (budget == 0) {
      next_class_ = at;
      return false;
    }
  }
  return true;
}

}  // namespace dra::manager
