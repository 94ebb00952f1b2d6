// VolumeRestrictions: disks that two pods must not use together, and claims for one pod alone.
#include <algorithm>

#include "pkg/base/strings.h"
#include "pkg/placement/plugins.h"

namespace dra::placement {

const Words kVolumeRestrictionWords = {
    "node(s) had no available disk",
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"};
namespace {

enum RestrictionReason : unsigned { kDiskTaken, kClaimTaken };

bool share_monitor(const api::InlineDisk& a, const api::InlineDisk& b) {
  return std::any_of(a.monitors.begin(), a.monitors.end(), [&](const std::string& monitor) {
    return std::find(b.monitors.begin(), b.monitors.end(), monitor) != b.monitors.end();
  });
}

bool disks_conflict(const api::InlineDisk& a, const api::InlineDisk& b) {
  using Kind = api::InlineDisk::Kind;
  if (a.kind != b.kind || a.id != b.id) return false;
  if (a.kind == Kind::kRbd && !share_monitor(a, b)) return false;
  return a.kind == Kind::kAwsElasticBlockStore || !(a.read_only && b.read_only);
}

bool disk_taken(const api::Pod& pod, const NodeRest& node) {
  for (const api::PodVolume& wanted : pod.volumes) {
    if (!wanted.disk) continue;
    for (const PlacedPod* other : node.with_volumes)
      for (const api::PodVolume& used : other->volumes)
        if (used.disk && disks_conflict(*wanted.disk, *used.disk)) return true;
  }
  return false;
}

// A claim with ReadWriteOncePod that another pod names already, wherever it runs.
bool exclusive_claim_taken(const Attempt& attempt) {
  for (const api::PodVolume& volume : attempt.pod().volumes) {
    if (volume.claim_name.empty()) continue;
    const std::string key = claim_key(attempt.pod().metadata.ns, attempt.pod().metadata.name, volume);
    const api::PersistentVolumeClaim* claim = attempt.cluster.storage.claims.find(key);
    if (!claim || attempt.cluster.users_of_claim(key) == 0) continue;
    const std::vector<std::string>& modes = claim->access_modes;
    if (std::find(modes.begin(), modes.end(), "ReadWriteOncePod") != modes.end()) return true;
  }
  return false;
}

}  // namespace

void prefilter_volume_restrictions(Attempt& attempt) {
  const api::ObjectMeta& pod = attempt.pod().metadata;
  for (const api::PodVolume& volume : attempt.pod().volumes)
    if (!volume.claim_name.empty() && !attempt.cluster.storage.claims.find(claim_key(pod.ns, pod.name, volume)))
      return attempt.refuse_pod(Plugin::kVolumeRestrictions,
                                "persistentvolumeclaim " + quote(volume.claim_name) + " not found");
}

void filter_volume_restrictions(Attempt& attempt) {
  const api::Pod& pod = attempt.pod();
  const bool disks =
      std::any_of(pod.volumes.begin(), pod.volumes.end(), [](const auto& v) { return v.disk.has_value(); });
  const bool claim = exclusive_claim_taken(attempt);
  if (!disks && !claim) return;
  attempt.filter([&](NodeIndex node) {
    if (disks && disk_taken(pod, attempt.cluster.rest(node)))
      return refuse(Plugin::kVolumeRestrictions, false, kDiskTaken);
    return claim ? refuse(Plugin::kVolumeRestrictions, false, kClaimTaken) : NodeRefusal{};
  });
}

}  // namespace dra::placement
