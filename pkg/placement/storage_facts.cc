#include "pkg/placement/storage_facts.h"

namespace dra::placement {

bool is_bound(const api::PersistentVolumeClaim& claim) {
  return !claim.volume_name.empty() && claim.metadata.annotations.contains("pv.kubernetes.io/bind-completed");
}

std::string class_of(const api::PersistentVolumeClaim& claim) {
  const auto beta = claim.metadata.annotations.find("volume.beta.kubernetes.io/storage-class");
  if (beta != claim.metadata.annotations.end()) return beta->second;
  return claim.storage_class_name.value_or("");
}

std::string claim_key(const std::string& ns, const std::string& pod_name, const api::PodVolume& volume) {
  if (!volume.claim_name.empty()) return ns + "/" + volume.claim_name;
  if (volume.ephemeral) return ns + "/" + pod_name + "-" + volume.name;
  return {};
}

}  // namespace dra::placement
