#include "controllers/allocation/pod/pod_reconcile.h"

#include <algorithm>

#include "controllers/allocation/group/group_members.h"
#include "pkg/protocol/extended_claim.h"

namespace dra::allocation {

using namespace reconcile;

PodReconcile::PodReconcile(const View& view, const api::Pod& pod, Role role, const Tools& tools)
    : view_(view),
      pod_(pod),
      role_(role),
      options_(tools.options),
      inventory_(tools.inventory),
      allocator_(tools.allocator),
      nodes_(tools.nodes),
      why_here_(tools.why_here),
      kept_(tools.kept),
      kept_devices_(tools.kept_devices),
      gangs_(tools.gangs),
      extended_(extended_resources_of(view, pod)),
      state_(derive_state(view, pod, options_, extended_)),
      extended_claim_(state_.extended) {
  if (extended_claim_) claimed_ = claimed_by(pod, extended_, *extended_claim_);
}

void PodReconcile::watch_missing() {
  const std::string& uid = pod_.metadata.uid;
  const std::optional<View::Noted> seen = view_.note(uid, kMissingNote);
  const std::string id = state_.missing ? state_.missing->id() : "";
  if (seen ? seen->text != id : !id.empty()) outcome_.add(Note{uid, std::string(kMissingNote), id});
  if (id.empty() || !state_.ordinary_wait) return;
  const Duration age = seen && seen->text == id ? seen->age : Duration::zero();
  outcome_.requeue_in(std::max<Duration>(ordinary_absence(*state_.missing) - age, std::chrono::milliseconds(100)));
}

Outcome PodReconcile::run() {
  watch_missing();
  if (leave() || drop_abandoned()) {
    // The answers requeue the pod.
  } else if (releasing() && (!state_.waits_for.empty() || !state_.all_allocated())) {
    release();
  } else if (!state_.waits_for.empty()) {
    if (!state_.ordinary_wait) waits("FailedAllocation", state_.waits_for, state_.waits_for, Fit::kNowhere);
  } else if (serves_by_claim() ? role_ == Role::kToBind && !make_extended() : !serves_extended()) {
    // Parked until a node or the class changes, or the claim is being made.
  } else if (!state_.all_allocated()) {
    if (!options_.release_gates) allocate();
  } else if (!state_.all_settled()) {
    prove();
  } else {
    use();
  }
  return std::move(outcome_);
}

Outcome PodReconcile::wait_for_group(const Membership& membership) {
  // Its group was committed before, so it goes forward.
  if (is_marked(pod_, state_)) return run();
  if (leave() || drop_abandoned() || (!membership.keeps && withdraw())) return std::move(outcome_);
  const std::string why = membership.group.shown() + ": " + membership.why;
  if (!membership.ordinary) waits("GroupWaits", why, why, Fit::kNowhere);
  count_failure("GroupWaits");
  return std::move(outcome_);
}

void PodReconcile::begin_again() {
  outcome_ = {};
  same_choice_ = nullptr;
  home_.reset();
  kept_from_.clear();
  kept_nodes_.clear();
  waits_for_pods_ = false;
  waits_for_capacity_ = true;
}

Outcome PodReconcile::wait_with_group(const std::string& why, bool fits_nowhere) {
  if (!why.empty()) show_waiting(why, why, fits_nowhere ? Fit::kNowhere : Fit::kUndecided);
  count_pending("GroupWaits");
  outcome_.requeue_in(std::chrono::seconds(60));
  return std::move(outcome_);
}

}  // namespace dra::allocation
