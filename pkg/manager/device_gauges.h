// DeviceGauges: counts devices by state for each driver, pool and class. Recomputed at a refresh if something has
// changed since.
//
// Bounded: kMaxPools pools and kMaxClasses classes by name, the other pools together under "(others)"; at most
// kJudgedPerRefresh devices judged for classes per refresh (the rest keeps its old counts until the next one).
//
// Not thread-safe: belongs to the reactor's thread.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "pkg/allocator/allocator.h"
#include "pkg/inventory/inventory.h"
#include "pkg/metrics/metrics.h"

namespace dra::manager {

class DeviceGauges {
 public:
  static constexpr size_t kMaxPools = 400;
  static constexpr size_t kMaxClasses = 50;
  static constexpr uint64_t kJudgedPerRefresh = 200'000;

  // Everything must outlive this.
  // `ignored_taints`: keys of NoSchedule taints that do not keep anything off a device (like the allocator's option).
  DeviceGauges(metrics::Registry& registry, const inventory::Inventory& inventory, allocator::Allocator& allocator,
               std::vector<std::string> ignored_taints = {});
  void refresh();
  // By driver, as of the last refresh.
  const std::map<std::string, inventory::Usage>& drivers() const { return usage_; }

 private:
  bool refresh_classes();

  const inventory::Inventory& inventory_;
  allocator::Allocator& allocator_;
  const std::vector<std::string> ignored_taints_;
  metrics::GaugeFamily& by_driver_;
  metrics::GaugeFamily& by_pool_;
  metrics::GaugeFamily& by_class_;
  std::map<std::string, inventory::Usage> usage_;
  std::set<std::vector<std::string>> drivers_, pools_, classes_;  // label values served, without the state
  uint64_t version_ = 0;
  size_t next_class_ = 0;  // where the last refresh ran out of its budget
  bool current_ = false;   // nothing was left over at version_
};

}  // namespace dra::manager
