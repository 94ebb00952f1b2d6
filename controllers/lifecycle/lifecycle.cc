#include "controllers/lifecycle/lifecycle.h"

#include <algorithm>
#include <set>

#include "controllers/lifecycle/health.h"
#include "controllers/lifecycle/identities.h"
#include "controllers/lifecycle/keep.h"
#include "pkg/api/pod_bounds.h"
#include "pkg/protocol/group_claims.h"
#include "pkg/protocol/keep.h"
#include "pkg/protocol/pod_claims.h"
#include "pkg/protocol/proof.h"
#include "pkg/protocol/users.h"
#include "pkg/protocol/writes.h"

namespace dra::lifecycle {

using namespace protocol;
using namespace reconcile;

namespace {

// kube-scheduler's Unreserve removed the pod from a claim with which we ungated it. Such a pod may be bound at any
// moment without another write of the claim. A pod that merely names the claim gets no reservation before it is bound:
// it may be unable to run there.
bool was_ungated_with(const api::Pod& pod, const api::ResourceClaim& claim) {
  return pod.scheduling_gates.empty() && is_proven(claim) && is_user(claim, pod.metadata.uid);
}

bool may_need_reservations(const api::Pod& pod) {
  return !pod.terminal() && !pod.metadata.deleting();
}

// An entry of the pod resolves to the claim, and the pod may use it.
bool names(const api::Pod& pod, const api::ResourceClaim& claim) {
  if (pod.metadata.ns != claim.metadata.ns) return false;
  return std::any_of(pod.resource_claims.begin(), pod.resource_claims.end(), [&](const api::PodResourceClaim& entry) {
    const ResolvedClaim resolved = resolve_claim(pod, entry);
    return resolved.state == ResolvedClaim::State::kNamed && resolved.name == claim.metadata.name &&
           (!resolved.must_check_owner || is_for_pod(pod, claim) || is_made_for_group_of(pod, claim));
  });
}

// Alive and certain to use the claim: only such pods get reservations here.
bool needs_reservation(const api::Pod& pod, const api::ResourceClaim& claim) {
  if (!may_need_reservations(pod)) return false;
  return !pod.node_name.empty() || was_ungated_with(pod, claim);
}

// The pod needs a reservation, and may get one of this claim.
bool lacks_reservation(const api::Pod& pod, const api::ResourceClaim& claim) {
  if (!claim.status.allocation || claim.metadata.deleting()) return false;
  if (!needs_reservation(pod, claim) || is_reserved_for(claim, pod.metadata.uid)) return false;
  if (is_reserved_for_group_of(pod, claim)) return false;
  // An allocation of ours may be used only once it is proven; the proof changes the claim, which requeues the key.
  if (needs_proof(claim) && !is_proven(claim)) return false;
  return names(pod, claim);
}

// One reconcile of one claim. The steps are tried in order; the first write ends the reconcile, because an object gets
// at most one write per reconcile and the answer requeues the key.
class ClaimReconcile {
 public:
  ClaimReconcile(const View& view, const api::ResourceClaim& claim, const Options& options,
                 const inventory::Inventory* inventory)
      : view_(view), claim_(claim), options_(options), inventory_(inventory) {}

  ReconcileResult run() {
    if (const Duration left = wait_for(options_.grace); left > Duration::zero()) {
      // Our own entry is no business of kube-controller-manager.
      remaining_ = status().reserved_for;
      settle_keeping();
      // Nothing needs to be done, so no timer either.
      if (!prune() && (has_users(claim_) || claim_.metadata.has_finalizer(api::kDeleteProtectionFinalizer)))
        outcome_.requeue_in(left);
      return std::move(outcome_);
    }
    if (sort_consumers())
      void(prune() || free_unused() || drop_finalizer() || delete_finished() || withdraw_unused() ||
           report_superseded());
    return std::move(outcome_);
  }

 private:
  const api::ResourceClaimStatus& status() const { return claim_.status; }

  Duration wait_for(Duration age) const {
    if (age <= Duration::zero()) return Duration::zero();
    return age - view_.unchanged_for(Kind::kClaim, claim_.metadata.key());
  }

  // False when the server must first be asked about consumers. A claim can name 256 pods that never existed: then a few
  // at a time are asked about and removed.
  bool sort_consumers() {
    constexpr size_t kAskedAtOnce = 32;
    ReconcileResult questions;
    for (const api::ResourceClaimConsumerReference& consumer : status().reserved_for) {
      Fate fate = Fate::kAlive;  // other kinds of consumers are not ours to judge
      if (is_pod_reference(consumer) && questions.effects.size() < kAskedAtOnce)
        fate = fate_of(view_, claim_.metadata.ns, {consumer.name, consumer.uid}, questions);
      if (fate != Fate::kGone) remaining_.push_back(consumer);
    }
    const bool some_are_gone = remaining_.size() < status().reserved_for.size();
    if (questions.effects.empty() || (questions.effects.size() == kAskedAtOnce && some_are_gone)) {
      settle_keeping();
      return true;
    }
    for (Effect& question : questions.effects) outcome_.add(std::move(question));
    return false;
  }

  // What our entry (pkg/protocol/keep.h) is to say, with the consumers that remain.
  void settle_keeping() {
    std::vector<api::ResourceClaimConsumerReference> users = remaining_;
    std::erase_if(users, is_keep_reference);
    keeping_ = judge_keeping({view_, inventory_, options_.ignored_taints, options_.release_gates}, claim_, users);
    if (keeping_.again) outcome_.requeue_in(*keeping_.again);
    if (!keeping_.refused.empty())
      emit_once(view_, outcome_,
                {ref_of(claim_), true, "KeepRefused", "Keep",
                 "annotation " + std::string(kKeepAnnotation) + ": " + keeping_.refused, keeping_.refused});
    std::optional<api::ResourceClaimConsumerReference> entry;
    if (keeping_.entry) entry = keep_reference(claim_, *keeping_.entry);
    const auto place = std::find_if(remaining_.begin(), remaining_.end(), is_keep_reference);
    const auto at = place - remaining_.begin();
    const bool had = place != remaining_.end();
    remaining_ = std::move(users);
    if (entry) remaining_.insert(had ? remaining_.begin() + at : remaining_.end(), std::move(*entry));
  }

  // The write changes our entry: an event says so, unless pods begin to use the claim.
  Write with_keeping(Write write) const {
    const std::optional<Keep> before = keep_of(claim_);
    if (before == keeping_.entry) return write;
    if (!keeping_.entry) {
      write.success_event = Event{ref_of(claim_),
                                  keeping_.taken,
                                  "KeepEnded",
                                  "Keep",
                                  "its devices are not kept any longer: " + keeping_.ended,
                                  ""};
      if (keeping_.taken) write.success_event->reason = "KeptDevicesTaken";
    } else if (keeping_.entry->until) {
      write.success_event = Event{ref_of(claim_),
                                  false,
                                  "KeepingDevices",
                                  "Keep",
                                  "no pod uses it; its devices are " + keep_words(*keeping_.entry),
                                  ""};
    }
    return write;
  }

  // Whether the allocation ends with its last consumer: those of kube-scheduler, which have the finalizer, and our own,
  // which get it with the proof. Any other client that allocates without the finalizer keeps its allocation, as with
  // kube-controller-manager (syncClaim() of its resourceclaim-controller).
  bool ends_with_consumers() const {
    return claim_.metadata.has_finalizer(api::kDeleteProtectionFinalizer) || is_allocated_by_us(claim_) ||
           is_proven(claim_);
  }

  // Removes consumers that are gone. The last one takes the allocation along, unless a pod that kube-scheduler removed
  // may use it.
  bool prune() {
    if (remaining_ == status().reserved_for) return false;
    const bool keeps = keep_of(claim_) != keeping_.entry;
    if (remaining_.empty() && status().allocation && ends_with_consumers()) {
      const Fate users = fate_of_users(view_, claim_, "", outcome_);
      if (users == Fate::kUnsure) return true;
      const std::vector<api::ResourceClaimConsumerReference> unreserved = unreserved_consumers();
      if (users == Fate::kGone && unreserved.empty()) {
        if (!may_be_used_unseen())
          outcome_.add(with_keeping(write_deallocation(claim_, keeps ? "end-keeping" : "deallocate")));
        return true;
      }
      remaining_ = unreserved;
    }
    outcome_.add(with_keeping(write_reservations(claim_, remaining_, keeps ? "keep" : "prune-reservations")));
    return true;
  }

  // Living pods without a reservation that use the claim, or may use it at any moment.
  std::vector<api::ResourceClaimConsumerReference> unreserved_consumers() const {
    std::vector<api::ResourceClaimConsumerReference> consumers;
    for (const api::Pod* pod : view_.pods_of_claim(claim_.metadata.key())) {
      if (consumers.size() >= api::kMaxReservedFor || !lacks_reservation(*pod, claim_)) continue;
      api::ResourceClaimConsumerReference consumer = consumer_for(view_, *pod, claim_);
      if (std::find(consumers.begin(), consumers.end(), consumer) == consumers.end())
        consumers.push_back(std::move(consumer));
    }
    return consumers;
  }

  // Frees a claim that nobody has reserved and that is being deleted or bears our proof: its pods left it one way or
  // another. True when nothing else is to be done with it.
  bool free_unused() {
    if (!status().allocation || !remaining_.empty()) return false;
    if (!is_proven(claim_) && !(claim_.metadata.deleting() && ends_with_consumers())) return false;
    const Fate users = fate_of_users(view_, claim_, "", outcome_);
    if (users == Fate::kUnsure) return true;
    if (users == Fate::kGone && !is_named_by_bound_pod()) {
      if (!may_be_used_unseen()) outcome_.add(write_deallocation(claim_, "deallocate"));
      return true;
    }
    if (!claim_.metadata.deleting()) return true;
    // The API server allows no new reservation of a claim that is being deleted. A gated pod soon leaves it.
    if (const Duration left = wait_for(options_.finalizer_grace); left > Duration::zero())
      outcome_.requeue_in(left);
    else
      emit_once(view_, outcome_,
                {ref_of(claim_), true, "DeletionWaits", "Deallocate",
                 "is being deleted, and keeps its devices: a pod that may use them is still there, without a "
                 "reservation (kube-scheduler takes it back when binding fails); delete the pods that name the claim",
                 ""});
    return true;
  }

  // A pod that is bound and names the claim may be running: a binding can succeed although kube-scheduler saw it fail.
  bool is_named_by_bound_pod() const {
    const std::vector<const api::Pod*> pods = view_.pods_of_claim(claim_.metadata.key());
    return std::any_of(pods.begin(), pods.end(), [&](const api::Pod* pod) {
      return !pod->node_name.empty() && !pod->terminal() && names(*pod, claim_);
    });
  }

  // A bound pod of the namespace has more claims than are kept of a pod, and this may be one of them. Nothing of such a
  // pod names the claim, so nothing reconciles the claim when the pod ends: only the timer does.
  bool may_be_used_unseen() {
    for (const api::Pod* pod : view_.pods_of_claim(unknown_claims_key(claim_.metadata.ns))) {
      if (pod->node_name.empty() || pod->terminal()) continue;
      outcome_.requeue_in(options_.unseen_retry);
      emit_once(view_, outcome_,
                {ref_of(claim_), true, "DevicesKept", "Deallocate",
                 "keeps its devices: pod " + pod->metadata.key() + " runs with more than " +
                     std::to_string(api::kMaxKeptEntries) + " claims, and only so many are checked, so it may use them",
                 ""});
      return true;
    }
    return false;
  }

  bool drop_finalizer() {
    if (status().allocation || !remaining_.empty()) return false;
    if (!claim_.metadata.has_finalizer(api::kDeleteProtectionFinalizer)) return false;
    if (!claim_.metadata.deleting() && owner_fate() != Fate::kGone) {
      if (has_live_gets()) return true;
      if (const Duration left = wait_for(options_.finalizer_grace); left > Duration::zero()) {
        outcome_.requeue_in(left);
        return false;
      }
    }
    std::vector<std::string> finalizers = claim_.metadata.finalizers;
    finalizers.erase(std::remove(finalizers.begin(), finalizers.end(), api::kDeleteProtectionFinalizer),
                     finalizers.end());
    std::map<std::string, std::optional<std::string>> annotations;
    if (claim_.metadata.annotations.contains(kProofAnnotation))
      annotations.emplace(std::string(kProofAnnotation), std::nullopt);
    // Who left stays known: the claim is not reserved for them again before the next proof.
    std::vector<User> left = users_of(claim_);
    std::erase_if(left, [](const User& user) { return !user.left; });
    if (claim_.metadata.annotations.contains(kProvenForAnnotation))
      annotations.emplace(std::string(kProvenForAnnotation), users_value(left));
    outcome_.add(write_metadata(claim_, finalizers, annotations, "remove-finalizer"));
    return true;
  }

  // The fate of the pod that controls the claim; alive if there is none, or if the garbage collector handles it.
  Fate owner_fate() {
    const api::OwnerReference* owner = pod_owner(claim_);
    if (!owner) return Fate::kAlive;
    const api::Pod* pod = view_.pod(claim_.metadata.ns + "/" + owner->name);
    if (pod && pod->metadata.uid == owner->uid) return pod->done() ? Fate::kGone : Fate::kAlive;
    return fate_of(view_, claim_.metadata.ns, {owner->name, owner->uid}, outcome_);
  }

  // Deletes a generated claim whose pod is finished, although the pod object stays (as a Job's does). If the pod object
  // is gone, that is the garbage collector's work, which is faster where there is one; this is only the fallback.
  bool delete_finished() {
    const api::OwnerReference* owner = pod_owner(claim_);
    if (!owner || claim_.metadata.deleting() || !remaining_.empty()) return false;
    const api::Pod* pod = view_.pod(claim_.metadata.ns + "/" + owner->name);
    if (!pod || pod->metadata.uid != owner->uid) {
      // With another owner left, the garbage collector only removes this owner's reference.
      if (claim_.metadata.owner_references.size() > 1) return false;
      if (const Duration left = wait_for(options_.orphan_after); left > Duration::zero()) {
        outcome_.requeue_in(left);
        return false;
      }
    }
    if (owner_fate() != Fate::kGone) return has_live_gets();
    outcome_.add(write_delete(Kind::kClaim, claim_.metadata, "delete-claim"));
    return true;
  }

  // Withdraws an unproven allocation that we wrote, that nobody reserved and that no living pod could use: its pod lost
  // interest between two writes.
  bool withdraw_unused() {
    if (!is_allocated_by_us(claim_) || is_proven(claim_) || !remaining_.empty()) return false;
    for (const api::Pod* pod : view_.pods_of_claim(claim_.metadata.key()))
      if (!pod->done()) return false;
    if (may_be_used_unseen()) return true;
    if (const Duration left = wait_for(options_.sweep_after); left > Duration::zero()) {
      outcome_.requeue_in(left);
      return false;
    }
    outcome_.add(write_deallocation(claim_, "withdraw-unused"));
    return true;
  }

  // Reports a claim that its pod no longer names after it was ungated or bound with it. Nothing shows whether kubelet
  // has prepared the devices, and no gate stops it: only the end of the pod frees them.
  bool report_superseded() {
    for (const api::ResourceClaimConsumerReference& consumer : remaining_) {
      if (!is_pod_reference(consumer)) continue;
      const api::Pod* pod = view_.pod(claim_.metadata.ns + "/" + consumer.name);
      if (!pod || pod->metadata.uid != consumer.uid || !pod->scheduling_gates.empty() || !is_superseded(*pod)) continue;
      emit_once(view_, outcome_,
                {ref_of(*pod), true, "ClaimSuperseded", "Deallocate",
                 "claim \"" + claim_.metadata.key() +
                     "\" is reserved for this pod, which does not name it any more; its devices may be prepared and "
                     "stay taken until the pod ends: delete the pod to free them",
                 claim_.metadata.uid});
    }
    return false;
  }

  bool is_superseded(const api::Pod& pod) const {
    return std::any_of(pod.resource_claims.begin(), pod.resource_claims.end(), [&](const api::PodResourceClaim& entry) {
      return is_made_for(pod, entry.name, claim_) && resolve_created_claim(pod, entry).name != claim_.metadata.name;
    });
  }

  bool has_live_gets() const { return outcome_.has_live_gets(); }

  const View& view_;
  const api::ResourceClaim& claim_;
  const Options& options_;
  const inventory::Inventory* inventory_;
  ReconcileResult outcome_;
  std::vector<api::ResourceClaimConsumerReference> remaining_;  // that the claim is to have, our own entry included
  Keeping keeping_;
};

// Writes the reservations missing for a pod that somebody else bound, or that kube-scheduler removed from its claims.
// Each entry on its own: a missing claim does not delay the others.
ReconcileResult reserve_for(const View& view, const api::Pod& pod, const Options& options) {
  ReconcileResult outcome;
  for (const std::string& key : claim_keys_of(pod)) {
    const api::ResourceClaim* claim = view.claim(key);
    if (!claim || !lacks_reservation(pod, *claim)) continue;
    if (claim->status.reserved_for.size() >= api::kMaxReservedFor) {
      emit_once(view, outcome,
                {ref_of(pod), true, "FailedReservation", "Reserve",
                 "claim \"" + claim->metadata.key() + "\" has " + std::to_string(api::kMaxReservedFor) +
                     " consumers, which is the most a claim can have; give some pods a claim of their own",
                 ""});
      continue;
    }
    const Duration age = view.unchanged_for(Kind::kClaim, claim->metadata.key());
    if (age < options.grace) {
      outcome.requeue_in(options.grace - age);
      continue;
    }
    std::vector<api::ResourceClaimConsumerReference> consumers = claim->status.reserved_for;
    consumers.push_back(consumer_for(view, pod, *claim));
    note_use(view, *claim, consumers);
    outcome.add(write_reservations(*claim, consumers, "reserve"));
  }
  return outcome;
}

bool wants_reservation(const View& view, const api::Pod& pod) {
  if (!may_need_reservations(pod)) return false;
  for (const std::string& key : claim_keys_of(pod)) {
    const api::ResourceClaim* claim = view.claim(key);
    if (claim && lacks_reservation(pod, *claim)) return true;
  }
  return false;
}

void on_pod(const Options& options, const View& view, const Changed<api::Pod>& change, EnqueueRequests& out) {
  const auto& [before, after] = change;
  if (!after || after->done()) {
    if (before && after && before->done()) return;
    std::set<std::string> keys;
    for (const api::Pod* pod : {before, after})
      if (pod)
        for (std::string& key : claim_keys_of(*pod)) keys.insert(std::move(key));
    const api::Pod& pod = after ? *after : *before;
    for (const api::ResourceClaim* claim : view.claims_controlled_by(pod.metadata.uid))
      keys.insert(claim->metadata.key());
    // A claim can be reserved for a pod that does not name it: whoever may write the status can add any pod.
    for (const api::ResourceClaim* claim : view.claims_reserved_for(pod.metadata.uid))
      keys.insert(claim->metadata.key());
    for (const std::string& key : keys) out.add_after(claim_key(key), options.grace);
    return;
  }
  if (wants_reservation(view, *after)) out.add(pod_key(after->metadata.key()));
  // Whether the next pod may use the devices that are kept for it.
  if (!before && after->node_name.empty())
    for (const std::string& key : claim_keys_of(*after))
      if (const api::ResourceClaim* claim = view.claim(key); claim && is_only_kept(*claim)) out.add(claim_key(key));
  if (before ? before->unhealthy_devices != after->unhealthy_devices : !after->unhealthy_devices.empty())
    for (const api::ResourceClaim* claim : view.claims_reserved_for(after->metadata.uid))
      out.add(claim_key(claim->metadata.key()));
  // Another claim replaced one of the pod's: reconciles the old one.
  if (before && before->resource_claim_statuses != after->resource_claim_statuses)
    for (const api::ResourceClaim* claim : view.claims_reserved_for(after->metadata.uid))
      out.add_after(claim_key(claim->metadata.key()), options.grace);
}

// A device in use may have gone or returned (health.h), or its whole pool.
void on_slice(const inventory::Inventory& inventory, const View& view, const Changed<api::ResourceSlice>& slice,
              SliceChanges& slices, EnqueueRequests& out) {
  const auto is_published = [](const api::Device&) { return std::string("published"); };
  const auto enqueue = [](const View&, const api::ResourceClaim& claim, EnqueueRequests& requests) {
    requests.add(claim_key(claim.metadata.key()));
  };
  slices.visit(view, inventory, slice.before, slice.after, is_published, enqueue, out);
}

void on_claim(const View& view, const api::ResourceClaim* after, EnqueueRequests& out) {
  if (!after) return;
  out.add(claim_key(after->metadata.key()));
  if (!after->status.allocation) return;
  for (const api::Pod* pod : view.pods_of_claim(after->metadata.key()))
    if (wants_reservation(view, *pod)) out.add(pod_key(pod->metadata.key()));
}

}  // namespace

ReconcileResult LifecycleReconciler::reconcile(const Key& key, const View& view, reconcile::State& state) const {
  if (key.kind == Kind::kClaim) {
    const api::ResourceClaim* claim = view.claim(key.object);
    if (!claim) return {};
    ReconcileResult outcome = ClaimReconcile(view, *claim, options_, inventory_).run();
    // Only in a reconcile with nothing else to do: the answer to a write or a live GET requeues the key.
    if (inventory_ && outcome.effects.empty())
      note_identities(view, *inventory_, *claim, static_cast<State&>(state).noted, outcome);
    if (inventory_ && outcome.effects.empty()) report_device_troubles(view, *inventory_, *claim, outcome);
    return outcome;
  }
  if (key.kind == Kind::kPod) {
    const api::Pod* pod = view.pod(key.object);
    return pod && may_need_reservations(*pod) ? reserve_for(view, *pod, options_) : ReconcileResult{};
  }
  return {};
}

void LifecycleEvents::changed(const Change& change, const View& view, reconcile::State& state,
                              EnqueueRequests& out) const {
  std::visit(Cases{[&](const Changed<api::Pod>& pod) { on_pod(options_, view, pod, out); },
                   [&](const Changed<api::ResourceClaim>& claim) { on_claim(view, claim.after, out); },
                   [&](const Changed<api::ResourceSlice>& slice) {
                     if (inventory_) on_slice(*inventory_, view, slice, static_cast<State&>(state).slices, out);
                   },
                   [](const auto&) {}},
             change);
}

Parts parts(const Options& options, const inventory::Inventory* inventory) {
  return {.name = "lifecycle",
          .reconciler = std::make_unique<LifecycleReconciler>(options, inventory),
          .events = std::make_unique<LifecycleEvents>(options, inventory),
          .state = std::make_unique<State>()};
}

}  // namespace dra::lifecycle
