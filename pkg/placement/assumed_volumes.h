// AssumedVolumes: PersistentVolumeClaims and PersistentVolumes of a cluster, with the decisions about them that are not
// written yet.
//
// A claim counts as having its chosen node selected, and a volume as reserved for the claim it was chosen for, as
// long as one of the pods for which that was decided counts. The server's state takes precedence. Not
// thread-safe.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "pkg/base/clock.h"
#include "pkg/placement/decision.h"
#include "pkg/placement/storage_facts.h"

namespace dra::placement {

class AssumedVolumes {
 public:
  using Claim = std::shared_ptr<const api::PersistentVolumeClaim>;
  using Volume = std::shared_ptr<const api::PersistentVolume>;
  // How long the volume of a newly bound claim may be unknown: the two come from different watches.
  static constexpr Duration kWatchLag = std::chrono::seconds(10);

  // Both must outlive it.
  AssumedVolumes(StorageFacts& facts, const Clock& clock) : facts_(facts), clock_(clock) {}

  void set(Claim claim);
  void set(Volume volume);
  void remove_claim(const std::string& key);
  void remove_volume(const std::string& name);

  // Assumes this plan for the pod on the node, in place of any earlier one. `ns`: the pod's namespace.
  void assume(const std::string& pod_uid, const std::string& ns, const std::string& node, const VolumePlan& plan);
  void forget(const std::string& pod_uid);
  bool has(const std::string& pod_uid) const { return by_pod_.contains(pod_uid); }

  // As the server has it, without assumptions; nullptr when there is none.
  Claim claim(const std::string& key) const;
  Volume volume(const std::string& name) const;
  // The claim was bound a moment ago and its volume is not known yet.
  bool waits_for_volume(const std::string& claim_key) const;

  size_t size() const { return claims_.size() + volumes_.size(); }

 private:
  struct AssumedClaim {
    Claim real;
    std::string node;
    std::set<std::string> pods;
  };
  struct AssumedVolume {
    Volume real;
    api::PersistentVolume::ClaimRef claim;
    std::set<std::string> pods;
  };
  struct OfPod {
    std::vector<std::string> claims, volumes;  // keys
  };

  void show(const AssumedClaim& assumed);
  void show(const AssumedVolume& assumed);

  StorageFacts& facts_;
  const Clock& clock_;
  std::map<std::string, AssumedClaim> claims_;
  std::map<std::string, AssumedVolume> volumes_;
  std::map<std::string, OfPod> by_pod_;
  std::map<std::string, MonoTime> bound_at_;  // claims that were bound while their volume was unknown
};

}  // namespace dra::placement
