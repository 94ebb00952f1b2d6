// What must be true before the manager binds a pod (bind mode): an ordered list of steps.
//
//   const StepAnswer answer = run_bind_steps({view, pod, state, nodes, node}, bind_steps());
//   switch (answer.kind) ... kDone: prove, reserve, bind; kWait: write answer.writes and wait; kGiveUp: free everything
//
// The steps run when the pod's devices are allocated without conflict, before the allocation is proven: until then it
// can be withdrawn (P5). Every reconcile runs them again until the pod is bound. A step is a pure function that derives
// its progress from the objects, so a restart or a new leader in the middle needs no code.
#pragma once

#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "controllers/allocation/protocol.h"
#include "pkg/nodes/node_chooser.h"
#include "pkg/reconcile/effect.h"
#include "pkg/reconcile/view.h"

namespace dra::allocation {

struct BindContext {
  const reconcile::View& view;
  const api::Pod& pod;
  const PodState& state;  // its claims: all allocated, none over-committed
  nodes::NodeChooser& nodes;
  const std::string& node;  // the chosen node, to which the pod is to be bound
};

struct StepAnswer {
  enum class Kind {
    kDone,
    kWait,    // `writes` advance it; the pod is requeued after `requeue_after` or by one of `causes`
    kGiveUp,  // not on this node: devices and capacity are freed, and the node is avoided for a while
  };
  Kind kind = Kind::kDone;
  // kWait, kGiveUp: at most one per object; in kGiveUp none of the pod's ResourceClaims (they are withdrawn).
  std::vector<reconcile::Write> writes;
  Duration requeue_after = std::chrono::seconds(60);
  // Besides changes of the pod, its claims and its PersistentVolumeClaims, which always requeue it.
  std::set<reconcile::Cause> causes;
  // kGiveUp, and kWait where people should know: one event per change.
  reconcile::EventReason reason;
  std::string note;
  Duration avoid_node = std::chrono::minutes(1);

  static StepAnswer done() { return {}; }
  static StepAnswer wait(reconcile::EventReason reason, std::string note) {
    StepAnswer answer;
    answer.kind = Kind::kWait;
    answer.reason = reason;
    answer.note = std::move(note);
    return answer;
  }
  static StepAnswer give_up(reconcile::EventReason reason, std::string note) {
    StepAnswer answer = wait(reason, std::move(note));
    answer.kind = Kind::kGiveUp;
    return answer;
  }
};

using BindStep = StepAnswer (*)(const BindContext&);

// In order. A new step is a function in a file of its own and one line in bind_steps.cc.
std::span<const BindStep> bind_steps();
// The answer of the first step that is not done.
StepAnswer run_bind_steps(const BindContext& context, std::span<const BindStep> steps);

// bind_volumes.cc: binds the volumes that wait for their first consumer.
StepAnswer bind_volumes(const BindContext& context);
// bind_conditions.cc: waits until the drivers have prepared the devices that have binding conditions.
StepAnswer bind_conditions(const BindContext& context);

}  // namespace dra::allocation
