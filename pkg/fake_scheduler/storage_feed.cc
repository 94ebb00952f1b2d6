#include "pkg/fake_scheduler/storage_feed.h"

#include <algorithm>

namespace dra::fake_scheduler {

namespace {

constexpr const char* kStorage = "storage.k8s.io";

}  // namespace

template <typename T, typename Changed>
void StorageFeed::watch(client::Resource resource, Changed on_change) {
  client::ReflectorOptions options;
  options.resource = std::move(resource);
  auto informer = std::make_shared<client::Informer<T>>(reactor_, transport_, random_, std::move(options), traits_);
  informer->store().on_change(on_change);
  members_.push_back({[informer] { informer->start(); }, [informer] { return informer->synced(); }});
}

StorageFeed::StorageFeed(Reactor& reactor, client::Transport& transport, Random& random, nodes::NodeTracker& tracker,
                         std::function<void(const std::string&)> changed)
    : reactor_(reactor), transport_(transport), random_(random) {
  tracker.set_known(nodes::Facts::kVolumes, true, "");  // nothing is tried before synced()
  using client::Change;
  watch<api::PersistentVolumeClaim>({"", "v1", "persistentvolumeclaims", "PersistentVolumeClaim", true},
                                    [&tracker, changed](const Change<api::PersistentVolumeClaim>& c) {
                                      const std::string key = (c.after ? c.after : c.before)->metadata.key();
                                      c.after ? tracker.volumes().set(c.after) : tracker.volumes().remove_claim(key);
                                      changed(key);
                                    });
  watch<api::PersistentVolume>({"", "v1", "persistentvolumes", "PersistentVolume", false},
                               [&tracker, changed](const Change<api::PersistentVolume>& c) {
                                 c.after ? tracker.volumes().set(c.after)
                                         : tracker.volumes().remove_volume(c.before->metadata.name);
                                 changed("");
                               });
  const auto put = [changed](auto& store) {
    return [&store, changed](const auto& c) {
      if (c.after)
        store.set(c.after);
      else
        store.remove(c.before->metadata.key());
      changed("");
    };
  };
  placement::StorageFacts& facts = tracker.storage();
  watch<api::StorageClass>({kStorage, "v1", "storageclasses", "StorageClass", false}, put(facts.classes));
  watch<api::CsiNode>({kStorage, "v1", "csinodes", "CSINode", false}, put(facts.csi_nodes));
  watch<api::CsiDriver>({kStorage, "v1", "csidrivers", "CSIDriver", false}, put(facts.csi_drivers));
  watch<api::CsiStorageCapacity>({kStorage, "v1", "csistoragecapacities", "CSIStorageCapacity", true},
                                 put(facts.capacities));
  watch<api::VolumeAttachment>({kStorage, "v1", "volumeattachments", "VolumeAttachment", false},
                               put(facts.attachments));
}

void StorageFeed::start() {
  for (const Member& member : members_) member.start();
}

bool StorageFeed::synced() const {
  return std::all_of(members_.begin(), members_.end(), [](const Member& member) { return member.synced(); });
}

}  // namespace dra::fake_scheduler
