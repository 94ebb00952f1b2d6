#include "pkg/manager/report/pinned_pods.h"

#include <algorithm>

#include "pkg/protocol/pod_claims.h"
#include "pkg/protocol/proof.h"

namespace dra::manager {

namespace {

bool waits_for_a_scheduler(const api::Pod& pod) {
  return pod.node_name.empty() && pod.scheduling_gates.empty() && !pod.resource_claims.empty() && !pod.done();
}

}  // namespace

void PinnedPods::changed(const api::Pod* before, const api::Pod* after) {
  if (after && waits_for_a_scheduler(*after))
    unbound_.insert(after->metadata.key());
  else
    unbound_.erase((after ? after : before)->metadata.key());
}

PinnedPods::Figures PinnedPods::count(const reconcile::View& view) const {
  Figures figures;
  for (const std::string& key : unbound_) {
    const api::Pod* pod = view.pod(key);
    if (!pod) continue;
    std::optional<Timestamp> since;
    bool ours = false;
    for (const api::ResourceClaim* claim : view.claims_reserved_for(pod->metadata.uid)) {
      if (!protocol::is_allocated_by_us(*claim) || !protocol::is_proven(*claim)) continue;
      ours = true;
      Timestamp allocated;
      if (parse_rfc3339(claim->status.allocation->allocation_timestamp, allocated))
        since = std::max(since.value_or(allocated), allocated);
    }
    if (!ours) continue;
    ++figures.pods;
    if (since && (!figures.since || *since < *figures.since)) figures.since = since;
  }
  return figures;
}

}  // namespace dra::manager
