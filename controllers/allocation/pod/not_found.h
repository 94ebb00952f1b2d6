// What a search without a result says: the pod parks, or is tried again, and an event, the condition and a metric say
// why. The sentences are pkg/verdict's.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "controllers/allocation/pod/candidates.h"
#include "controllers/allocation/pod/context.h"
#include "controllers/allocation/pod/obstacles.h"
#include "pkg/allocator/allocator.h"
#include "pkg/verdict/verdict.h"

namespace dra::allocation {

// After this many slices of a search, about 100 ms, an event says that it takes long.
inline constexpr uint32_t kSlicesWorthAnEvent = 16;

// A search that ended without devices. All must outlive it.
struct NotFound {
  const allocator::Request& request;
  const std::vector<allocator::NodeId>& order;  // the nodes that were searched
  const allocator::FoundNodes& found;
  const Obstacles& obstacles;
  std::string kept_devices;  // kept_devices_clause() of what was left to groups
  std::string subject;       // comes before the sentence: "for ...: "
};

// No node takes the pod, whatever the devices.
void report_no_node(const PodContext& context, const Candidates& candidates, reconcile::ReconcileResult& out);
// The nodes take it and lack devices.
void report_no_devices(const PodContext& context, const NotFound& what, reconcile::ReconcileResult& out);
// The claims, or the classes that they name, are at fault: no search can help.
void report_unusable(const PodContext& context, const NotFound& what, reconcile::ReconcileResult& out);
// The budget of steps was spent: it is tried again with a larger one.
void report_undecided(const PodContext& context, const allocator::FoundNodes& found, reconcile::ReconcileResult& out);
// The time slice ended: the key continues after other keys had their turn.
void go_on_later(const PodContext& context, const allocator::FoundNodes& found, reconcile::ReconcileResult& out);

// "; the driver could not prepare a/p/gpu-0 for this pod, so it avoids that device until 2026-05-01T10:30:00Z".
std::string avoided_clause(const PodContext& context);
// `passed`: the nodes that took the pod. `found`, `request`: what the search said and what was requested, where that is
// more than the existing claims; null: there was no search.
verdict::Verdict verdict_of(const PodContext& context, const Obstacles& obstacles,
                            const std::vector<allocator::NodeId>& passed, const allocator::FoundNodes* found = nullptr,
                            const allocator::Request* request = nullptr);

}  // namespace dra::allocation
