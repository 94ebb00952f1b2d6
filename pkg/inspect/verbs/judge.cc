#include "pkg/inspect/verbs/judge.h"

#include "pkg/protocol/avoided.h"
#include "pkg/verdict/would_fit.h"

namespace dra::inspect {
namespace {

// Limit of decisions for suggestions: each takes well below a millisecond on most clusters.
constexpr size_t kMaxTried = 1000;

// The smallest changes that make it fit, each tried by the allocator.
void add_suggestions(std::vector<std::string>& lines, const State& state, const verdict::Facts& facts,
                     const verdict::Question& question) {
  std::vector<Claim> claims;
  for (const auto& [key, claim] : state.objects.claims) claims.push_back(claim);
  std::vector<std::shared_ptr<const api::ResourceSlice>> slices;
  for (const auto& [name, slice] : state.objects.slices) slices.push_back(slice);
  verdict::WouldFitOptions options;
  options.max_decisions = kMaxTried;
  const verdict::WouldFit found = verdict::would_fit(facts, question, {claims, slices}, options);
  if (!found.suggestions.empty()) lines.push_back("Would fit if:");
  for (const verdict::Suggestion& one : found.suggestions)
    lines.push_back("  " + one.text + (one.smallest ? "" : " (the best that was found)"));
  if (!found.complete) lines.push_back("  (not everything was tried)");
}

}  // namespace

JudgedPod judge_pod(State& state, const api::Pod* pod, const std::vector<Claim>& claims,
                    const std::vector<std::string>& entries, const std::vector<std::string>& nodes, size_t width,
                    bool wide) {
  // The manager gives it none of the devices that could not be prepared for it.
  const std::vector<protocol::AvoidedDevice> avoided =
      pod ? protocol::avoided_devices(*pod, state.objects.taken) : std::vector<protocol::AvoidedDevice>();
  const protocol::DevicesHeldBack held_back(state.inventory, avoided);
  const std::vector<verdict::SetAside> aside{{std::string(protocol::kHeldBack), std::string(protocol::kWhyHeldBack)}};
  verdict::Facts facts = state.facts();
  facts.set_aside = aside;
  const verdict::Question question{pod, claims, entries, nodes};
  const verdict::Verdict found = verdict::judge(facts, question);
  JudgedPod judged;
  judged.outcome = found.answer;
  judged.lines = split(verdict::text(found, {width, wide}), '\n');
  if (!judged.lines.empty() && judged.lines.back().empty()) judged.lines.pop_back();
  if (judged.outcome == verdict::Answer::kDoesNotFit) add_suggestions(judged.lines, state, facts, question);
  return judged;
}

}  // namespace dra::inspect
