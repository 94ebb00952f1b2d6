// ArbitrationModel: claims of PodGroups (P9). The pods of a PodGroup share a claim that is reserved for the PodGroup; a
// PodGroup that is deleted goes with its last pod, and kube-controller-manager then takes it out of the claim's
// reservations and frees the claim. It comes again under another uid, with another claim.
#include <algorithm>

#include "pkg/protocol/group_claims.h"
#include "pkg/protocol/groups.h"
#include "pkg/protocol/pod_claims.h"
#include "pkg/protocol/proof.h"
#include "test/integration/arbitration_model.h"
#include "test/integration/arbitration_writer.h"
#include "test/support/objects.h"

namespace dra::integration {
namespace {

constexpr size_t kPodGroups = 2;

// Of a pod of a group: the key of the group's claim.
std::string group_claim_of(const api::Pod& pod) {
  return pod.pod_group_name.empty() ? "" : "d/" + *pod.resource_claim_statuses.front().resource_claim_name;
}

}  // namespace

void ArbitrationModel::make_pod_groups() {
  for (size_t i = 0; i < kPodGroups; ++i) {
    const std::string name = "g" + std::to_string(i);
    if (pod_groups_.contains("d/" + name)) continue;
    auto group = std::make_shared<api::PodGroup>();
    group->metadata.ns = "d";
    group->metadata.name = name;
    group->metadata.uid = name + "-uid" + std::to_string(++next_claim_);
    group->resource_claims = {{"r0", std::nullopt, "t"}};
    pod_groups_["d/" + name] = group;
    auto claim = std::make_shared<api::ResourceClaim>();
    claim->metadata.ns = "d";
    claim->metadata.name = name + "-r0-" + std::to_string(++next_claim_);
    claim->metadata.uid = claim->metadata.name + "-uid";
    claim->metadata.owner_references = {{"scheduling.k8s.io/v1alpha2", "PodGroup", name, group->metadata.uid, true}};
    claim->metadata.annotations[std::string(api::kPodClaimNameAnnotation)] = "r0";
    claim_of_group_["d/" + name] = claim->metadata.name;
    claim->spec.requests = {test::exactly("gpu", "gpu", 1)};
    claim->metadata.managed_fields = {{"kubectl", "Update", ""}};
    put<api::ResourceClaim>(claims_, claim->metadata.key(), claim);
  }
}

void ArbitrationModel::add_group_member() {
  make_pod_groups();
  const std::string group = "g" + std::to_string(random_.below(kPodGroups));
  if (pods_.objects.size() >= options_.pods || ending_groups_.contains("d/" + group)) return;
  const bool stock = options_.stock_members && random_.below(3) == 0;
  const std::string name = (stock ? "k" : "m") + std::to_string(next_pod_++);
  const auto pod = make_pod(name, false, !stock && draw_to_bind(), random_.below(3) == 0 && !stock ? 1 : 0);
  if (stock) pod->scheduling_gates.clear();
  pod->pod_group_name = group;
  pod->resource_claims.push_back({"r0", std::nullopt, "t"});
  pod->resource_claim_statuses = {{"r0", claim_of_group_.at("d/" + group)}};
  ++stats_.group_members;
  put<api::Pod>(pods_, pod->metadata.key(), pod);
}

// The finalizer keeps a PodGroup until its last pod is gone.
void ArbitrationModel::end_pod_groups(bool begin) {
  if (begin && !pod_groups_.empty() && random_.below(4) == 0) {
    auto victim = pod_groups_.begin();
    std::advance(victim, static_cast<long>(random_.below(pod_groups_.size())));
    ending_groups_.insert(victim->first);
  }
  for (auto ending = ending_groups_.begin(); ending != ending_groups_.end();) {
    const std::string name = ending->substr(ending->find('/') + 1);
    const bool has_pods = std::any_of(pods_.objects.begin(), pods_.objects.end(),
                                      [&](const auto& known) { return known.second->pod_group_name == name; });
    if (has_pods) {
      ++ending;
      continue;
    }
    pod_groups_.erase(*ending);
    delete_claim("d/" + claim_of_group_.at(*ending));
    ++stats_.groups_ended;
    ending = ending_groups_.erase(ending);
  }
}

// kube-controller-manager: takes PodGroups that are gone out of the reservations, and frees a claim with the last one.
void ArbitrationModel::drop_ended_groups() {
  std::vector<std::shared_ptr<api::ResourceClaim>> changed;
  for (const auto& [key, claim] : claims_.objects) {
    auto pruned = std::make_shared<api::ResourceClaim>(*claim);
    const size_t gone = std::erase_if(pruned->status.reserved_for, [&](const auto& consumer) {
      if (!protocol::is_group_reference(consumer)) return false;
      const auto group = pod_groups_.find("d/" + consumer.name);
      return group == pod_groups_.end() || group->second->metadata.uid != consumer.uid;
    });
    if (gone == 0) continue;
    if (pruned->status.reserved_for.empty() && pruned->metadata.has_finalizer(api::kDeleteProtectionFinalizer)) {
      freed(*pruned, "kube-controller-manager", revision_);
      pruned->status.allocation.reset();
    }
    changed.push_back(std::move(pruned));
  }
  for (auto& claim : changed) put<api::ResourceClaim>(claims_, claim->metadata.key(), claim);
}

// kube-scheduler binds its own pods of a PodGroup where the group's claim is, and reserves it for the group.
void ArbitrationModel::bind_stock_members() {
  std::vector<std::shared_ptr<const api::Pod>> able;
  for (const auto& [key, pod] : pods_.objects) {
    if (!is_stock(*pod) || !pod->node_name.empty()) continue;
    const auto claim = claims_.objects.find(group_claim_of(*pod));
    if (claim != claims_.objects.end() && claim->second->status.allocation && protocol::is_proven(*claim->second))
      able.push_back(pod);
  }
  if (able.empty()) return;
  auto pod = std::make_shared<api::Pod>(*able[random_.below(able.size())]);
  const std::string key = group_claim_of(*pod);
  const auto& claim = claims_.objects.at(key);
  if (!protocol::is_reserved_for_group_of(*pod, *claim)) {
    const auto group = pod_groups_.find("d/" + pod->pod_group_name);
    if (group == pod_groups_.end()) return;
    auto reserved = std::make_shared<api::ResourceClaim>(*claim);
    reserved->status.reserved_for.push_back(protocol::group_reference(*group->second));
    return put<api::ResourceClaim>(claims_, key, reserved);
  }
  pod->node_name = claim->status.allocation->results.front().pool;
  ++stats_.stock_bound;
  use(*pod, *claim);
  put<api::Pod>(pods_, pod->metadata.key(), pod);
  stock_bound_at_[pod->metadata.key()] = revision_;
}

bool ArbitrationModel::is_bound_unseen(const std::string& pod, uint64_t seen) const {
  const auto bound = stock_bound_at_.find(pod);
  return bound != stock_bound_at_.end() && bound->second > seen;
}

// What kubelet asks: reserved for the pod, or for the PodGroup that it names.
bool ArbitrationModel::may_use(const api::Pod& pod, const api::ResourceClaim& claim) const {
  if (protocol::is_reserved_for(claim, pod.metadata.uid)) return true;
  return !pod.pod_group_name.empty() && claim.metadata.key() == group_claim_of(pod) &&
         protocol::is_reserved_for_group_of(pod, claim);
}

// kube-scheduler's Unreserve of a pod of a group: the group's reservation goes while none of its pods is bound.
bool ArbitrationModel::unreserve_group(api::ResourceClaim& claim, const api::Pod& pod) {
  if (pod.pod_group_name.empty() || claim.metadata.key() != group_claim_of(pod)) return false;
  for (const auto& [key, other] : pods_.objects)
    if (other->pod_group_name == pod.pod_group_name && !other->node_name.empty()) return false;
  if (std::erase_if(claim.status.reserved_for, protocol::is_group_reference) == 0) return false;
  for (const auto& [key, other] : pods_.objects)
    if (other->pod_group_name == pod.pod_group_name) stop_using(claim, key);
  unreserved_.insert(claim.metadata.key());
  return true;
}

}  // namespace dra::integration
