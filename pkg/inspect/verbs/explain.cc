#include "pkg/inspect/verbs/explain.h"

#include <algorithm>

#include "pkg/base/strings.h"
#include "pkg/inspect/state/unseen.h"
#include "pkg/inspect/verbs/chain.h"
#include "pkg/inspect/verbs/explain_causes.h"
#include "pkg/inspect/verbs/explain_group.h"
#include "pkg/inspect/verbs/explain_object.h"
#include "pkg/inspect/verbs/explain_owner.h"

namespace dra::inspect {
namespace {

// The causes of waiting, without what would help: that takes long for many pods.
AskCause pod_cause(State& state, const ExplainOptions& options) {
  ExplainOptions quick = options;
  quick.width = 0;
  quick.suggest = false;
  return {[&state, quick](const api::Pod& pod) { return explain_pod(state, pod, quick); },
          [&state, quick](const Claim& claim) { return explain_claim(state, claim, quick); }};
}

// Pods of one owner: the causes of those that wait, or, of those that run, the one that has most to say.
Answer explain_pods(State& state, const std::string& owner, const std::vector<const api::Pod*>& pods,
                    const ExplainOptions& options) {
  std::vector<const api::Pod*> waiting, running;
  for (const api::Pod* pod : pods)
    if (!pod->terminal()) (pod->node_name.empty() ? waiting : running).push_back(pod);
  Statement head{"PodsOfOwner", owner + ": " + counted(running.size(), "pod") + " on nodes, " +
                                    std::to_string(waiting.size()) + " waiting."};
  head.counts = {{"onNodes", running.size()}, {"waiting", waiting.size()}};
  // With one cause for all, its details follow; with several, a table of them.
  if (waiting.size() > 1) {
    Answer answer = explain_causes(state, waiting, {}, pod_cause(state, options));
    answer.lines.insert(answer.lines.begin(), head.message);
    if (answer.tables.front().rows.size() > 1) {
      answer.statements.insert(answer.statements.begin(), std::move(head));
      return answer;
    }
  }
  const api::Pod* shown = !waiting.empty() ? waiting.front() : !running.empty() ? running.front() : pods.front();
  for (const api::Pod* pod : running)
    if (waiting.empty() && !chain_of(state, *pod).broken.empty()) shown = pod;
  Answer answer = explain_pod(state, *shown, options);
  if (running.size() + waiting.size() > 1) {
    head.message += " This is about pod " + shown->metadata.name + (waiting.empty() ? "; the devices are those of all." : ".");
    if (waiting.empty()) answer.tables.front() = devices_of(state, running);
  }
  answer.lines.insert(answer.lines.begin(), head.message);
  answer.statements.insert(answer.statements.begin(), std::move(head));
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
  return explain_causes(state, waiting_pods(state, scope), waiting_claims(state.objects, scope),
                        pod_cause(state, options));
}

}  // namespace dra::inspect
