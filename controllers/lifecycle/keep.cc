#include "controllers/lifecycle/keep.h"

#include <algorithm>

#include "pkg/api/selectors.h"
#include "pkg/protocol/avoided.h"
#include "pkg/protocol/pod_claims.h"
#include "pkg/protocol/proof.h"

namespace dra::lifecycle {

using namespace protocol;
using reconcile::View;

namespace {

// Taints, what pods avoid, and who takes the devices change without a write of the claim.
constexpr Duration kLookAgain = std::chrono::seconds(2);

// `owner`: of a claim that ends with its pod, for whose next pod its devices are.
std::string why_refused(const KeepFacts& facts, const api::ResourceClaim& claim, const std::string& owner) {
  if (!asks_to_keep(claim)) return "";
  if (!outlives_pods(claim) && owner.empty()) {
    const api::OwnerReference& made_for = *claim.metadata.controller();
    return "the claim was made for " + made_for.kind + " " + made_for.name + " and ends with it" +
           (made_for.kind == "Pod" ? ", which has no controller that makes a next one" : "") +
           "; name a ResourceClaim of your own in the pod (resourceClaimName) to keep its devices";
  }
  const std::string& text = claim.metadata.annotations.find(kKeepAnnotation)->second;
  if (std::string why = why_not_kept(text); !why.empty()) return why;
  if (!facts.view.may_have_foreign_consumers())
    return "the server is older than 1.36, and its kube-controller-manager stops at a consumer that it does not know: "
           "the devices are freed with the last pod";
  return "";
}

// A taint that would keep a new pod from the device, as the allocator sees it; or a waiting pod of the claim avoids it.
std::string why_unusable(const KeepFacts& facts, const api::ResourceClaim& claim) {
  if (facts.inventory == nullptr) return "";
  const auto& results = claim.status.allocation->results;
  if (facts.inventory->features().device_taints)
    for (const api::DeviceRequestAllocationResult& result : results)
      for (const api::DeviceTaint& taint : facts.inventory->taints({result.driver, result.pool, result.device}))
        if (api::keeps_new_pods_away(taint, result.tolerations, facts.ignored_taints))
          return "device " + result.driver + "/" + result.pool + "/" + result.device + " has the taint " + taint.key +
                 ":" + taint.effect;
  for (const api::Pod* pod : facts.view.pods_of_claim(claim.metadata.key())) {
    if (!pod->node_name.empty() || pod->done()) continue;
    for (const AvoidedDevice& avoided : avoided_devices(facts.view, *pod))
      for (const api::DeviceRequestAllocationResult& result : results)
        if (avoided.name == inventory::DeviceName{result.driver, result.pool, result.device})
          return "device " + avoided.name.text() + " could not be prepared, and pod " + pod->metadata.name +
                 " avoids it";
  }
  return "";
}

std::string why_ended(const KeepFacts& facts, const api::ResourceClaim& claim, const std::string& refused,
                      const std::string& owner) {
  // The end of its pod deletes a claim that was made for it.
  if (claim.metadata.deleting() && owner.empty()) return "the claim is being deleted";
  if (!asks_to_keep(claim)) return "the annotation was removed";
  if (!refused.empty()) return refused;
  return facts.ends_all ? "the manager is about to be uninstalled" : "";
}

}  // namespace

Keeping judge_keeping(const KeepFacts& facts, const api::ResourceClaim& claim,
                      const std::vector<api::ResourceClaimConsumerReference>& users) {
  Keeping out;
  const std::optional<Keep> now = keep_of(claim);
  if (!now && !asks_to_keep(claim)) return out;
  const std::string owner = outlives_pods(claim) ? "" : owner_to_keep_for(facts.view, claim);
  // Nobody can say whether a next one comes.
  if (!now && owner.empty() && pod_owner(claim) != nullptr && known_pod_owner(facts.view, claim) == nullptr) return out;
  out.refused = why_refused(facts, claim, owner);
  const std::string ended = why_ended(facts, claim, out.refused, owner);
  const auto end = [&](const std::string& why) {
    if (now) out.ended = why;
    return out;
  };
  if (!claim.status.allocation || !ended.empty()) return end(ended);
  if (claim.metadata.deleting() && (!now || !users.empty())) {
    out.entry = now;  // which cannot be changed any more
    return out;
  }
  if (!users.empty()) {
    if (!now && users.size() >= api::kMaxReservedFor) {
      out.refused = "the claim has " + std::to_string(api::kMaxReservedFor) +
                    " consumers, which is the most a claim can have, and keeping its devices takes one";
      return out;
    }
    std::vector<api::ResourceClaimConsumerReference> all = users;
    all.push_back(keep_reference(claim, {std::nullopt, now ? now->priority : 0, owner}));
    note_use(facts.view, claim, all);
    api::ResourceClaim noted;
    noted.status.reserved_for = {all.back()};
    out.entry = keep_of(noted);
    return out;
  }
  if (!now) return out;
  if (needs_proof(claim) && !is_proven(claim)) return end("no pod has used the devices");
  const Duration lasts = *keeps_for(claim);
  const Timestamp time = facts.view.now();
  out.entry = now;
  out.entry->owner = owner;
  if (!owner.empty() && !claim.metadata.deleting()) return out;  // its pod's end will delete it
  // At least as long as asked: the entry has whole seconds. What ends later than any annotation can ask is not ours.
  if (!owner.empty())
    out.entry->until = end_of_deleted(claim).value_or(time);
  else if (!now->until || *now->until > time + kLongestKeep + std::chrono::seconds(1))
    out.entry->until = Timestamp::at((time + lasts + std::chrono::seconds(1)).seconds());
  std::string why = *out.entry->until <= time ? "the time is over" : why_unusable(facts, claim);
  if (const api::Pod* taker = why.empty() ? taker_of(facts.view, claim, *out.entry) : nullptr) {
    out.taken = !is_next_pod(*taker, claim, *out.entry);
    why = out.taken ? "pod " + taker->metadata.key() + " of priority " + std::to_string(taker->priority) +
                          " fits nowhere without them, and they were kept with priority " +
                          std::to_string(out.entry->priority)
                    : "pod " + taker->metadata.key() + ", the next one of its owner, takes them over";
  }
  if (!why.empty()) {
    out.entry.reset();
    return end(why);
  }
  out.again = std::min<Duration>(kLookAgain, *out.entry->until - time);
  return out;
}

}  // namespace dra::lifecycle
