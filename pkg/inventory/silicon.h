// Silicon: which devices are one piece of hardware under several names, and so cannot be given out while another of
// these names is held (docs/design/identity.md).
//
// Kept by node, because values meet on one node only: what is published there, what is recorded of its holders, and the
// devices without a node that share a value with either. A node on which no two names can exclude each other (one pool,
// no types that exclude each other, every record as published) is `plain`: it costs a few loads a change. Everything is
// up to date after each call of DeviceIndex.
//
// Sets, in each pool, the devices that something held excludes (Pool::excluded) and those that belong to the device
// plugin (Pool::plugins). Owned by DeviceIndex, whose thread it shares.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "pkg/identity/record.h"
#include "pkg/identity/rules.h"
#include "pkg/inventory/held_record.h"
#include "pkg/inventory/pool.h"

namespace dra::inventory {

class DeviceIndex;

// Two devices of a node that are not given out together: numbers in their pools.
struct RivalPair {
  PoolId pool = 0;
  uint32_t device = 0;
  PoolId other_pool = 0;
  uint32_t other = 0;
};

// The drivers whose devices on a node belong to the device plugin, each with the reason, for people.
using PluginDrivers = std::map<std::string, std::string, std::less<>>;

class Silicon {
 public:
  // Pairs of names that share one value on a node, of different pools or of a driver with types that exclude each
  // other. A card that is published by two drivers, with all its partitions, has a few thousand at most. If there are
  // more, none of these devices is given out: comparing them would take long.
  static constexpr size_t kMaxPairs = 100'000;

  // Both must outlive this.
  Silicon(DeviceIndex& device_index, Strings& strings);
  ~Silicon();
  Silicon(const Silicon&) = delete;
  Silicon& operator=(const Silicon&) = delete;

  // ---- changes, from DeviceIndex
  const identity::Rules& rules() const { return rules_; }
  // All slices are judged anew.
  void set_rules(const identity::Rules& rules);
  bool concerns(const SliceTable& slice) const;
  // `by`: 1: it was added; -1: it is gone, and is destroyed before settle().
  void note_slice(const Pool& pool, const SliceTable& slice, int by = 0);
  // The second replaces the first, which is destroyed soon: what is read of it is kept if nothing of that changed.
  void note_replaced(const SliceTable& gone, const SliceTable& added) const;
  void note_node(NodeId node);
  void note_pool(const Pool& pool);
  void note_holder(const Pool& pool, StrId device);
  void note_record(const Pool& pool, StrId device, const HolderRef& holder, bool added);
  // The drivers whose devices on this node belong to the device plugin.
  void set_plugin_drivers(const std::string& node, PluginDrivers drivers);
  void settle();
  // The drivers of devices that neither something held nor a device plugin keeps from requests any more, since the last
  // take_freed(). `callback` is called when there is the first one, in the middle of a change.
  void on_freed(std::function<void()> callback) { freed_callback_ = std::move(callback); }
  std::set<std::string> take_freed() { return std::exchange(freed_, {}); }
  // While on: take_published() has the nodes of whose devices slices came, changed or went since its last call.
  void track_published(bool on);
  std::set<NodeId> take_published() { return std::exchange(published_, {}); }

  // ---- answers
  // Pairs on the node, each once.
  std::vector<RivalPair> rivals(NodeId node) const;
  bool any_rivals(NodeId node) const;
  // Why the device is excluded: the first holder by name, and the least value by which they conflict.
  struct Reason {
    DeviceName holder;
    std::string value;
    std::vector<ClaimIndex> claims{};  // that hold it
  };
  std::optional<Reason> why_excluded(const Pool& pool, uint32_t device) const;
  // As in `rivals`: "pci 0000:1a:00.0".
  std::string shared_text(const Pool& pool, uint32_t device, const Pool& other_pool, uint32_t other) const;
  // The driver by which the device, or one that it conflicts with, is the plugin's; empty: it is not.
  std::string plugin_driver(const Pool& pool, uint32_t device, std::string_view node) const;
  // By node: the drivers of set_plugin_drivers().
  const std::map<std::string, PluginDrivers, std::less<>>& plugin_nodes() const { return plugin_; }
  // Each published device with this node.
  void each_device_of(NodeId node, const std::function<void(const Pool&, uint32_t)>& f) const;
  // What is recorded of a published device in an allocation; nothing if it has no values.
  std::optional<identity::Record> record_of(const Pool& pool, uint32_t device) const;
  // Whether there is one.
  bool names(const SliceTable& slice, uint32_t local) const;

  struct Findings {
    std::vector<std::pair<DeviceName, std::string>> malformed;  // and the attribute
    std::vector<DeviceName> changed, unknown;                   // held devices
  };
  // Of all slices and holders; visits everything.
  Findings findings() const;
  // Two held devices that are one piece of silicon.
  struct Double {
    DeviceName device, other;
    std::string value;
    std::vector<ClaimIndex> claims, other_claims;
  };
  // Those in which this device takes part. `observed_only`: without what is assumed.
  std::vector<Double> doubles(const Pool& pool, StrId device, bool observed_only) const;

 private:
  struct Entry {  // a published device with values
    PoolId pool = 0;
    DeviceRef ref = 0;
    const SliceTable* slice = nullptr;
    uint32_t local = 0;
    bool wide = false;
  };
  struct NodeState {
    bool built = false;
    bool full = false;    // entries and edges are there
    bool marked = false;  // some device of the node may be excluded or the plugin's
    std::vector<Entry> entries;
    std::vector<uint32_t> first_edge;  // by entry
    std::vector<uint32_t> edges;
    std::map<uint32_t, StrId> crowded;  // entries, and the value of which there are too many names (kMaxPairs)
    std::vector<std::pair<PoolId, StrId>> excludes, plugs;  // devices without a node

    // Built, so far with nothing.
    void begin(bool in_full);
  };
  struct Held {  // a held name, with all that is known of it
    const Pool* pool = nullptr;
    StrId device = kNoStr;
    const std::vector<HolderRef>* holders = nullptr;
  };
  using Name = std::pair<PoolId, StrId>;
  struct NameHash {
    size_t operator()(const Name& name) const {
      return (uint64_t{name.first} << 32 | name.second) * 0x9e3779b97f4a7c15ull;
    }
  };

  const SliceFaces& faces(const SliceTable& slice) const;
  const SliceFaces& faces(const Entry& entry) const { return faces(*entry.slice); }
  const Pool& pool_of(const Entry& entry) const;
  bool exclusive(const Pool& pool, StrId type, StrId other) const;
  bool conflict(const Entry& a, const Entry& b) const;
  template <class F>
  void each_local(NodeId node, F&& f) const;
  template <class F>
  void each_wide(F&& f) const;
  template <class F>
  void each_record_at(const std::string& node, F&& f) const;
  void mark(NodeId node, bool structure);
  void mark_all();
  void mark_wide_holder();
  void mark_recorded(const Pool& pool, const SliceTable& slice);
  NodeState& state(NodeId node);
  bool is_plain(NodeId node) const;
  bool as_published(const Pool& pool, StrId device, const HeldRecord& record) const;
  void build(NodeId node, NodeState& state, bool full);
  void link_wide(NodeId node, NodeState& state);
  void add_edges(NodeState& state);
  void settle_node(NodeId node);
  void judge(NodeId node, NodeState& state, std::vector<uint8_t>& excluded, std::vector<uint8_t>& plugged);
  // What is recorded of the holder, against a published device.
  bool record_excludes(const Pool& pool, StrId device, const HeldRecord& record, const Entry& entry,
                       std::vector<std::string>* values) const;
  void apply(NodeId node, NodeState& state, const std::vector<uint8_t>& excluded, const std::vector<uint8_t>& plugged);
  void clear_marks(NodeId node);
  void set_marks(Pool& pool, uint32_t device, bool excluded, bool plugins);
  void contribute(std::vector<Name>& before, std::vector<Name> now,
                  std::unordered_map<Name, uint32_t, NameHash>& counts, bool plugin);
  bool counts(const HolderRef& holder) const;
  void append_shared(const identity::Face& a, const identity::Face& b, std::vector<std::string>& values) const;
  std::vector<std::string> why_conflict(const Held& held, const Entry& entry) const;
  std::vector<Held> held_near(NodeId node) const;
  std::optional<Reason> why_crowded(const Entry& entry, NodeId node) const;
  std::optional<Entry> entry_of(const Pool& pool, uint32_t device) const;

  DeviceIndex& device_index_;
  Strings& strings_;
  identity::Rules rules_;
  std::vector<SiliconKey> keys_;                   // sorted
  std::vector<StrId> kept_;                        // references of keys and namespaces
  std::vector<std::unique_ptr<NodeState>> nodes_;  // by NodeId
  NodeState wide_;                                 // of devices without a node among each other
  std::vector<NodeId> dirty_;
  bool wide_dirty_ = false;
  bool wide_stale_ = false;  // wide_values_ is to be made anew
  std::unordered_map<StrId, std::vector<Entry>> wide_values_;
  std::set<NodeId> linked_;  // nodes with devices that share a value with one without a node
  std::map<std::string, std::map<Name, uint32_t>, std::less<>> records_;  // by node ("": none): names, and by how many
  std::map<std::string, PluginDrivers, std::less<>> plugin_;              // by node
  std::set<std::string> freed_;
  bool tracks_published_ = false;
  std::set<NodeId> published_;
  std::function<void()> freed_callback_;
  std::unordered_map<Name, uint32_t, NameHash> wide_excluded_, wide_plugged_;
  size_t silicon_slices_ = 0;
};

}  // namespace dra::inventory
