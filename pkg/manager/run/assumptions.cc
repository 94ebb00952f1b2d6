#include "pkg/manager/run/assumptions.h"

namespace dra::manager {

bool ClusterAssumptions::assume(const reconcile::Write& write) {
  if (write.assume) {
    Held& held = held_[write.object.uid];
    // A decision made after an earlier write was answered replaces that write's assumption.
    if (held.decision == 0 || held.revision) {
      held = {write.id, std::nullopt};
      take(write);
    } else if (held.decision != write.id) {
      return false;
    }
  }
  if (write.assume_pod) hold(*write.assume_pod);
  for (const reconcile::AssumedPod& beside : write.assume_beside) hold(beside);
  return true;
}

void ClusterAssumptions::take(const reconcile::Write& write) {
  const auto claim = stores_.claims->get(write.object.store_key());
  const bool known = claim && claim->metadata.uid == write.object.uid;
  inventory_.assume(write.object.uid, *write.assume, known ? claim.get() : nullptr);
}

void ClusterAssumptions::forget(const reconcile::Write& write) {
  if (auto held = held_.find(write.object.uid);
      write.assume && held != held_.end() && held->second.decision == write.id)
    end(write.object.uid);
  if (write.assume_pod) let_go(*write.assume_pod);
  for (const reconcile::AssumedPod& beside : write.assume_beside) let_go(beside);
}

void ClusterAssumptions::hold(const reconcile::AssumedPod& assumed) {
  const auto pod = stores_.pods->get(assumed.pod.store_key());
  if (pod && pod->metadata.uid == assumed.pod.uid) nodes_.assume(*pod, assumed.node, assumed.takes);
}

void ClusterAssumptions::let_go(const reconcile::AssumedPod& assumed) {
  const reconcile::Ref& ref = assumed.pod;
  nodes_.forget(ref.uid);
  // A binding that failed gives back none of the pod's devices, so its place must stay too: they are on no other node.
  if (const auto pod = stores_.pods->get(ref.store_key()); pod && pod->metadata.uid == ref.uid)
    recall(*pod, assumed.takes);
}

void ClusterAssumptions::written(const reconcile::Write& write, uint64_t revision) {
  if (!write.release_pod.empty()) nodes_.forget(write.release_pod);
  if (!write.assume) return;
  const std::string& uid = write.object.uid;
  if (revision != 0 && stores_.claims->objects().stream_revision() >= revision) return end(uid);
  // Another write of the claim may have been first, and has lost.
  Held& held = held_[uid];
  if (held.decision != write.id) take(write);
  held = {write.id, revision};
}

void ClusterAssumptions::recall(const api::Pod& pod, const std::optional<std::vector<api::ClaimTakes>>& takes) {
  if (!pod.node_name.empty()) return;  // most are bound
  for (const auto& claim : stores_.claims->by_index("consumer", pod.metadata.uid)) {
    const std::string* node = claim->status.allocation ? api::only_node(*claim->status.allocation) : nullptr;
    if (node && claim->metadata.ns == pod.metadata.ns) nodes_.assume(pod, *node, takes);
  }
}

void ClusterAssumptions::claims_reached(uint64_t revision) {
  for (auto next = held_.begin(); next != held_.end();) {
    auto held = next++;
    if (held->second.revision && *held->second.revision <= revision) end(std::string(held->first));
  }
}

void ClusterAssumptions::claim_gone(const std::string& uid) {
  end(uid);
}

void ClusterAssumptions::drop_all() {
  held_.clear();
  inventory_.forget_all();
  nodes_.forget_all();
}

void ClusterAssumptions::end(const std::string& uid) {
  inventory_.forget(uid);
  held_.erase(uid);
}

}  // namespace dra::manager
