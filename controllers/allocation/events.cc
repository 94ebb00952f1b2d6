#include "controllers/allocation/events.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "controllers/allocation/causes.h"
#include "controllers/allocation/kept/kept_members.h"
#include "controllers/allocation/members/group_members.h"
#include "controllers/allocation/pod/not_honoured.h"
#include "controllers/allocation/pod/pinned.h"
#include "controllers/allocation/pod/refused.h"
#include "pkg/alignment/bears.h"
#include "pkg/nodes/unready.h"
#include "pkg/protocol/group_claims.h"
#include "pkg/protocol/pod_changes.h"
#include "pkg/protocol/pod_claims.h"
#include "pkg/protocol/proof.h"
#include "pkg/protocol/wholes.h"

namespace dra::allocation {

using namespace protocol;
using namespace reconcile;

namespace {

// The unbound pod may have counted on a node chosen for it. True for all but pods that wait for devices, of which there
// can be very many and which free nothing.
bool may_count_on_a_node(const View& view, const api::Pod& pod, const Options& options) {
  if (pod.scheduling_gates.empty()) return !pod.resource_claims.empty() || options.mode == Mode::kBind;
  const std::vector<std::string> keys = claim_keys_of(pod);
  return std::any_of(keys.begin(), keys.end(), [&](const std::string& key) {
    const api::ResourceClaim* claim = view.claim(key);
    return claim && (is_reserved_for(*claim, pod.metadata.uid) || is_reserved_for_group_of(pod, *claim));
  });
}

// The member of a group got a condition, which its leader does not read: of a large group that fits nowhere each gets
// one.
bool is_only_a_condition(const api::Pod* before, const api::Pod& after) {
  return before && before->conditions != after.conditions && group_of(after) && is_only_of_conditions(*before, after);
}

bool still_allocated(const api::ResourceClaim* before, const api::ResourceClaim* after) {
  return after && after->status.allocation && before && before->status.allocation &&
         *after->status.allocation == *before->status.allocation;
}

// For a pod that stays on its node: whether something changed that affinity, spreading or free resources are read from.
bool placed_otherwise(const api::Pod& before, const api::Pod& after) {
  return before.metadata.labels != after.metadata.labels || before.metadata.deleting() != after.metadata.deleting();
}
bool resized(const api::Pod& before, const api::Pod& after) {
  const auto same = [](const api::Container& a, const api::Container& b) { return a.requests == b.requests; };
  const auto same_status = [](const api::ResizedContainer& a, const api::ResizedContainer& b) {
    return a.resources == b.resources;
  };
  return !std::equal(before.containers.begin(), before.containers.end(), after.containers.begin(),
                     after.containers.end(), same) ||
         !std::equal(before.resized_containers.begin(), before.resized_containers.end(),
                     after.resized_containers.begin(), after.resized_containers.end(), same_status) ||
         before.pod_requests != after.pod_requests || before.resized != after.resized ||
         before.claims_take != after.claims_take;
}

// Adds the pod, and the pod that is reconciled for its group.
void add_pod(State& state, const View& view, const api::Pod& pod, EnqueueRequests& out) {
  out.add(pod_key(pod.metadata.key()));
  const std::optional<GroupRef> group = group_of(pod);
  if (!group) return;
  if (const api::Pod* leader = state.leaders.leader_of(view, group->key(), &pod, state.options))
    out.add(pod_key(leader->metadata.key()));
}

// The same for many pods: the leader of a group is looked up once, and of many members that wait together, which
// follow it, only the leader is added.
void add_pods(State& state, const View& view, const std::vector<const api::Pod*>& pods, EnqueueRequests& out) {
  constexpr size_t kFew = 8;
  std::map<std::string, std::vector<const api::Pod*>> groups;
  for (const api::Pod* pod : pods) {
    if (role_of(*pod, state.options) == Role::kNone) continue;
    if (const std::optional<GroupRef> group = group_of(*pod))
      groups[group->key()].push_back(pod);
    else
      out.add(pod_key(pod->metadata.key()));
  }
  for (const auto& [group, members] : groups) {
    const api::Pod* leader = state.leaders.leader_of(view, group, nullptr, state.options);
    // A launched group's members join it one by one.
    const bool as_one = leader && members.size() > kFew &&
                        membership_of(view, *leader).state == Membership::State::kMember &&
                        launched_of(view, group, 1, state.options) == 0;
    for (const api::Pod* pod : members)
      if (!as_one || !may_lead(view, *pod, group, state.options)) out.add(pod_key(pod->metadata.key()));
    if (leader) out.add(pod_key(leader->metadata.key()));
  }
}

// And of the groups below it.
void on_group(const Options& options, const View& view, std::string_view group, EnqueueRequests& out) {
  for (const std::string& key : groups_below(view, group))
    for (const api::Pod* pod : view.pods_of_group(key))
      if (role_of(*pod, options) != Role::kNone) out.add(pod_key(pod->metadata.key()));
}

// The pod is the first of its groups of groups to start: the groups beside its own now go on by themselves.
void add_groups_beside(State& state, const View& view, const api::Pod& pod, const GroupRef& group,
                       EnqueueRequests& out) {
  const std::optional<Ancestors> above = ancestors_of(view, group, pod);
  if (!above || above->gangs.empty()) return;
  for (const std::string& key : groups_below(view, above->gangs.front().key()))
    if (const api::Pod* leader = state.leaders.leader_of(view, key, nullptr, state.options))
      out.add(pod_key(leader->metadata.key()));
}

// The first members were launched; the others follow one by one. In bind mode the leader's run binds the first ones one
// after the other, and does not see what others bind meanwhile: they get a run of their own only in case it fails.
void on_first(const Options& options, const View& view, std::string_view group, EnqueueRequests& out) {
  constexpr Duration kTimeOfLeader = std::chrono::seconds(5);
  if (options.mode != Mode::kBind) return on_group(options, view, group, out);
  std::vector<const api::Pod*> waiting = view.pods_of_group(group);
  std::erase_if(waiting, [&](const api::Pod* pod) {
    const Role role = role_of(*pod, options);
    return role != Role::kGated && role != Role::kToBind;
  });
  std::sort(waiting.begin(), waiting.end(), is_older);
  for (size_t i = 0; i < waiting.size(); ++i)
    if (const Key key = pod_key(waiting[i]->metadata.key()); i < kBoundAtOnce)
      out.add_after(key, kTimeOfLeader);
    else
      out.add(key);
}

// A member ended or was ungated: another pod may now be reconciled for its group, or each member for itself.
void enqueue_group(State& state, const View& view, const api::Pod* before, const api::Pod* after,
                   EnqueueRequests& out) {
  const std::optional<GroupRef> group = group_of(after ? *after : *before);
  if (!group || (after && role_of(*after, state.options) != Role::kNone)) return;
  if (before && after && role_of(*before, state.options) == Role::kNone && before->terminal() == after->terminal())
    return;
  // One that is being deleted does not start: a group of 1,000 that goes would be visited 1,000 times.
  const bool starts = after && !after->terminal() && is_launched(view, *after);
  if (starts && launched_of(view, group->key(), 2, state.options) == 1) {
    add_groups_beside(state, view, *after, *group, out);
    return on_group(state.options, view, group->key(), out);
  }
  if (const api::Pod* leader = state.leaders.leader_of(view, group->key(), nullptr, state.options))
    out.add(pod_key(leader->metadata.key()));
}

void on_pod(State& state, const View& view, const Changed<api::Pod>& change, EnqueueRequests& out) {
  const auto& [before, after] = change;
  for (const api::Pod* pod : {before, after})
    if (pod) state.kept_members->pod_changed(*pod);
  for (const Cause& cause : state.promised.pod_changed(view, before, after, state.options, state.nodes))
    out.unpark(cause);
  if (!before && after && !state.recreations.empty()) state.recreations.pod_came(*after);
  const bool is_first = after && state.leaders.changed(view, *after, state.options);
  const bool had_node = before && !before->node_name.empty() && !before->terminal();
  const bool has_node = after && !after->node_name.empty() && !after->terminal();
  const bool ended = before && !before->terminal() && (!after || after->terminal());
  if (ended)
    if (const std::optional<Duration> kept =
            state.kept_devices.note_end(view, *before, after, state.options.gang_hold_timeout))
      out.add_after(pod_key(before->metadata.key()), *kept);
  if (!state.kept_devices.empty()) {
    const api::Pod& pod = after ? *after : *before;
    for (const Cause& cause : state.kept_devices.drop_settled(view, pod)) out.unpark(cause);
    if (const std::optional<Duration> later = state.kept_devices.recount_in(view, pod))
      out.add_after(pod_key(pod.metadata.key()), *later);
  }
  if ((had_node && !has_node) || (ended && !had_node && may_count_on_a_node(view, *before, state.options)))
    out.unpark(std::string(kCapacityCause));
  if (had_node && has_node && resized(*before, *after)) out.unpark(std::string(kCapacityCause));
  if (has_node && (!had_node || placed_otherwise(*before, *after))) out.unpark(std::string(kPodsCause));
  if (after && (role_of(*after, state.options) != Role::kNone ||
                (state.options.mode == Mode::kGate && is_unschedulable(*after))))
    is_only_a_condition(before, *after) ? out.add(pod_key(after->metadata.key())) : add_pod(state, view, *after, out);
  else if (after && not_honoured(view, *after, state.options))
    out.add(pod_key(after->metadata.key()));
  // Counts only refusals that this process sees happen: a counter begins at 0.
  if (before && !before->terminal() && after && is_refused_binding(*after, state.options))
    out.add(pod_key(after->metadata.key()));
  if (is_first) {
    add_groups_beside(state, view, *after, *group_of(*after), out);
    return on_first(state.options, view, group_of(*after)->key(), out);
  }
  enqueue_group(state, view, before, after, out);
}

void on_claim(State& state, const View& view, const Changed<api::ResourceClaim>& change, EnqueueRequests& out) {
  const auto& [before, after] = change;
  state.kept_members->claim_changed(before, after);
  for (const Cause& cause : state.kept_claims.claim_changed(before, after)) out.unpark(cause);
  const api::ResourceClaim& claim = after ? *after : *before;
  std::vector<const api::Pod*> pods = view.pods_of_claim(claim.metadata.key());
  // The claim may be reserved for a pod that no longer names it.
  for (const api::ResourceClaimConsumerReference& consumer : claim.status.reserved_for) {
    const api::Pod* pod = view.pod(claim.metadata.ns + "/" + consumer.name);
    if (!pod || pod->metadata.uid != consumer.uid) continue;
    if (const Role role = role_of(*pod, state.options); role == Role::kGated || role == Role::kToBind)
      pods.push_back(pod);
  }
  for (const api::Pod* pod : pods)
    if (state.leaders.changed(view, *pod, state.options)) {
      add_groups_beside(state, view, *pod, *group_of(*pod), out);
      on_first(state.options, view, group_of(*pod)->key(), out);
    }
  add_pods(state, view, pods, out);
  // Claims may come after the pods that others place.
  if (after && !before && !alignment::first_annotation(after->metadata.annotations).empty())
    for (const api::Pod* pod : pods)
      if (not_honoured(view, *pod, state.options)) out.add(pod_key(pod->metadata.key()));
}

void on_streamed_claim(State& state, const View& view, const StreamedClaim& change, EnqueueRequests& out) {
  const auto& [before, after] = change;
  state.kept_members->claim_changed(before, after);
  if (before && before->status.allocation && !still_allocated(before, after)) {
    std::set<Cause> causes;
    add_class_causes(before->spec, causes);
    add_driver_causes(*before->status.allocation, causes);
    // A withdrawal also frees the pod's capacity on the node.
    if (is_allocated_by_us(*before) && !is_proven(*before)) causes.insert(std::string(kCapacityCause));
    for (const Cause& cause : causes) out.unpark(cause);
  }
  const bool to_prove = after && needs_proof(*after) && !is_proven(*after);
  const bool reserved = after && (!before || before->status.reserved_for != after->status.reserved_for);
  if (!to_prove && !reserved) return;
  add_pods(state, view, view.pods_of_claim(after->metadata.key()), out);
}

void on_write_given_up(const View& view, const Write& write, EnqueueRequests& out) {
  // Of a group's list: a run of the pod's own has waited for it (View::is_being_bound), or begins now.
  if (write.subresource == "binding") out.add(pod_key(write.object.store_key()));
  std::set<Cause> causes;
  if (write.assume_pod) causes.insert(std::string(kCapacityCause));
  if (write.assume) {
    if (const api::ResourceClaim* claim = view.claim(write.object.store_key())) add_class_causes(claim->spec, causes);
    add_driver_causes(*write.assume, causes);
  }
  for (const Cause& cause : causes) out.unpark(cause);
}

void on_node(const Changed<api::Node>& change, EnqueueRequests& out) {
  const auto& [before, after] = change;
  if (!after) return out.unpark(std::string(kPodsCause));  // one domain fewer to spread over
  if (before && before->metadata.labels == after->metadata.labels && before->unschedulable == after->unschedulable &&
      before->allocatable == after->allocatable && nodes::taints_in_force(*before) == nodes::taints_in_force(*after))
    return;
  out.unpark(std::string(kNodesCause));
}

void on_volumes(State& state, const View& view, std::string_view claim, EnqueueRequests& out) {
  if (claim.empty()) return out.unpark(std::string(kVolumesCause));
  std::vector<const api::Pod*> pods = view.pods_of_volume_claim(claim);
  std::erase_if(pods, [&](const api::Pod* pod) { return role_of(*pod, state.options) == Role::kBoundBare; });
  add_pods(state, view, pods, out);
}

void on_class(State& state, const Changed<api::DeviceClass>& change, EnqueueRequests& out) {
  const auto& [before, after] = change;
  state.kept_members->forget_all();
  out.unpark(class_cause((after ? after : before)->metadata.name));
}

// A group parks under the classes of its claims and under kSlicesCause alone.
void on_devices(std::string_view driver, EnqueueRequests& out) {
  out.unpark(driver_cause(driver));
  out.unpark(std::string(kSlicesCause));
}

void on_slice(const Changed<api::ResourceSlice>& change, EnqueueRequests& out) {
  const auto& [before, after] = change;
  on_devices((after ? after : before)->driver, out);
}

// A deleted or changed rule may free devices that pods wait for.
void on_taint_rule(const Changed<api::DeviceTaintRule>& change, EnqueueRequests& out) {
  const auto& [before, after] = change;
  const bool same_rule = before && after && before->metadata.generation == after->metadata.generation &&
                         before->metadata.uid == after->metadata.uid;
  if (!before || same_rule || !before->has_selector) return;
  if (before->driver) out.unpark(driver_cause(*before->driver));
  out.unpark(std::string(kSlicesCause));
}

}  // namespace

void AllocationEvents::changed(const Change& change, const View& view, reconcile::State& handed,
                               EnqueueRequests& out) const {
  State& state = static_cast<State&>(handed);
  std::visit(Cases{[&](const Changed<api::Pod>& pod) { on_pod(state, view, pod, out); },
                   [&](const Changed<api::ResourceClaim>& claim) { on_claim(state, view, claim, out); },
                   [&](const StreamedClaim& claim) { on_streamed_claim(state, view, claim, out); },
                   [&](const Changed<api::Node>& node) { on_node(node, out); },
                   [&](const Changed<api::DeviceClass>& device_class) { on_class(state, device_class, out); },
                   [&](const Changed<api::ResourceSlice>& slice) { on_slice(slice, out); },
                   [&](const Changed<api::DeviceTaintRule>& rule) { on_taint_rule(rule, out); },
                   [&](const VolumesChanged& volumes) { on_volumes(state, view, volumes.claim, out); },
                   [&](const GroupChanged& group) { on_group(state.options, view, group.group, out); },
                   [&](const WriteGivenUp& given_up) { on_write_given_up(view, given_up.write, out); },
                   [&](const CapacityReleased&) { out.unpark(std::string(kCapacityCause)); },
                   [&](const DevicesFreed& freed) { on_devices(freed.driver, out); },
                   [](const Changed<api::ResourceClaimTemplate>&) {}, [](const Changed<api::PrepareEvent>&) {}},
             change);
}

}  // namespace dra::allocation
