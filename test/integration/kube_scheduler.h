// KubeScheduler: a stand-in for kube-scheduler 1.36 with its DynamicResources plugin, as far as it touches pods with
// claims.
//
// What it keeps of the original: gated pods are left alone; claims must exist, be undeleted and belong to the pod;
// nodes are filtered by pkg/placement (volumes only when asked to) and by the selectors of allocated claims, without
// another look at the devices; volumes are bound before anything else is written, for ten minutes at most;
// unallocated claims are allocated first-fit (finalizer, then status); PreBind adds the
// missing reservation, and with it a missing allocationTimestamp, which the API server refuses; any failure after that
// strips the pod's reservations (Unreserve); when no node passes, an allocated claim that is reserved for nobody else
// is deallocated (PostFilter); failing pods back off 1 to 10 s. One pod at a time. Nothing here looks at reservations
// by other processes before it writes.
//
// Belongs to the reactor's thread.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "client/informer/informer.h"
#include "pkg/allocator/allocator.h"
#include "pkg/api/core.h"
#include "pkg/api/resource.h"
#include "pkg/inventory/inventory.h"
#include "pkg/manager/node_tracker.h"
#include "test/integration/call_chain.h"
#include "test/integration/key_worker.h"
#include "test/integration/scheduler.h"
#include "test/integration/storage_feed.h"

namespace dra::integration {

class KubeScheduler : public Scheduler {
 public:
  // Everything must outlive the scheduler. `allocates` off: unallocated claims leave the pod pending. `volumes`: it
  // watches them; without, pods with PersistentVolumeClaims stay pending.
  KubeScheduler(Reactor& reactor, client::Transport& transport, Random& random, bool allocates = true,
                bool volumes = false);
  ~KubeScheduler() override;

  void start();
  SchedulerStats stats() override { return stats_; }

 private:
  struct Attempt;

  void listen();
  void on_pod(const client::Change<api::Pod>& change);
  void on_claim(const client::Change<api::ResourceClaim>& change);
  void wake_all();
  void wake_those_who_look_at_pods();
  void wake(const std::string& key);
  bool synced() const;
  bool wants_node(const api::Pod& pod) const;
  // The pod's claims; false while one is missing, deleted or not the pod's.
  bool claims_of(const api::Pod& pod, std::vector<std::shared_ptr<const api::ResourceClaim>>& out) const;
  void attempt(const std::string& key);
  // Chooses a node and, where needed, devices; false when none fits.
  bool filter(Attempt& attempt, std::vector<std::shared_ptr<const api::ResourceClaim>>& unavailable);
  // Asks for what the pod's volumes need on the node; false: they are bound.
  bool waits_for_volumes(const std::shared_ptr<Attempt>& attempt);
  void on_volume(const std::string& claim);
  void post_filter(const std::string& key, const api::Pod& pod,
                   const std::vector<std::shared_ptr<const api::ResourceClaim>>& unavailable);
  void pre_bind(const std::shared_ptr<Attempt>& attempt);
  void bind_claim_calls(const Attempt& attempt, size_t index, std::vector<ChainedCall>& calls) const;
  void unreserve(const std::shared_ptr<Attempt>& attempt, const std::string& why);

  Reactor& reactor_;
  client::Transport& transport_;
  bool allocates_;
  std::shared_ptr<client::ServerTraits> traits_;
  client::Informer<api::Pod> pods_;
  client::Informer<api::Node> nodes_;
  client::Informer<api::ResourceClaim> claims_;
  client::Informer<api::ResourceSlice> slices_;
  client::Informer<api::DeviceClass> classes_;
  client::Informer<api::Namespace> namespaces_;
  // No pod is tried before all of them are in step.
  const std::array<client::ObjectStore*, 6> stores_{&pods_.core(),   &nodes_.core(),   &claims_.core(),
                                                    &slices_.core(), &classes_.core(), &namespaces_.core()};
  inventory::Inventory inventory_;
  allocator::Allocator allocator_;
  manager::NodeTracker tracker_;
  KeyWorker worker_;
  // Pods whose volumes are being bound: the node, and until when; no node: the provisioner took it back, and the pod is
  // not tried before.
  struct Binding {
    std::string node;
    MonoTime until;
    MonoTime not_before{};
  };
  std::map<std::string, Binding> binding_;
  std::unique_ptr<StorageFeed> storage_;  // null: volumes are not watched
  std::set<std::string> unschedulable_;
  std::set<std::string> bound_;  // uids
  SchedulerStats stats_;
  std::shared_ptr<CallChain> chain_;
};

}  // namespace dra::integration
