// P2 to P4 for the members of a group: proven from one view, marked together, ungated or bound back to back.
#include <algorithm>
#include <utility>

#include "controllers/allocation/group/group_reconcile.h"
#include "controllers/allocation/pod/candidates.h"
#include "controllers/allocation/pod/not_found.h"
#include "controllers/allocation/pod/prepare.h"
#include "controllers/allocation/pod/prove.h"
#include "controllers/allocation/pod/release.h"
#include "controllers/allocation/pod/withdraw.h"
#include "pkg/protocol/writes.h"

namespace dra::allocation {

using namespace protocol;
using namespace reconcile;

namespace {

bool lets_go(const Effect& effect) {
  const Write* write = std::get_if<Write>(&effect);
  return write != nullptr && (write->purpose == "lift-gate" || write->purpose == "bind");
}

bool lets_go(const ReconcileResult& outcome) {
  return std::any_of(outcome.effects.begin(), outcome.effects.end(),
                     [](const Effect& effect) { return lets_go(effect); });
}

bool withdraws(const ReconcileResult& outcome) {
  return std::any_of(outcome.effects.begin(), outcome.effects.end(), [](const Effect& effect) {
    const Write* write = std::get_if<Write>(&effect);
    return write != nullptr && write->purpose == "withdraw";
  });
}

// kube-scheduler finds the node of a gated pod without claims.
bool goes_anywhere(const PodContext& context) {
  return context.role == Role::kGated && context.state.claims.empty();
}

}  // namespace

void GroupReconcile::commit() {
  for (const Member& member : pods_) {
    if (!member.held) continue;
    for (const protocol::ClaimState& claim : member.context.state.claims)
      if (claim.needs_proof() && !claim.in_stream) return pause();  // the stream brings the group back
  }
  if (const Conflicts found = conflicts(); !found.empty()) return withdraw_for(found);
  if (leave_other_domains()) return;
  bool prepared = true;
  for (Member& member : pods_) {
    if (!member.placed || goes_anywhere(member.context)) continue;
    const Candidates candidates = candidate_nodes(member.context, member.out);
    if (waits_for_watch(candidates.choice, member.out)) return;
    if (candidates.choice.nodes.empty())
      return withdraw() ? void() : report_no_node(member.context, candidates, member.out);
    prepared = prepare_binding(member.context, candidates, member.out) && prepared;
    if (withdraws(member.out)) return void(withdraw());
  }
  if (!prepared || !held_pairs_hold() || !rails_hold()) return;
  const PodRails rails = hints_.no_rails ? PodRails() : rails_of(view_, *asks_for_rails_);
  size_t marked = 0;
  for (Member& member : pods_) {
    if (!member.held) continue;
    const size_t before = member.out.effects.size();
    add_marks(member.context, member.out, &rails);
    if (member.out.effects.size() > before && ++marked == kUngatedAtOnce) break;
  }
  // Nothing needs a mark: there are no claims, or only shared ones that others have proven.
  if (marked == 0) go();
}

void GroupReconcile::forward() {
  bool waits = false;
  size_t marked = 0;
  for (Member& member : pods_) {
    const PodContext& context = member.context;
    if (!member.held || member.settled) continue;
    // Wait while every other holder in the conflict will give way. Only proven or foreign holders take the place of a
    // member that was not marked with the others.
    if (const Conflicts found = conflicts_of(context);
        !found.empty() && !timed_out() &&
        std::none_of(found.begin(), found.end(), [&](const auto& one) { return is_lasting(context, one); }))
      member.out.requeue_in(std::chrono::seconds(1));
    else
      prove_claims(context, member.out);
    waits = true;  // for the answers, the stream, or what the proof waits for
    if (member.out.has_writes() && ++marked == kUngatedAtOnce) break;
  }
  if (waits) return;
  const size_t settled = count(&Member::settled);
  if (enough(&Member::settled)) return lacks_homes() ? decide(members_.min_count) : go();
  if (!enough(&Member::ready)) return stuck();
  decide(static_cast<uint32_t>(members_.min_count - std::min<size_t>(settled, members_.min_count)));
}

void GroupReconcile::go() {
  if (leave_other_domains()) return;
  find_homes({});
  // One question for all of so many; if something is found, each member is asked for its part.
  const bool without_conflict = conflicts().empty();
  size_t written = 0;
  bool roams = false, progress = false;
  for (Member& member : pods_) {
    const PodContext& context = member.context;
    ReconcileResult& out = member.out;
    if (!member.settled) continue;
    // Until the stream shows one of them bound, the next one may get the same node.
    const bool waits_for_roamer = context.role == Role::kToBind && !member.pinned && std::exchange(roams, true);
    if (waits_for_roamer || is_being_bound(context, out)) {
      member.lifting = true;
      continue;
    }
    const std::optional<nodes::NodeChoice> choice = ready_to_go(context, without_conflict, out);
    if (!choice) {
      progress = progress || out.has_writes() || out.has_live_gets();
      continue;
    }
    member.lifting = true;
    // A pod that is ungated without claims does not show that the group is launched: it goes with those that do.
    const size_t most = context.role == Role::kToBind ? kBoundAtOnce : kUngatedAtOnce;
    if (context.state.claims.empty() || written++ < most) ungate_or_bind(context, *choice, out);
  }
  if (enough(&Member::lifting)) return;
  for (Member& member : pods_) {
    ReconcileResult& outcome = member.out;
    if (!lets_go(outcome)) continue;
    std::erase_if(outcome.effects, [](const Effect& effect) { return lets_go(effect); });
    outcome.min_interval.reset();
  }
  if (!committed_) return;
  const Duration left = patience() - held_for(true);
  if (!progress && left <= Duration::zero() && has_homeless() && leave_all()) return;
  first_.out.requeue_in(std::max<Duration>(left, std::chrono::seconds(1)));
}

void GroupReconcile::stuck() {
  const Duration left = patience() - held_for(true);
  if (left > Duration::zero()) {
    say("a member lost its place after the group was committed; another is looked for");
    return void(first_.out.requeue_in(left));
  }
  if (!leave_all()) go();
  first_.out.requeue_in(members_.hold_timeout);
}

// A node that fails often comes back within seconds, and nobody else waits for long meanwhile.
Duration GroupReconcile::patience() const {
  return std::min<Duration>(members_.hold_timeout, std::chrono::seconds(5));
}

bool GroupReconcile::leave_all() {
  bool any = false;
  for (Member& member : pods_) any = withdraw_or_leave(member.context, member.out) || any;
  return any;
}

bool GroupReconcile::has_homeless() {
  return std::any_of(pods_.begin(), pods_.end(), [](Member& member) {
    if (!member.settled || goes_anywhere(member.context)) return false;
    const nodes::NodeChoice choice = candidate_nodes(member.context, member.out).choice;
    return choice.nodes.empty() && !choice.watch_lags;
  });
}

}  // namespace dra::allocation
