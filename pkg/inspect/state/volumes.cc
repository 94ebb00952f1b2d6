#include "pkg/inspect/state/volumes.h"

#include <algorithm>

namespace dra::inspect {
namespace {

bool is_default(const api::StorageClass& one) {
  const api::StringMap& annotations = one.metadata.annotations;
  return std::any_of(annotations.begin(), annotations.end(), [](const auto& entry) {
    return entry.second == "true" && (entry.first == "storageclass.kubernetes.io/is-default-class" ||
                                      entry.first == "storageclass.beta.kubernetes.io/is-default-class");
  });
}

// The class that the claim gets: the one it names, or the newest default one, as the admission plugin
// DefaultStorageClass chooses.
std::string class_in(const Objects& objects, const api::PersistentVolumeClaim& claim) {
  if (claim.storage_class_name) return *claim.storage_class_name;
  const api::StorageClass* found = nullptr;
  for (const auto& [name, one] : objects.storage_classes)
    if (is_default(*one) && (found == nullptr || found->metadata.creation_timestamp < one->metadata.creation_timestamp))
      found = one.get();
  return found == nullptr ? placement::class_of(claim) : found->metadata.name;
}

bool waits_for_pods(const Objects& objects, const api::PersistentVolumeClaim& claim) {
  const auto found = objects.storage_classes.find(class_in(objects, claim));
  return found != objects.storage_classes.end() && found->second->volume_binding_mode == "WaitForFirstConsumer";
}

}  // namespace

bool is_of_storage(std::string_view plural) {
  const auto& kinds = kinds_to_read();
  return std::any_of(kinds.begin(), kinds.end(), [&](const KindToRead& kind) {
    return kind.needed_for == KindToRead::For::kStorage && kind.plural == plural;
  });
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
    // Claims hidden in other namespaces are not this pod's. What CSI drivers report only excludes some nodes.
    for (const char* needed : {"persistentvolumeclaims", "persistentvolumes", "storageclasses"})
      if (hidden.what == needed) return hidden.what + " are not visible (" + hidden.why + ")";
  return "";
}

std::string why_volumes_are_not_judged(const Objects& objects, const Manifest& manifest, const Workload& workload) {
  if (std::string why = why_volumes_are_not_judged(objects); !why.empty()) return why;
  if (workload.makes_volume_claims) return "the claims of its volumeClaimTemplates are made with its pods";
  for (const api::PodVolume& volume : workload.pod.volumes) {
    if (volume.ephemeral) return "the claim of volume " + quote(volume.name) + " is made with the pod";
    const std::string key = workload.pod.metadata.ns + "/" + volume.claim_name;
    for (const auto& claim : manifest.volume_claims)
      if (claim->metadata.key() == key && !objects.volume_claims.contains(key) && !waits_for_pods(objects, *claim))
        return "PersistentVolumeClaim " + volume.claim_name +
               " is still to be made from the file, and gets its volume before its pods get a node";
  }
  return "";
}

void add_volume_claims(Objects& objects, const Manifest& manifest) {
  for (const auto& claim : manifest.volume_claims) {
    auto made = std::make_shared<api::PersistentVolumeClaim>(*claim);
    made->metadata.uid = "fits-volume-" + claim->metadata.key();
    made->storage_class_name = class_in(objects, *claim);
    made->phase = "Pending";
    made->volume_name.clear();
    objects.volume_claims.try_emplace(claim->metadata.key(), std::move(made));
  }
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
