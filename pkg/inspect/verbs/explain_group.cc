#include "pkg/inspect/verbs/explain_group.h"

#include <algorithm>
#include <set>

#include "pkg/base/strings.h"
#include "pkg/inspect/verbs/chain.h"

namespace dra::inspect {
namespace {

using allocator::Outcome;

// The members of a group that wait, and what keeps the first of those that are not ready.
struct WaitingMembers {
  GroupQuestion question;
  size_t waiting = 0;
  std::string not_ready;  // "Pod ml/w-1 is not ready: ..."
};

std::string why_not_ready(const Objects& objects, const api::Pod& pod) {
  if (!can_be_decided(pod))
    return pod.metadata.deleting() ? "it is being deleted" : "it is held by " + join(pod.scheduling_gates, ", ");
  const auto claims = claims_of(objects, pod);
  return claims ? "" : claims.error().message();
}

WaitingMembers waiting_members(const Objects& objects, const reconcile::View& view,
                               const protocol::Membership& member) {
  WaitingMembers found{
      {member.group.shown(), member.min_count, {}, member.topology, annotations_of(view, member.group)}, 0, ""};
  for (const auto& [key, pod] : objects.pods) {
    if (!pod->node_name.empty() || pod->terminal()) continue;
    const protocol::Membership other = protocol::membership_of(view, *pod);
    if (other.state != protocol::Membership::State::kMember || !(other.group == member.group)) continue;
    ++found.waiting;
    found.question.min_count = std::max(found.question.min_count, other.min_count);
    if (const std::string why = why_not_ready(objects, *pod); !why.empty()) {
      if (found.not_ready.empty()) found.not_ready = "Pod " + key + " is not ready: " + why + ".";
      continue;
    }
    found.question.members.push_back({pod.get(), *claims_of(objects, *pod), ""});
    found.question.members.back().shape = shape_of(found.question.members.back());
  }
  found.question.running = holders_beside(objects, view, member.group, found.question.members);
  return found;
}

std::string nodes_text(const GroupPlaced& placed) {
  std::set<std::string> nodes;
  for (const Placed& one : placed.members)
    if (one.outcome == Outcome::kFeasible) nodes.insert(one.node);
  return join_some({nodes.begin(), nodes.end()}, 4);
}

void add_found(JudgedPod& judged, const WaitingMembers& group, const GroupPlaced& placed, const api::Pod& asked) {
  size_t fit = 0;
  for (const Placed& one : placed.members) fit += one.outcome == Outcome::kFeasible;
  judged.outcome = verdict::Answer::kFits;
  say(judged, {"Fits",
               "Fits: " + counted(fit, "member") + " now, on " + nodes_text(placed) + ".",
               ref_of(asked),
               "",
               {{"membersThatFit", fit}}});
  for (size_t i = 0; i < group.question.members.size(); ++i) {
    if (group.question.members[i].pod != &asked) continue;
    if (placed.members[i].outcome == Outcome::kFeasible) {
      say(judged, {"WouldGoTo",
                   "This pod would go to node " + placed.members[i].node + ".",
                   ref_of(asked),
                   "",
                   {},
                   {{"nodes", {placed.members[i].node}}}});
    } else {
      judged.outcome = verdict::Answer::kDoesNotFit;
      say(judged, {"DoesNotFit", "This pod waits: " + placed.members[i].why + ".", ref_of(asked)});
    }
  }
}

// Why a member does not even fit alone; nothing if it does.
void add_cause(JudgedPod& judged, const api::Pod& pod, const JudgeAlone& alone) {
  const JudgedPod single = alone(pod);
  if (single.outcome == verdict::Answer::kFits) {
    say(judged,
        {"GroupTooLarge", "A single member would fit: there is no place for all of them at once.", ref_of(pod)});
    return;
  }
  judged.lines.push_back("Pod " + pod.metadata.key() + " does not even fit alone:");
  judged.lines.insert(judged.lines.end(), single.lines.begin(), single.lines.end());
  judged.statements.insert(judged.statements.end(), single.statements.begin(), single.statements.end());
}

std::string devices_text(const Placed& placed) {
  std::string text;
  for (const api::AllocationResult& claim : placed.results)
    for (const api::DeviceRequestAllocationResult& one : claim.results)
      text += (text.empty() ? "" : ", ") + one.driver + "/" + one.pool + "/" + one.device;
  return text;
}

}  // namespace

void judge_rails(JudgedPod& judged, State& state, const GroupQuestion& question) {
  if (judged.outcome != verdict::Answer::kFits || !asks_for_rails(question)) return;
  const api::Pod& pod = *question.members.front().pod;
  const Placed placed = place_member(state, question);
  judged = {};
  if (placed.outcome == Outcome::kFeasible) {
    judged.outcome = verdict::Answer::kFits;
    const std::string devices = devices_text(placed);
    say(judged, {"Fits",
                 "Fits now, on node " + placed.node + (devices.empty() ? "" : ", with " + devices) +
                     ": on the rails that its group's members have.",
                 ref_of(pod),
                 "",
                 {{"membersThatRun", question.running.size()}},
                 {{"nodes", {placed.node}}}});
    return;
  }
  const bool known = placed.outcome != Outcome::kBudgetSpent && placed.outcome != Outcome::kUnfinished;
  judged.outcome = known ? verdict::Answer::kDoesNotFit : verdict::Answer::kUndecided;
  say(judged, {known ? "DoesNotFit" : "Undecided",
               (known ? "Does not fit on the rails of its group: " : "Neither found nor refuted: ") + placed.why + ".",
               ref_of(pod)});
}

JudgedPod judge_group(State& state, const reconcile::View& view, const protocol::Membership& member,
                      const api::Pod& asked, const JudgeAlone& alone) {
  const WaitingMembers group = waiting_members(state.objects, view, member);
  const size_t ready = group.question.members.size();
  JudgedPod judged;
  std::string head = "It is a member of " + member.group.shown() + ": " + counted(group.question.min_count, "pod") +
                     " must be placed together";
  if (!member.topology.required.empty()) head += ", in one " + member.topology.required;
  say(judged, {"GroupMember",
               head + ".",
               ref_of(asked),
               "",
               {{"members", group.waiting}, {"ready", ready}, {"mustFitTogether", group.question.min_count}},
               {{"groups", {member.group.shown()}}}});
  if (ready < group.question.min_count) {
    std::string text =
        "Does not fit: " + std::to_string(ready) + " of " + counted(group.question.min_count, "member") + " are ready" +
        (group.waiting < group.question.min_count ? ", and " + counted(group.waiting, "pod") + " of the group exist"
                                                  : "") +
        ".";
    say(judged, {"GroupNotReady", std::move(text), ref_of(asked)});
    if (!group.not_ready.empty()) say(judged, {"MemberNotReady", group.not_ready});
    return judged;
  }
  const auto placed = place_group(state, group.question);
  if (!placed || placed->outcome == Outcome::kError) {
    say(judged,
        {"DoesNotFit", "Does not fit: " + (placed ? placed->why : placed.error().message()) + ".", ref_of(asked)});
    return judged;
  }
  if (placed->outcome == Outcome::kFeasible) {
    add_found(judged, group, *placed, asked);
    return judged;
  }
  if (placed->outcome != Outcome::kInfeasible) {
    judged.outcome = verdict::Answer::kUndecided;
    say(judged, {"Undecided", "Neither found nor refuted: " + placed->why + ".", ref_of(asked)});
    return judged;
  }
  say(judged, {"DoesNotFit", "Does not fit: " + placed->why + ".", ref_of(asked)});
  add_cause(judged, placed->guilty ? *group.question.members[*placed->guilty].pod : asked, alone);
  return judged;
}

std::vector<const api::Pod*> pods_of_pod_group(const Objects& objects, const std::string& ns, const std::string& name) {
  std::vector<const api::Pod*> pods;
  for (const auto& [key, pod] : objects.pods) {
    if (pod->metadata.ns != ns || pod->terminal()) continue;
    const auto group = protocol::group_of(*pod);
    if (group && group->source != protocol::GroupRef::Source::kJob && group->name == name) pods.push_back(pod.get());
  }
  return pods;
}

}  // namespace dra::inspect
