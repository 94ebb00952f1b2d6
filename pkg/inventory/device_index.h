// DeviceIndex: the inventory's state as pkg/allocator and pkg/gang search in it, and the manager's device gauges count
// in it. All others use Inventory.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "pkg/base/strings.h"
#include "pkg/inventory/pool.h"
#include "pkg/inventory/shares.h"
#include "pkg/inventory/silicon.h"
#include "pkg/inventory/taint_rules.h"

namespace dra::inventory {

// A pool as one node sees it. An empty mask means every device.
struct Segment {
  PoolId pool = 0;
  Words mask;
  bool conditional = false;  // some slice relevant to the node has binding conditions: comes last
  Judgement judgement;       // not complete: none of the devices can be allocated on this node
  bool complete() const { return judgement.state == PoolState::kComplete; }
};

// The pools with something usable on a node, in allocation order (pools with binding conditions last, then driver,
// name). Includes incomplete and invalid pools.
struct NodeView {
  uint64_t stamp = 0;  // grows whenever the view is rebuilt; unique over all nodes
  std::vector<Segment> segments;
};

struct ClassEntry {
  std::shared_ptr<const api::DeviceClass> object;
  uint64_t serial = 0;  // unique; changes with every change of the class
};

// Requests of the class neither exclude devices of the same silicon nor are excluded by them.
bool shares_silicon(const api::DeviceClass& device_class);

class DeviceIndex {
 public:
  explicit DeviceIndex(const Features& features) : features_(features), shares_(strings_), silicon_(*this, strings_) {}
  ~DeviceIndex();

  const Features& features() const { return features_; }
  // Pools refer to the features and have already read some of them: see Inventory::set_features.
  void set_features(const Features& features);
  Strings& strings() { return strings_; }
  const Strings& strings() const { return strings_; }

  // ---- changes (see Inventory)
  void apply_slice(const api::ResourceSlice& slice);
  void remove_slice(std::string_view name);
  void apply_class(const api::DeviceClass& device_class);
  void remove_class(std::string_view name);
  void apply_taint_rule(const api::DeviceTaintRule& rule);
  void remove_taint_rule(std::string_view name);
  using Labels = std::shared_ptr<const api::StringMap>;  // never null
  NodeId apply_node(std::string_view name, Labels labels);
  void remove_node(std::string_view name);
  // `recorded`: identities of devices for which the allocation itself has none (pkg/identity/record.h); null: none.
  // `of`: the claim; null: unknown.
  void set_allocation(std::string_view uid, const api::AllocationResult* allocation, bool assumed,
                      const identity::Records* recorded = nullptr, const api::ResourceClaim* of = nullptr);
  void forget_all();
  // The claim is owned by another claim, with this uid; empty: by none. For the audit alone: a composite device's claim
  // and the claims for its parts hold one piece of silicon together. Forgotten with what the claim holds.
  void set_owner(std::string_view uid, std::string_view owner);
  bool owns(ClaimIndex owner, ClaimIndex claim) const;
  // Which devices are one piece of silicon.
  const Silicon& silicon() const { return silicon_; }
  // Who may share devices.
  const Shares& shares() const { return shares_; }
  void set_share_rules(const sharing::Rules& rules) { shares_.set_rules(rules); }
  void on_silicon_freed(std::function<void()> callback) { silicon_.on_freed(std::move(callback)); }
  std::set<std::string> take_silicon_freed() { return silicon_.take_freed(); }
  void track_published(bool on) { silicon_.track_published(on); }
  std::set<NodeId> take_published() { return silicon_.take_published(); }
  void set_identity_rules(const identity::Rules& rules) { silicon_.set_rules(rules); }
  void set_plugin_drivers(const std::string& node, PluginDrivers drivers) {
    silicon_.set_plugin_drivers(node, std::move(drivers));
  }

  // ---- pools
  size_t pool_slots() const { return pools_.size(); }
  // Null if the number is not in use.
  const Pool* pool(PoolId id) const { return pools_[id].get(); }
  const Pool* find_pool(std::string_view driver, std::string_view name) const;
  // Some device takes something of its node (node_takes.h).
  bool any_takes() const { return taking_slices_ > 0; }
  const std::vector<PoolId>& pools_naming(NodeId node) const { return node_at(node).named_by; }
  // What the pool is to the node; as a whole if the node sees none of its devices.
  Judgement judge(const Pool& pool, NodeId node) const;
  // What it is where the device is: to the device's node; as a whole if the device is not of one node.
  Judgement judge_device(const Pool& pool, uint32_t device) const;
  // False: no device of this slice (a position in live()) can be used on any node.
  bool may_be_usable(const Pool& pool, size_t slice) const;

  // Records, in order, every pool whose table or use changed. changes_end() is the total number of changes. Those
  // before changes_begin() are dropped; a reader that is further behind must start over.
  uint64_t changes_begin() const { return log_begin_; }
  uint64_t changes_end() const { return log_begin_ + log_.size(); }
  PoolId change(uint64_t at) const { return log_[at - log_begin_]; }
  // Grows when a pool leaves the node (or nodes) it was on, or a node's labels change: then the devices of a node may
  // have changed without a pool of that node in the change log.
  uint64_t moves_version() const { return moves_version_; }

  // ---- nodes
  // A node is known while a Node object or a pool names it. A number is given once and never again: if the name returns
  // it gets a new number, so a number kept somewhere never comes to mean another node. A number that is no longer known
  // has no name, no labels and no devices.
  NodeId find_node(std::string_view name) const;  // kNone if unknown
  bool knows(NodeId id) const { return id < nodes_.size() && nodes_[id] != nullptr; }
  const std::string& node_name(NodeId id) const { return node_at(id).name; }
  const api::StringMap& node_labels(NodeId id) const { return *node_at(id).labels; }
  size_t node_slots() const { return nodes_.size(); }  // every number ever given is below this
  size_t known_nodes() const { return node_index_.size(); }
  std::vector<NodeId> applied_nodes() const;
  // Grows when a node is added or removed, or its labels change.
  uint64_t nodes_version() const { return nodes_version_; }
  const NodeView& view(NodeId id) const;

  // ---- classes and taints
  const ClassEntry* find_class(std::string_view name) const;
  const std::map<std::string, ClassEntry, std::less<>>& classes() const { return classes_; }
  uint64_t classes_version() const { return classes_version_; }
  bool any_taints(const Pool& pool) const;
  // Taints of the slice, then taints of rules.
  std::vector<const api::DeviceTaint*> taints(const Pool& pool, uint32_t device) const;
  const TaintRules& rules() const { return rules_; }
  // Sets in `tainted` the devices with a NoSchedule or NoExecute taint, and in `barred` those with such a taint other
  // than NoSchedule with a key in `ignored`.
  void mark_tainted(const Pool& pool, std::span<const std::string> ignored, Words& tainted, Words& barred) const;

  // ---- claims
  struct HeldRef {
    PoolId pool;
    StrId device;
    StrId share;
    bool assumed;
  };
  struct ClaimUse {
    std::string uid;
    std::vector<HeldRef> held;
    bool has_assumed = false;
    uint64_t changed = 0;  // version() at its last change
  };
  const ClaimUse* find_claim(std::string_view uid) const;
  const ClaimUse& claim(ClaimIndex index) const { return claims_[index]; }
  std::optional<ClaimIndex> claim_index(std::string_view uid) const;
  size_t claim_count() const { return claim_index_.size(); }
  size_t claim_slots() const { return claims_.size(); }
  size_t slice_count() const { return slice_pool_.size(); }
  bool matches(const api::ResourceSlice& slice);
  size_t device_count() const { return device_count_; }
  uint64_t version() const { return version_; }
  // Grows with every change of what a request can be given, claims that hold devices aside.
  uint64_t tables_version() const { return next_serial_ + moves_version_ + nodes_version_ + classes_version_; }

 private:
  friend class Silicon;
  struct Node {
    NodeId id = kNone;
    std::string name;
    Labels labels = no_labels();
    bool applied = false;
    std::vector<PoolId> named_by;  // pools with a slice or device that names this node
    mutable NodeView view;
    mutable uint64_t view_named = 0, view_places = 0, view_tables = 0;  // versions that the view was built from
    uint64_t named_version = 1;
  };

  static const Labels& no_labels();
  const Node& node_at(NodeId id) const { return knows(id) ? *nodes_[id] : unknown_; }
  Node& known_node(std::string_view name);  // gives it a number if it has none
  void forget_if_unnamed(NodeId id);
  Pool& pool_for(std::string_view driver, std::string_view name);
  // The state of a pool needed to process a change of its slices.
  struct PoolBefore {
    uint32_t devices;
    NodeId node;  // the node that the pool is local to
    bool wide;
  };
  PoolBefore before_change(const Pool& pool) const;
  void after_change(Pool& pool, const PoolBefore& before);
  void take_slice(Pool& pool, std::string_view name);
  template <class F>
  void change_slices(Pool& pool, const PoolBefore& before, const SliceTable* added, F&& change);
  void drop_if_unused(Pool& pool);
  void note_change(PoolId id);
  void add_holder(Pool& pool, StrId device, ClaimIndex claim, const api::DeviceRequestAllocationResult& result,
                  bool assumed, StrId share, bool opaque, std::shared_ptr<const HeldRecord> record, StrId terms);
  void drop_layer(ClaimIndex claim, bool assumed);
  void touch_rule_pools(const api::DeviceTaintRule& rule);
  bool usable_on(const Where& place, const Node& node) const;
  NodeView make_view(const Node& node) const;
  std::optional<Segment> make_segment(const Pool& pool, const Node& node) const;
  Judgement judge_newest(const Pool& pool, const Node& node) const;

  Features features_;
  Strings strings_;
  ShapeCache shapes_;
  std::vector<std::unique_ptr<Pool>> pools_;
  std::vector<PoolId> free_pools_;
  std::unordered_map<std::string, PoolId, StringHash, std::equal_to<>> pool_index_;
  std::unordered_map<std::string, PoolId, StringHash, std::equal_to<>> slice_pool_;
  std::vector<PoolId> wide_pools_;
  size_t taking_slices_ = 0;                  // with devices that take something of their node
  std::vector<std::unique_ptr<Node>> nodes_;  // null: no longer known
  const Node unknown_;
  std::unordered_map<std::string, NodeId, StringHash, std::equal_to<>> node_index_;
  std::map<std::string, ClassEntry, std::less<>> classes_;
  TaintRules rules_;
  std::deque<ClaimUse> claims_;
  std::vector<ClaimIndex> free_claims_;
  std::unordered_map<ClaimIndex, std::string> owners_;  // of claims that a claim owns: its uid
  std::unordered_map<std::string, ClaimIndex, StringHash, std::equal_to<>> claim_index_;
  std::deque<PoolId> log_;
  uint64_t log_begin_ = 0;
  uint64_t places_version_ = 1;
  uint64_t moves_version_ = 1;
  uint64_t nodes_version_ = 1;
  uint64_t classes_version_ = 1;
  uint64_t next_serial_ = 1;
  mutable uint64_t next_stamp_ = 1;
  uint64_t version_ = 0;
  size_t device_count_ = 0;
  Shares shares_;
  Silicon silicon_;
};

}  // namespace dra::inventory
