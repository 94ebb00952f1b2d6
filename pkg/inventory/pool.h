// Pool: the slices of one (driver, pool name) put together, and the state of its devices.
//
// Devices are numbered 0..n-1 in allocation order: slices by name, then list position. The *table* part (which devices
// exist, counters, validity) is rebuilt when a slice changes; the *use* part follows holders one device at a time.
// Holders are kept by device name, so they survive rebuilds and may come before the slices.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "pkg/inventory/bits.h"
#include "pkg/inventory/inventory.h"
#include "pkg/inventory/slice_table.h"

namespace dra::inventory {

using ClaimIndex = uint32_t;

struct HolderRef {
  ClaimIndex claim = 0;
  StrId share = kNoStr;
  bool observed = false;
  bool assumed = false;
  std::vector<std::pair<StrId, Amount>> consumed;  // by capacity name; of shared devices
};

struct Counter {
  StrId set = kNoStr;
  StrId name = kNoStr;
  Amount total = 0;
  Amount consumed = 0;
};

struct CounterUse {
  uint32_t counter;  // into Pool::counters
  uint32_t pad = 0;
  Amount amount;
};

class Pool {
 public:
  Pool(PoolId pool_id, std::string_view driver, std::string_view name, Strings& strings);
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // ---- table
  void put_slice(std::unique_ptr<SliceTable> slice);
  void remove_slice(const std::string& slice_name);
  bool has_slices() const { return !slices_.empty(); }
  // Rebuilds everything from slices and holders. Cost: the pool's devices.
  void rebuild(const Features& features);

  uint32_t size() const { return size_; }
  size_t words() const { return words_for(size_); }
  const SliceTable& slice_of(uint32_t device, uint32_t* local) const {
    size_t s = live_.size() == 1 ? 0 : slice_index(device);
    *local = device - first_[s];
    return *live_[s];
  }
  const std::vector<const SliceTable*>& live() const { return live_; }
  uint32_t first_of(size_t slice) const { return first_[slice]; }
  uint8_t flags(uint32_t device) const {
    uint32_t local;
    return slice_of(device, &local).flags[local];
  }
  bool shareable(uint32_t device) const { return consumable_ && (flags(device) & kMultiple) != 0; }
  bool any_shareable() const { return any_shareable_; }
  const CapacityShape& shape(uint32_t device) const {
    uint32_t local;
    const SliceTable& slice = slice_of(device, &local);
    return *slice.shapes[slice.shape_of[local]];
  }
  StrId device_name(uint32_t device) const {
    uint32_t local;
    const SliceTable& slice = slice_of(device, &local);
    return slice.names[local];
  }
  StrId attribute(uint32_t device, StrId key) const {
    uint32_t local;
    const SliceTable& slice = slice_of(device, &local);
    return slice.attribute(local, key);
  }
  const Where& where(uint32_t device) const {
    uint32_t local;
    return slice_of(device, &local).where_of(local);
  }
  // Complete, incomplete or invalid, as far as this device is concerned (see Features::stale_generations).
  PoolState state_of(uint32_t device) const { return device >= stale_first_ ? PoolState::kComplete : state; }
  // The first device of an older generation; size() when there are none.
  uint32_t stale_first() const { return stale_first_; }
  // Every number of a device's name: one, or one more a stale generation.
  template <class F>
  void for_each_named(StrId device_name, F&& f) const {
    auto it = std::lower_bound(by_name_.begin(), by_name_.end(), std::pair<StrId, uint32_t>(device_name, 0));
    for (; it != by_name_.end() && it->first == device_name; ++it) f(it->second);
  }
  // kNone when the pool publishes no such device.
  uint32_t find_device(StrId name) const;
  const CounterUse* uses_begin(uint32_t device) const { return uses_.data() + use_first_[device]; }
  const CounterUse* uses_end(uint32_t device) const { return uses_.data() + use_first_[device + 1]; }
  const uint32_t* users_begin(uint32_t counter) const { return users_.data() + user_first_[counter]; }
  const uint32_t* users_end(uint32_t counter) const { return users_.data() + user_first_[counter + 1]; }

  // ---- use
  // The state of one device after its holders changed.
  void refresh_device(uint32_t device);
  // Exclusive: held at all; shared: held without a share.
  const uint64_t* in_use() const { return in_use_.data(); }
  // Held by anybody: its counters are taken.
  const uint64_t* charged() const { return charged_.data(); }
  // Not in use, and its counters fit (or are taken already).
  const uint64_t* available() const { return available_.data(); }
  const std::vector<Counter>& counters() const { return counters_; }
  // What holders consume of a shared device, by entry of its shape; null: nothing.
  const std::vector<Amount>* shared(uint32_t device) const {
    if (shared_.empty()) return nullptr;
    auto it = shared_.find(device);
    return it == shared_.end() ? nullptr : &it->second;
  }
  bool any_shared() const { return !shared_.empty(); }
  std::vector<Amount> sum_consumed(uint32_t device, const std::vector<HolderRef>& holders, Layer layer) const;
  bool counters_fit(uint32_t device) const {
    for (const CounterUse* use = uses_begin(device); use != uses_end(device); ++use)
      if (counters_[use->counter].total - counters_[use->counter].consumed < use->amount) return false;
    return true;
  }

  const PoolId id;
  const StrId driver;
  const StrId name;
  std::string driver_text;
  std::string name_text;

  // Results of rebuild().
  PoolState state = PoolState::kIncomplete;
  std::string reason;
  int64_t generation = 0;
  int64_t announced = 0;
  int64_t seen = 0;
  int64_t obsolete = 0;
  StrId local_node = kNoStr;  // all device slices name this node
  std::string local_node_text;
  std::vector<StrId> node_names;  // nodes named by slices or devices, unique; no references of its own
  bool wide = false;              // some slice or device is usable by selector or on all nodes
  bool has_conditions = false;
  // Unique over all pools and time: changes with every rebuild (and taint rule that touches the pool).
  uint64_t table_version = 0;

  std::unordered_map<StrId, std::vector<HolderRef>> holders;

 private:
  friend class Audit;
  size_t slice_index(uint32_t device) const;
  void choose_generation(const Features& features);
  void add_stale_generations();
  bool usable_though_stale(int64_t older, std::vector<const SliceTable*>* found) const;
  void number_devices();
  void build_counters(const Features& features);
  void summarise_places();
  void rebuild_use();
  void set_charged(uint32_t device, bool on);
  void refresh_available(uint32_t device);
  void invalidate(std::string text);

  Strings& strings_;
  bool consumable_ = true;
  bool any_shareable_ = false;
  std::map<std::string, std::unique_ptr<SliceTable>, std::less<>> slices_;
  std::vector<const SliceTable*> live_;  // with devices, of the highest generation, by name
  std::vector<const SliceTable*> counter_slices_;
  std::vector<uint32_t> first_;
  uint32_t size_ = 0;
  size_t stale_slices_ = 0;  // at the end of live_
  uint32_t stale_first_ = 0;
  std::vector<std::pair<StrId, uint32_t>> by_name_;
  std::vector<Counter> counters_;
  std::vector<uint32_t> use_first_;
  std::vector<CounterUse> uses_;
  std::vector<uint32_t> user_first_;
  std::vector<uint32_t> users_;
  Words in_use_, charged_, available_;
  std::unordered_map<uint32_t, std::vector<Amount>> shared_;
};

}  // namespace dra::inventory
