#include "pkg/placement/assumed_volumes.h"

namespace dra::placement {

void AssumedVolumes::set(Claim claim) {
  const std::string key = claim->metadata.key();
  const Claim before = this->claim(key);
  if (before && !is_bound(*before) && is_bound(*claim) && !facts_.volumes.find(claim->volume_name))
    bound_at_[key] = clock_.mono_now();
  if (!is_bound(*claim)) bound_at_.erase(key);
  const auto assumed = claims_.find(key);
  if (assumed == claims_.end()) return facts_.claims.set(std::move(claim));
  assumed->second.real = std::move(claim);
  show(assumed->second);
}

void AssumedVolumes::set(Volume volume) {
  const auto assumed = volumes_.find(volume->metadata.name);
  if (assumed == volumes_.end()) return facts_.volumes.set(std::move(volume));
  assumed->second.real = std::move(volume);
  show(assumed->second);
}

void AssumedVolumes::remove_claim(const std::string& key) {
  claims_.erase(key);
  bound_at_.erase(key);
  facts_.claims.remove(key);
}

void AssumedVolumes::remove_volume(const std::string& name) {
  volumes_.erase(name);
  facts_.volumes.remove(name);
}

void AssumedVolumes::show(const AssumedClaim& assumed) {
  if (is_bound(*assumed.real) || assumed.real->metadata.annotations.contains(api::kSelectedNodeAnnotation))
    return facts_.claims.set(assumed.real);
  auto copy = std::make_shared<api::PersistentVolumeClaim>(*assumed.real);
  copy->metadata.annotations[api::kSelectedNodeAnnotation] = assumed.node;
  facts_.claims.set(std::move(copy));
}

void AssumedVolumes::show(const AssumedVolume& assumed) {
  const auto& ref = assumed.real->claim_ref;
  if (ref && !ref->uid.empty()) return facts_.volumes.set(assumed.real);
  auto copy = std::make_shared<api::PersistentVolume>(*assumed.real);
  copy->claim_ref = assumed.claim;
  facts_.volumes.set(std::move(copy));
}

void AssumedVolumes::assume(const std::string& pod_uid, const std::string& ns, const std::string& node,
                            const VolumePlan& plan) {
  forget(pod_uid);
  OfPod of_pod;
  for (const std::string& name : plan.provision) {
    const std::string key = ns + "/" + name;
    Claim real = claim(key);
    if (!real) continue;
    AssumedClaim& assumed = claims_[key];
    if (assumed.pods.empty()) assumed = {std::move(real), node, {}};
    assumed.pods.insert(pod_uid);
    of_pod.claims.push_back(key);
    show(assumed);
  }
  for (const auto& [claim_name, volume_name] : plan.bind) {
    const Claim bound = claim(ns + "/" + claim_name);
    Volume real = volume(volume_name);
    if (!bound || !real) continue;
    AssumedVolume& assumed = volumes_[volume_name];
    if (assumed.pods.empty()) assumed = {std::move(real), {ns, claim_name, bound->metadata.uid}, {}};
    assumed.pods.insert(pod_uid);
    of_pod.volumes.push_back(volume_name);
    show(assumed);
  }
  if (!of_pod.claims.empty() || !of_pod.volumes.empty()) by_pod_.emplace(pod_uid, std::move(of_pod));
}

void AssumedVolumes::forget(const std::string& pod_uid) {
  const auto found = by_pod_.find(pod_uid);
  if (found == by_pod_.end()) return;
  for (const std::string& key : found->second.claims) {
    const auto assumed = claims_.find(key);
    if (assumed == claims_.end() || assumed->second.pods.erase(pod_uid) == 0 || !assumed->second.pods.empty()) continue;
    facts_.claims.set(assumed->second.real);
    claims_.erase(assumed);
  }
  for (const std::string& name : found->second.volumes) {
    const auto assumed = volumes_.find(name);
    if (assumed == volumes_.end() || assumed->second.pods.erase(pod_uid) == 0 || !assumed->second.pods.empty())
      continue;
    facts_.volumes.set(assumed->second.real);
    volumes_.erase(assumed);
  }
  by_pod_.erase(found);
}

AssumedVolumes::Claim AssumedVolumes::claim(const std::string& key) const {
  const auto assumed = claims_.find(key);
  return assumed == claims_.end() ? facts_.claims.shared(key) : assumed->second.real;
}

AssumedVolumes::Volume AssumedVolumes::volume(const std::string& name) const {
  const auto assumed = volumes_.find(name);
  return assumed == volumes_.end() ? facts_.volumes.shared(name) : assumed->second.real;
}

bool AssumedVolumes::waits_for_volume(const std::string& claim_key) const {
  const auto bound_at = bound_at_.find(claim_key);
  if (bound_at == bound_at_.end() || clock_.mono_now() - bound_at->second > kWatchLag) return false;
  const api::PersistentVolumeClaim* bound = facts_.claims.find(claim_key);
  return bound && !facts_.volumes.find(bound->volume_name);
}

}  // namespace dra::placement
