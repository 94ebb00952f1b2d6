// FakeScheduler: a stand-in for kube-scheduler 1.36 with its DynamicResources plugin, limited to its effects on pods
// with claims.
//
// It keeps these rules of the original: gated pods are left alone; claims must exist, not be deleted and belong
// to the pod; nodes are filtered by pkg/placement (volumes only if asked) and by the selectors of allocated
// claims, without checking the devices again; volumes are bound before anything else is written, for ten minutes
// at most; unallocated claims are allocated first-fit (finalizer, then status); PreBind adds the missing
// reservation, and with it a missing allocationTimestamp, which the API server refuses; any failure after that
// removes the pod's reservations (Unreserve); if no node passes, an allocated claim that is reserved for nobody
// else is deallocated (PostFilter); failing pods back off 1 to 10 s. One pod at a time. It does not check for
// reservations by other processes before it writes. With `reports`, pods get the condition PodScheduled and the
// usual events.
//
// The tests of gate mode and `dra-sandbox up --scheduling=gate` both use this class.
//
// Belongs to the reactor's thread.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "client/events/event_recorder.h"
#include "client/informer/informer.h"
#include "pkg/allocator/allocator.h"
#include "pkg/api/core.h"
#include "pkg/api/resource.h"
#include "pkg/fake_scheduler/call_chain.h"
#include "pkg/fake_scheduler/key_worker.h"
#include "pkg/fake_scheduler/scheduler.h"
#include "pkg/fake_scheduler/storage_feed.h"
#include "pkg/inventory/inventory.h"
#include "pkg/nodes/node_tracker.h"

namespace dra::fake_scheduler {

struct FakeSchedulerOptions {
  bool allocates = true;  // off: unallocated claims leave the pod pending
  bool volumes = false;   // watches them; if off, pods with PersistentVolumeClaims stay pending
  bool reports = false;   // writes PodScheduled=False and the events Scheduled and FailedScheduling
};

class FakeScheduler : public Scheduler {
 public:
  // Everything must outlive the scheduler.
  FakeScheduler(Reactor& reactor, client::Transport& transport, Random& random, FakeSchedulerOptions options = {});
  ~FakeScheduler() override;

  void start();
  // No pod is tried before this is true.
  bool synced() const;
  SchedulerStats stats() override { return stats_; }

 private:
  struct Attempt;

  void listen();
  void on_pod(const client::Change<api::Pod>& change);
  void on_claim(const client::Change<api::ResourceClaim>& change);
  void enqueue_all();
  void enqueue_if_pods_matter();
  void enqueue(const std::string& key);
  bool wants_node(const api::Pod& pod) const;
  // The pod's claims; false if one is missing, deleted or not the pod's.
  bool claims_of(const api::Pod& pod, std::vector<std::shared_ptr<const api::ResourceClaim>>& out) const;
  void attempt(const std::string& key);
  // Chooses a node and, if needed, devices; false if no node fits.
  bool filter(Attempt& attempt, std::vector<std::shared_ptr<const api::ResourceClaim>>& unavailable);
  // Requests what the pod's volumes need on the node; false: they are bound.
  bool waits_for_volumes(const std::shared_ptr<Attempt>& attempt);
  void on_volume(const std::string& claim);
  void post_filter(const Attempt& attempt, const std::vector<std::shared_ptr<const api::ResourceClaim>>& unavailable);
  void pre_bind(const std::shared_ptr<Attempt>& attempt);
  void bind_claim_calls(const Attempt& attempt, size_t index, std::vector<ChainedCall>& calls) const;
  void unreserve(const std::shared_ptr<Attempt>& attempt, const std::string& why);
  // Ends an attempt that found no node: writes the event, and the condition if it is new.
  void report_failure(const api::Pod& pod, const std::string& why, std::vector<ChainedCall>& calls);
  void report_binding(const Attempt& attempt);

  Reactor& reactor_;
  client::Transport& transport_;
  FakeSchedulerOptions options_;
  std::shared_ptr<client::ServerTraits> traits_;
  client::Informer<api::Pod> pods_;
  client::Informer<api::Node> nodes_;
  client::Informer<api::ResourceClaim> claims_;
  client::Informer<api::ResourceSlice> slices_;
  client::Informer<api::DeviceClass> classes_;
  client::Informer<api::Namespace> namespaces_;
  // No pod is tried before all of them have synced.
  const std::array<client::ObjectStore*, 6> stores_{&pods_.objects(),   &nodes_.objects(),   &claims_.objects(),
                                                    &slices_.objects(), &classes_.objects(), &namespaces_.objects()};
  inventory::Inventory inventory_;
  allocator::Allocator allocator_;
  nodes::NodeTracker tracker_;
  KeyWorker worker_;
  // Pods whose volumes are being bound: the node and the deadline; no node: the provisioner rejected it, and the pod is
  // not tried before `not_before`.
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
  std::unique_ptr<client::RestClient> events_client_;  // null, like the next one: nothing is reported
  std::unique_ptr<client::EventRecorder> events_;
};

}  // namespace dra::fake_scheduler
