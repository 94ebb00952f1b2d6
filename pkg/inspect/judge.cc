#include "pkg/inspect/judge.h"

#include "pkg/verdict/verdict.h"

namespace dra::inspect {
JudgedPod judge_pod(State& state, const api::Pod* pod, const std::vector<Claim>& claims,
                    const std::vector<std::string>& entries, const std::string& node, size_t width, bool wide) {
  const verdict::Facts facts = state.facts();
  verdict::Question question{pod, claims, entries, {}};
  if (!node.empty()) question.nodes.push_back(node);
  const verdict::Verdict found = verdict::judge(facts, question);
  JudgedPod judged;
  judged.outcome = found.answer == verdict::Answer::kFits         ? JudgedPod::Outcome::kFits
                   : found.answer == verdict::Answer::kDoesNotFit ? JudgedPod::Outcome::kDoesNotFit
                                                                  : JudgedPod::Outcome::kUndecided;
  judged.lines = split(verdict::text(found, {width, wide}), '\n');
  if (!judged.lines.empty() && judged.lines.back().empty()) judged.lines.pop_back();
  return judged;
}

}  // namespace dra::inspect
