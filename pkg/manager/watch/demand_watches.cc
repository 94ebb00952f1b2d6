#include "pkg/manager/watch/demand_watches.h"

#include <algorithm>
#include <utility>

#include "pkg/log/log.h"

namespace dra::manager {

using client::Change;
using client::Informer;

namespace {

constexpr const char* kStorage = "storage.k8s.io";

template <typename Store, typename T>
void put(Store& store, const Change<T>& change) {
  if (change.after)
    store.set(change.after);
  else
    store.remove(change.before->metadata.key());
}

}  // namespace

DemandWatches::DemandWatches(Reactor& reactor, client::Transport& transport, Random& random,
                             std::shared_ptr<client::ServerTraits> traits, const Preflight& preflight,
                             nodes::NodeTracker& nodes, Hooks hooks)
    : reactor_(reactor),
      transport_(transport),
      random_(random),
      traits_(std::move(traits)),
      preflight_(preflight),
      nodes_(nodes),
      hooks_(std::move(hooks)) {
  group(nodes::Facts::kNamespaces) = {
      kNamespacesRole, "the affinity of this pod, or of a pod that may mean it, selects namespaces by label", {}, {}};
  group(nodes::Facts::kVolumes) = {kVolumesRole, "this pod has PersistentVolumeClaims", {}, {}};
  group(nodes::Facts::kWorkloads) = {kWorkloadsRole, "", {}, {}};
  group(nodes::Facts::kJobs) = {kJobsRole, "it belongs to a Job", {}, {}};
  add_namespaces();
  add_volumes();
  add_workloads();
}

DemandWatches::~DemandWatches() {
  stop();
}

template <typename T>
std::shared_ptr<Informer<T>> DemandWatches::make(client::Resource resource) {
  client::ReflectorOptions options;
  options.resource = std::move(resource);
  return std::make_shared<Informer<T>>(reactor_, transport_, random_, std::move(options), traits_);
}

template <typename T, typename Changed>
void DemandWatches::add(nodes::Facts facts, const std::shared_ptr<Informer<T>>& informer, Changed changed) {
  informer->store().on_change([changed](const Change<T>& change) { changed(change); });
  informer->objects().on_replaced([this, facts] {
    reactor_.post([this, facts, alive = std::weak_ptr<bool>(alive_)] {
      if (!alive.expired()) listed(facts);
    });
  });
  members_.push_back({facts, informer->resource().plural, [informer] { informer->start(); },
                      [informer] { informer->stop(); }, [informer] { return informer->synced(); },
                      [informer] { return informer->reflector().trouble(); },
                      [informer](std::function<void()> done) {
                        informer->objects().drop_answers();
                        informer->reflector().refresh(std::move(done));
                      }});
}

void DemandWatches::add_namespaces() {
  add(nodes::Facts::kNamespaces, make<api::Namespace>({"", "v1", "namespaces", "Namespace", false}),
      [this](const Change<api::Namespace>& c) {
        if (c.after)
          nodes_.set_namespace(*c.after);
        else
          nodes_.remove_namespace(c.before->metadata.name);
        // A new namespace has no pods, and a deleted one has none left.
        if (c.before && c.after && c.before->metadata.labels != c.after->metadata.labels) hooks_.pods_may_go_on();
      });
}

void DemandWatches::add_volumes() {
  volume_claims_ =
      make<api::PersistentVolumeClaim>({"", "v1", "persistentvolumeclaims", "PersistentVolumeClaim", true});
  add(nodes::Facts::kVolumes, volume_claims_, [this](const Change<api::PersistentVolumeClaim>& c) {
    const std::string key = (c.after ? c.after : c.before)->metadata.key();
    c.after ? nodes_.volumes().set(c.after) : nodes_.volumes().remove_claim(key);
    hooks_.volumes_changed(key);
  });
  volumes_ = make<api::PersistentVolume>({"", "v1", "persistentvolumes", "PersistentVolume", false});
  add(nodes::Facts::kVolumes, volumes_, [this](const Change<api::PersistentVolume>& c) {
    c.after ? nodes_.volumes().set(c.after) : nodes_.volumes().remove_volume(c.before->metadata.name);
    const auto& ref = (c.after ? c.after : c.before)->claim_ref;
    if (ref) hooks_.volumes_changed(ref->ns + "/" + ref->name);
    hooks_.volumes_changed("");
  });
  const auto others = [this](auto& store) {
    return [this, &store](const auto& change) {
      put(store, change);
      hooks_.volumes_changed("");
    };
  };
  placement::StorageFacts& facts = nodes_.storage();
  add(nodes::Facts::kVolumes, make<api::StorageClass>({kStorage, "v1", "storageclasses", "StorageClass", false}),
      others(facts.classes));
  add(nodes::Facts::kVolumes, make<api::CsiNode>({kStorage, "v1", "csinodes", "CSINode", false}),
      others(facts.csi_nodes));
  add(nodes::Facts::kVolumes, make<api::CsiDriver>({kStorage, "v1", "csidrivers", "CSIDriver", false}),
      others(facts.csi_drivers));
  add(nodes::Facts::kVolumes,
      make<api::CsiStorageCapacity>({kStorage, "v1", "csistoragecapacities", "CSIStorageCapacity", true}),
      others(facts.capacities));
  add(nodes::Facts::kVolumes,
      make<api::VolumeAttachment>({kStorage, "v1", "volumeattachments", "VolumeAttachment", false}),
      others(facts.attachments));
}

void DemandWatches::add_workloads() {
  placement::WorkloadFacts& facts = nodes_.workloads();
  const auto keep = [](auto& store) { return [&store](const auto& change) { put(store, change); }; };
  add(nodes::Facts::kWorkloads, make<api::Service>({"", "v1", "services", "Service", true}), keep(facts.services));
  add(nodes::Facts::kWorkloads,
      make<api::ReplicationController>({"", "v1", "replicationcontrollers", "ReplicationController", true}),
      keep(facts.replication_controllers));
  add(nodes::Facts::kWorkloads, make<api::ReplicaSet>({"apps", "v1", "replicasets", "ReplicaSet", true}),
      keep(facts.replica_sets));
  add(nodes::Facts::kWorkloads, make<api::StatefulSet>({"apps", "v1", "statefulsets", "StatefulSet", true}),
      keep(facts.stateful_sets));
  add(nodes::Facts::kJobs, make<api::Job>({"batch", "v1", "jobs", "Job", true}), keep(nodes_.jobs()));
}

void DemandWatches::need(nodes::Facts facts) {
  Group& wanted = group(facts);
  if (wanted.state != State::kClosed || stopped_) return;
  wanted.state = State::kNeeded;
  wanted.timer = reactor_.after(Duration::zero(), [this, facts] { open(facts); });
}

void DemandWatches::open(nodes::Facts facts) {
  if (stopped_) return;
  Group& wanted = group(facts);
  if (!preflight_.grants(wanted.role)) {
    nodes_.set_known(facts, false, wanted.what + ", and " + preflight_.why_not(wanted.role));
    if (std::exchange(wanted.state, State::kMissing) != State::kMissing) hooks_.pods_may_go_on();  // new reason
    wanted.timer = reactor_.after(Preflight::kRecheck, [this, facts] { open(facts); });
    return;
  }
  if (std::exchange(wanted.state, State::kOpen) == State::kOpen) {
    // Some lists have failed so far: say why.
    for (const Member& member : members_)
      if (member.facts == facts && !member.synced() && !member.trouble().empty())
        nodes_.set_known(facts, false,
                         wanted.what + ", and " + member.plural + " cannot be listed: " + member.trouble());
  } else {
    for (const Member& member : members_)
      if (member.facts == facts) member.start();
  }
  wanted.timer = reactor_.after(Preflight::kRecheck, [this, facts] { open(facts); });
}

void DemandWatches::listed(nodes::Facts facts) {
  Group& wanted = group(facts);
  const bool all = std::all_of(members_.begin(), members_.end(),
                               [&](const Member& member) { return member.facts != facts || member.synced(); });
  if (stopped_ || wanted.state != State::kOpen || !all) return;
  wanted.state = State::kKnown;
  wanted.timer.cancel();
  nodes_.set_known(facts, true, "");
  hooks_.known(facts);
  hooks_.pods_may_go_on();
}

void DemandWatches::refresh(const std::function<void()>& begun, const std::function<void()>& done) {
  for (const Member& member : members_) {
    if (group(member.facts).state != State::kKnown) continue;
    begun();
    member.refresh(done);
  }
}

void DemandWatches::stop() {
  stopped_ = true;
  for (Group& one : groups_) one.timer.cancel();
  for (const Member& member : members_)
    if (group(member.facts).state == State::kOpen || group(member.facts).state == State::kKnown) member.stop();
}

}  // namespace dra::manager
