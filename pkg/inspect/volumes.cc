#include "pkg/inspect/volumes.h"

#include <algorithm>

namespace dra::inspect {

bool is_of_storage(std::string_view plural) {
  const auto& kinds = kinds_to_read();
  return std::any_of(kinds.begin(), kinds.end(),
                     [&](const KindToRead& kind) { return kind.of_storage && kind.plural == plural; });
}

bool has_volume_claims(const api::Pod& pod) {
  return std::any_of(pod.volumes.begin(), pod.volumes.end(),
                     [](const api::PodVolume& volume) { return volume.ephemeral || !volume.claim_name.empty(); });
}

void add_storage(const Objects& objects, placement::StorageFacts& facts) {
  const auto add = [](const auto& table, auto& into) {
    for (const auto& [key, object] : table) into.set(object);
  };
  add(objects.volume_claims, facts.claims);
  add(objects.volumes, facts.volumes);
  add(objects.storage_classes, facts.classes);
  add(objects.csi_nodes, facts.csi_nodes);
  add(objects.csi_drivers, facts.csi_drivers);
  add(objects.storage_capacities, facts.capacities);
  add(objects.attachments, facts.attachments);
}

std::string why_volumes_are_not_judged(const Objects& objects) {
  if (!objects.storage_read) return "the snapshot is without them";
  for (const Hidden& hidden : objects.hidden_storage)
    // Of another namespace: not the claims of this pod. What CSI drivers report only keeps pods from some nodes.
    for (const char* needed : {"persistentvolumeclaims", "persistentvolumes", "storageclasses"})
      if (hidden.what == needed) return hidden.what + " are not visible (" + hidden.why + ")";
  return "";
}

std::string why_volumes_are_not_judged(const Objects& objects, const Manifest& manifest, const Workload& workload) {
  if (std::string why = why_volumes_are_not_judged(objects); !why.empty()) return why;
  for (const api::PodVolume& volume : workload.pod.volumes) {
    if (volume.ephemeral) return "the claim of volume " + quote(volume.name) + " is made with the pod";
    const bool of_the_file = std::find(manifest.skipped.begin(), manifest.skipped.end(),
                                       "PersistentVolumeClaim " + volume.claim_name) != manifest.skipped.end();
    if (of_the_file && !objects.volume_claims.contains(workload.pod.metadata.ns + "/" + volume.claim_name))
      return "PersistentVolumeClaim " + volume.claim_name + " is still to be made from the file";
  }
  return "";
}

std::vector<std::string> trouble_of_volumes(const Objects& objects, const api::Pod& pod) {
  std::vector<std::string> trouble;
  if (!why_volumes_are_not_judged(objects).empty()) return trouble;
  for (const api::PodVolume& volume : pod.volumes) {
    const auto found = objects.volume_claims.find(placement::claim_key(pod.metadata.ns, pod.metadata.name, volume));
    if (found == objects.volume_claims.end() || !found->second->volume_name.empty()) continue;
    const std::string name = placement::class_of(*found->second);
    const std::string claim = "PersistentVolumeClaim " + found->second->metadata.name;
    const auto storage_class = objects.storage_classes.find(name);
    if (name.empty())
      trouble.push_back(claim + " names no StorageClass and is not bound");
    else if (storage_class == objects.storage_classes.end())
      trouble.push_back(claim + " names StorageClass " + name + ", which does not exist");
    else if (storage_class->second->volume_binding_mode != "WaitForFirstConsumer")
      trouble.push_back(claim + " waits for a volume of StorageClass " + name);
  }
  return trouble;
}

}  // namespace dra::inspect
