// Inventory: which devices exist, where they can be used, and which claims hold them.
//
// Its input is objects (slices, classes, nodes, taint rules, claims); each change costs time proportional to its size.
// Slices become compact tables (slice_table.h) and are not kept, so that 800,000 devices fit into 1 GiB.
//
// Pools (KEP-4381; k8s.io/dynamic-resource-allocation/structured): all slices of one driver and pool name; only those
// of the highest generation count; a pool is complete when their number equals the announced one. If it is not, each
// node judges by the slices that it can use: they may be a complete pool by themselves (drivers that publish every node
// under one pool name). A device is still driver, pool and name: held on one node, its namesakes elsewhere are too.
// Use: each device has a multiset of holders, keyed by claim uid. A claim contributes the allocation in its status
// (`apply_claim`, the observed layer) and a decision not yet seen in the watch (`assume`, the assumed layer); their
// union counts, each device once per claim. Results with adminAccess hold nothing.
//
// Not thread-safe: one thread owns it. Const functions may fill caches.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/api/resource.h"
#include "pkg/inventory/device.h"
#include "pkg/inventory/features.h"
#include "pkg/inventory/node_takes.h"

namespace dra::api {
struct Node;
}

namespace dra::inventory {

class DeviceIndex;  // what the allocator works on (device_index.h)

class Inventory {
 public:
  explicit Inventory(const Features& features = {});
  ~Inventory();
  Inventory(const Inventory&) = delete;
  Inventory& operator=(const Inventory&) = delete;

  const Features& features() const;
  // For a server whose release becomes known late, or changes. Once there are slices, only features that slices do not
  // depend on may change: those that follow the release. Allocators must clear their caches afterwards.
  void set_features(const Features& features);

  // ---- what exists. Each call replaces the object of the same name. No object is rejected: a fault in a slice makes
  // its pool unusable, with a reason in pools().
  void apply_slice(const api::ResourceSlice& slice);
  void remove_slice(std::string_view name);
  void apply_class(const api::DeviceClass& device_class);
  void remove_class(std::string_view name);
  void apply_taint_rule(const api::DeviceTaintRule& rule);
  void remove_taint_rule(std::string_view name);
  // A node that only pools name can be allocated on, but has no labels. The first shares the labels with the object.
  NodeId apply_node(const std::shared_ptr<const api::Node>& node);
  NodeId apply_node(std::string_view name, api::StringMap labels);
  // Drops the node's labels, and the node itself unless a pool names it.
  void remove_node(std::string_view name);

  // ---- who holds what
  // The claim's status.allocation becomes the observed allocation of this uid (none: nothing).
  void apply_claim(const api::ResourceClaim& claim);
  void apply_allocation(std::string_view claim_uid, const api::AllocationResult& allocation);
  void remove_claim(std::string_view claim_uid);
  // A decision: takes the devices immediately. A second one for the same uid replaces the first.
  // `of`: the claim, whatever the uid; null: unknown (then nobody shares devices with it whose class limits who may).
  void assume(std::string_view claim_uid, const api::AllocationResult& allocation,
              const api::ResourceClaim* of = nullptr);
  void forget(std::string_view claim_uid);
  void forget_all();
  bool assumed(std::string_view claim_uid) const;

  // ---- queries
  // The number of a node by name; kNone if no Node object and no pool names it.
  NodeId node_id(std::string_view name) const;
  std::string node_name(NodeId id) const;  // empty if the node is no longer known
  bool knows(NodeId id) const;
  // All nodes that have been applied and not removed, by name.
  std::vector<NodeId> nodes() const;

  std::vector<PoolInfo> pools() const;  // by driver, then name
  std::optional<PoolInfo> pool(std::string_view driver, std::string_view name) const;
  // As pools(), but with one entry per node for a pool whose slices name several, each as that node judges it, and one
  // without a node for devices that several nodes can use. Slices, generation: of the whole pool.
  std::vector<PoolInfo> pools_by_node() const;
  // The pool as this node judges it; as a whole if the node sees none of its devices.
  std::optional<PoolInfo> pool_on(std::string_view driver, std::string_view name, std::string_view node) const;
  // NoSchedule taints with an ignored key do not keep a device from being free.
  Usage usage(PoolId pool, std::span<const std::string> ignored_taints = {}) const;
  // Of an entry of pools_by_node().
  Usage usage(const PoolInfo& part, std::span<const std::string> ignored_taints = {}) const;
  // The devices of a pool in allocation order (slice name, list position).
  std::vector<DeviceInfo> devices(PoolId pool) const;
  std::optional<DeviceInfo> device(const DeviceName& name) const;
  // Some device takes something of its node (node_takes.h).
  bool any_takes() const;
  // What the device takes; null: nothing, or it is refused to everybody. `known`: it is published. Valid until the next
  // change.
  const NodeTakes* takes_of(const DeviceName& name, bool& known) const;
  // Of several devices of this name, the one that the node can use; else the first.
  std::optional<DeviceInfo> device_on(const DeviceName& name, std::string_view node) const;
  // One taint of a device, and the uid of the DeviceTaintRule it comes from (empty: from the slice).
  struct PlacedTaint {
    api::DeviceTaint taint;
    std::string rule_uid;
    std::string rule;  // the rule's name
  };
  // The taints of a device. First those of its slice, whatever the state of its pool, if the highest generation
  // publishes the device (twice: those of the one that `node` can use, else of the first); then those of the rules that
  // select its names, published or not.
  std::vector<PlacedTaint> placed_taints(const DeviceName& name, std::string_view node = {}) const;
  std::vector<api::DeviceTaint> taints(const DeviceName& name) const;
  // The number of devices in the highest generations that a rule's selector matches.
  size_t count_selected(const api::DeviceTaintRule& rule) const;
  // Whether any device of the pool has a taint.
  bool any_taints(std::string_view driver, std::string_view pool) const;
  std::vector<Holder> holders(const DeviceName& name) const;
  std::vector<std::string> classes() const;
  size_t device_count() const;
  size_t claim_count() const;  // claims that hold something
  size_t slice_count() const;
  // Grows with every change.
  uint64_t version() const;
  // Grows with every change of what a request can be given, claims that hold devices aside; it may also grow without
  // one.
  uint64_t tables_version() const;
  // No claim holds any of these devices, and none of them is shareable or takes of counters. False also where that
  // is not known without a search.
  bool are_free(const api::AllocationResult& allocation) const;

  // ---- verification
  // Recomputes everything derived from tables and holders and compares; names every over-commitment.
  std::vector<AuditFinding> audit() const;
  // The same in portions: from `at` on, for about `work` devices and holders (a few hundred nanoseconds each); true
  // when nothing is left. A change between two portions is checked either before or after it.
  struct AuditPlace {
    uint32_t claim = 0;
    PoolId pool = 0;
    uint32_t device = 0;
  };
  bool audit_piece(AuditPlace& at, size_t work, std::vector<AuditFinding>& findings) const;
  // The stored form of the slice matches the slice.
  bool matches(const api::ResourceSlice& slice) const;
  // Devices that the claim holds in the observed layer, sorted.
  std::vector<DeviceName> observed_devices(std::string_view claim_uid) const;
  // Claims that hold something have a number below claim_numbers() for as long as they do.
  std::optional<uint32_t> claim_number(std::string_view claim_uid) const;
  uint32_t claim_numbers() const;
  // The claim's uid if it is unchanged since version() was `since`; else empty.
  std::string claim_unchanged_since(uint32_t number, uint64_t since) const;
  // Over-commitments of devices, counter sets and capacities that these claims use (P2 of the arbitration).
  std::vector<AuditFinding> over_commitments(std::span<const std::string> claim_uids, Layer layer) const;

  // For pkg/allocator, pkg/gang and the device gauges.
  DeviceIndex& device_index() { return *device_index_; }
  const DeviceIndex& device_index() const { return *device_index_; }

 private:
  std::unique_ptr<DeviceIndex> device_index_;
};

}  // namespace dra::inventory
