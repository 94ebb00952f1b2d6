#include "controllers/lifecycle/lifecycle.h"

#include <algorithm>
#include <set>

#include "pkg/reconcile/pod_claims.h"
#include "pkg/reconcile/proof.h"
#include "pkg/reconcile/writes.h"

namespace dra::lifecycle {

using namespace reconcile;

namespace {

enum class Fate { kAlive, kGone, kUnsure };

// kube-scheduler's Unreserve took the pod out of a claim with which it was let go: the claim bears the pod's proof, or
// the pod is pinned to the claim's nodes. Such a pod may be bound at any moment, without another write of the claim. A
// pod that merely names the claim is not reserved before it is bound: it may be unable to run there.
bool was_let_go_with(const api::Pod& pod, const api::ResourceClaim& claim) {
  if (!pod.scheduling_gates.empty() || !is_proven(claim)) return false;
  if (proven_for(claim) == pod.metadata.uid) return true;
  const auto& selector = claim.status.allocation->node_selector;
  return selector && selector->terms.size() == 1 && is_narrowed_to(pod, selector->terms.front());
}

bool may_need_reservations(const api::Pod& pod) {
  return !pod.terminal() && !pod.metadata.deleting();
}

// Alive, and sure to use the claim: the only pods that get reservations here.
bool needs_reservation(const api::Pod& pod, const api::ResourceClaim& claim) {
  if (!may_need_reservations(pod)) return false;
  return !pod.node_name.empty() || was_let_go_with(pod, claim);
}

// One pass over one claim. The steps are tried in order; the first write ends the pass, because an object gets at most
// one write a pass and its answer brings the key back.
class ClaimPass {
 public:
  ClaimPass(const View& view, const api::ResourceClaim& claim, const Options& options)
      : view_(view), claim_(claim), options_(options) {}

  Outcome run() {
    if (const Duration left = wait_for(options_.grace); left > Duration::zero()) {
      // Nothing that calls for action: no timer either.
      if (!claim_.status.reserved_for.empty() || claim_.metadata.has_finalizer(api::kDeleteProtectionFinalizer))
        outcome_.look_again_in(left);
      return std::move(outcome_);
    }
    if (sort_consumers()) void(prune() || free_deleted() || drop_finalizer() || delete_finished() || withdraw_unused());
    return std::move(outcome_);
  }

 private:
  const api::ResourceClaimStatus& status() const { return claim_.status; }

  Duration wait_for(Duration age) const {
    if (age <= Duration::zero()) return Duration::zero();
    return age - view_.unchanged_for(Kind::kClaim, claim_.metadata.key());
  }

  // Whether the pod instance still needs its claims. Gone is said only when the server said so, by uid.
  Fate fate_of(const std::string& name, const std::string& uid) {
    const Ref ref{Kind::kPod, claim_.metadata.ns, name, uid};
    const api::Pod* pod = view_.pod(ref.store_key());
    if (pod && pod->metadata.uid == uid) return pod->done() ? Fate::kGone : Fate::kAlive;
    switch (view_.confirmed(ref)) {
      case Presence::kAbsent:
        return Fate::kGone;
      case Presence::kPresent:
        return Fate::kAlive;
      case Presence::kUnknown:
        outcome_.add(Confirm{ref});
        return Fate::kUnsure;
    }
    return Fate::kUnsure;
  }

  // False when the server has to be asked about a consumer first.
  bool sort_consumers() {
    bool sure = true;
    for (const api::ResourceClaimConsumerReference& consumer : status().reserved_for) {
      Fate fate = Fate::kAlive;  // consumers of other kinds are not ours to judge
      if (is_pod_reference(consumer)) fate = fate_of(consumer.name, consumer.uid);
      if (fate == Fate::kUnsure) sure = false;
      if (fate != Fate::kGone) remaining_.push_back(consumer);
    }
    return sure;
  }

  // Takes the consumers that are gone off the list. The last one takes the allocation along, finalizer or not: without
  // it upstream leaves the devices taken for ever.
  bool prune() {
    if (remaining_.size() == status().reserved_for.size()) return false;
    if (!remaining_.empty() || !status().allocation) {
      outcome_.add(write_reservations(claim_, remaining_, "prune-reservations"));
      return true;
    }
    Write write = write_deallocation(claim_, "deallocate");
    if (!claim_.metadata.has_finalizer(api::kDeleteProtectionFinalizer))
      write.success_event = Event{ref_of(claim_),
                                  true,
                                  "DeallocatedWithoutFinalizer",
                                  "Deallocate",
                                  "the last consumer is gone; the allocation had no finalizer " +
                                      std::string(api::kDeleteProtectionFinalizer) +
                                      ", without which kube-controller-manager would never have freed its devices",
                                  ""};
    outcome_.add(std::move(write));
    return true;
  }

  bool free_deleted() {
    if (!claim_.metadata.deleting() || !remaining_.empty() || !status().allocation) return false;
    outcome_.add(write_deallocation(claim_, "deallocate"));
    return true;
  }

  bool drop_finalizer() {
    if (status().allocation || !remaining_.empty()) return false;
    if (!claim_.metadata.has_finalizer(api::kDeleteProtectionFinalizer)) return false;
    if (!claim_.metadata.deleting() && owner_fate() != Fate::kGone) {
      if (has_confirms()) return true;
      if (const Duration left = wait_for(options_.finalizer_grace); left > Duration::zero()) {
        outcome_.look_again_in(left);
        return false;
      }
    }
    std::vector<std::string> finalizers = claim_.metadata.finalizers;
    finalizers.erase(std::remove(finalizers.begin(), finalizers.end(), api::kDeleteProtectionFinalizer),
                     finalizers.end());
    std::map<std::string, std::optional<std::string>> annotations;
    for (const std::string_view name : {kProofAnnotation, kProvenForAnnotation})
      if (claim_.metadata.annotations.contains(name)) annotations.emplace(std::string(name), std::nullopt);
    outcome_.add(write_metadata(claim_, finalizers, annotations, "remove-finalizer"));
    return true;
  }

  // The fate of the pod that controls the claim; alive where there is none, or when it is the garbage collector's turn.
  Fate owner_fate() {
    const api::OwnerReference* owner = pod_owner(claim_);
    if (!owner) return Fate::kAlive;
    const api::Pod* pod = view_.pod(claim_.metadata.ns + "/" + owner->name);
    if (pod && pod->metadata.uid == owner->uid) return pod->done() ? Fate::kGone : Fate::kAlive;
    return fate_of(owner->name, owner->uid);
  }

  // A generated claim whose pod is finished goes although the pod object stays (a Job's). Whose pod object is gone is
  // the garbage collector's, which is quicker in every cluster that has one; here it goes only if that does nothing.
  bool delete_finished() {
    const api::OwnerReference* owner = pod_owner(claim_);
    if (!owner || claim_.metadata.deleting() || !remaining_.empty()) return false;
    const api::Pod* pod = view_.pod(claim_.metadata.ns + "/" + owner->name);
    if (!pod || pod->metadata.uid != owner->uid) {
      // With another owner left, the garbage collector only takes this one's reference away.
      if (claim_.metadata.owner_references.size() > 1) return false;
      if (const Duration left = wait_for(options_.orphan_after); left > Duration::zero()) {
        outcome_.look_again_in(left);
        return false;
      }
    }
    if (owner_fate() != Fate::kGone) return has_confirms();
    outcome_.add(write_delete(Kind::kClaim, claim_.metadata, "delete-claim"));
    return true;
  }

  // An allocation that we wrote, that nobody reserved, and that no living pod could use: its pod lost interest between
  // two writes.
  bool withdraw_unused() {
    if (!is_allocated_by_us(claim_) || !remaining_.empty()) return false;
    for (const api::Pod* pod : view_.pods_of_claim(claim_.metadata.key()))
      if (!pod->done()) return false;
    if (const Duration left = wait_for(options_.sweep_after); left > Duration::zero()) {
      outcome_.look_again_in(left);
      return false;
    }
    if (!is_prover_gone()) {
      if (!has_confirms()) outcome_.look_again_in(options_.sweep_after);
      return has_confirms();
    }
    outcome_.add(write_deallocation(claim_, "withdraw-unused"));
    return true;
  }

  // A proven claim without consumers: kube-scheduler may have taken the pod out of it that was let go with it, and our
  // view of pods may be older than that of claims.
  bool is_prover_gone() {
    const auto name = claim_.metadata.annotations.find(kProvenForAnnotation);
    if (!is_proven(claim_) || name == claim_.metadata.annotations.end()) return true;
    return fate_of(name->second, std::string(proven_for(claim_))) == Fate::kGone;
  }

  bool has_confirms() const { return outcome_.has_confirms(); }

  const View& view_;
  const api::ResourceClaim& claim_;
  const Options& options_;
  Outcome outcome_;
  std::vector<api::ResourceClaimConsumerReference> remaining_;
};

// Reserves what a pod lacks that somebody else bound, or that kube-scheduler took out of its claims. Each entry for
// itself: a missing claim does not hold up the others.
Outcome reserve_for(const View& view, const api::Pod& pod, const Options& options) {
  Outcome outcome;
  std::set<std::string> seen;
  for (const api::PodResourceClaim& entry : pod.resource_claims) {
    const ResolvedClaim resolved = resolve_claim(pod, entry);
    if (resolved.state != ResolvedClaim::State::kNamed) continue;
    const api::ResourceClaim* claim = view.claim(pod.metadata.ns + "/" + resolved.name);
    if (!claim || !claim->status.allocation || claim->metadata.deleting()) continue;
    if (resolved.must_check_owner && !is_for_pod(pod, *claim)) continue;
    if (!needs_reservation(pod, *claim)) continue;
    if (is_reserved_for(*claim, pod.metadata.uid) || !seen.insert(claim->metadata.key()).second) continue;
    // An allocation of ours may be used only once it is proven; the proof changes the claim and brings the key back.
    if (needs_proof(*claim) && !is_proven(*claim)) continue;
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
      outcome.look_again_in(options.grace - age);
      continue;
    }
    std::vector<api::ResourceClaimConsumerReference> consumers = claim->status.reserved_for;
    consumers.push_back(pod_reference(pod));
    outcome.add(write_reservations(*claim, consumers, "reserve"));
  }
  return outcome;
}

bool wants_reservation(const View& view, const api::Pod& pod) {
  if (!may_need_reservations(pod)) return false;
  for (const std::string& key : claim_keys_of(pod)) {
    const api::ResourceClaim* claim = view.claim(key);
    if (claim && claim->status.allocation && !is_reserved_for(*claim, pod.metadata.uid) &&
        needs_reservation(pod, *claim))
      return true;
  }
  return false;
}

}  // namespace

Outcome LifecycleReconciler::reconcile(const View& view, const Key& key) const {
  if (key.kind == Kind::kClaim) {
    const api::ResourceClaim* claim = view.claim(key.object);
    return claim ? ClaimPass(view, *claim, options_).run() : Outcome{};
  }
  if (key.kind == Kind::kPod) {
    const api::Pod* pod = view.pod(key.object);
    return pod && may_need_reservations(*pod) ? reserve_for(view, *pod, options_) : Outcome{};
  }
  return {};
}

void LifecycleReconciler::on_pod(const View& view, const api::Pod* before, const api::Pod* after, Triggers& out) const {
  if (!after || after->done()) {
    if (before && after && before->done()) return;
    std::set<std::string> keys;
    for (const api::Pod* pod : {before, after})
      if (pod)
        for (std::string& key : claim_keys_of(*pod)) keys.insert(std::move(key));
    const api::Pod& pod = after ? *after : *before;
    for (const api::ResourceClaim* claim : view.claims_controlled_by(pod.metadata.uid))
      keys.insert(claim->metadata.key());
    // A reservation does not need the pod to name the claim: whoever may write the status can put any pod there.
    for (const api::ResourceClaim* claim : view.claims_reserved_for(pod.metadata.uid))
      keys.insert(claim->metadata.key());
    for (const std::string& key : keys) out.add_after(claim_key(key), options_.grace);
  } else if (wants_reservation(view, *after)) {
    out.add(pod_key(after->metadata.key()));
  }
}

void LifecycleReconciler::on_claim(const View& view, const api::ResourceClaim*, const api::ResourceClaim* after,
                                   Triggers& out) const {
  if (!after) return;
  out.add(claim_key(after->metadata.key()));
  if (!after->status.allocation) return;
  for (const api::Pod* pod : view.pods_of_claim(after->metadata.key()))
    if (wants_reservation(view, *pod)) out.add(pod_key(pod->metadata.key()));
}

}  // namespace dra::lifecycle
