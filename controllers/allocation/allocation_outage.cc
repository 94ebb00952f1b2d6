// What the runner asks for while requests of a pod fail (EventHandler::show_outage).
#include "controllers/allocation/events.h"
#include "controllers/allocation/pod/condition.h"
#include "pkg/protocol/groups.h"

namespace dra::allocation {

using namespace protocol;
using namespace reconcile;

std::vector<Key> AllocationEvents::wait_with(const Key& key, const View& view, reconcile::State& handed) const {
  State& state = static_cast<State&>(handed);
  std::vector<Key> keys;
  const api::Pod* pod = key.kind == Kind::kPod ? view.pod(key.object) : nullptr;
  const std::optional<GroupRef> group = pod ? group_of(*pod) : std::nullopt;
  if (!group || is_too_large(view, group->key()) || membership_of(view, *pod).state != Membership::State::kMember ||
      state.leaders.leader_of(view, group->key(), nullptr, state.options) != pod)
    return keys;
  for (const api::Pod* other : view.pods_of_group(group->key()))
    if (other != pod && !condition_type(role_of(*other, state.options)).empty())
      keys.push_back(pod_key(other->metadata.key()));
  return keys;
}

std::optional<Write> AllocationEvents::show_outage(const Key& key, const View& view, reconcile::State& state,
                                                   const std::string& sentence) const {
  const api::Pod* pod = key.kind == Kind::kPod ? view.pod(key.object) : nullptr;
  return pod ? write_outage(view, *pod, sentence, static_cast<State&>(state).options) : std::nullopt;
}

}  // namespace dra::allocation
