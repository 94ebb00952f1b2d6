#include "pkg/manager/run/store_view.h"

#include <set>

#include "pkg/protocol/groups.h"
#include "pkg/protocol/pod_claims.h"
#include "pkg/protocol/wholes.h"

namespace dra::manager {

using reconcile::Kind;
using reconcile::Presence;

namespace {

// The store keeps the object alive during the reconcile: nothing changes a store while a reconciler runs.
template <typename T>
const T* bare(const client::ObjectPtr<T>& object) {
  return object.get();
}

template <typename T>
std::vector<const T*> bare_list(const std::vector<client::ObjectPtr<T>>& objects) {
  std::vector<const T*> list;
  list.reserve(objects.size());
  for (const client::ObjectPtr<T>& object : objects) list.push_back(object.get());
  return list;
}

// Eight bytes instead of a uid's 36, which take memory of their own in an index.
std::string uid_key(std::string_view uid) {
  const uint64_t hash = std::hash<std::string_view>{}(uid);
  return {reinterpret_cast<const char*>(&hash), sizeof hash};
}

}  // namespace

void add_indexes(Stores& stores) {
  stores.pods->add_index("claim", [](const api::Pod& pod) { return protocol::claim_index_keys_of(pod); });
  stores.pods->add_index("template", [](const api::Pod& pod) { return protocol::template_keys_of(pod); });
  stores.pods->add_index("volume-claim", [](const api::Pod& pod) { return protocol::volume_claim_keys_of(pod); });
  stores.pods->add_index("group", [](const api::Pod& pod) {
    const std::optional<protocol::GroupRef> group = protocol::group_of(pod);
    return group ? std::vector<std::string>{group->key()} : std::vector<std::string>{};
  });
  stores.pods->add_index("started-group", [](const api::Pod& pod) {
    const std::optional<protocol::GroupRef> group = protocol::group_of(pod);
    return group && protocol::has_started(pod) ? std::vector<std::string>{group->key()} : std::vector<std::string>{};
  });
  stores.pods->add_index("parent-group", [](const api::Pod& pod) {
    std::string parent = protocol::parent_key_of(pod);
    return parent.empty() ? std::vector<std::string>{} : std::vector<std::string>{std::move(parent)};
  });
  if (stores.slices)
    stores.slices->add_index("pool", [](const api::ResourceSlice& slice) {
      return std::vector<std::string>{protocol::pool_key(slice.driver, slice.pool.name)};
    });
  if (stores.prepare_events)
    stores.prepare_events->add_index("pod", [](const api::PrepareEvent& event) {
      return event.pod_uid.empty() ? std::vector<std::string>{} : std::vector<std::string>{event.pod_uid};
    });
  stores.claims->add_index("pool", [](const api::ResourceClaim& claim) { return protocol::pools_of(claim); });
  stores.claims->add_index("allocated", [](const api::ResourceClaim& claim) {
    return claim.status.allocation ? std::vector<std::string>{uid_key(claim.metadata.uid)} : std::vector<std::string>{};
  });
  stores.claims->add_index("consumer",
                           [](const api::ResourceClaim& claim) { return protocol::consumer_uids_of(claim); });
  stores.claims->add_index("controller", [](const api::ResourceClaim& claim) {
    const api::OwnerReference* owner = claim.metadata.controller();
    return owner ? std::vector<std::string>{owner->uid} : std::vector<std::string>{};
  });
}

client::ObjectPtr<api::ResourceClaim> allocated_claim(const Stores& stores, std::string_view uid) {
  for (auto& claim : stores.claims->by_index("allocated", uid_key(uid)))
    if (claim->metadata.uid == uid) return claim;
  return nullptr;
}

std::string StoreView::live_get_key(const reconcile::Ref& object, std::string_view seen) {
  return reconcile::to_text({object.kind, object.store_key()}) + "#" + object.uid + "#" + std::string(seen);
}

const api::Pod* StoreView::pod(std::string_view key) const {
  return bare(stores_.pods->get(key));
}
const api::ResourceClaim* StoreView::claim(std::string_view key) const {
  return bare(stores_.claims->get(key));
}
const api::ResourceClaimTemplate* StoreView::claim_template(std::string_view key) const {
  return bare(stores_.templates->get(key));
}
const api::Node* StoreView::node(std::string_view name) const {
  return bare(stores_.nodes->get(name));
}
const api::Namespace* StoreView::ns(std::string_view) const {
  return nullptr;  // no reconciler needs namespaces yet, so none are watched
}
const api::DeviceClass* StoreView::device_class(std::string_view name) const {
  return bare(stores_.classes->get(name));
}
std::vector<const api::DeviceClass*> StoreView::device_classes() const {
  return bare_list(stores_.classes->list());
}
const api::DeviceTaintRule* StoreView::taint_rule(std::string_view name) const {
  return stores_.taint_rules ? bare(stores_.taint_rules->get(name)) : nullptr;
}
std::vector<const api::DeviceTaintRule*> StoreView::taint_rules() const {
  if (!stores_.taint_rules) return {};
  return bare_list(stores_.taint_rules->list());
}
std::shared_ptr<const api::ResourceClaim> StoreView::shared_claim(std::string_view key) const {
  return stores_.claims->get(key);
}
const api::ResourceClaim* StoreView::streamed_claim(std::string_view key) const {
  return bare(stores_.claims->get_from_stream(key));
}
const api::Pod* StoreView::streamed_pod(std::string_view key) const {
  return bare(stores_.pods->get_from_stream(key));
}
std::vector<std::shared_ptr<const api::Pod>> StoreView::all_pods() const {
  return stores_.pods->list();
}
std::vector<std::shared_ptr<const api::ResourceClaim>> StoreView::all_streamed_claims() const {
  return stores_.claims->list_stream_after("", SIZE_MAX);
}
std::optional<std::vector<std::shared_ptr<const api::PodDisruptionBudget>>> StoreView::budgets() const {
  if (stores_.budgets == nullptr || !stores_.budgets->objects().synced()) return std::nullopt;
  return stores_.budgets->list();
}
std::vector<const api::PrepareEvent*> StoreView::prepare_events_of(std::string_view pod_uid, size_t most) const {
  if (stores_.prepare_events == nullptr || pod_uid.empty()) return {};
  return bare_list(stores_.prepare_events->by_index("pod", pod_uid, most));
}
std::vector<const api::ResourceClaim*> StoreView::claims_controlled_by(std::string_view uid) const {
  return bare_list(stores_.claims->by_index("controller", uid));
}
std::vector<const api::ResourceClaim*> StoreView::claims_reserved_for(std::string_view pod_uid) const {
  return bare_list(stores_.claims->by_index("consumer", pod_uid));
}
const api::ResourceClaim* StoreView::allocated_claim(std::string_view uid) const {
  return bare(manager::allocated_claim(stores_, uid));
}
std::vector<const api::ResourceClaim*> StoreView::claims_on_pool_after(std::string_view driver, std::string_view pool,
                                                                       std::string_view key, size_t most) const {
  return bare_list(stores_.claims->by_index("pool", protocol::pool_key(driver, pool), most, key));
}
std::vector<const api::ResourceClaim*> StoreView::claims_after(std::string_view key, size_t most) const {
  return bare_list(stores_.claims->list_after(key, most));
}
std::vector<const api::ResourceClaim*> StoreView::allocated_claims() const {
  std::vector<const api::ResourceClaim*> found;
  for (const auto& claim : stores_.claims->list())
    if (claim->status.allocation) found.push_back(claim.get());
  return found;
}
std::vector<const api::Pod*> StoreView::pods_of_claim(std::string_view key) const {
  return bare_list(stores_.pods->by_index("claim", key));
}
std::vector<const api::Pod*> StoreView::pods_of_template(std::string_view key) const {
  return bare_list(stores_.pods->by_index("template", key));
}
std::vector<const api::Pod*> StoreView::pods_of_volume_claim(std::string_view key) const {
  return bare_list(stores_.pods->by_index("volume-claim", key));
}

std::vector<const api::Pod*> StoreView::pods_of_group(std::string_view key) const {
  return bare_list(stores_.pods->by_index("group", key));
}
size_t StoreView::size_of_group(std::string_view key) const {
  return stores_.pods->index_size("group", key);
}
std::vector<const api::Pod*> StoreView::started_of_group(std::string_view key, size_t most) const {
  return bare_list(stores_.pods->by_index("started-group", key, most));
}
const api::PodGroup* StoreView::pod_group(reconcile::GroupApi api, std::string_view key) const {
  return stores_.groups ? stores_.groups->find(api, key) : nullptr;
}
std::vector<std::string> StoreView::child_groups(std::string_view parent) const {
  std::set<std::string> keys;
  if (stores_.groups)
    for (std::string& key : stores_.groups->children(parent)) keys.insert(std::move(key));
  // Pods of a Job name it themselves. So many pods are not placed together.
  for (const auto& pod : stores_.pods->by_index("parent-group", parent, protocol::kMaxGroupMembers))
    if (const std::optional<protocol::GroupRef> group = protocol::group_of(*pod)) keys.insert(group->key());
  return {keys.begin(), keys.end()};
}

reconcile::GroupsKnown StoreView::groups_known(reconcile::GroupApi api) const {
  return stores_.groups ? stores_.groups->known(api) : reconcile::GroupsKnown{};
}

std::shared_ptr<const api::Pod> StoreView::watched_pod(std::string_view key) const {
  return stores_.pods->get(key);
}
uint64_t StoreView::rewinds() const {
  return stores_.pods->objects().rewinds() + stores_.claims->objects().rewinds() + stores_.classes->objects().rewinds();
}

uint64_t StoreView::tallied(std::string_view uid) const {
  const uint64_t* count = memory_.tallies.find(uid);
  return count ? *count : 0;
}

bool StoreView::is_being_bound(std::string_view pod_uid) const {
  const MonoTime* until = memory_.being_bound.find(pod_uid);
  return until && clock_.mono_now() < *until;
}

Presence StoreView::live_presence_after(const reconcile::Ref& object, std::string_view seen) const {
  if (live_answers_) {
    auto found = live_answers_->find(live_get_key(object, seen));
    if (found != live_answers_->end()) return found->second;
  }
  if (object.kind == Kind::kPod && !object.uid.empty() && memory_.gone_uids.find(object.uid)) return Presence::kAbsent;
  return Presence::kUnknown;
}

Duration StoreView::unchanged_for(Kind kind, std::string_view key) const {
  const MonoTime* since = memory_.changed_at.find(reconcile::to_text({kind, std::string(key)}));
  return since ? clock_.mono_now() - *since : Duration::zero();
}

std::optional<std::string> StoreView::last_event(std::string_view uid, std::string_view reason) const {
  const manager::Noted* signature = memory_.events.find(uid, reason);
  if (!signature) return std::nullopt;
  return signature->text;
}

std::optional<reconcile::View::Noted> StoreView::note(std::string_view uid, std::string_view topic) const {
  const manager::Noted* found = memory_.notes.find(uid, topic);
  if (!found) return std::nullopt;
  return Noted{found->text, clock_.mono_now() - found->at};
}

}  // namespace dra::manager
