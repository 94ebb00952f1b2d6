#include "controllers/allocation/group/member.h"

#include <memory>
#include <utility>

#include "controllers/allocation/group/group_reconcile.h"
#include "controllers/allocation/group/note.h"
#include "controllers/allocation/group/whole.h"
#include "controllers/allocation/kept/group_leaders.h"
#include "controllers/allocation/kept/kept_members.h"
#include "controllers/allocation/members/group_members.h"
#include "controllers/allocation/pod/context.h"
#include "controllers/allocation/pod/leave.h"
#include "controllers/allocation/pod/report.h"
#include "controllers/allocation/pod/steps.h"
#include "controllers/allocation/pod/withdraw.h"

namespace dra::allocation {

using namespace protocol;
using namespace reconcile;

namespace {

ReconcileResult reconcile_one(const PodContext& context) {
  ReconcileResult out;
  reconcile_pod(context, out);
  return out;
}

// The pod's group cannot be placed (Membership::State::kWaits): withdraws what is unproven; a marked pod goes on.
ReconcileResult wait_for_group(const PodContext& context, const Membership& membership) {
  // Its group was committed before, so it goes forward.
  if (is_marked(context.pod, context.state)) return reconcile_one(context);
  ReconcileResult out;
  if (leave_announced(context, out) || drop_abandoned(context, out) ||
      (!membership.keeps && withdraw_claims(context, out)))
    return out;
  const std::string why = membership.group.shown() + ": " + membership.why;
  if (!membership.ordinary) say_waiting(context, {"GroupWaits", why, why}, Fit::kNowhere, out);
  count_failure(context, "GroupWaits", out);
  return out;
}

// Another pod, the leader, is reconciled for the group: says in the pod's condition what its note says.
ReconcileResult follow(const PodContext& context, const api::Pod& leader) {
  ReconcileResult out;
  if (const std::optional<View::Noted> note = context.view.note(leader.metadata.uid, kGroupNote)) {
    const bool nowhere = note->text.starts_with(kFitsNowhere);
    const std::string why = note->text.substr((nowhere ? kFitsNowhere : kMayFit).size());
    if (!why.empty()) show_waiting(context, why, why, nowhere ? Fit::kNowhere : Fit::kUndecided, out);
  }
  count_pending(context, "GroupWaits", out);
  out.requeue_in(std::chrono::seconds(60));
  return out;
}

// The leader says something else than when this pod ran last, and has enqueued it to hear that: if the pod enqueued the
// leader in turn, they could go on for ever. Something of the pod may have changed in the same moment, so it runs
// again.
bool hears_it_anew(const PodContext& context, const api::Pod& leader, ReconcileResult& out) {
  const std::string& uid = context.pod.metadata.uid;
  const std::optional<View::Noted> says = context.view.note(leader.metadata.uid, kGroupNote);
  const std::optional<View::Noted> heard = context.view.note(uid, kHeardNote);
  const std::string now = leader.metadata.uid + " " + (says ? without_numbers(says->text) : "");
  if (heard && heard->text == now) return false;
  out.add(Note{uid, std::string(kHeardNote), now});
  return heard.has_value();
}

// The pod is below groups of groups that are not launched: one of their pods is reconciled for all.
ReconcileResult reconcile_whole(const PodContext& alone, const Membership& membership, Whole whole) {
  const View& view = alone.view;
  const Tools& tools = alone.tools;
  Membership refused = membership;
  refused.group = whole.group;
  refused.why = whole.why;
  if (const size_t size = size_of_whole(view, whole); refused.why.empty() && size > kMaxGroupMembers)
    refused.why = "its groups have " + std::to_string(size) + " pods, and at most " + std::to_string(kMaxGroupMembers) +
                  " are placed together";
  if (!refused.why.empty()) return wait_for_group(alone, refused);
  const api::Pod* leader = leader_of_whole(view, tools, whole, alone.pod);
  if (leader == nullptr) return {};
  if (leader->metadata.uid != alone.pod.metadata.uid) {
    ReconcileResult out = follow(alone, *leader);
    if (hears_it_anew(alone, *leader, out))
      out.requeue_in(std::chrono::seconds(5));
    else
      out.enqueue.push_back(pod_key(leader->metadata.key()));
    return out;
  }
  if (const Duration wait = tools.allocator.share_wait(membership.group.ns);
      wait > Duration::zero() && size_of_whole(view, whole) > kManyMembers &&
      !tools.gangs.has_found(whole.group.key())) {
    ReconcileResult later;
    later.requeue_in(wait);
    later.goes_on = true;
    return later;
  }
  const allocator::SliceLimit& slice = tools.allocator.options().slice;
  const MonoTime began = slice.clock ? slice.clock->mono_now() : MonoTime{};
  GroupMembers members = members_of_whole(view, membership, std::move(whole), tools.options);
  if (members.launched) return reconcile_one(alone);
  if (members.waiting.empty() || members.waiting.front()->metadata.uid != alone.pod.metadata.uid) return {};
  auto made = std::make_shared<MemberFacts>(view, tools.options, membership, std::move(members));
  const allocator::Allocator::Bill bill(tools.allocator, membership.group.ns);
  const Duration spent = slice.clock ? slice.clock->mono_now() - began : Duration::zero();
  return GroupReconcile(view, tools, std::move(made), spent).run();
}

}  // namespace

ReconcileResult reconcile_member(const View& view, const api::Pod& pod, const Tools& tools,
                                 const Membership& membership) {
  const PodFacts facts = derive_facts(view, pod, tools.options);
  const PodContext alone = context_of(view, pod, facts, tools);
  if (membership.state == Membership::State::kWaits) return wait_for_group(alone, membership);
  if (!membership.above.empty()) {
    if (std::optional<Whole> whole = open_whole(view, tools, membership))
      return reconcile_whole(alone, membership, std::move(*whole));
    if (membership.min_count < 2) return reconcile_one(alone);
  }
  // Before anything is built from so many pods: each of them is reconciled.
  const std::string group = membership.group.key();
  if (is_too_large(view, group)) {
    if (launched_of(view, group, 1, tools.options) > 0) return reconcile_one(alone);
    Membership refused = membership;
    refused.why = "it has " + std::to_string(view.size_of_group(group)) + " pods, and at most " +
                  std::to_string(kMaxGroupMembers) + " are placed together";
    return wait_for_group(alone, refused);
  }
  if (surely_launched(view, group, tools.options)) return reconcile_one(alone);
  const bool launched = tools.leaders.has_launched(view, group, tools.options);
  // Most of the pods of a large group are followers, at every event of theirs: these do not visit the others.
  const api::Pod* leader = tools.leaders.leader_of(view, group, &pod, tools.options);
  if (leader != nullptr && leader->metadata.uid != pod.metadata.uid && !launched) return follow(alone, *leader);
  // Looking at so many members is charged to the namespace. If it were charged for finding that it must wait, several
  // groups would use up its share with that alone. A decision that is only to be written becomes void with each change
  // meanwhile.
  if (const Duration wait = tools.allocator.share_wait(membership.group.ns); !launched && wait > Duration::zero() &&
                                                                             view.size_of_group(group) > kManyMembers &&
                                                                             !tools.gangs.has_found(group)) {
    ReconcileResult later;
    later.requeue_in(wait);
    later.goes_on = true;
    return later;
  }
  const allocator::SliceLimit& slice = tools.allocator.options().slice;
  const MonoTime began = slice.clock ? slice.clock->mono_now() : MonoTime{};
  std::shared_ptr<MemberFacts> made = tools.kept_members.take(view, tools.options, membership);
  if (!made || made->members.waiting.front()->metadata.uid != pod.metadata.uid) {
    GroupMembers members = members_of(view, membership, tools.options);
    if (members.launched) return reconcile_one(alone);
    if (members.waiting.empty() || members.waiting.front()->metadata.uid != pod.metadata.uid) {
      if (members.waiting.empty()) return {};
      return follow(alone, *members.waiting.front());
    }
    made = std::make_shared<MemberFacts>(view, tools.options, membership, std::move(members));
  }
  const allocator::Allocator::Bill bill(tools.allocator, membership.group.ns);
  const Duration spent = slice.clock ? slice.clock->mono_now() - began : Duration::zero();
  return GroupReconcile(view, tools, std::move(made), spent).run();
}

}  // namespace dra::allocation
