#include "test/integration/verdict.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "pkg/api/decode/decode.h"
#include "pkg/inventory/inventory.h"
#include "pkg/protocol/group_claims.h"
#include "pkg/protocol/keep.h"
#include "pkg/protocol/pod_claims.h"
#include "pkg/protocol/proof.h"

namespace dra::integration {
namespace {

template <typename T>
std::vector<T> all_of_kind(Api& api, const std::string& kind) {
  std::vector<T> objects;
  for (const Json& item : api.list(kind)) {
    auto decoded = api::decode<T>(item.dump());
    if (!decoded) throw std::runtime_error(kind + " cannot be decoded: " + decoded.error().message());
    objects.push_back(std::move(*decoded));
  }
  return objects;
}

class Inspection {
 public:
  Inspection(Api& api, const VerdictOptions& options) : options_(options) {
    for (api::Pod& pod : all_of_kind<api::Pod>(api, "Pod")) pods_.emplace(pod.metadata.uid, std::move(pod));
    claims_ = all_of_kind<api::ResourceClaim>(api, "ResourceClaim");
    slices_ = all_of_kind<api::ResourceSlice>(api, "ResourceSlice");
    classes_ = all_of_kind<api::DeviceClass>(api, "DeviceClass");
  }

  std::vector<std::string> run() {
    audit();
    for (const auto& [uid, pod] : pods_) check_pod(pod);
    for (const api::ResourceClaim& claim : claims_) check_claim(claim);
    return std::move(findings_);
  }

  std::vector<std::string> run_empty(const std::set<std::string>& kept) {
    for (const api::ResourceClaim& claim : claims_) {
      if (!kept.contains(claim.metadata.key())) say("claim " + claim.metadata.key() + " is left over");
      if (claim.status.allocation) say("claim " + claim.metadata.key() + " still holds devices");
      if (!claim.status.reserved_for.empty()) say("claim " + claim.metadata.key() + " is still reserved");
      if (claim.metadata.has_finalizer(api::kDeleteProtectionFinalizer))
        say("claim " + claim.metadata.key() + " still has the finalizer");
    }
    for (const auto& [uid, pod] : pods_) say("pod " + pod.metadata.key() + " is left over");
    return std::move(findings_);
  }

 private:
  void say(std::string finding) { findings_.push_back(std::move(finding)); }

  void audit() {
    inventory::Inventory inventory;
    for (const api::ResourceSlice& slice : slices_) inventory.apply_slice(slice);
    for (const api::DeviceClass& device_class : classes_) inventory.apply_class(device_class);
    for (const api::ResourceClaim& claim : claims_)
      if (!options_.ignored_claims.contains(claim.metadata.key())) inventory.apply_claim(claim);
    for (const inventory::AuditFinding& finding : inventory.audit()) say("audit: " + finding.message);
  }

  void check_pod(const api::Pod& pod) {
    const std::string name = "pod " + pod.metadata.key();
    if (pod.done()) return;
    for (const api::PodResourceClaim& entry : pod.resource_claims) {
      if (!entry.resource_claim_template_name) continue;
      std::vector<std::string> made;
      for (const api::ResourceClaim& claim : claims_) {
        const auto annotation = claim.metadata.annotations.find(api::kPodClaimNameAnnotation);
        if (protocol::is_for_pod(pod, claim) && annotation != claim.metadata.annotations.end() &&
            annotation->second == entry.name)
          made.push_back(claim.metadata.name);
      }
      if (made.size() != 1) {
        say(name + " entry " + entry.name + " has " + std::to_string(made.size()) + " claims");
        continue;
      }
      const api::PodResourceClaimStatus* published = protocol::published_claim(pod, entry.name);
      if (!published || published->resource_claim_name != made.front())
        say(name + " entry " + entry.name + " publishes another claim than " + made.front());
    }
    if (options_.may_wait.contains(pod.metadata.key())) return;
    if (pod.node_name.empty()) return say(name + " is not bound");
    for (const std::string& key : protocol::claim_keys_of(pod)) {
      // If a device plugin serves the pod, no claim is created for its extended resources.
      if (!pod.extended_resource_claim_status && key == pod.metadata.ns + "/" + protocol::extended_claim_name(pod))
        continue;
      const auto claim =
          std::find_if(claims_.begin(), claims_.end(), [&](const auto& c) { return c.metadata.key() == key; });
      if (claim == claims_.end() || !claim->status.allocation)
        say(name + " is bound, and its claim " + key + " is not allocated");
      else if (!protocol::is_reserved_for(*claim, pod.metadata.uid) && !protocol::is_reserved_for_group_of(pod, *claim))
        say(name + " is bound, and its claim " + key + " is not reserved for it");
    }
  }

  void check_claim(const api::ResourceClaim& claim) {
    const std::string name = "claim " + claim.metadata.key();
    if (options_.ignored_claims.contains(claim.metadata.key())) return;
    const bool kept = protocol::is_only_kept(claim);  // for the next pod
    if (const api::OwnerReference* owner = protocol::pod_owner(claim); owner && !kept && !pods_.contains(owner->uid))
      say(name + " belongs to a pod that is gone");
    for (const api::ResourceClaimConsumerReference& consumer : claim.status.reserved_for) {
      if (!protocol::is_pod_reference(consumer)) continue;
      const auto pod = pods_.find(consumer.uid);
      if (pod == pods_.end() || pod->second.done()) say(name + " is reserved for a pod that is gone or done");
    }
    const bool finalizer = claim.metadata.has_finalizer(api::kDeleteProtectionFinalizer);
    if (claim.metadata.deleting() && !kept) say(name + " hangs in deletion");
    if (!claim.status.allocation) {
      if (finalizer) say(name + " has the finalizer and no allocation");
      return;
    }
    if (!finalizer) say(name + " is allocated without finalizer");
    if (claim.status.reserved_for.empty()) say(name + " is allocated and reserved for nobody");
    if (options_.proven && protocol::is_allocated_by_us(claim) && !protocol::is_proven(claim))
      say(name + " is allocated and not proven");
  }

  const VerdictOptions& options_;
  std::map<std::string, api::Pod> pods_;
  std::vector<api::ResourceClaim> claims_;
  std::vector<api::ResourceSlice> slices_;
  std::vector<api::DeviceClass> classes_;
  std::vector<std::string> findings_;
};

client::ReflectorOptions watched(const char* group, const char* plural, const char* kind) {
  client::ReflectorOptions options;
  options.resource = {group, "v1", plural, kind, true};
  return options;
}

std::vector<std::string> devices_of(const api::ResourceClaim& claim) {
  std::vector<std::string> devices;
  if (!claim.status.allocation) return devices;
  for (const api::DeviceRequestAllocationResult& result : claim.status.allocation->results)
    if (!result.admin_access) devices.push_back(result.driver + "/" + result.pool + "/" + result.device);
  return devices;
}

}  // namespace

std::vector<std::string> inspect(Api& api, const VerdictOptions& options) {
  return Inspection(api, options).run();
}

std::vector<std::string> inspect_empty(Api& api, const std::set<std::string>& kept_claims) {
  const VerdictOptions options;
  return Inspection(api, options).run_empty(kept_claims);
}

Watchdog::Watchdog(Reactor& reactor, client::Transport& transport, Random& random)
    : pods_(reactor, transport, random, watched("", "pods", "Pod")),
      claims_(reactor, transport, random, watched("resource.k8s.io", "resourceclaims", "ResourceClaim")) {
  pods_.store().on_change([this](const client::Change<api::Pod>& change) { on_pod(change); });
  claims_.store().on_change([this](const client::Change<api::ResourceClaim>& change) { on_claim(change); });
  pods_.start();
  claims_.start();
}

void Watchdog::on_pod(const client::Change<api::Pod>& change) {
  const api::Pod& pod = change.after ? *change.after : *change.before;
  const std::string& uid = pod.metadata.uid;
  if (!change.after || pod.terminal()) {
    released_.erase(uid);
    bound_.erase(uid);
    return;
  }
  if (!pod.node_name.empty()) bound_.insert(uid);
  // An ungated pod that is ours to bind uses nothing before it is bound.
  const bool waits = !pod.scheduling_gates.empty() || (pod.scheduler_name == kOurScheduler && pod.node_name.empty());
  if (waits || !released_.insert(uid).second) return;
  const auto claims = of_pod_.find(uid);
  if (claims == of_pod_.end()) return;
  for (const std::string& key : claims->second)
    if (const auto held = claims_.store().get(key))
      for (const std::string& device : devices_of(*held)) check_device(device);
}

void Watchdog::on_claim(const client::Change<api::ResourceClaim>& change) {
  if (change.before) {
    const std::string key = change.before->metadata.key();
    for (const std::string& device : devices_of(*change.before)) {
      auto& set = holders_[device];
      set.erase(key);
      if (set.empty()) holders_.erase(device);
    }
    for (const auto& consumer : change.before->status.reserved_for) {
      auto& set = of_pod_[consumer.uid];
      set.erase(key);
      if (set.empty()) of_pod_.erase(consumer.uid);
    }
  }
  const auto entry_of = [](const api::ResourceClaim& claim) {
    const auto annotation = claim.metadata.annotations.find(api::kPodClaimNameAnnotation);
    const api::OwnerReference* owner = protocol::pod_owner(claim);
    return owner && annotation != claim.metadata.annotations.end() ? owner->uid + "/" + annotation->second : "";
  };
  if (!change.after) {
    auto& set = per_entry_[entry_of(*change.before)];
    set.erase(change.before->metadata.uid);
    if (set.empty()) per_entry_.erase(entry_of(*change.before));
    return;
  }
  const api::ResourceClaim& claim = *change.after;
  const std::string key = claim.metadata.key();
  if (const std::string entry = entry_of(claim); !entry.empty()) {
    per_entry_[entry].insert(claim.metadata.uid);
    most_per_entry_ = std::max(most_per_entry_, per_entry_[entry].size());
  }
  for (const auto& consumer : claim.status.reserved_for) of_pod_[consumer.uid].insert(key);
  for (const std::string& device : devices_of(claim)) holders_[device].insert(key);
  for (const std::string& device : devices_of(claim)) check_device(device);
}

bool Watchdog::in_use(const api::ResourceClaim& claim) const {
  return std::any_of(claim.status.reserved_for.begin(), claim.status.reserved_for.end(),
                     [&](const auto& consumer) { return released_.contains(consumer.uid); });
}

void Watchdog::check_device(const std::string& device) {
  const auto holders = holders_.find(device);
  if (holders == holders_.end() || holders->second.size() < 2) return;
  std::string users;
  size_t count = 0;
  for (const std::string& key : holders->second) {
    const auto claim = claims_.store().get(key);
    if (!claim || !in_use(*claim)) continue;
    ++count;
    users += " " + key;
  }
  if (count > 1) violations_.push_back(device + " is used by" + users);
}

}  // namespace dra::integration
