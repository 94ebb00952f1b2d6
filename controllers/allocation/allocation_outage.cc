// What the runner asks for while requests of a pod fail (Reconciler::show_outage).
#include "controllers/allocation/allocation.h"
#include "controllers/allocation/pod/condition.h"
#include "pkg/protocol/groups.h"

namespace dra::allocation {

using namespace reconcile;

std::vector<Key> AllocationReconciler::wait_with(const View& view, const Key& key) const {
  std::vector<Key> keys;
  const api::Pod* pod = key.kind == Kind::kPod ? view.pod(key.object) : nullptr;
  const std::optional<GroupRef> group = pod ? group_of(*pod) : std::nullopt;
  if (!group || is_too_large(view, group->key()) || membership_of(view, *pod).state != Membership::State::kMember ||
      leaders_.leader_of(view, group->key(), nullptr, options_) != pod)
    return keys;
  for (const api::Pod* other : view.pods_of_group(group->key()))
    if (other != pod && !condition_type(role_of(*other, options_)).empty())
      keys.push_back(pod_key(other->metadata.key()));
  return keys;
}

std::optional<Write> AllocationReconciler::show_outage(const View& view, const Key& key,
                                                       const std::string& sentence) const {
  const api::Pod* pod = key.kind == Kind::kPod ? view.pod(key.object) : nullptr;
  return pod ? write_outage(view, *pod, sentence, options_) : std::nullopt;
}

}  // namespace dra::allocation
