#include "pkg/inspect/judge.h"

#include "pkg/verdict/verdict.h"

namespace dra::inspect {
namespace {

verdict::Holder holder_named(const Objects& objects, std::string_view uid) {
  verdict::Holder holder;
  holder.uid = std::string(uid);
  const auto claim = objects.claim_by_uid.find(uid);
  if (claim == objects.claim_by_uid.end()) return holder;
  holder.claim = claim->second->metadata.key();
  for (const std::string& pod : consumers_of(objects, *claim->second))
    holder.pods.push_back(claim->second->metadata.ns + "/" + pod);
  return holder;
}

}  // namespace

JudgedPod judge_pod(State& state, const api::Pod* pod, const std::vector<Claim>& claims,
                    const std::vector<std::string>& entries, const std::string& node, size_t width, bool wide) {
  verdict::Facts facts{state.cluster, state.inventory, state.allocator(), nullptr};
  facts.name_of_holder = [&state](std::string_view uid, std::string_view, std::string_view) {
    return holder_named(state.objects, uid);
  };
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
