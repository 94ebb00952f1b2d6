// FragmentationGauges: for each DeviceClass the largest request that fits now, what it would be if all that is held
// were packed, and what the free silicon could serve (pkg/usage/fragmentation.h, the same as kubectl dra top
// fragmentation). Counted at a refresh if something has changed, and begun at most every kInterval.
//
// A count is done in pieces of a few milliseconds, between which the devices may change: each pool is counted as it is
// when its turn comes. A class is served when all of its pools are counted, and keeps its figures until then.
//
// Bounded: kMaxClasses classes by name; kJudgedPerCount devices judged for classes in one count (the next one goes on
// from there).
//
// Not thread-safe: belongs to the reactor's thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "pkg/allocator/allocator.h"
#include "pkg/base/clock.h"
#include "pkg/inventory/inventory.h"
#include "pkg/metrics/metrics.h"
#include "pkg/usage/fragmentation.h"

namespace dra::manager {

class FragmentationGauges {
 public:
  static constexpr size_t kMaxClasses = 50;
  static constexpr uint64_t kJudgedPerCount = 200'000;
  static constexpr uint64_t kWorkOfPiece = 20'000;  // Fragmentation::work() and steps of packing
  static constexpr Duration kInterval = std::chrono::seconds(30);

  // Everything must outlive this.
  FragmentationGauges(metrics::Registry& registry, const inventory::Inventory& inventory,
                      allocator::Allocator& allocator, const Clock& clock);
  // One piece. True when it was the last, or nothing is to be done.
  bool refresh_some();

 private:
  bool begin();
  void drop_others();
  bool count_some();
  bool end(bool whole);  // true
  void serve(const std::string& device_class, const usage::ClassFragmentation& found);
  void drop(const std::string& device_class);

  const inventory::Inventory& inventory_;
  allocator::Allocator& allocator_;
  const Clock& clock_;
  metrics::GaugeFamily& gauges_;
  usage::Packings packings_;
  std::set<std::string> served_;

  std::optional<MonoTime> next_;  // no count begins before
  uint64_t version_ = 0;          // of the inventory when the last count began
  bool current_ = false;          // nothing was left over at version_
  size_t first_class_ = 0;        // where the last count ended before its end

  // The count under way.
  bool counting_ = false;
  std::vector<std::string> names_;
  size_t class_ = 0;  // how many are done, beginning with first_class_
  uint64_t budget_ = 0;
  inventory::PoolId next_pool_ = 0;
  std::optional<usage::Fragmentation> counts_;  // of the current class
};

}  // namespace dra::manager
