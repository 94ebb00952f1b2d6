#include "pkg/protocol/memory_view.h"

#include <algorithm>

#include "pkg/protocol/groups.h"
#include "pkg/protocol/pod_claims.h"
#include "pkg/protocol/wholes.h"

namespace dra::protocol {

using namespace reconcile;

namespace {

template <typename T>
const T* find_in(const MemoryView::Table<T>& table, std::string_view key) {
  auto found = table.find(key);
  return found == table.end() ? nullptr : &found->second;
}

std::string live_get_key(const Ref& object, std::string_view seen) {
  return to_text({object.kind, object.store_key()}) + "#" + object.uid + "#" + std::string(seen);
}

}  // namespace

void MemoryView::put(api::Pod pod) {
  pods.insert_or_assign(pod.metadata.key(), std::move(pod));
}
void MemoryView::put(api::ResourceClaim claim) {
  claims.insert_or_assign(claim.metadata.key(), std::move(claim));
}
void MemoryView::put(api::ResourceClaimTemplate claim_template) {
  templates.insert_or_assign(claim_template.metadata.key(), std::move(claim_template));
}
void MemoryView::put(api::Node node) {
  nodes.insert_or_assign(node.metadata.key(), std::move(node));
}
void MemoryView::put(api::DeviceClass device_class) {
  classes.insert_or_assign(device_class.metadata.key(), std::move(device_class));
}
void MemoryView::put(api::DeviceTaintRule rule) {
  rules.insert_or_assign(rule.metadata.key(), std::move(rule));
}
void MemoryView::put(api::PrepareEvent event) {
  prepare_events.insert_or_assign(event.metadata.key(), std::move(event));
}
void MemoryView::live_get(const Ref& object, Presence presence, std::string_view seen) {
  live_answers[live_get_key(object, seen)] = presence;
}

const api::Pod* MemoryView::pod(std::string_view key) const {
  return find_in(pods, key);
}
const api::ResourceClaim* MemoryView::claim(std::string_view key) const {
  return find_in(claims, key);
}
template <typename T>
std::vector<std::shared_ptr<const T>> all_of_table(const MemoryView::Table<T>& table) {
  std::vector<std::shared_ptr<const T>> all;
  for (const auto& [key, object] : table) all.push_back(std::make_shared<const T>(object));
  return all;
}
std::vector<std::shared_ptr<const api::Pod>> MemoryView::all_pods() const {
  return all_of_table(pods);
}
std::vector<std::shared_ptr<const api::ResourceClaim>> MemoryView::all_streamed_claims() const {
  return all_of_table(claims);
}
std::optional<std::vector<std::shared_ptr<const api::PodDisruptionBudget>>> MemoryView::budgets() const {
  return all_of_table(pod_budgets);
}
std::vector<const api::PrepareEvent*> MemoryView::prepare_events_of(std::string_view pod_uid, size_t most) const {
  std::vector<const api::PrepareEvent*> found;
  for (const auto& [key, event] : prepare_events)
    if (!event.pod_uid.empty() && event.pod_uid == pod_uid && found.size() < most) found.push_back(&event);
  return found;
}
std::shared_ptr<const api::ResourceClaim> MemoryView::shared_claim(std::string_view key) const {
  const api::ResourceClaim* found = claim(key);
  return found ? std::make_shared<const api::ResourceClaim>(*found) : nullptr;
}
const api::ResourceClaimTemplate* MemoryView::claim_template(std::string_view key) const {
  return find_in(templates, key);
}
const api::Node* MemoryView::node(std::string_view name) const {
  return find_in(nodes, name);
}
const api::Namespace* MemoryView::ns(std::string_view name) const {
  return find_in(namespaces, name);
}
const api::DeviceClass* MemoryView::device_class(std::string_view name) const {
  return find_in(classes, name);
}
std::vector<const api::DeviceClass*> MemoryView::device_classes() const {
  std::vector<const api::DeviceClass*> all;
  for (const auto& [name, device_class] : classes) all.push_back(&device_class);
  return all;
}
const api::DeviceTaintRule* MemoryView::taint_rule(std::string_view name) const {
  return find_in(rules, name);
}
std::vector<const api::DeviceTaintRule*> MemoryView::taint_rules() const {
  std::vector<const api::DeviceTaintRule*> all;
  for (const auto& [name, rule] : rules) all.push_back(&rule);
  return all;
}
std::vector<const api::ResourceClaim*> MemoryView::allocated_claims() const {
  std::vector<const api::ResourceClaim*> found;
  for (const auto& [key, claim] : claims)
    if (claim.status.allocation) found.push_back(&claim);
  return found;
}
uint64_t MemoryView::tallied(std::string_view uid) const {
  const auto found = tallies.find(uid);
  return found == tallies.end() ? 0 : found->second;
}
std::vector<const api::Pod*> MemoryView::pods_of_group(std::string_view key) const {
  std::vector<const api::Pod*> found;
  for (const auto& [name, pod] : pods)
    if (const std::optional<GroupRef> group = group_of(pod); group && group->key() == key) found.push_back(&pod);
  return found;
}
const api::PodGroup* MemoryView::pod_group(GroupApi api, std::string_view key) const {
  const auto table = groups.find(api);
  return table == groups.end() ? nullptr : find_in(table->second, key);
}
std::vector<std::string> MemoryView::child_groups(std::string_view parent) const {
  std::set<std::string> keys;
  for (const auto& [api, table] : groups)
    for (const auto& [key, group] : table)
      if (parent_key_of(group) == parent) keys.insert(group_key(api, key));
  for (const auto& [key, pod] : pods)
    if (parent_key_of(pod) == parent) keys.insert(group_of(pod)->key());
  return {keys.begin(), keys.end()};
}
GroupsKnown MemoryView::groups_known(GroupApi api) const {
  const auto known = known_groups.find(api);
  return known == known_groups.end() ? GroupsKnown{GroupsKnown::State::kKnown, ""} : known->second;
}
const api::ResourceClaim* MemoryView::streamed_claim(std::string_view key) const {
  const api::ResourceClaim* streamed = find_in(streamed_claims, key);
  return streamed ? streamed : find_in(claims, key);
}

std::vector<const api::Pod*> MemoryView::started_of_group(std::string_view key, size_t most) const {
  std::vector<const api::Pod*> started = pods_of_group(key);
  std::erase_if(started, [](const api::Pod* pod) { return !has_started(*pod); });
  if (started.size() > most) started.resize(most);
  return started;
}

std::vector<const api::ResourceClaim*> MemoryView::claims_controlled_by(std::string_view uid) const {
  std::vector<const api::ResourceClaim*> found;
  for (const auto& [key, claim] : claims) {
    const api::OwnerReference* owner = claim.metadata.controller();
    if (owner && owner->uid == uid) found.push_back(&claim);
  }
  return found;
}

std::vector<const api::ResourceClaim*> MemoryView::claims_reserved_for(std::string_view pod_uid) const {
  std::vector<const api::ResourceClaim*> found;
  for (const auto& [key, claim] : claims)
    for (const std::string& uid : consumer_uids_of(claim))
      if (uid == pod_uid) found.push_back(&claim);
  return found;
}

const api::ResourceClaim* MemoryView::allocated_claim(std::string_view uid) const {
  for (const auto& [key, claim] : claims)
    if (claim.metadata.uid == uid && claim.status.allocation) return &claim;
  return nullptr;
}

std::vector<const api::ResourceClaim*> MemoryView::claims_on_pool_after(std::string_view driver, std::string_view pool,
                                                                        std::string_view key, size_t most) const {
  const std::string wanted = pool_key(driver, pool);
  std::vector<const api::ResourceClaim*> found;
  for (auto at = claims.upper_bound(key); at != claims.end() && found.size() < most; ++at) {
    const std::vector<std::string> pools = pools_of(at->second);
    if (std::find(pools.begin(), pools.end(), wanted) != pools.end()) found.push_back(&at->second);
  }
  return found;
}
std::vector<const api::ResourceClaim*> MemoryView::claims_after(std::string_view key, size_t most) const {
  std::vector<const api::ResourceClaim*> found;
  for (auto at = claims.upper_bound(key); at != claims.end() && found.size() < most; ++at) found.push_back(&at->second);
  return found;
}

std::vector<const api::Pod*> MemoryView::pods_of_claim(std::string_view key) const {
  std::vector<const api::Pod*> found;
  for (const auto& [pod_key, pod] : pods)
    for (const std::string& claim : claim_index_keys_of(pod))
      if (claim == key) {
        found.push_back(&pod);
        break;
      }
  return found;
}

std::vector<const api::Pod*> MemoryView::pods_of_template(std::string_view key) const {
  std::vector<const api::Pod*> found;
  for (const auto& [pod_key, pod] : pods)
    for (const std::string& name : template_keys_of(pod))
      if (name == key) {
        found.push_back(&pod);
        break;
      }
  return found;
}

std::vector<const api::Pod*> MemoryView::pods_of_volume_claim(std::string_view key) const {
  std::vector<const api::Pod*> found;
  for (const auto& [pod_key, pod] : pods) {
    const std::vector<std::string> keys = volume_claim_keys_of(pod);
    if (std::find(keys.begin(), keys.end(), key) != keys.end()) found.push_back(&pod);
  }
  return found;
}

Presence MemoryView::live_presence_after(const Ref& object, std::string_view seen) const {
  auto found = live_answers.find(live_get_key(object, seen));
  return found == live_answers.end() ? Presence::kUnknown : found->second;
}

Duration MemoryView::unchanged_for(Kind kind, std::string_view key) const {
  auto found = ages.find(to_text({kind, std::string(key)}));
  return found == ages.end() ? Duration(std::chrono::hours(1)) : found->second;
}

std::optional<std::string> MemoryView::last_event(std::string_view uid, std::string_view reason) const {
  auto found = emitted.find({std::string(uid), std::string(reason)});
  if (found == emitted.end()) return std::nullopt;
  return found->second;
}

bool MemoryView::has_event(std::string_view uid) const {
  const auto found = emitted.lower_bound({std::string(uid), ""});
  return found != emitted.end() && found->first.first == uid;
}

std::optional<View::Noted> MemoryView::note(std::string_view uid, std::string_view topic) const {
  const auto found = notes.find({std::string(uid), std::string(topic)});
  if (found == notes.end()) return std::nullopt;
  return Noted{found->second.first, time - found->second.second};
}

}  // namespace dra::protocol
