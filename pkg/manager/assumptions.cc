#include "pkg/manager/assumptions.h"

namespace dra::manager {

void ClusterAssumptions::assume(const reconcile::Write& write) {
  if (write.assume) {
    inventory_.assume(write.object.uid, *write.assume);
    awaited_.erase(write.object.uid);
  }
  if (write.assume_pod)
    if (auto pod = stores_.pods->get(write.assume_pod->pod.store_key());
        pod && pod->metadata.uid == write.assume_pod->pod.uid)
      nodes_.assume(*pod, write.assume_pod->node);
}

void ClusterAssumptions::forget(const reconcile::Write& write) {
  if (write.assume) {
    inventory_.forget(write.object.uid);
    awaited_.erase(write.object.uid);
  }
  if (write.assume_pod) nodes_.forget(write.assume_pod->pod.uid);
}

void ClusterAssumptions::confirmed(const reconcile::Write& write, uint64_t revision) {
  if (!write.release_pod.empty()) nodes_.forget(write.release_pod);
  if (!write.assume) return;
  if (revision != 0 && stores_.claims->core().stream_revision() >= revision)
    inventory_.forget(write.object.uid);
  else
    awaited_[write.object.uid] = revision;
}

void ClusterAssumptions::claims_reached(uint64_t revision) {
  for (auto next = awaited_.begin(); next != awaited_.end();) {
    if (next->second > revision) {
      ++next;
      continue;
    }
    inventory_.forget(next->first);
    next = awaited_.erase(next);
  }
}

void ClusterAssumptions::claim_gone(const std::string& uid) {
  inventory_.forget(uid);
  awaited_.erase(uid);
}

void ClusterAssumptions::drop_all() {
  awaited_.clear();
  inventory_.forget_all();
  nodes_.forget_all();
}

}  // namespace dra::manager
