#include "pkg/manager/permit/own_mode.h"

#include <algorithm>
#include <set>

#include "pkg/protocol/pod_claims.h"

namespace dra::manager {

void ClaimMakerDispute::saw(ComponentPresence controller_manager) {
  known_ = true;
  present_ = controller_manager == ComponentPresence::kPresent;
  if (!present_) settled_ = false;
  if (!disputed()) waiting_since_.clear();
}

void ClaimMakerDispute::saw_waiting(const std::vector<std::string>& uids, MonoTime now) {
  if (!disputed()) return;
  const std::set<std::string> waiting(uids.begin(), uids.end());
  std::erase_if(waiting_since_, [&](const auto& entry) { return !waiting.contains(entry.first); });
  for (const std::string& uid : waiting) {
    if (waiting_since_.size() >= kMostPods && !waiting_since_.contains(uid)) continue;
    if (now - waiting_since_.try_emplace(uid, now).first->second >= kPatience) settled_ = true;
  }
  if (settled_) waiting_since_.clear();
}

std::string ClaimMakerDispute::why_not() const {
  if (may_make()) return "";
  if (!known_) return "the lease kube-system/kube-controller-manager was not read yet";
  return "kube-controller-manager runs, and its resourceclaim-controller may be on: no claim is made from a template "
         "until it is known to be off. Switch it off (--controllers=*,-resourceclaim-controller) and start with "
         "--resourceclaim-controller-is-off, or use --claim-templates=observe; a pod that waits 10 s for its claims "
         "settles it, too";
}

std::vector<std::string> pods_without_claims(const reconcile::View& view, const std::vector<const api::Pod*>& pods,
                                             size_t limit) {
  const auto waits = [&](const api::Pod& pod, const api::PodResourceClaim& entry) {
    if (!entry.resource_claim_template_name) return false;
    if (!view.claim_template(pod.metadata.ns + "/" + *entry.resource_claim_template_name)) return false;
    for (const api::PodResourceClaimStatus& status : pod.resource_claim_statuses)
      if (status.name == entry.name) return false;
    const auto owned = view.claims_controlled_by(pod.metadata.uid);
    return std::none_of(owned.begin(), owned.end(), [&](const api::ResourceClaim* claim) {
      const auto made_for = claim->metadata.annotations.find(api::kPodClaimNameAnnotation);
      return made_for != claim->metadata.annotations.end() && made_for->second == entry.name;
    });
  };
  std::vector<std::string> uids;
  for (const api::Pod* pod : pods) {
    if (uids.size() >= limit) break;
    if (pod->done() || pod->metadata.deleting()) continue;
    if (std::any_of(pod->resource_claims.begin(), pod->resource_claims.end(),
                    [&](const api::PodResourceClaim& entry) { return waits(*pod, entry); }))
      uids.push_back(pod->metadata.uid);
  }
  return uids;
}

void OwnMode::start() {
  check_lease();
  check_pods();
}

void OwnMode::stop() {
  call_.cancel();
  lease_timer_.cancel();
  pod_timer_.cancel();
}

void OwnMode::judge(const std::function<void()>& news) {
  const bool could = dispute_.may_make();
  const bool was_disputed = dispute_.disputed();
  news();
  if (could != dispute_.may_make() || was_disputed != dispute_.disputed()) changed_();
}

void OwnMode::check_lease() {
  call_ = client_.get(component_lease("kube-controller-manager"), [this](Result<std::string> lease) {
    // Without an answer the dispute is not judged again.
    const bool answered = lease || lease.error().http_status() == 404 || lease.error().http_status() == 403;
    if (answered) judge([&] { dispute_.saw(presence_of(lease, reactor_.clock().wall_now())); });
    lease_timer_ = reactor_.after(kLeasePeriod, [this] { check_lease(); });
  });
}

void OwnMode::check_pods() {
  if (dispute_.disputed()) judge([&] { dispute_.saw_waiting(waiting_(), reactor_.clock().mono_now()); });
  pod_timer_ = reactor_.after(kPodPeriod, [this] { check_pods(); });
}

}  // namespace dra::manager
