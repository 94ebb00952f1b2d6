#include "controllers/allocation/pod/prepare.h"

#include <algorithm>
#include <string>
#include <utility>

#include "controllers/allocation/bind/bind_steps.h"
#include "controllers/allocation/pod/node_takes.h"
#include "controllers/allocation/pod/report.h"
#include "controllers/allocation/pod/withdraw.h"
#include "pkg/protocol/pod_claims.h"
#include "pkg/protocol/writes.h"

namespace dra::allocation {

using namespace protocol;
using namespace reconcile;

bool waits_for_watch(const nodes::NodeChoice& choice, ReconcileResult& out) {
  if (choice.watch_lags) out.requeue_in(std::chrono::seconds(1));
  return choice.watch_lags;
}

bool is_being_bound(const PodContext& context, ReconcileResult& out) {
  if (context.role != Role::kToBind || !context.view.is_being_bound(context.pod.metadata.uid)) return false;
  out.requeue_in(std::chrono::seconds(2));
  return true;
}

bool prepare_binding(const PodContext& context, const Candidates& candidates, ReconcileResult& out) {
  if (context.role != Role::kToBind) return true;
  const std::string node(candidates.choice.nodes.front());
  StepAnswer answer =
      run_bind_steps({context.view, context.pod, context.state, context.tools.nodes, node}, bind_steps());
  if (answer.kind == StepAnswer::Kind::kDone) return true;
  const bool gives_up = answer.kind == StepAnswer::Kind::kGiveUp;
  if (!answer.reason.empty()) say_waiting(context, {answer.reason, answer.note, answer.note}, Fit::kUndecided, out);
  if (gives_up && answer.avoid_node > Duration::zero())
    out.add(AvoidNodes{context.pod.metadata.uid, {node}, answer.avoid_node, answer.note});
  for (Write& write : answer.writes) {
    // A write made for the pod also keeps its place on the node.
    if (!gives_up && !write.assume_pod) write.assume_pod = assumed_on(context, node);
    out.add(std::move(write));
  }
  if (gives_up) {
    count_failure(context, "NotReadyToBind", out);
    if (withdraw_or_leave(context, out)) return false;
  }
  if (!out.has_writes()) park_pod(context, answer.causes, candidates.obstacles, out);
  // What cannot be freed now (a claim that others share) is retried later.
  out.requeue_in(gives_up ? std::max<Duration>(answer.avoid_node, std::chrono::seconds(60)) : answer.requeue_after);
  return false;
}

}  // namespace dra::allocation
