#include "pkg/inspect/verbs/explain.h"

#include <algorithm>
#include <set>

#include "pkg/inspect/state/extended.h"
#include "pkg/inspect/state/quota.h"
#include "pkg/inspect/state/unknown.h"
#include "pkg/inspect/state/unseen.h"
#include "pkg/inspect/state/volumes.h"
#include "pkg/inspect/verbs/chain.h"
#include "pkg/inspect/verbs/explain_causes.h"
#include "pkg/inspect/verbs/explain_group.h"
#include "pkg/inspect/verbs/explain_pods.h"
#include "pkg/inspect/verbs/judge.h"
#include "pkg/inspect/verbs/manager.h"
#include "pkg/inspect/verbs/pod_owners.h"
#include "pkg/inspect/verbs/preempt.h"
#include "pkg/inspect/verbs/promised.h"
#include "pkg/inspect/verbs/replay.h"
#include "pkg/inspect/verbs/rollout.h"
#include "pkg/inspect/verbs/top.h"
#include "pkg/protocol/keep.h"
#include "pkg/protocol/pod_claims.h"
#include "pkg/verdict/nodes.h"

namespace dra::inspect {
namespace {

// The driver's report about a device: its Ready condition.
Cell health_cell(const Objects& objects, const api::ResourceClaim& claim,
                 const api::DeviceRequestAllocationResult& result) {
  for (const api::AllocatedDeviceStatus& device : claim.status.devices) {
    if (device.driver != result.driver || device.pool != result.pool || device.device != result.device ||
        device.share_id != result.share_id)
      continue;
    for (const api::Condition& condition : device.conditions) {
      if (condition.type != "Ready") continue;
      const std::string since = condition.last_transition_time.empty()
                                    ? ""
                                    : " for " + age_text(condition.last_transition_time, objects.taken);
      return condition.status == "True" ? Cell("ready", Tone::kGood)
                                        : Cell("not ready" + since + ": " + condition.reason, Tone::kBad);
    }
  }
  return {"not reported", Tone::kDim};
}

Table device_table() {
  return {"",
          "devices",
          {{"CLAIM", "claim"},
           {"REQUEST", "request"},
           {"DEVICE", "device"},
           {"NODE", "node"},
           {"SINCE", "since"},
           {"DECIDED BY", "decidedBy"},
           {"DRIVER SAYS", "driverSays"},
           {"PODS", "pods", true},
           {"DRIVER", "driver", true}},
          {}};
}

void add_claim_rows(Table& table, const Objects& objects, const api::ResourceClaim& claim) {
  if (!claim.status.allocation) return;
  const std::string& since = claim.status.allocation->allocation_timestamp;
  for (const auto& result : claim.status.allocation->results) {
    const std::string node = node_of(claim);
    table.rows.push_back(
        {"resourceclaim/" + claim.metadata.name,
         {claim.metadata.name, result.request, result.device, node.empty() ? "-" : node,
          age_text(since.empty() ? claim.metadata.creation_timestamp : since, objects.taken), decided_by(claim),
          health_cell(objects, claim, result), Cell::list(consumers_of(objects, claim)), result.driver}});
  }
}

void add_broken(Answer& answer, const BrokenLink& link, bool first, Timestamp answer_time, const ObjectRef& about) {
  Statement statement{std::string(break_name(link.kind)),
                      (first ? "Broken at " : "Also broken at ") + link.link + ": " + words_of(link, answer_time) + ".",
                      about};
  if (!link.entry.empty()) statement.field = "spec.resourceClaims[" + link.entry + "]";
  statement.remedies.push_back({"ToDo", link.to_do});
  answer.say(std::move(statement));
  answer.status = Status::kNo;
}

// What its driver publishes no more does not disturb a pod that runs.
void add_note(Answer& answer, const BrokenLink& link) {
  answer.notes.push_back(
      link.text + ". Its pods run, and nothing is to be done: some drivers withdraw devices while they are in use");
}

void add_hidden(Answer& answer, const Objects& objects) {
  for (std::string& note : hidden_notes(objects)) answer.notes.push_back(std::move(note));
}

// Quotes conditions in the pod, written by components that see the whole cluster. What the API server says of a gated
// pod (SchedulingGated) is no judgement.
bool quote_conditions(Answer& answer, const api::Pod& pod) {
  bool quoted = false;
  for (const api::Condition& condition : pod.conditions)
    if ((condition.type == "PodScheduled" || condition.type == "dra-controller-manager/Allocated") &&
        condition.status == "False" && condition.reason != "SchedulingGated" && !condition.message.empty()) {
      answer.say({"ConditionSays", "Its condition " + condition.type + " says: " + condition.message, ref_of(pod),
                  "status.conditions[" + condition.type + "]"});
      quoted = true;
    }
  return quoted;
}

// The pod's condition that says that nodes are kept from it; null: none does.
const api::Condition* says_kept(const api::Pod& pod) {
  for (const api::Condition& condition : pod.conditions)
    if ((condition.type == "PodScheduled" || condition.type == "dra-controller-manager/Allocated") &&
        condition.status == "False" && condition.message.find(verdict::kWhyKept) != std::string::npos)
      return &condition;
  return nullptr;
}

JudgeOptions judging(const ExplainOptions& options) {
  JudgeOptions judge{{}, options.width, options.wide, options.suggest};
  if (!options.node.empty()) judge.nodes.push_back(options.node);
  return judge;
}

// Judges with the claim that is created for the pod's extended resources, on the nodes that use it.
JudgedPod judge_by_class(State& state, const ByClass& asked, const Chain& chain, const ExplainOptions& options) {
  std::vector<Claim> claims = chain.claims;
  std::vector<std::string> entries = chain.entries;
  claims.push_back(asked.claim);
  entries.emplace_back();
  JudgeOptions judge = judging(options);
  if (judge.nodes.empty() && asked.others) judge.nodes = asked.nodes;
  JudgedPod judged = judge_pod(state, &asked.rest, claims, entries, judge);
  for (size_t i = asked.resources.size(); i-- > 0;) {
    const protocol::ExtendedResource& resource = asked.resources[i];
    say_first(
        judged,
        {"ExtendedResource",
         "It asks for " + resource.name + ", which DeviceClass " + resource.device_class + " provides: by a claim" +
             (asked.others ? " on the " + counted(asked.nodes.size(), "node") + " without a device plugin for it."
                           : "."),
         ref_of(asked.rest),
         "",
         {},
         {{"resources", {resource.name}}, {"classes", {resource.device_class}}}});
  }
  return judged;
}

// Nodes whose device plugins offer what it requests are tried first, as they always were.
JudgedPod judge_waiting(State& state, const api::Pod& pod, const Chain& chain, const ExplainOptions& options) {
  const std::optional<ByClass> asked = asked_by_class(state.objects, pod);
  const auto by_claim = [&](const std::string& node) {
    return std::find(asked->nodes.begin(), asked->nodes.end(), node) != asked->nodes.end();
  };
  const bool claimed = asked && (options.node.empty() ? !asked->nodes.empty() : by_claim(options.node));
  if (claimed && !asked->others) return judge_by_class(state, *asked, chain, options);
  JudgedPod judged = judge_pod(state, &pod, chain.claims, chain.entries, judging(options));
  if (!claimed || judged.outcome == verdict::Answer::kFits) return judged;
  return judge_by_class(state, *asked, chain, options);
}

// A member is judged with its group, unless that has started: then the others join one by one.
JudgedPod judge_with_group(Answer& answer, State& state, const api::Pod& pod, const Chain& chain,
                           const ExplainOptions& options) {
  using Membership = protocol::Membership;
  const auto alone = [&](const api::Pod& one) {
    return judge_waiting(state, one, one.metadata.uid == pod.metadata.uid ? chain : chain_of(state, one), options);
  };
  const protocol::MemoryView view = groups_in(state.objects, state.options);
  const Membership member = protocol::membership_of(view, pod);
  JudgedPod judged;
  if (member.state == Membership::State::kWaits) {
    say(judged, {"GroupWaits",
                 "It is a member of " + member.group.shown() + ", which waits: " + member.why + ".",
                 ref_of(pod),
                 "",
                 {},
                 {{"groups", {member.group.shown()}}}});
    return judged;
  }
  if (!member.why.empty()) answer.notes.push_back("the pod is placed alone: " + member.why);
  const auto on_its_rails = [&] {
    JudgedPod found = alone(pod);
    GroupQuestion question = joining(state.objects, view, member, pod, chain.claims);
    question.members.front().only = options.node;
    judge_rails(found, state, question);
    return found;
  };
  if (member.state != Membership::State::kMember) return on_its_rails();
  if (!member.above.empty())
    answer.notes.push_back(member.group.shown() + " is placed together with other groups below " +
                           member.above.front().shown() + "; only " + member.group.shown() + " is judged here");
  if (!is_started(view, member) && options.node.empty()) return judge_group(state, view, member, pod, alone);
  judged = on_its_rails();
  say_first(judged, {"GroupMember",
                     "It is a member of " + member.group.shown() +
                         (is_started(view, member) ? ", of which pods run: the others join one by one."
                                                   : ", and is judged alone on this node."),
                     ref_of(pod),
                     "",
                     {},
                     {{"groups", {member.group.shown()}}}});
  return judged;
}

void add_judged(Answer& answer, const JudgedPod& judged) {
  answer.lines.insert(answer.lines.end(), judged.lines.begin(), judged.lines.end());
  answer.statements.insert(answer.statements.end(), judged.statements.begin(), judged.statements.end());
}

// --node, for a pod that is on another one: the same question as if it were not decided yet.
void explain_other_node(Answer& answer, const State& state, const api::Pod& pod, const ExplainOptions& options) {
  const auto known = state.objects.pods.find(pod.metadata.key());
  if (known == state.objects.pods.end()) return;
  const Objects objects = before_decision(state.objects, {known->second});
  State before(objects, state.options);
  const api::Pod& anew = *objects.pods.at(pod.metadata.key());
  const Chain chain = chain_of(before, anew);
  if (!chain.broken.empty() || chain.hidden > 0) return;
  JudgedPod judged = judge_waiting(before, anew, chain, options);
  say_first(judged, {"OtherNode",
                     "If it were decided anew, for node " + options.node + " alone:",
                     ref_of(pod),
                     "",
                     {},
                     {{"nodes", {options.node}}}});
  add_judged(answer, judged);
}

// Entries that represent claims of the pod's PodGroup, which kube-controller-manager makes.
void explain_group_claims(Answer& answer, const State& state, const api::Pod& pod) {
  for (const api::PodResourceClaim& entry : pod.resource_claims) {
    if (!is_entry_of_group(state.objects, pod, entry)) continue;
    const bool ours =
        !pod.scheduling_gates.empty() || (!pod.scheduler_name.empty() && pod.scheduler_name != "default-scheduler");
    const protocol::ResolvedClaim resolved = protocol::resolve_claim(pod, entry);
    const bool made = resolved.state == protocol::ResolvedClaim::State::kNamed &&
                      state.objects.claims.contains(pod.metadata.ns + "/" + resolved.name);
    std::string text = "Its claim entry " + quote(entry.name) + " is a claim of PodGroup " + pod.metadata.ns + "/" +
                       pod.pod_group_name + " as a whole: kube-controller-manager makes it, ";
    if (!ours)
      text += "and kube-scheduler allocates it for all pods of the group.";
    else if (made)
      text += "and one allocation serves all pods of the group.";
    else
      text +=
          "and has not yet (feature gate DRAWorkloadResourceClaims; a manager with --claim-templates=own does not make "
          "it).";
    answer.say({"ClaimOfGroup", text, ref_of(pod), "spec.resourceClaims[" + entry.name + "]"});
    if (!ours || !made) answer.status = ours ? Status::kNo : Status::kUnknown;
  }
}

// The claim for its extended resources is made when a node is chosen; what the pod counts itself, its quota has.
bool quota_refuses_extended(Answer& answer, const Objects& objects, const api::Pod& pod) {
  const std::optional<ByClass> asked = asked_by_class(objects, pod);
  if (!asked || asked->others) return false;
  const auto refusal =
      QuotaBook(objects, false).refusal(pod.metadata.ns, charge_of(objects, *asked->claim, asked->resources));
  if (!refusal) return false;
  answer.say({"QuotaRefuses",
              "No claim is made for its extended resources: " + text_of(*refusal, "the claim") + ".",
              ref_of(pod),
              "",
              {},
              {},
              {{"ToDo", remedy_of(*refusal)}}});
  answer.status = Status::kNo;
  return true;
}

// It fits, and waits: for whom.
void explain_whom_it_waits_for(Answer& answer, const State& state, const api::Pod& pod) {
  const Objects& objects = state.objects;
  // Only the manager knows which nodes it keeps for groups that wait.
  if (const api::Condition* kept = says_kept(pod)) {
    answer.say({"NodesKept",
                "The manager does not place it there: its condition " + kept->type + " says: " + kept->message,
                ref_of(pod), "status.conditions[" + kept->type + "]"});
    answer.status = Status::kNo;
    return;
  }
  // The judgement of a pod that waits alone counts what is promised as free.
  if (say_kept_from(answer, state, pod) && quote_conditions(answer, pod)) {
    answer.status = Status::kNo;
    return;
  }
  if (const std::string why = why_volumes_are_not_judged(objects); has_volume_claims(pod) && !why.empty()) {
    answer.notes.push_back("the pod's volumes are not judged here: " + why);
    if (quote_conditions(answer, pod)) answer.status = Status::kNo;
  }
  if (!pod.scheduling_gates.empty())
    answer.say({"WaitsAtGate",
                "It waits at " + std::string(pod.scheduling_gates.size() == 1 ? "its gate " : "its gates ") +
                    join(pod.scheduling_gates, ", ") + ".",
                ref_of(pod),
                "spec.schedulingGates",
                {},
                {{"gates", pod.scheduling_gates}}});
  else
    answer.say(
        {"WaitsForScheduler",
         "It waits for its scheduler, " + (pod.scheduler_name.empty() ? "default-scheduler" : pod.scheduler_name) + ".",
         ref_of(pod), "spec.schedulerName"});
}

// Why it waits although everything is present.
void explain_waiting_pod(Answer& answer, State& state, const api::Pod& pod, const Chain& chain,
                         const ExplainOptions& options) {
  const Objects& objects = state.objects;
  explain_group_claims(answer, state, pod);
  if (answer.status != Status::kYes) return;
  if (objects.hides("nodes") || objects.hides("resourceslices") || objects.hides("deviceclasses")) {
    const bool quoted = quote_conditions(answer, pod);
    answer.say({"NotVisible", std::string(quoted ? "More" : "Why") + " is not known: " + why_undecidable(objects) + ".",
                ref_of(pod)});
    answer.status = quoted ? Status::kNo : Status::kUnknown;
    return;
  }
  const api::IgnoredFields& ignored = state.inventory.features().ignored_fields;
  if (const std::string why = why_allocation_refused(ignored, &pod, chain.claims); !why.empty()) {
    answer.say({"UnknownField", "It cannot use the devices of " + why + ".", ref_of(pod)});
    answer.status = Status::kNo;
    return;
  }
  const JudgedPod judged = judge_with_group(answer, state, pod, chain, options);
  add_judged(answer, judged);
  switch (judged.outcome) {
    case verdict::Answer::kFits:
      if (!quota_refuses_extended(answer, objects, pod)) explain_whom_it_waits_for(answer, state, pod);
      break;
    case verdict::Answer::kDoesNotFit:
      for (const std::string& trouble : trouble_of_volumes(objects, pod))
        answer.say({"VolumeUnusable", trouble + ".", ref_of(pod), "spec.volumes"});
      for (const std::string& resource : unoffered_resources(objects, pod))
        answer.say({"ResourceNotOffered",
                    "No node has a device plugin for " + resource + ", and no DeviceClass has extendedResourceName " +
                        resource + ".",
                    ref_of(pod),
                    "spec.containers[].resources",
                    {},
                    {{"resources", {resource}}},
                    {{"ToDo", "set it on a class, or ask for the device by a claim"}}});
      if (const auto blocked = blocked_rollout(objects, state.options, pod))
        answer.say({"RolloutBlocked",
                    "The rolling update blocks itself: " + words_of(*blocked) + ".",
                    ref_of(pod),
                    "",
                    {},
                    {},
                    {{"ToDo", remedy_of(*blocked)}}});
      if (options.node.empty()) say_who_must_go(answer, state, pod);
      answer.status = Status::kNo;
      break;
    case verdict::Answer::kUndecided:
      answer.status = Status::kUnknown;
      break;
  }
}

template <class T>
Unexpected unknown_object(const Objects& objects, const char* plural, const std::string& kind, const std::string& ns,
                          const std::string& name, const ByKey<T>& table) {
  std::vector<std::string> names;
  for (const auto& [key, object] : table)
    if (object->metadata.ns == ns) names.push_back(object->metadata.name);
  const std::string near = nearest(name, names);
  return fail(not_known(objects, plural, ns, kind + " " + quote(name),
                        near.empty() ? "" : "; did you mean " + quote(near) + "?"));
}

// Kubelet shows the devices of a claim to the containers that name it, and says nothing where none does.
void note_unused_claims(Answer& answer, const api::Pod& pod) {
  const auto named_by = [](const std::vector<api::Container>& containers, const std::string& entry) {
    return std::any_of(containers.begin(), containers.end(), [&](const api::Container& container) {
      return std::any_of(container.claims.begin(), container.claims.end(),
                         [&](const api::ContainerClaim& use) { return use.name == entry; });
    });
  };
  for (const api::PodResourceClaim& entry : pod.resource_claims)
    if (!pod.containers.empty() && !named_by(pod.containers, entry.name) && !named_by(pod.init_containers, entry.name))
      answer.notes.push_back("no container of pod " + pod.metadata.key() + " uses claim " + quote(entry.name) +
                             ": its devices are taken, and no container sees them; add resources.claims [{name: " +
                             entry.name + "}] to a container, and make the pod anew");
}

}  // namespace

std::string decided_by(const api::ResourceClaim& claim) {
  if (protocol::is_allocated_by_us(claim)) return std::string(protocol::kFieldManager);
  for (const api::ManagedFieldsEntry& entry : claim.metadata.managed_fields)
    if (entry.subresource == "status") return entry.manager;
  return "unknown";
}

Answer explain_pod(State& state, const api::Pod& pod, const ExplainOptions& options) {
  Answer answer{"DRAExplain"};
  const Objects& objects = state.objects;
  const Chain chain = chain_of(state, pod);
  const std::string name = "Pod " + pod.metadata.key();
  Table table = device_table();
  for (const Claim& claim : chain.claims) add_claim_rows(table, objects, *claim);
  const bool waiting = pod.node_name.empty() && !pod.terminal();
  if (pod.terminal())
    answer.say({"PodEnded", name + " has ended (" + pod.phase + ").", ref_of(pod)});
  else if (waiting)
    answer.say({"PodWaits", name + " has waited for " + age_text(pod.metadata.creation_timestamp, objects.taken) + ".",
                ref_of(pod)});
  else
    answer.say({"PodOnNode",
                name + " is " + (pod.phase.empty() ? "Pending" : pod.phase) + " on " + pod.node_name +
                    (!chain.broken.empty() || !chain.notes.empty() || chain.hidden > 0 ? "."
                     : table.rows.empty()                                              ? ", without devices."
                     : objects.hides("nodes") || objects.hides("resourceslices")
                         ? "; the links to its devices that are visible hold."
                         : "; all links to its devices hold."),
                ref_of(pod),
                "",
                {{"devices", table.rows.size()}},
                {{"nodes", {pod.node_name}}}});
  if (waiting) say_promise(answer, objects, pod);
  for (size_t i = 0; i < chain.broken.size(); ++i)
    add_broken(answer, chain.broken[i], i == 0, objects.taken, ref_of(pod));
  for (const BrokenLink& note : chain.notes) add_note(answer, note);
  if (chain.hidden > 0 && chain.broken.empty() && !pod.terminal()) {
    const bool quoted = waiting && quote_conditions(answer, pod);
    answer.say({"NotVisible",
                "Its claims are not visible: you may not list resourceclaims in namespace " + pod.metadata.ns + ".",
                ref_of(pod)});
    answer.status = quoted ? Status::kNo : Status::kUnknown;
  } else if (waiting && chain.broken.empty())
    explain_waiting_pod(answer, state, pod, chain, options);
  if (waiting) say_manager(answer, objects, pod);
  if (!waiting && !pod.terminal() && !options.node.empty() && options.node != pod.node_name)
    explain_other_node(answer, state, pod, options);
  note_unused_claims(answer, pod);
  answer.tables.push_back(std::move(table));
  add_hidden(answer, objects);
  return answer;
}

Answer explain_claim(State& state, const Claim& claim, const ExplainOptions& options) {
  Answer answer{"DRAExplain"};
  const std::string name = "ResourceClaim " + claim->metadata.key();
  const std::vector<std::string> pods = consumers_of(state.objects, *claim);
  const auto broken = claim->status.allocation ? broken_claim(state, *claim, nullptr) : std::nullopt;
  const ObjectRef about = ref_of(*claim);
  if (!claim->status.allocation)
    answer.say({"ClaimPending",
                name + " is not allocated" + (claim->metadata.deleting() ? ", and is being deleted." : "."), about});
  else if (protocol::is_only_kept(*claim))
    answer.say({"ClaimKept",
                name + " is allocated and used by no pod; its devices are " + pods.front() + ", as its annotation " +
                    std::string(protocol::kKeepAnnotation) + " asks.",
                about});
  else if (pods.empty())
    answer.say({"ClaimUnused", name + " is allocated and used by no pod.", about});
  else
    answer.say({"ClaimReserved",
                name + " is allocated and reserved for " + join(pods, ", ") + ".",
                about,
                "status.reservedFor",
                {},
                {{"pods", pods}}});
  if (broken && may_be_withdrawn(broken->kind) && all_run(state.objects, *claim))
    add_note(answer, *broken);
  else if (broken)
    add_broken(answer, *broken, true, state.objects.taken, about);
  if (!claim->status.allocation && !claim->metadata.deleting()) {
    // The first pod that waits for it gives more detail than the claim alone.
    for (const auto& [key, pod] : state.objects.pods) {
      if (pod->metadata.ns != claim->metadata.ns || pod->done()) continue;
      const std::vector<std::string> keys = protocol::claim_keys_of(*pod);
      if (std::find(keys.begin(), keys.end(), claim->metadata.key()) == keys.end()) continue;
      Answer of_pod = explain_pod(state, *pod, options);
      of_pod.lines.insert(of_pod.lines.begin(), answer.lines.begin(), answer.lines.end());
      of_pod.statements.insert(of_pod.statements.begin(), answer.statements.begin(), answer.statements.end());
      return of_pod;
    }
    const JudgedPod judged = judge_pod(state, nullptr, {claim}, {}, judging(options));
    answer.say({"NoPodUsesIt", "No pod uses it.", about});
    add_judged(answer, judged);
    if (judged.outcome == verdict::Answer::kDoesNotFit) answer.status = Status::kNo;
    if (judged.outcome == verdict::Answer::kUndecided) answer.status = Status::kUnknown;
  }
  Table table = device_table();
  add_claim_rows(table, state.objects, *claim);
  answer.tables.push_back(std::move(table));
  add_hidden(answer, state.objects);
  return answer;
}

Table devices_of(const State& state, const std::vector<const api::Pod*>& pods) {
  Table table = device_table();
  std::set<std::string> listed;
  for (const api::Pod* pod : pods)
    for (const Claim& claim : chain_of(state, *pod).claims)
      if (listed.insert(claim->metadata.key()).second) add_claim_rows(table, state.objects, *claim);
  for (Column& column : table.columns)
    if (column.key == "pods") column.wide = false;
  return table;
}

Result<Answer> explain(State& state, const std::string& target, const ExplainOptions& options) {
  const size_t slash = target.find('/');
  const std::string kind = slash == std::string::npos ? "pod" : owner_kind(target.substr(0, slash));
  const std::string name = slash == std::string::npos ? target : target.substr(slash + 1);
  const std::string key = options.ns + "/" + name;
  if (!options.node.empty() && !state.objects.nodes.contains(options.node)) {
    std::vector<std::string> names;
    for (const auto& [node, object] : state.objects.nodes) names.push_back(node);
    const std::string near = nearest(options.node, names);
    return fail(not_known(state.objects, "nodes", "", "node " + quote(options.node),
                          near.empty() ? "" : "; did you mean " + quote(near) + "?"));
  }
  if (kind == "pod") {
    const auto pod = state.objects.pods.find(key);
    if (pod == state.objects.pods.end())
      return unknown_object(state.objects, "pods", "pod", options.ns, name, state.objects.pods);
    return explain_pod(state, *pod->second, options);
  }
  if (kind == "claim") {
    const auto claim = state.objects.claims.find(key);
    if (claim == state.objects.claims.end())
      return unknown_object(state.objects, "resourceclaims", "claim", options.ns, name, state.objects.claims);
    return explain_claim(state, claim->second, options);
  }
  const auto owned = kind == "podgroup" ? pods_of_pod_group(state.objects, options.ns, name)
                                        : pods_of_owner(state.objects, options.ns, kind, name);
  if (owned.empty()) return fail(why_no_owner(state.objects, options.ns, kind, name));
  return explain_pods(state, (kind == "podgroup" ? "PodGroup" : kind) + " " + options.ns + "/" + name, owned, options);
}

Answer explain_waiting(State& state, const WaitingScope& scope, const ExplainOptions& options) {
  const auto pods = waiting_pods(state, scope);
  const auto claims = waiting_claims(state.objects, scope);
  const std::string where = (scope.ns.empty() ? "" : " in namespace " + scope.ns) +
                            (scope.labels.match_expressions.empty() ? "" : " with these labels");
  Answer answer = explain_causes(state, pods, claims, pod_cause(state, options), where);
  const size_t causes = answer.tables.front().rows.size();
  if (causes == 0) return answer;
  std::string text =
      (pods.empty() ? "" : counted(pods.size(), "pod")) + (pods.empty() || claims.empty() ? "" : " and ") +
      (claims.empty() ? "" : counted(claims.size(), "claim") + (pods.empty() ? "" : " of no pod")) +
      (pods.size() + claims.size() == 1 ? " waits" : " wait") + " for devices, for " + counted(causes, "cause") + ".";
  answer.say(
      {"Waiting", std::move(text), {}, "", {{"pods", pods.size()}, {"claims", claims.size()}, {"causes", causes}}});
  return answer;
}

}  // namespace dra::inspect
