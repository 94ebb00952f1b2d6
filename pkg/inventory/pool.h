// Pool: the slices of one (driver, pool name) combined, and the state of its devices.
//
// Devices are numbered 0..n-1 in allocation order: slices by name, then list position. Adding, changing or removing a
// slice costs its own devices, the users of the counter sets it touches, and one word per 64 devices of the pool; only
// a change of the highest generation visits all devices. Holders are keyed by device name, so they survive every change
// of slices and may precede them.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "pkg/inventory/bits.h"
#include "pkg/inventory/device.h"
#include "pkg/inventory/device_names.h"
#include "pkg/inventory/features.h"
#include "pkg/inventory/slice_table.h"

namespace dra::inventory {

using ClaimIndex = uint32_t;

struct HeldRecord;

struct HolderRef {
  ClaimIndex claim = 0;
  StrId share = kNoStr;
  StrId terms = kNoStr;  // of a share: whose, and with which parameters (shares.h)
  bool observed = false;
  bool assumed = false;
  // Its allocation has a field that this build does not know: nobody else gets more of the device.
  bool opaque = false;
  std::vector<std::pair<StrId, Amount>> consumed;  // by capacity name; of shared devices
  std::shared_ptr<const HeldRecord> record;        // what the allocation remembers of the device (silicon.h); or null
};

// Shares of one device that agree in their terms.
struct SharedTerms {
  StrId terms = kNoStr;
  uint32_t shares = 0;
  std::vector<Amount> sums;  // what they consume, by entry of the device's shape
  bool operator==(const SharedTerms&) const = default;
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

// What a pool is to one node, or as a whole.
struct Judgement {
  PoolState state = PoolState::kComplete;
  std::string reason;  // unless complete: as PoolInfo::reason
};

class Pool {
 public:
  // `features` must outlive the pool.
  Pool(PoolId pool_id, std::string_view driver, std::string_view name, Strings& strings, const Features& features);
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // ---- table
  // Returns the slice that was replaced or removed, or null. Numbers of texts that are no longer used stay valid until
  // it is destroyed.
  std::unique_ptr<SliceTable> put_slice(std::unique_ptr<SliceTable> slice);
  std::unique_ptr<SliceTable> remove_slice(std::string_view slice_name);
  bool has_slices() const { return !slices_.empty(); }
  const std::map<std::string, std::unique_ptr<SliceTable>, std::less<>>& slices() const { return slices_; }
  // Nodes that slices and devices began and stopped naming since the last call. A node in both lists is named now.
  struct NodeChanges {
    std::vector<StrId> left, entered;
  };
  NodeChanges take_node_changes() { return std::exchange(node_changes_, {}); }

  uint32_t size() const { return size_; }
  size_t words() const { return words_for(size_); }
  const SliceTable& slice_of(uint32_t device, uint32_t* local) const {
    size_t s = slice_index(device);
    *local = device - first_[s];
    return *live_[s];
  }
  const std::vector<const SliceTable*>& live() const { return live_; }
  uint32_t first_of(size_t slice) const { return first_[slice]; }
  uint8_t flags(uint32_t device) const {
    uint32_t local;
    return slice_of(device, &local).flags[local];
  }
  bool shareable(uint32_t device) const { return features_.consumable && (flags(device) & kMultiple) != 0; }
  bool any_shareable() const { return shareable_slices_ > 0; }
  // Why the device is refused, whatever holds it: it or its pool has a field that this build does not know. Empty: it
  // is not.
  const std::string& why_refused(uint32_t device) const;
  bool refuses(uint32_t device) const { return !refused.empty() || (flags(device) & kRefused) != 0; }
  // What the device takes of its node, if that is all that refuses it; null: it takes nothing, or stays refused.
  const NodeTakes* takes(uint32_t device) const;
  // The same for a request that counts what devices take of their node.
  bool refuses_even_counted(uint32_t device) const { return refuses(device) && takes(device) == nullptr; }
  bool refuses_any() const { return !refused.empty() || refuses_some; }
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
  // Nodes may judge the pool differently from `state`, each by the slices that it can use: see judge_for().
  bool differs_by_node() const { return differs_; }
  // What the pool is to a node for which exactly these slices of the highest generation matter: those usable there, and
  // all with counters. If they are as many as they announce, they are the pool; otherwise all slices of their
  // generation count. A pool that is complete as a whole is complete for every node.
  Judgement judge_for(const std::vector<const SliceTable*>& relevant) const;
  // The slices by the nodes that they name.
  struct Places {
    std::unordered_map<StrId, std::vector<const SliceTable*>> newest_of;  // of the highest generation, without counters
    std::vector<const SliceTable*> newest_others;                         // that name no node as a whole, or counters
    std::unordered_map<StrId, std::vector<uint32_t>> live_of;             // positions in live()
    std::vector<uint32_t> live_others;
  };
  // Made at the first call after a change.
  const Places& places() const;
  // The first device of an older generation that its node still uses; size() if there is none. Such devices are usable
  // whatever `state` says (see Features::stale_generations).
  uint32_t stale_first() const { return stale_first_; }
  // Every number of a device's name: one, plus one per stale generation.
  template <class F>
  void for_each_named(StrId device_name, F&& f) const {
    for (DeviceRef ref = names_.find(device_name); ref != kNoDevice; ref = names_.next(ref)) f(number_of(ref));
  }
  // A device's place while its slice is there, whatever its number.
  uint32_t number_of(DeviceRef ref) const { return first_[positions_[slot_in(ref)]] + local_in(ref); }
  DeviceRef ref_of(uint32_t device) const {
    const size_t s = slice_index(device);
    return device_ref(part_slots_[s], device - first_[s]);
  }
  // The lowest number; kNone if the pool publishes no such device.
  uint32_t find_device(StrId name) const;
  // The counters a device consumes. If the pool does not publish all of them, they are kUnpublished.
  const CounterUse* uses_begin(uint32_t device) const { return use_at(device, 0); }
  const CounterUse* uses_end(uint32_t device) const { return use_at(device, 1); }

  // ---- use
  // Updates the state of one device after its holders changed.
  void refresh_device(uint32_t device);
  // Exclusive devices: held at all; shared devices: held without a share and without consumed capacity, or by an
  // allocation with an unknown field.
  const uint64_t* in_use() const { return in_use_.data(); }
  // Held by any claim: its counters are taken.
  const uint64_t* charged() const { return charged_.data(); }
  // Not in use, its counters fit (or are already taken), and nothing held is the same silicon, nor is it the device
  // plugin's.
  const uint64_t* available() const { return available_.data(); }
  // The same, whatever holds the same silicon: for requests that share it.
  const uint64_t* available(bool shares_silicon) const { return shares_silicon ? open_.data() : available_.data(); }
  // See Silicon.
  bool is_excluded(uint32_t device) const { return test_bit(excluded_.data(), device); }
  bool is_plugins(uint32_t device) const { return test_bit(plugins_.data(), device); }
  const uint64_t* excluded() const { return excluded_.data(); }
  const uint64_t* plugins() const { return plugins_.data(); }
  // Whether something changed.
  bool set_silicon(uint32_t device, bool excluded, bool plugins);
  // Some entries may be unused. kUnpublished represents counters that no slice publishes (the pool is not complete).
  static constexpr uint32_t kUnpublished = 0;
  const std::vector<Counter>& counters() const { return counters_; }
  // What holders consume of a shared device, by entry of its shape; null: nothing.
  const std::vector<Amount>* shared(uint32_t device) const {
    if (shared_.empty()) return nullptr;
    auto it = shared_.find(ref_of(device));
    return it == shared_.end() ? nullptr : &it->second;
  }
  bool any_shared() const { return !shared_.empty(); }
  // Who shares the device, in no order; null: nobody.
  const std::vector<SharedTerms>* shared_terms(uint32_t device) const {
    if (shared_terms_.empty()) return nullptr;
    auto it = shared_terms_.find(ref_of(device));
    return it == shared_terms_.end() ? nullptr : &it->second;
  }
  std::vector<SharedTerms> sum_terms(uint32_t device, const std::vector<HolderRef>& holders) const;
  std::vector<Amount> sum_consumed(uint32_t device, const std::vector<HolderRef>& holders, Layer layer) const;
  bool counters_fit(uint32_t device) const {
    const CounterUse* end = uses_end(device);
    for (const CounterUse* use = uses_begin(device); use != end; ++use)
      if (counters_[use->counter].total - counters_[use->counter].consumed < use->amount) return false;
    return true;
  }
  // Some slice that counts has compatibility groups, and their gate is on.
  bool any_groups() const { return grouped_parts_ > 0; }
  // Calls f(StrId set, const Groups&) for each counter set that the device draws on.
  template <class F>
  void for_each_set(uint32_t device, F&& f) const {
    uint32_t local;
    const SliceTable& slice = slice_of(device, &local);
    if (!features_.partitionable) return;
    for (StrId set : sets_of(slice, slice.use_first[local], slice.use_first[local + 1]))
      f(set, groups_of(slice, local, set));
  }
  // Kept only while any_groups().
  const GroupState& groups_in_use(StrId set) const;
  // Beside the devices in use, which may include this one.
  bool groups_fit(uint32_t device) const;
  // How many of the devices in `among` can be allocated now, all together: not in use and with capacity left; of
  // devices that share counters, those that fit together, in order.
  uint32_t count_free(const uint64_t* among) const;
  // Every device can be used on every node.
  bool everywhere() const { return everywhere_slices_ == live_.size(); }

  const PoolId id;
  const StrId driver;
  const StrId name;
  std::string driver_text;
  std::string name_text;

  // The combined content of the slices.
  PoolState state = PoolState::kIncomplete;
  std::string reason;
  // Of the slices of the highest generation: why the whole pool is refused; empty if it is not. `refuses_some`: a
  // device is.
  std::string refused;
  bool refuses_some = false;
  int64_t generation = 0;
  int64_t announced = 0;
  int64_t seen = 0;
  int64_t obsolete = 0;
  StrId local_node = kNoStr;  // the node, if all device slices name the same one
  std::string local_node_text;
  std::vector<StrId> node_names;  // nodes named by slices or devices, unique; no references of its own
  bool wide = false;              // some slice or device is usable by selector or on all nodes
  bool has_conditions = false;
  // Unique over all pools and time: changes with every change of the table (and of a taint rule for the pool).
  uint64_t table_version = 0;

  std::unordered_map<StrId, std::vector<HolderRef>> holders;

 private:
  friend class Audit;

  // The slices of one generation.
  struct Generation {
    struct ByName {
      bool operator()(const SliceTable* a, const SliceTable* b) const { return a->name < b->name; }
    };
    std::set<const SliceTable*, ByName> slices;
    std::map<int64_t, uint32_t> announced;              // announced numbers of slices, and by how many
    std::set<const SliceTable*, ByName> unusable;       // with a problem
    std::set<const SliceTable*, ByName> hidden;         // that are not seen
    std::set<const SliceTable*, ByName> refusing;       // that refuse the pool
    std::set<const SliceTable*, ByName> refusing_some;  // that refuse devices
    size_t not_of_one_node = 0;                         // slices with counters, or that do not name one node as a whole
    // Nodes of slices without counters (those matter to every node), kNoStr for all nodes; and by how many slices.
    std::map<StrId, uint32_t> places;
    size_t elsewhere = 0;  // of those, slices of some nodes, or of a node for each device
    bool differ_in_place() const { return elsewhere > 0 || places.size() > 1; }
    void count_place(const SliceTable& slice, int by);
  };
  // A slice that counts and has devices.
  struct Part {
    const SliceTable* table = nullptr;
    uint32_t slot = 0;
    bool stale = false;
    uint32_t unpublished = 0;      // uses of counters that no slice publishes
    std::vector<CounterUse> uses;  // as SliceTable::uses
  };
  struct CounterSet {
    // The slices that publish it, by name; one unless the pool is published wrongly. The first one counts.
    std::vector<std::pair<const SliceTable*, const CounterSetTable*>> publishers;
    std::vector<std::pair<StrId, uint32_t>> counters;  // name; into counters_
    std::vector<DeviceRef> users;                      // devices that consume from it, each once
    GroupState in_use;                                 // only while any_groups()
  };

  // pool.cc: which slices count
  void enlist(const SliceTable& slice);
  void strike(const SliceTable& slice);
  void update_live(const SliceTable* gone, const SliceTable* added);
  bool counts(const SliceTable& slice) const;
  void bring_in(const SliceTable& slice);
  void take_out(const SliceTable& slice);
  std::set<const SliceTable*> usable_though_stale() const;
  void drop_stale_except(const std::set<const SliceTable*>& wanted);
  void judge();
  std::string nodes_that_publish() const;
  void judge_refusals(const Generation& newest);

  // pool_parts.cc: the devices of a slice that counts
  bool has_groups(const SliceTable& slice) const;
  void add_part(const SliceTable& slice, bool stale);
  void remove_part(size_t position);
  void clear_parts();
  void renumber(size_t position);
  void count_names(const SliceTable& slice, bool added);
  void count_places(const SliceTable& slice, int by);
  void count_place(const Where& place, int by);
  void summarise_places();
  size_t slice_index(uint32_t device) const {
    if (live_.size() == 1) return 0;
    size_t s = slice_at_[device >> 6];
    while (s + 1 < first_.size() && first_[s + 1] <= device) ++s;
    return s;
  }
  bool held(StrId device_name) const {
    auto it = holders.find(device_name);
    return it != holders.end() && !it->second.empty();
  }
  void set_held(uint32_t device);
  bool used_up(uint32_t device) const;
  void refresh_available(uint32_t device);

  // pool_counters.cc
  const CounterUse* use_at(uint32_t device, uint32_t after) const {
    const size_t s = slice_index(device);
    const Part& part = *parts_[s];
    return part.uses.empty() ? nullptr : part.uses.data() + part.table->use_first[device - first_[s] + after];
  }
  void publish(const SliceTable& slice);
  void withdraw(const SliceTable& slice);
  void define(StrId set_name, CounterSet& set);
  uint32_t new_counter();
  uint32_t counter_of(StrId set, StrId counter) const;
  void connect(Part& part);
  void disconnect(Part& part);
  void reconnect(DeviceRef ref, StrId set_name);
  void count_unpublished(Part& part, int by);
  void charge(uint32_t device, bool on);
  void refresh_users(const std::vector<StrId>& set_names);

  // pool_groups.cc
  static const Groups& groups_of(const SliceTable& slice, uint32_t local, StrId set);
  GroupState add_up_groups(StrId set_name, const CounterSet& set) const;
  void refresh_all_groups();
  bool fits_in_use(uint32_t device) const {
    return counters_fit(device) && (grouped_parts_ == 0 || groups_fit(device));
  }

  std::vector<StrId> sets_of(const SliceTable& slice, uint32_t first_use, uint32_t last_use) const;
  void drop_if_idle(StrId set_name);
  // `among`: only these slices; null: all.
  std::string unpublished_reason(const std::vector<const SliceTable*>* among) const;

  Strings& strings_;
  const Features& features_;
  std::map<std::string, std::unique_ptr<SliceTable>, std::less<>> slices_;
  std::map<int64_t, Generation> generations_;

  // By position: slices that count and have devices, by name; slices of older generations at the end.
  std::vector<const SliceTable*> live_;
  std::vector<std::unique_ptr<Part>> parts_;
  std::vector<uint32_t> part_slots_;
  std::vector<uint32_t> first_;
  std::vector<uint32_t> slice_at_;   // by device / 64: the position of the slice of the first of these devices
  std::vector<Part*> slots_;         // null: free
  std::vector<uint32_t> positions_;  // by slot
  std::vector<uint32_t> free_slots_;
  uint32_t size_ = 0;
  size_t stale_parts_ = 0;
  size_t grouped_parts_ = 0;
  uint32_t stale_first_ = 0;
  bool differs_ = false;
  mutable Places by_place_;
  mutable bool placed_ = false;  // by_place_ is made
  DeviceNames names_;
  std::map<std::string_view, uint32_t> twice_;  // names that the highest generation repeats, with counts

  std::unordered_map<StrId, uint32_t> places_;  // into node_names
  std::vector<uint32_t> place_users_;           // by node_names: number of slices and devices that name it
  NodeChanges node_changes_;
  size_t wide_places_ = 0;
  size_t node_slices_ = 0;  // slices usable on one node as a whole
  size_t everywhere_slices_ = 0;
  size_t shareable_slices_ = 0;
  size_t conditional_slices_ = 0;

  std::vector<Counter> counters_;
  std::vector<uint32_t> free_counters_;
  std::unordered_map<StrId, CounterSet> sets_;
  std::set<std::string_view> sets_twice_;                       // published more than once
  std::map<std::string_view, const Part*> unpublished_;         // by slice: parts with such uses
  std::map<std::string_view, const SliceTable*> naming_alone_;  // by slice: with bare_sets

  Words in_use_, charged_, available_, open_, excluded_, plugins_;
  std::unordered_map<DeviceRef, std::vector<Amount>> shared_;
  std::unordered_map<DeviceRef, std::vector<SharedTerms>> shared_terms_;
};

}  // namespace dra::inventory
