#include "pkg/inspect/verbs/explain.h"

#include <algorithm>

#include "pkg/inspect/state/extended.h"
#include "pkg/inspect/state/unknown.h"
#include "pkg/inspect/state/unseen.h"
#include "pkg/inspect/state/volumes.h"
#include "pkg/inspect/verbs/chain.h"
#include "pkg/inspect/verbs/explain_group.h"
#include "pkg/inspect/verbs/judge.h"
#include "pkg/inspect/verbs/manager.h"
#include "pkg/inspect/verbs/rollout.h"
#include "pkg/inspect/verbs/top.h"
#include "pkg/protocol/group_claims.h"
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
          health_cell(objects, claim, result), join(consumers_of(objects, claim), ","), result.driver}});
  }
}

void add_broken(Answer& answer, const BrokenLink& link, bool first, Timestamp answer_time) {
  answer.lines.push_back((first ? "Broken at " : "Also broken at ") + link.link + ": " + words_of(link, answer_time) +
                         ".");
  answer.lines.push_back("  " + link.to_do);
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

// Quotes conditions in the pod, written by components that see the whole cluster.
bool quote_conditions(Answer& answer, const api::Pod& pod) {
  bool quoted = false;
  for (const api::Condition& condition : pod.conditions)
    if ((condition.type == "PodScheduled" || condition.type == "dra-controller-manager/Allocated") &&
        condition.status == "False" && !condition.message.empty()) {
      answer.lines.push_back("Its condition " + condition.type + " says: " + condition.message);
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

std::vector<std::string> only_node(const ExplainOptions& options) {
  return options.node.empty() ? std::vector<std::string>() : std::vector<std::string>{options.node};
}

// Judges with the claim that is created for the pod's extended resources, on the nodes that use it.
JudgedPod judge_by_class(State& state, const ByClass& asked, const Chain& chain, const ExplainOptions& options) {
  std::vector<Claim> claims = chain.claims;
  std::vector<std::string> entries = chain.entries;
  claims.push_back(asked.claim);
  entries.emplace_back();
  std::vector<std::string> nodes = only_node(options);
  if (nodes.empty() && asked.others) nodes = asked.nodes;
  JudgedPod judged = judge_pod(state, &asked.rest, claims, entries, nodes, options.width, options.wide);
  std::vector<std::string> lines;
  for (const protocol::ExtendedResource& resource : asked.resources)
    lines.push_back(
        "It asks for " + resource.name + ", which DeviceClass " + resource.device_class + " provides: by a claim" +
        (asked.others ? " on the " + counted(asked.nodes.size(), "node") + " without a device plugin for it." : "."));
  judged.lines.insert(judged.lines.begin(), lines.begin(), lines.end());
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
  JudgedPod judged =
      judge_pod(state, &pod, chain.claims, chain.entries, only_node(options), options.width, options.wide);
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
  if (member.state == Membership::State::kWaits)
    return {verdict::Answer::kDoesNotFit,
            {"It is a member of " + member.group.shown() + ", which waits: " + member.why + "."}};
  if (!member.why.empty()) answer.notes.push_back("the pod is placed alone: " + member.why);
  if (member.state != Membership::State::kMember) return alone(pod);
  if (!is_started(view, member) && options.node.empty()) return judge_group(state, view, member, pod, alone);
  JudgedPod judged = alone(pod);
  judged.lines.insert(judged.lines.begin(),
                      "It is a member of " + member.group.shown() +
                          (is_started(view, member) ? ", of which pods run: the others join one by one."
                                                    : ", and is judged alone on this node."));
  return judged;
}

// Entries that represent claims of the pod's PodGroup, which others make and allocate.
void explain_group_claims(Answer& answer, const State& state, const api::Pod& pod) {
  for (const api::PodResourceClaim& entry : pod.resource_claims) {
    if (!is_entry_of_group(state.objects, pod, entry)) continue;
    const bool ours =
        !pod.scheduling_gates.empty() || (!pod.scheduler_name.empty() && pod.scheduler_name != "default-scheduler");
    answer.lines.push_back(ours ? "Its " + protocol::why_entry_of_group_waits(pod, entry) + "."
                                : "Its claim entry " + quote(entry.name) + " is a claim of PodGroup " +
                                      pod.metadata.ns + "/" + pod.pod_group_name +
                                      ": kube-controller-manager makes it, and kube-scheduler allocates it for all "
                                      "pods of the group.");
    answer.status = ours ? Status::kNo : Status::kUnknown;
  }
}

// Why it waits although everything is present.
void explain_waiting(Answer& answer, State& state, const api::Pod& pod, const Chain& chain,
                     const ExplainOptions& options) {
  const Objects& objects = state.objects;
  explain_group_claims(answer, state, pod);
  if (answer.status != Status::kYes) return;
  if (objects.hides("nodes") || objects.hides("resourceslices") || objects.hides("deviceclasses")) {
    const bool quoted = quote_conditions(answer, pod);
    answer.lines.push_back(std::string(quoted ? "More" : "Why") + " is not known: " + why_undecidable(objects) + ".");
    answer.status = quoted ? Status::kNo : Status::kUnknown;
    return;
  }
  const api::IgnoredFields& ignored = state.inventory.features().ignored_fields;
  if (const std::string why = why_allocation_refused(ignored, &pod, chain.claims); !why.empty()) {
    answer.lines.push_back("It cannot use the devices of " + why + ".");
    answer.status = Status::kNo;
    return;
  }
  const JudgedPod judged = judge_with_group(answer, state, pod, chain, options);
  for (const std::string& line : judged.lines) answer.lines.push_back(line);
  switch (judged.outcome) {
    case verdict::Answer::kFits:
      // Only the manager knows which nodes it keeps for groups that wait.
      if (const api::Condition* kept = says_kept(pod)) {
        answer.lines.push_back("The manager does not place it there: its condition " + kept->type +
                               " says: " + kept->message);
        answer.status = Status::kNo;
        break;
      }
      if (const std::string why = why_volumes_are_not_judged(objects); has_volume_claims(pod) && !why.empty()) {
        answer.notes.push_back("the pod's volumes are not judged here: " + why);
        if (quote_conditions(answer, pod)) answer.status = Status::kNo;
      }
      if (!pod.scheduling_gates.empty())
        answer.lines.push_back("It waits at " +
                               std::string(pod.scheduling_gates.size() == 1 ? "its gate " : "its gates ") +
                               join(pod.scheduling_gates, ", ") + ".");
      else
        answer.lines.push_back("It waits for its scheduler, " +
                               (pod.scheduler_name.empty() ? "default-scheduler" : pod.scheduler_name) + ".");
      break;
    case verdict::Answer::kDoesNotFit:
      for (const std::string& trouble : trouble_of_volumes(objects, pod)) answer.lines.push_back(trouble + ".");
      for (const std::string& resource : unoffered_resources(objects, pod))
        answer.lines.push_back("No node has a device plugin for " + resource +
                               ", and no DeviceClass has extendedResourceName " + resource +
                               ": set it on a class, or ask for the device by a claim.");
      if (const auto blocked = blocked_rollout(objects, state.options, pod)) {
        answer.lines.push_back("The rolling update blocks itself: " + words_of(*blocked) + ".");
        answer.lines.push_back("  " + remedy_of(*blocked));
      }
      answer.status = Status::kNo;
      break;
    case verdict::Answer::kUndecided:
      answer.status = Status::kUnknown;
      break;
  }
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
    answer.lines.push_back(name + " has ended (" + pod.phase + ").");
  else if (waiting)
    answer.lines.push_back(name + " has waited for " + age_text(pod.metadata.creation_timestamp, objects.taken) + ".");
  else
    answer.lines.push_back(name + " is " + (pod.phase.empty() ? "Pending" : pod.phase) + " on " + pod.node_name +
                           (!chain.broken.empty() || !chain.notes.empty() || chain.hidden > 0 ? "."
                            : table.rows.empty()                                              ? ", without devices."
                            : objects.hides("nodes") || objects.hides("resourceslices")
                                ? "; the links to its devices that are visible hold."
                                : "; all links to its devices hold."));
  for (size_t i = 0; i < chain.broken.size(); ++i) add_broken(answer, chain.broken[i], i == 0, objects.taken);
  for (const BrokenLink& note : chain.notes) add_note(answer, note);
  if (chain.hidden > 0 && chain.broken.empty() && !pod.terminal()) {
    const bool quoted = waiting && quote_conditions(answer, pod);
    answer.lines.push_back("Its claims are not visible: you may not list resourceclaims in namespace " +
                           pod.metadata.ns + ".");
    answer.status = quoted ? Status::kNo : Status::kUnknown;
  } else if (waiting && chain.broken.empty())
    explain_waiting(answer, state, pod, chain, options);
  if (waiting) say_manager(answer, objects, pod);
  answer.tables.push_back(std::move(table));
  add_hidden(answer, objects);
  return answer;
}

Answer explain_claim(State& state, const Claim& claim, const ExplainOptions& options) {
  Answer answer{"DRAExplain"};
  const std::string name = "ResourceClaim " + claim->metadata.key();
  const std::vector<std::string> pods = consumers_of(state.objects, *claim);
  const auto broken = claim->status.allocation ? broken_claim(state, *claim, nullptr) : std::nullopt;
  if (!claim->status.allocation)
    answer.lines.push_back(name + " is not allocated" + (claim->metadata.deleting() ? ", and is being deleted." : "."));
  else if (pods.empty())
    answer.lines.push_back(name + " is allocated and used by no pod.");
  else
    answer.lines.push_back(name + " is allocated and reserved for " + join(pods, ", ") + ".");
  if (broken && may_be_withdrawn(broken->kind) && all_run(state.objects, *claim))
    add_note(answer, *broken);
  else if (broken)
    add_broken(answer, *broken, true, state.objects.taken);
  if (!claim->status.allocation && !claim->metadata.deleting()) {
    // The first pod that waits for it gives more detail than the claim alone.
    for (const auto& [key, pod] : state.objects.pods) {
      if (pod->metadata.ns != claim->metadata.ns || pod->done()) continue;
      const std::vector<std::string> keys = protocol::claim_keys_of(*pod);
      if (std::find(keys.begin(), keys.end(), claim->metadata.key()) == keys.end()) continue;
      Answer of_pod = explain_pod(state, *pod, options);
      of_pod.lines.insert(of_pod.lines.begin(), answer.lines.begin(), answer.lines.end());
      return of_pod;
    }
    const JudgedPod judged = judge_pod(state, nullptr, {claim}, {}, only_node(options), options.width, options.wide);
    answer.lines.push_back("No pod uses it.");
    for (const std::string& line : judged.lines) answer.lines.push_back(line);
    if (judged.outcome == verdict::Answer::kDoesNotFit) answer.status = Status::kNo;
    if (judged.outcome == verdict::Answer::kUndecided) answer.status = Status::kUnknown;
  }
  Table table = device_table();
  add_claim_rows(table, state.objects, *claim);
  answer.tables.push_back(std::move(table));
  add_hidden(answer, state.objects);
  return answer;
}

// Whether the pod belongs to the workload: by its controlling owner; a Deployment's pods by a ReplicaSet whose name is
// the Deployment's plus a hash.
bool belongs(const api::Pod& pod, const std::string& kind, const std::string& name) {
  const api::OwnerReference* owner = pod.metadata.controller();
  if (owner == nullptr) return false;
  if (kind != "deployment") return to_lower(owner->kind) == kind && owner->name == name;
  return deployment_of(pod) == name;
}

Result<Answer> explain_workload(State& state, const std::string& kind, const std::string& name,
                                const ExplainOptions& options) {
  std::vector<const api::Pod*> waiting, running;
  for (const auto& [key, pod] : state.objects.pods)
    if (pod->metadata.ns == options.ns && belongs(*pod, kind, name) && !pod->terminal())
      (pod->node_name.empty() ? waiting : running).push_back(pod.get());
  if (waiting.empty() && running.empty())
    return fail(not_known(state.objects, "pods", options.ns, "a pod of " + kind + " " + quote(name)));
  const std::string head = kind + " " + options.ns + "/" + name + ": " + counted(running.size(), "pod") +
                           " on nodes, " + std::to_string(waiting.size()) + " waiting.";
  const api::Pod* shown = waiting.empty() ? running.front() : waiting.front();
  for (const api::Pod* pod : running)
    if (waiting.empty() && !chain_of(state, *pod).broken.empty()) shown = pod;
  Answer answer = explain_pod(state, *shown, options);
  answer.lines.insert(answer.lines.begin(), head);
  return answer;
}

// The group as one of its waiting pods sees it.
Result<Answer> explain_pod_group(State& state, const std::string& name, const ExplainOptions& options) {
  const std::vector<const api::Pod*> pods = pods_of_pod_group(state.objects, options.ns, name);
  if (pods.empty()) return fail(not_known(state.objects, "pods", options.ns, "a pod of podgroup " + quote(name)));
  const auto first_waiting =
      std::find_if(pods.begin(), pods.end(), [](const api::Pod* pod) { return pod->node_name.empty(); });
  const auto waiting = static_cast<size_t>(
      std::count_if(pods.begin(), pods.end(), [](const api::Pod* pod) { return pod->node_name.empty(); }));
  const api::Pod* shown = first_waiting == pods.end() ? pods.front() : *first_waiting;
  for (const api::Pod* pod : pods)
    if (waiting == 0 && !chain_of(state, *pod).broken.empty()) shown = pod;
  Answer answer = explain_pod(state, *shown, options);
  answer.lines.insert(answer.lines.begin(), "PodGroup " + options.ns + "/" + name + ": " +
                                                counted(pods.size() - waiting, "pod") + " on nodes, " +
                                                std::to_string(waiting) + " waiting.");
  return answer;
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

}  // namespace

std::string decided_by(const api::ResourceClaim& claim) {
  if (protocol::is_allocated_by_us(claim)) return std::string(protocol::kFieldManager);
  for (const api::ManagedFieldsEntry& entry : claim.metadata.managed_fields)
    if (entry.subresource == "status") return entry.manager;
  return "unknown";
}

Result<Answer> explain(State& state, const std::string& target, const ExplainOptions& options) {
  const size_t slash = target.find('/');
  const std::string kind = slash == std::string::npos ? "pod" : to_lower(target.substr(0, slash));
  const std::string name = slash == std::string::npos ? target : target.substr(slash + 1);
  const std::string key = options.ns + "/" + name;
  if (!options.node.empty() && !state.objects.nodes.contains(options.node)) {
    std::vector<std::string> names;
    for (const auto& [node, object] : state.objects.nodes) names.push_back(node);
    const std::string near = nearest(options.node, names);
    return fail(not_known(state.objects, "nodes", "", "node " + quote(options.node),
                          near.empty() ? "" : "; did you mean " + quote(near) + "?"));
  }
  static const std::vector<std::string> kKinds{"pod",         "claim",     "deployment", "replicaset",
                                               "statefulset", "daemonset", "job",        "podgroup"};
  if (kind == "pod" || kind == "pods" || kind == "po") {
    const auto pod = state.objects.pods.find(key);
    if (pod == state.objects.pods.end())
      return unknown_object(state.objects, "pods", "pod", options.ns, name, state.objects.pods);
    return explain_pod(state, *pod->second, options);
  }
  if (kind == "claim" || kind == "claims" || kind.starts_with("resourceclaim")) {
    const auto claim = state.objects.claims.find(key);
    if (claim == state.objects.claims.end())
      return unknown_object(state.objects, "resourceclaims", "claim", options.ns, name, state.objects.claims);
    return explain_claim(state, claim->second, options);
  }
  if (kind == "podgroup" || kind == "podgroups") return explain_pod_group(state, name, options);
  for (const std::string& known : kKinds)
    if (kind == known || kind == known + "s") return explain_workload(state, known, name, options);
  const std::string near = nearest(kind, kKinds);
  return fail(Code::kInvalidArgument,
              "kind " + quote(kind) + " cannot be explained" +
                  (near.empty() ? "; use one of " + join(kKinds, ", ") : "; did you mean " + quote(near) + "?"));
}

}  // namespace dra::inspect
