#include "pkg/inspect/verbs/preempt.h"

#include <algorithm>

#include "pkg/base/strings.h"
#include "pkg/inspect/state/unseen.h"
#include "pkg/inspect/verbs/judge.h"
#include "pkg/protocol/manager_lease.h"
#include "pkg/protocol/moves.h"

namespace dra::inspect {
namespace {

using preempt::Kind;
using preempt::Verdict;

constexpr EvictionLimits kLimitsOfExplain{std::chrono::seconds(2), 5'000};

std::vector<std::string> keys_of(const EvictionWorld& evictions, const std::vector<uint32_t>& pods) {
  std::vector<std::string> keys;
  for (const uint32_t pod : pods) keys.push_back(evictions.world().pods[pod].object->metadata.key());
  return keys;
}

// Why nobody goes for the pods, whatever would help; empty: somebody may.
std::string why_nobody(const EvictionWorld& evictions) {
  for (const uint32_t number : evictions.world().pending) {
    const preempt::Pod& pod = evictions.world().pods[number];
    if (pod.preempts) continue;
    return "pod " + pod.object->metadata.key() +
           (pod.kept_by_class ? " asks for a DeviceClass whose annotation " +
                                    std::string(protocol::kPreemptionAnnotation) + " is never"
                              : " has preemptionPolicy Never");
  }
  if (evictions.candidates() == 0) return "no pod that may go has a lower priority";
  return "";
}

Table victims_table(const EvictionWorld& evictions, const std::vector<uint32_t>& pods) {
  Table table{"",
              "victims",
              {{"GOES", "pod"},
               {"NODE", "node"},
               {"PRIORITY", "priority"},
               {"OWNER", "owner"},
               {"BUDGETS", "budgets"},
               {"DEVICES", "devices"}},
              {}};
  for (const uint32_t pod : pods) {
    const api::Pod& object = *evictions.world().pods[pod].object;
    table.rows.push_back(
        {"pod/" + object.metadata.name,
         {object.metadata.key(), object.node_name, Cell(std::to_string(object.priority)), owner_text(object),
          Cell::list(evictions.budgets_of(pod)), Cell::list(devices_of_pod(evictions, pod))}});
  }
  return table;
}

std::string nodes_text(const preempt::Answer& found) {
  std::vector<std::string> nodes;
  for (const auto& [pod, node] : found.placements)
    if (std::find(nodes.begin(), nodes.end(), node) == nodes.end()) nodes.push_back(node);
  return nodes.size() > 3 ? counted(nodes.size(), "node") : join(nodes, ", ");
}

// A manager preempts, and an administrator lets the pods of this namespace do so.
bool manager_evicts(const Objects& objects, const std::string& ns) {
  const auto known = objects.namespaces.find(ns);
  if (known == objects.namespaces.end()) return false;
  const auto label = known->second->metadata.labels.find(protocol::kPreemptionAnnotation);
  return label != known->second->metadata.labels.end() && label->second == "true" &&
         std::any_of(objects.managers.leases.begin(), objects.managers.leases.end(), [](const auto& lease) {
           return protocol::notes_of(lease.second->metadata.annotations).preempts == "on";
         });
}

constexpr const char* kManagerEvicts =
    "the manager evicts them itself (--preemption=on) where nobody else can take what is freed; the pod's events say "
    "what it does";

void say_verdict(Answer& answer, const EvictionWorld& evictions, const preempt::Answer& found, const ObjectRef& about) {
  const std::string who = pending_text(evictions);
  const bool one = evictions.world().pending.size() == 1;
  const std::string fits = one ? " fits" : " fit", does = one ? " does" : " do";
  const size_t number = found.pods.size();
  const auto victims = [&] { return std::pair{std::string("pods"), keys_of(evictions, found.pods)}; };
  switch (found.verdict) {
    case Verdict::kFits:
      answer.say({"Fits", "Nobody has to go: " + who + fits + " now, on " + nodes_text(found) + ".", about});
      return;
    case Verdict::kWait:
      answer.say({"FitsSoon",
                  found.placements.empty() ? "Nobody goes for " + who + " yet: the PodGroup that it names is not known."
                                           : "Nobody has to go: " + who + fits +
                                                 " once pods that terminate have left, on " + nodes_text(found) + ".",
                  about});
      return;
    case Verdict::kEvict:
      answer.say({"Victims",
                  counted(number, "pod") + (number == 1 ? " has" : " have") + " to go so that " + who + fits + ", on " +
                      nodes_text(found) + ": " + pods_text(evictions, found.pods) + ". No other set does less harm.",
                  about,
                  "",
                  {{"pods", number}, {"violations", static_cast<uint64_t>(found.harm.violations)}},
                  {victims()}});
      say_broken_budgets(answer, evictions, found.pods);
      answer.say("AdviceOnly", "This is advice: kubectl dra evicts nobody.");
      return;
    case Verdict::kNever: {
      const std::string nobody = why_nobody(evictions);
      answer.say({"NeverWhateverGoes",
                  nobody.empty() ? "Never, whoever goes: " + who + does + " not fit even if all " +
                                       counted(evictions.candidates(), "pod") + " that may go were gone."
                                 : "Nobody goes for " + who + ": " + nobody + ".",
                  about,
                  "",
                  {{"candidates", evictions.candidates()}}});
      answer.status = Status::kNo;
      return;
    }
    case Verdict::kUndecided:
      answer.say({"Undecided",
                  number == 0 ? "Who has to go for " + who + " could not be decided within the limits of the search."
                              : "Who has to go for " + who +
                                    " could not be decided within the limits of the search. The best set found has " +
                                    counted(number, "pod") +
                                    ", and a better one may exist: " + pods_text(evictions, found.pods) + ".",
                  about,
                  "",
                  {{"pods", number}},
                  {victims()}});
      answer.status = Status::kUnknown;
      return;
  }
}

// An admin decides by a label of the namespace whether its pods may preempt.
void note_namespace(Answer& answer, const Objects& objects, const std::string& name) {
  const auto ns = objects.namespaces.find(name);
  if (ns == objects.namespaces.end()) return;
  const auto label = ns->second->metadata.labels.find(protocol::kPreemptionAnnotation);
  if (label != ns->second->metadata.labels.end() && label->second == "true") return;
  answer.notes.push_back("namespace " + name + " lacks the label " + std::string(protocol::kPreemptionAnnotation) +
                         "=true, by which an admin lets its pods preempt");
}

}  // namespace

Result<Answer> whatif_preempt(State& state, const std::string& target, const std::string& ns,
                              const EvictionLimits& limits) {
  const Objects& objects = state.objects;
  const size_t slash = target.find('/');
  const std::string kind = slash == std::string::npos ? "pod" : target.substr(0, slash);
  const std::string name = slash == std::string::npos ? target : target.substr(slash + 1);
  if (kind != "pod" && kind != "pods" && kind != "po")
    return fail(Code::kInvalidArgument, "whatif preempt is about a pod that waits; " + quote(target) +
                                            " is not pod/NAME (make-room -f FILE is about objects of a file)");
  const auto pod = objects.pods.find(ns + "/" + name);
  if (pod == objects.pods.end()) {
    std::vector<std::string> names;
    for (const auto& [key, one] : objects.pods)
      if (one->metadata.ns == ns) names.push_back(one->metadata.name);
    const std::string near = nearest(name, names);
    return fail(not_known(objects, "pods", ns, "pod " + quote(name),
                          near.empty() ? "" : "; did you mean " + quote(near) + "?"));
  }
  const api::Pod& object = *pod->second;
  if (!object.node_name.empty() || object.terminal())
    return fail(Code::kInvalidArgument, "pod " + object.metadata.key() + " does not wait: it " +
                                            (object.terminal() ? "has ended" : "is on node " + object.node_name) +
                                            "; whatif preempt is about a pod without a node");
  Answer answer{"DRAPreempt"};
  EvictionWorld evictions(state, Kind::kVictims, {}, {});
  const std::string refused = evictions.ask_for(object.metadata.key());
  preempt::Answer found;
  if (refused.empty()) {
    found = least_evictions(evictions, Kind::kVictims, limits);
    say_verdict(answer, evictions, found, ref_of(object));
  } else {
    answer.say({"Undecided", "Who has to go cannot be judged: " + refused + ".", ref_of(object)});
    answer.status = Status::kUnknown;
  }
  answer.tables.push_back(victims_table(evictions, found.pods));
  answer.tables.push_back(places_table(evictions, found));
  if (found.verdict == Verdict::kEvict) {
    note_namespace(answer, objects, ns);
    if (manager_evicts(objects, ns)) answer.notes.emplace_back(kManagerEvicts);
  }
  note_limits_of(answer, evictions, objects, "go");
  return answer;
}

void say_who_must_go(Answer& answer, State& state, const api::Pod& pod) {
  const Objects& objects = state.objects;
  if (!objects.evictions.asked || objects.hides_what_decides()) return;
  const bool any_lower = std::any_of(objects.pods.begin(), objects.pods.end(), [&](const auto& one) {
    return !one.second->node_name.empty() && !one.second->terminal() && one.second->priority < pod.priority;
  });
  if (!any_lower) return;
  EvictionWorld evictions(state, Kind::kVictims, {}, {});
  if (!evictions.ask_for(pod.metadata.key()).empty()) return;
  if (!why_nobody(evictions).empty()) return;
  const preempt::Answer found = least_evictions(evictions, Kind::kVictims, kLimitsOfExplain);
  if (found.verdict == Verdict::kFits || found.verdict == Verdict::kWait) return;
  Answer told;
  say_verdict(told, evictions, found, ref_of(pod));
  for (Statement& statement : told.statements)
    if (statement.code != "AdviceOnly") answer.say(std::move(statement));
  if (found.verdict == Verdict::kEvict)
    answer.notes.push_back(
        (manager_evicts(objects, pod.metadata.ns) ? std::string(kManagerEvicts) : std::string("nobody evicts them")) +
        ": kubectl dra whatif preempt pod/" + pod.metadata.name + " -n " + pod.metadata.ns + " shows what they hold");
  for (const std::string& clause : evictions.unknown()) answer.notes.push_back("not known: " + clause);
}

}  // namespace dra::inspect
