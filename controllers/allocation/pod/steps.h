// One reconcile of one pod by the allocation controller: an ordered list of steps over a context (context.h).
//
//   std::string_view took = run_steps(context, pod_steps(), out);    // "allocate": what the pod needed next
//
// The first step whose business the pod's state is takes it, and adds its effects to `out`; those after it do not run.
// A step derives all from the objects, so a crash between two writes needs no code: the next reconcile finds the next
// step. The last step takes every pod.
//
//   leave      the pod announced that it leaves claims (P8)                            leave.h
//   drop       claims are reserved for it that it cannot use any more                  leave.h
//   release    before an uninstall, and its claims are missing or unallocated          release.h
//   wait       a claim is missing, being deleted or another pod's                      report.h
//   extended   its extended resources have to be served first, or nobody serves them   bind_extended.h, extended_use.h
//   allocate   a claim is unallocated (P1)                                             decide.h
//   prove      an allocation is not proven (P2, P3, P5)                                prove.h
//   use        all are proven: reserve, then lift the gate or bind (P4)                release.h
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "controllers/allocation/pod/context.h"
#include "controllers/allocation/pod/obstacles.h"

namespace dra::allocation {

struct PodStep {
  std::string_view name;
  // True: the pod's state is this step's business, and its effects are added. False: it is not, and no write is added.
  // Adds to an outcome, instead of returning one: what several helpers want is one ordered list, in which a group puts
  // what it takes from these steps, too.
  bool (*take)(const PodContext& context, reconcile::ReconcileResult& out);
};

// In order.
std::span<const PodStep> pod_steps();
// The name of the step that took the pod; empty: none did.
std::string_view run_steps(const PodContext& context, std::span<const PodStep> steps, reconcile::ReconcileResult& out);

// A whole reconcile of a pod that is placed alone: derives the facts and runs the steps.
// `ignored_group`: not empty: why the group that the pod names is ignored, which an event says.
reconcile::ReconcileResult reconcile_alone(const reconcile::View& view, const api::Pod& pod, const Tools& tools,
                                           const std::string& ignored_group = "");
// The same from a context: notes what is missing, and runs the steps.
void reconcile_pod(const PodContext& context, reconcile::ReconcileResult& out);

// The step "extended" for others (a group judges its members by it): false when the pod has to wait. `obstacles`: of
// the nodes tried for it, if any were.
bool serve_extended(const PodContext& context, Obstacles& obstacles, reconcile::ReconcileResult& out);

}  // namespace dra::allocation
