#include "controllers/allocation/bind/bind_steps.h"

#include <algorithm>

#include "controllers/allocation/pod/pod_reconcile.h"
#include "pkg/protocol/writes.h"

namespace dra::allocation {

using namespace reconcile;

std::span<const BindStep> bind_steps() {
  static constexpr BindStep kSteps[] = {bind_volumes, bind_conditions};
  return kSteps;
}

StepAnswer run_bind_steps(const BindContext& context, std::span<const BindStep> steps) {
  for (const BindStep step : steps)
    if (StepAnswer answer = step(context); answer.kind != StepAnswer::Kind::kDone) return answer;
  return StepAnswer::done();
}

bool PodReconcile::is_being_bound() {
  if (role_ != Role::kToBind || !view_.is_being_bound(pod_.metadata.uid)) return false;
  outcome_.requeue_in(std::chrono::seconds(2));
  return true;
}

bool PodReconcile::waits_for_watch(const NodeChoice& choice) {
  if (choice.watch_lags) outcome_.requeue_in(std::chrono::seconds(1));
  return choice.watch_lags;
}

bool PodReconcile::prepared(const NodeChoice& choice) {
  if (role_ != Role::kToBind) return true;
  const std::string node(choice.nodes.front());
  StepAnswer answer = run_bind_steps({view_, pod_, state_, nodes_, node}, bind_steps());
  if (answer.kind == StepAnswer::Kind::kDone) return true;
  const bool gives_up = answer.kind == StepAnswer::Kind::kGiveUp;
  if (!answer.reason.empty()) waits(answer.reason, answer.note, answer.note);
  if (gives_up && answer.avoid_node > Duration::zero())
    outcome_.add(AvoidNodes{pod_.metadata.uid, {node}, answer.avoid_node, answer.note});
  for (Write& write : answer.writes) {
    // A write made for the pod also keeps its place on the node.
    if (!gives_up && !write.assume_pod) write.assume_pod = AssumedPod{ref_of(pod_), node};
    outcome_.add(std::move(write));
  }
  if (gives_up) {
    count_failure("NotReadyToBind");
    if (withdraw_all()) return false;
  }
  if (!outcome_.has_writes()) park(std::move(answer.causes));
  // What cannot be freed now (a claim that others share) is retried later.
  outcome_.requeue_in(gives_up ? std::max<Duration>(answer.avoid_node, std::chrono::seconds(60))
                               : answer.requeue_after);
  return false;
}

}  // namespace dra::allocation
