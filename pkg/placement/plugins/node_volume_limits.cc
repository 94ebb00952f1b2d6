// NodeVolumeLimits: CSI volumes per node and driver. In-tree volumes are not translated to their CSI drivers: they are
// not counted.
#include <map>
#include <set>

#include "pkg/placement/plugins.h"

namespace dra::placement {
namespace {

// Driver and handle.
using AttachedVolume = std::pair<std::string, std::string>;

// Nothing when the volume is not counted.
std::optional<AttachedVolume> attached_volume(const StorageFacts& storage, const std::string& claim_key) {
  const api::PersistentVolumeClaim* claim = storage.claims.find(claim_key);
  if (!claim) return std::nullopt;
  if (const api::PersistentVolume* volume = storage.volumes.find(claim->volume_name);
      volume && !claim->volume_name.empty()) {
    if (volume->csi_driver.empty() || volume->csi_handle.empty()) return std::nullopt;
    return AttachedVolume{volume->csi_driver, volume->csi_handle};
  }
  const api::StorageClass* storage_class = storage.classes.find(class_of(*claim));
  if (!storage_class || storage_class->provisioner.empty()) return std::nullopt;
  // A handle that no volume can have: each claim counts by itself until it is bound.
  return AttachedVolume{storage_class->provisioner, "\n" + claim_key};
}

void add_volumes(const StorageFacts& storage, const std::string& ns, const std::string& pod_name,
                 const std::vector<api::PodVolume>& volumes, std::set<AttachedVolume>& out) {
  for (const api::PodVolume& volume : volumes) {
    const std::string key = claim_key(ns, pod_name, volume);
    if (key.empty()) continue;
    if (std::optional<AttachedVolume> attached = attached_volume(storage, key)) out.insert(std::move(*attached));
  }
}

std::set<AttachedVolume> attachments_of(const StorageFacts& storage, const std::string& node) {
  std::set<AttachedVolume> out;
  for (const auto& [name, attachment] : storage.attachments.with(node)) {
    if (attachment->attacher.empty()) continue;
    const api::PersistentVolume* volume = storage.volumes.find(attachment->persistent_volume_name);
    if (volume && !volume->csi_driver.empty()) out.insert({attachment->attacher, volume->csi_handle});
  }
  return out;
}

bool limit_exceeded(const StorageFacts& storage, const NodeRest& node, const std::set<AttachedVolume>& wanted) {
  const api::CsiNode* csi_node = storage.csi_nodes.find(node.name);
  if (!csi_node || csi_node->driver_limit.empty()) return false;
  std::set<AttachedVolume> used;
  for (const PlacedPod* pod : node.with_volumes) add_volumes(storage, pod->ns, pod->name, pod->volumes, used);
  std::map<std::string, int64_t> attached, added;
  for (const AttachedVolume& volume : used) ++attached[volume.first];
  for (const AttachedVolume& volume : attachments_of(storage, node.name))
    if (!used.contains(volume)) ++attached[volume.first];
  for (const AttachedVolume& volume : wanted)
    if (!used.contains(volume)) ++added[volume.first];
  for (const auto& [driver, count] : added) {
    const auto limit = csi_node->driver_limit.find(driver);
    if (limit != csi_node->driver_limit.end() && attached[driver] + count > limit->second) return true;
  }
  return false;
}

}  // namespace

void filter_volume_limits(Attempt& attempt) {
  const StorageFacts& storage = attempt.cluster.storage;
  const api::Pod& pod = attempt.pod();
  std::set<AttachedVolume> wanted;
  add_volumes(storage, pod.metadata.ns, pod.metadata.name, pod.volumes, wanted);
  if (wanted.empty()) return;
  attempt.filter([&](NodeIndex node) {
    return limit_exceeded(storage, attempt.cluster.rest(node), wanted) ? refuse(Plugin::kNodeVolumeLimits, false)
                                                                       : NodeRefusal{};
  });
}

}  // namespace dra::placement
