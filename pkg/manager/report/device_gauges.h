// DeviceGauges: counts devices by state for each driver, pool and class. Recomputed at a refresh if something has
// changed since.
//
// A refresh is done in pieces, between which the devices may change: each pool and each class is counted as it is when
// its turn comes.
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

namespace dra::inventory {
class Pool;
}

namespace dra::manager {

class DeviceGauges {
 public:
  static constexpr size_t kMaxPools = 400;
  static constexpr size_t kMaxClasses = 50;
  static constexpr uint64_t kJudgedPerRefresh = 200'000;
  static constexpr size_t kPoolsOfPiece = 1000;

  // Everything must outlive this.
  // `ignored_taints`: keys of NoSchedule taints that do not keep anything off a device (like the allocator's option).
  DeviceGauges(metrics::Registry& registry, const inventory::Inventory& inventory, allocator::Allocator& allocator,
               std::vector<std::string> ignored_taints = {});
  // One piece of a refresh: some pools, or one class. True when it was the last.
  bool refresh_some();
  void refresh() {
    while (!refresh_some()) {
    }
  }
  // By driver, as of the last refresh.
  const std::map<std::string, inventory::Usage>& drivers() const { return usage_; }

 private:
  // Devices that draw on one counter set are one card, any other device is one by itself. A card with counters is in
  // use by the part that is taken of its scarcest counter.
  struct Cards {
    double total = 0;
    double used = 0;
    double cut_off = 0;  // what no partition can use any more
  };
  struct Counted {
    inventory::PoolId pool;
    inventory::Usage usage;
    Cards cards;
  };
  enum class Step { kBegin, kPools, kClasses };

  static Cards cards_of(const inventory::Pool& pool);
  void count_pools();
  void serve_pools();
  void serve_cards(const std::map<std::string, Cards>& drivers);
  void begin_classes();
  bool count_class();
  bool end(bool current);  // true

  const inventory::Inventory& inventory_;
  allocator::Allocator& allocator_;
  const std::vector<std::string> ignored_taints_;
  metrics::GaugeFamily& by_driver_;
  metrics::GaugeFamily& by_pool_;
  metrics::GaugeFamily& by_class_;
  metrics::GaugeFamily& cards_;
  std::set<std::string> card_drivers_;  // served
  std::map<std::string, inventory::Usage> usage_;
  std::set<std::vector<std::string>> drivers_, pools_, classes_;  // label values served, without the state
  uint64_t version_ = 0;
  size_t next_class_ = 0;  // where the last refresh ran out of its budget
  bool current_ = false;   // nothing was left over at version_

  // The refresh under way.
  Step step_ = Step::kBegin;
  inventory::PoolId next_pool_ = 0;
  std::vector<Counted> counted_;
  std::vector<std::string> names_;  // of classes
  size_t class_ = 0;                // how many are done, beginning with next_class_
  uint64_t budget_ = 0;             // devices that may still be judged
};

}  // namespace dra::manager
