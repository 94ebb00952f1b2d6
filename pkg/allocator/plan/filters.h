// Filters: the devices of a pool that a request could use if nothing else were allocated ("candidates").
//
// A filter is the part of a request that depends on the device alone: class and request selectors, tolerations,
// capacity requests. Its answer for a pool is three bit sets, kept until the pool's table changes or memory is needed.
// Making them may take long; it stops when the meter's slice ends, and the next call continues.
//   selectable  the selectors are true, the capacity request fits, the gates allow it
//   usable      selectable, not refused for a field that this build does not know, and every taint is tolerated
//   failed      a selector ended with an error
#pragma once

#include <array>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "pkg/allocator/plan/capacity.h"
#include "pkg/allocator/plan/selectors.h"
#include "pkg/inventory/device_index.h"

namespace dra::allocator {

using FilterId = uint32_t;

class FilterMask {
 public:
  uint64_t table_version = 0;
  bool any_failed = false;

  const uint64_t* selectable() const { return words_.data(); }
  const uint64_t* usable() const { return words_.data() + (narrowed_ ? size_ : 0); }
  const uint64_t* failed() const { return words_.data() + (narrowed_ ? 2 : 1) * size_; }  // only if any_failed

 private:
  friend class Filters;
  bool ready_ = false;
  size_t next_slice_ = 0;  // the first slice not yet in it, until it is ready
  bool narrowed_ = false;  // usable may differ from selectable
  size_t size_ = 0;
  inventory::Words words_;
};

// The masks of one filter by pool, in pieces: in a large fleet a filter used for few pools needs little
// memory.
class MaskTable {
 public:
  FilterMask* find(inventory::PoolId pool) const {
    const size_t piece = pool / kPiece;
    return piece < pieces_.size() && pieces_[piece] ? (*pieces_[piece])[pool % kPiece].get() : nullptr;
  }
  // Adds the bytes allocated for it to `bytes`.
  FilterMask& make(inventory::PoolId pool, size_t& bytes);
  void drop(DeferredFrees& frees) { frees.add(pieces_, 2 * kPiece); }

 private:
  static constexpr size_t kPiece = 64;
  using Piece = std::array<std::unique_ptr<FilterMask>, kPiece>;
  std::vector<std::unique_ptr<Piece>> pieces_;
};

// The answer for one slice without taints: shared by all slices that agree in what the filter reads.
struct SliceAnswer {
  inventory::Words selectable, failed;
  bool any_failed = false;
  // Where to continue: the device, and its first selector not yet evaluated.
  uint32_t next_device = 0;
  uint32_t next_selector = 0;
};

struct Filter {
  std::vector<SelectorId> class_selectors;
  std::vector<SelectorId> request_selectors;
  std::vector<api::DeviceToleration> tolerations;
  CapacityRequests capacity;
  bool shares_silicon = false;                     // may take devices of which another name is held
  bool counts_takes = false;                       // devices that take something of their node are usable
  std::shared_ptr<const inventory::ShareAsk> ask;  // which shares of devices it may have; null: any
  MaskTable masks;
  std::unordered_map<uint64_t, CapacityFit> fits;  // by shape
  std::unordered_map<inventory::Hash128, SliceAnswer, inventory::Hash128Hash> answers;
  uint64_t answers_epoch = 0;
  uint64_t last_used = 0;  // Filters::clock_
  size_t bytes = 0;        // of masks, answers and fits
};

class Filters {
 public:
  static constexpr size_t kMaxFilters = 2048;
  static constexpr size_t kFewestBytes = 3u << 20, kMostBytes = 8u << 20;
  static constexpr size_t kKeptFilters = 64, kBytesOfAPool = 96;  // a mask of some hundred devices with its place
  static constexpr size_t kMaxTextBytes = 8u << 20;

  // All arguments except the texts must outlive this.
  Filters(inventory::DeviceIndex& device_index, Selectors& selectors, std::vector<std::string> ignored_taints,
          Meter& meter, DeferredFrees& frees)
      : device_index_(device_index),
        selectors_(selectors),
        ignored_taints_(std::move(ignored_taints)),
        meter_(meter),
        deferred_frees_(frees) {}

  FilterId intern(Filter filter);
  Filter& get(FilterId id) { return *filters_[id]; }
  const Filter& of(FilterId id) const { return *filters_[id]; }
  // Null: the slice ended first, by its limit or because max_bytes() were made in it. Results so far are kept, so that
  // the next call continues.
  const FilterMask* mask(FilterId id, const inventory::Pool& pool) {
    Filter& filter = *filters_[id];
    const FilterMask* kept = filter.masks.find(pool.id);
    return kept != nullptr && is_ready(*kept, pool) ? kept : make_mask(filter, pool);
  }
  // True if mask() need not visit devices.
  bool has_mask(FilterId id, const inventory::Pool& pool) const {
    const FilterMask* kept = filters_[id]->masks.find(pool.id);
    return kept != nullptr && is_ready(*kept, pool);
  }
  const CapacityFit& fit(Filter& filter, const inventory::CapacityShape& shape);
  // The first NoSchedule or NoExecute taint that excludes the device for this filter, or null.
  const api::DeviceTaint* untolerated(const Filter& filter, const inventory::Pool& pool, uint32_t device) const;
  // The disabled gate that makes the device unusable; empty if there is none.
  std::string disabled_feature(const inventory::Pool& pool, uint32_t device) const;
  // Too many filters: the owner should call clear() when no FilterId is in use.
  bool full() const { return filters_.size() > kMaxFilters || text_bytes_ > kMaxTextBytes; }
  void clear();
  // The devices of the pool that are free for this filter.
  const uint64_t* available(FilterId id, const inventory::Pool& pool) const {
    return pool.available(filters_[id]->shares_silicon);
  }
  // Whether the filter's request may share the device with those who have a share of it.
  bool may_share(FilterId id, const inventory::Pool& pool, uint32_t device, std::string* why = nullptr) {
    const inventory::ShareAsk* ask = filters_[id]->ask.get();
    if (ask == nullptr || !pool.shareable(device)) return true;
    const inventory::ShareTaker taker{ask, &fit(*filters_[id], pool.shape(device)).amounts};
    return device_index_.shares().admits(pool, device, {&taker, 1}, why);
  }
  // Marks the filter as used now. Masks of the least recently used filters are dropped first.
  void touch(FilterId id) { filters_[id]->last_used = ++clock_; }
  // Of masks, answers and fits, after trim(): those of about kKeptFilters, so that in a small fleet a tenant's
  // selectors do not fill what a large one needs.
  size_t max_bytes() const {
    return std::clamp<size_t>(device_index_.pool_slots() * kKeptFilters * kBytesOfAPool, kFewestBytes, kMostBytes);
  }
  // Drops masks, answers and fits beyond max_bytes(). Call it when none of them is in use.
  void trim();
  size_t bytes() const { return bytes_; }

 private:
  static bool is_ready(const FilterMask& mask, const inventory::Pool& pool) {
    return mask.ready_ && mask.table_version == pool.table_version;
  }
  void drop_answers(Filter& filter);
  void drop_made(Filter& filter);
  const FilterMask* make_mask(Filter& filter, const inventory::Pool& pool);
  void begin_mask(Filter& filter, const inventory::Pool& pool, FilterMask& mask);
  void drop_unusable(const Filter& filter, const inventory::Pool& pool, FilterMask& mask);
  const SliceAnswer* answer(Filter& filter, const inventory::Pool& pool, size_t slice);
  bool go_on(Filter& filter, const inventory::Pool& pool, size_t slice, SliceAnswer& made);
  bool judge(Filter& filter, const inventory::Pool& pool, uint32_t device, uint32_t& next, Truth& truth);
  void account(Filter& filter, size_t more) {
    filter.bytes += more;
    bytes_ += more;
  }

  inventory::DeviceIndex& device_index_;
  Selectors& selectors_;
  std::vector<std::string> ignored_taints_;
  std::vector<std::unique_ptr<Filter>> filters_;
  std::unordered_map<std::string, FilterId> index_;
  Meter& meter_;
  DeferredFrees& deferred_frees_;
  size_t bytes_ = 0;
  size_t text_bytes_ = 0;  // of tolerations and capacity requests
  uint64_t clock_ = 0;
};

}  // namespace dra::allocator
