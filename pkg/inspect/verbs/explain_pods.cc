#include "pkg/inspect/verbs/explain_pods.h"

#include "pkg/base/strings.h"
#include "pkg/inspect/verbs/chain.h"
#include "pkg/inspect/verbs/explain_causes.h"

namespace dra::inspect {

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
    head.message +=
        " This is about pod " + shown->metadata.name + (waiting.empty() ? "; the devices are those of all." : ".");
    if (waiting.empty()) answer.tables.front() = devices_of(state, running);
  }
  answer.lines.insert(answer.lines.begin(), head.message);
  answer.statements.insert(answer.statements.begin(), std::move(head));
  return answer;
}

}  // namespace dra::inspect
