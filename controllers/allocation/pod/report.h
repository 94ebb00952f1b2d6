// Reports what cannot be solved here: events on the pod and its claims, the log's line, metrics, and the causes under
// which the pod parks. not_found.h words the answers of a search with it.
#pragma once

#include <set>
#include <string>

#include "controllers/allocation/pod/condition.h"
#include "controllers/allocation/pod/context.h"
#include "controllers/allocation/pod/obstacles.h"
#include "pkg/allocator/allocator.h"

namespace dra::allocation {

struct Complaint {
  reconcile::EventReason reason;
  std::string note;
  std::string signature;  // two complaints with the same one are the same news
  bool warning = true;    // a Warning; else Normal
};

// An event, once and again every half hour while it is true: on the pod, or on another object.
void complain(const PodContext& context, const Complaint& complaint, reconcile::ReconcileResult& out);
void complain_of(const PodContext& context, const reconcile::Ref& object, const Complaint& complaint,
                 reconcile::ReconcileResult& out);
// An event on the claim. Only the first of the pods that share it reports: several would contradict each other.
void complain_of_claim(const PodContext& context, const api::ResourceClaim& claim, const std::string& note,
                       const std::string& signature, reconcile::ReconcileResult& out);
// The pod waits: an event, the condition and a log line say why.
void say_waiting(const PodContext& context, const Complaint& why, Fit fit, reconcile::ReconcileResult& out);

// dra_allocation_failures_total and dra_pending_pods; the latter alone (pending.cc).
void count_failure(const PodContext& context, const std::string& cause, reconcile::ReconcileResult& out);
void count_pending(const PodContext& context, const std::string& cause, reconcile::ReconcileResult& out);

// What may change the answer for these claims.
std::set<reconcile::Cause> causes_of(const PodContext& context, const allocator::Request& request);
// Parks for other pods and their capacity as well, when the choice of nodes depended on them.
void park_pod(const PodContext& context, const std::set<reconcile::Cause>& causes, const Obstacles& obstacles,
              reconcile::ReconcileResult& out);

// The allocated claims that pin the pod to a node, as a clause after "; ".
std::string what_pins(const PodContext& context);
// "allocated gpu.example.com/n1/gpu-0", and the event that says it.
std::string devices_words(const PodState& state);
reconcile::Event allocated_event(const PodContext& context);

}  // namespace dra::allocation
