#include "pkg/inspect/verbs/judge.h"

#include <algorithm>

#include "pkg/base/strings.h"
#include "pkg/inspect/state/pairs.h"
#include "pkg/protocol/avoided.h"
#include "pkg/protocol/manager_lease.h"
#include "pkg/verdict/causes.h"
#include "pkg/verdict/would_fit.h"

namespace dra::inspect {
namespace {

// Limit of decisions for suggestions: each takes well below a millisecond on most clusters.
constexpr size_t kMaxTried = 1000;

// The smallest changes that make it fit, each tried by the allocator.
void add_suggestions(JudgedPod& judged, const State& state, const verdict::Facts& facts,
                     const verdict::Question& question) {
  std::vector<Claim> claims;
  for (const auto& [key, claim] : state.objects.claims) claims.push_back(claim);
  std::vector<std::shared_ptr<const api::ResourceSlice>> slices;
  for (const auto& [name, slice] : state.objects.slices) slices.push_back(slice);
  verdict::WouldFitOptions options;
  options.max_decisions = kMaxTried;
  const verdict::WouldFit found = verdict::would_fit(facts, question, {claims, slices}, options);
  if (!found.suggestions.empty()) judged.lines.push_back("Would fit if:");
  for (const verdict::Suggestion& one : found.suggestions) {
    judged.lines.push_back("  " + one.text + (one.smallest ? "" : " (the best that was found)"));
    judged.statements.front().remedies.push_back({std::string(verdict::change_kind_name(one.kind)), one.text});
  }
  if (!found.complete) judged.lines.push_back("  (not everything was tried)");
}

ObjectRef claim_ref(const std::string& key) {
  const size_t slash = key.find('/');
  if (slash == std::string::npos) return {"ResourceClaim", "", key};
  return {"ResourceClaim", key.substr(0, slash), key.substr(slash + 1)};
}

Statement statement_of(const verdict::Cause& cause, const ObjectRef& asked) {
  Statement one{cause.code, cause.text};
  one.object = cause.claim.empty() ? asked : claim_ref(cause.claim);
  if (!cause.request.empty()) one.field = "spec.devices.requests[" + cause.request + "]";
  if (cause.nodes > 0) one.counts.emplace_back("nodes", cause.nodes);
  if (cause.nodes_with_devices > 0) one.counts.emplace_back("nodesWithDevices", cause.nodes_with_devices);
  if (cause.devices > 0) one.counts.emplace_back("devices", cause.devices);
  if (!cause.device_class.empty()) one.names.push_back({"classes", {cause.device_class}});
  one.names.emplace_back("nodes", cause.node_names);
  one.names.emplace_back("devices", cause.device_names);
  std::vector<std::string> claims, pods;
  for (const verdict::Holder& holder : cause.holders) {
    if (!holder.claim.empty()) claims.push_back(holder.claim);
    pods.insert(pods.end(), holder.pods.begin(), holder.pods.end());
  }
  one.names.emplace_back("claims", std::move(claims));
  one.names.emplace_back("pods", std::move(pods));
  return one;
}

Statement head_of(const verdict::Verdict& found, const ObjectRef& asked) {
  const std::string text = verdict::text(found, {0, false});
  Statement head{found.answer == verdict::Answer::kFits         ? "Fits"
                 : found.answer == verdict::Answer::kDoesNotFit ? "DoesNotFit"
                                                                : "Undecided",
                 text.substr(0, text.find('\n'))};
  head.object = asked;
  head.counts.emplace_back("nodes", found.nodes);
  head.counts.emplace_back("nodesThatTakeIt", found.passed);
  if (!found.node.empty()) head.names.push_back({"nodes", {found.node}});
  std::vector<std::string> devices;
  for (const api::AllocationResult& result : found.results)
    for (const auto& device : result.results)
      devices.push_back(device.driver + "/" + device.pool + "/" + device.device);
  head.names.emplace_back("devices", std::move(devices));
  return head;
}

}  // namespace

ObjectRef ref_of(const api::Pod& pod) {
  return {"Pod", pod.metadata.ns, pod.metadata.name};
}

ObjectRef ref_of(const api::ResourceClaim& claim) {
  return {"ResourceClaim", claim.metadata.ns, claim.metadata.name};
}

void say_first(JudgedPod& judged, Statement statement) {
  judged.lines.insert(judged.lines.begin(), statement.message);
  judged.statements.insert(judged.statements.begin(), std::move(statement));
}

void say(JudgedPod& judged, Statement statement) {
  judged.lines.push_back(statement.message);
  judged.statements.push_back(std::move(statement));
}

JudgedPod judge_pod(State& state, const api::Pod* pod, const std::vector<Claim>& claims,
                    const std::vector<std::string>& entries, const JudgeOptions& options) {
  // The manager gives it none of the devices that could not be prepared for it.
  std::vector<protocol::AvoidedDevice> avoided =
      pod ? protocol::avoided_devices(*pod, state.objects.taken) : std::vector<protocol::AvoidedDevice>();
  // And nobody those in quarantine.
  for (const auto& [key, lease] : state.objects.managers.leases)
    if (protocol::leadership_of(*lease, state.objects.taken) == protocol::Leadership::kLeads)
      protocol::add_avoided(
          protocol::avoided_in(protocol::notes_of(lease->metadata.annotations).quarantine, state.objects.taken),
          avoided);
  const protocol::DevicesHeldBack held_back(state.inventory, avoided);
  const std::vector<verdict::SetAside> aside{{std::string(protocol::kHeldBack), std::string(protocol::kWhyHeldBack)}};
  verdict::Facts facts = state.facts();
  facts.set_aside = aside;
  std::string malformed;
  const verdict::Question question{pod, claims, entries, options.nodes,
                                   pairs_asked(pod, claims, state.inventory, malformed)};
  const verdict::Verdict found = malformed.empty() ? verdict::judge(facts, question) : verdict::refusal(malformed);
  JudgedPod judged;
  judged.outcome = found.answer;
  judged.lines = split(verdict::text(found, {options.width, options.wide}), '\n');
  if (!judged.lines.empty() && judged.lines.back().empty()) judged.lines.pop_back();
  const ObjectRef asked = pod ? ref_of(*pod) : claims.empty() ? ObjectRef{} : ref_of(*claims.front());
  judged.statements.push_back(head_of(found, asked));
  for (const verdict::Cause& cause : verdict::causes_of(found)) judged.statements.push_back(statement_of(cause, asked));
  if (options.suggest && judged.outcome == verdict::Answer::kDoesNotFit)
    add_suggestions(judged, state, facts, question);
  return judged;
}

}  // namespace dra::inspect
