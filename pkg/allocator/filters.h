// Filters: which devices of a pool a request could use if nothing else were there ("candidates").
//
// A filter is everything of a request that depends on the device alone: class and request selectors, tolerations,
// capacity requests. Its answer for a pool is three bit sets, kept until the pool's table changes:
//   selectable  the selectors hold, the capacity request fits, the gates allow it
//   usable      selectable, and every taint is tolerated
//   failed      a selector ended with an error
#pragma once

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "pkg/allocator/capacity.h"
#include "pkg/allocator/selectors.h"
#include "pkg/inventory/core.h"

namespace dra::allocator {

using FilterId = uint32_t;

class FilterMask {
 public:
  uint64_t table_version = 0;
  bool any_failed = false;

  const uint64_t* selectable() const { return words_.data(); }
  const uint64_t* usable() const { return words_.data() + (tainted_ ? size_ : 0); }
  const uint64_t* failed() const { return words_.data() + (tainted_ ? 2 : 1) * size_; }  // only when any_failed

 private:
  friend class Filters;
  bool tainted_ = false;  // usable differs from selectable
  size_t size_ = 0;
  inventory::Words words_;
};

// The answer for one slice, taints aside: shared by all slices that agree in what the filter reads.
struct SliceAnswer {
  inventory::Words selectable, failed;
  bool any_failed = false;
};

struct Filter {
  std::vector<SelectorId> class_selectors;
  std::vector<SelectorId> request_selectors;
  std::vector<api::DeviceToleration> tolerations;
  CapacityRequests capacity;
  std::vector<std::unique_ptr<FilterMask>> masks;  // by pool
  std::unordered_map<uint64_t, CapacityFit> fits;  // by shape
  std::unordered_map<inventory::Hash128, SliceAnswer, inventory::Hash128Hash> answers;
  uint64_t answers_epoch = 0;
};

// Whether the tolerations of a request (or the allocator's own exceptions) let a tainted device be used.
bool tolerates(const std::vector<api::DeviceToleration>& tolerations, const api::DeviceTaint& taint);

class Filters {
 public:
  Filters(inventory::Core& core, Selectors& selectors, std::vector<std::string> ignored_taints)
      : core_(core), selectors_(selectors), ignored_taints_(std::move(ignored_taints)) {}

  FilterId intern(Filter filter);
  Filter& get(FilterId id) { return *filters_[id]; }
  const FilterMask& mask(FilterId id, const inventory::Pool& pool) {
    Filter& filter = *filters_[id];
    if (pool.id < filter.masks.size()) {
      const auto& kept = filter.masks[pool.id];
      if (kept && kept->table_version == pool.table_version) return *kept;
    }
    return make_mask(filter, pool);
  }
  // mask() will not have to look at devices.
  bool has_mask(FilterId id, const inventory::Pool& pool) const {
    const auto& masks = filters_[id]->masks;
    return pool.id < masks.size() && masks[pool.id] && masks[pool.id]->table_version == pool.table_version;
  }
  const CapacityFit& fit(Filter& filter, const inventory::CapacityShape& shape);
  // Whether a NoSchedule or NoExecute taint keeps this filter from the device; the first one, or null.
  const api::DeviceTaint* untolerated(const Filter& filter, const inventory::Pool& pool, uint32_t device) const;
  // The gate whose absence makes the device unusable; empty when none.
  std::string disabled_feature(const inventory::Pool& pool, uint32_t device) const;
  // What making masks has cost so far, in search steps: a selector evaluated anew is four, four devices or one slice
  // looked at are one.
  uint64_t work() const { return work_; }
  // Too much is kept: the owner should clear() when no FilterId is in use.
  bool full() const { return filters_.size() > 2048 || kept_words_ > (16u << 20); }
  void clear();

 private:
  const FilterMask& make_mask(Filter& filter, const inventory::Pool& pool);
  const SliceAnswer& answer(Filter& filter, const inventory::Pool& pool, size_t slice);
  SliceAnswer make_answer(Filter& filter, const inventory::Pool& pool, size_t slice);

  inventory::Core& core_;
  Selectors& selectors_;
  std::vector<std::string> ignored_taints_;
  std::vector<std::unique_ptr<Filter>> filters_;
  std::unordered_map<std::string, FilterId> index_;
  size_t kept_words_ = 0;
  uint64_t work_ = 0;
};

}  // namespace dra::allocator
