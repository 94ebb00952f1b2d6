#include "controllers/allocation/pod/steps.h"

#include <utility>

#include "controllers/allocation/pod/bad_parameters.h"
#include "controllers/allocation/pod/bind_extended.h"
#include "controllers/allocation/pod/decide.h"
#include "controllers/allocation/pod/extended_use.h"
#include "controllers/allocation/pod/leave.h"
#include "controllers/allocation/pod/missing_claim.h"
#include "controllers/allocation/pod/prove.h"
#include "controllers/allocation/pod/release.h"
#include "controllers/allocation/pod/report.h"

namespace dra::allocation {

using namespace protocol;
using namespace reconcile;

namespace {

bool release_before_uninstall(const PodContext& context, ReconcileResult& out) {
  if (!is_releasing(context) || (context.state.waits_for.empty() && context.state.all_allocated())) return false;
  release_pod(context, out);
  return true;
}

bool wait_for_claims(const PodContext& context, ReconcileResult& out) {
  const std::string& why = context.state.waits_for;
  if (why.empty()) return false;
  if (!context.state.ordinary_wait) {
    say_waiting(context, {"FailedAllocation", why, why}, Fit::kNowhere, out);
    count_pending(context, "ClaimMissing", out);
  }
  return true;
}

// If it takes the pod, the claim is being made, or the pod is parked until a node or the class changes.
bool wait_for_extended(const PodContext& context, ReconcileResult& out) {
  Obstacles ignored;
  return !serve_extended(context, ignored, out);
}

bool allocate_claims(const PodContext& context, ReconcileResult& out) {
  if (context.state.all_allocated()) return false;
  if (!context.tools.options.release_gates) decide_claims(context, out);
  return true;
}

bool prove_allocations(const PodContext& context, ReconcileResult& out) {
  if (context.state.all_settled()) return false;
  prove_claims(context, out);
  return true;
}

bool use_allocations(const PodContext& context, ReconcileResult& out) {
  use_claims(context, out);
  return true;
}

// Nobody lifts our gate in this mode: the pod would wait without a word.
void say_gate_stays(const PodContext& context, ReconcileResult& out) {
  if (context.tools.options.mode != Mode::kObserve || !carries_our_gate(context.pod)) return;
  const std::string note = "the pod waits at the gate " + std::string(kAllocationGate) +
                           ", which nobody lifts in mode observe; run the manager with --scheduling=gate, or make the "
                           "pod without the gate";
  complain(context, {"GateStays", note, "observe"}, out);
}

}  // namespace

std::span<const PodStep> pod_steps() {
  static constexpr PodStep kSteps[] = {
      {"leave", leave_announced},   {"drop", drop_abandoned},        {"release", release_before_uninstall},
      {"wait", wait_for_claims},    {"extended", wait_for_extended}, {"allocate", allocate_claims},
      {"prove", prove_allocations}, {"use", use_allocations},
  };
  return kSteps;
}

std::string_view run_steps(const PodContext& context, std::span<const PodStep> steps, ReconcileResult& out) {
  for (const PodStep& step : steps)
    if (step.take(context, out)) return step.name;
  return "";
}

void reconcile_pod(const PodContext& context, ReconcileResult& out) {
  say_gate_stays(context, out);
  if (context.role == Role::kExplain && context.pod.resource_claims.empty()) return;
  watch_missing_claim(context, out);
  warn_of_parameters(context, out);
  run_steps(context, pod_steps(), out);
}

ReconcileResult reconcile_alone(const View& view, const api::Pod& pod, const Tools& tools,
                                const std::string& ignored_group) {
  const PodFacts facts = derive_facts(view, pod, tools.options);
  const PodContext context = context_of(view, pod, facts, tools);
  ReconcileResult out;
  if (!ignored_group.empty())
    complain(context, {"GroupIgnored", "the pod is placed alone: " + ignored_group, ignored_group}, out);
  reconcile_pod(context, out);
  return out;
}

bool serve_extended(const PodContext& context, Obstacles& obstacles, ReconcileResult& out) {
  if (!is_served_by_claim(context)) return serve_by_plugins(context, out);
  if (context.role != Role::kToBind) return true;
  ExtendedAnswer answer = serve_by_claim(context, out);
  obstacles = std::move(answer.obstacles);
  return answer.goes_on;
}

}  // namespace dra::allocation
