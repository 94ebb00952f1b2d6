#include "pkg/inventory/inventory.h"

#include <algorithm>

#include "pkg/api/core.h"
#include "pkg/inventory/device_index.h"

namespace dra::inventory {
namespace {

PoolInfo describe_pool(const DeviceIndex& device_index, const Pool& pool) {
  PoolInfo info;
  info.id = pool.id;
  info.driver = pool.driver_text;
  info.name = pool.name_text;
  if (pool.local_node != kNoStr) info.node = device_index.strings().text(pool.local_node);
  info.generation = pool.generation;
  info.announced_slices = pool.announced;
  info.seen_slices = pool.seen;
  info.obsolete_slices = pool.obsolete;
  info.state = pool.state;
  info.reason = pool.reason;
  info.devices = pool.size();
  info.held = static_cast<uint32_t>(count_bits(pool.charged(), pool.words()));
  info.available = static_cast<uint32_t>(count_bits(pool.available(), pool.words()));
  return info;
}

std::vector<Holder> describe_holders(const DeviceIndex& device_index, const Pool& pool, StrId device) {
  std::vector<Holder> list;
  auto it = pool.holders.find(device);
  if (it == pool.holders.end()) return list;
  for (const HolderRef& ref : it->second) {
    Holder holder;
    holder.claim_uid = device_index.claim(ref.claim).uid;
    if (ref.share != kNoStr) holder.share_id = device_index.strings().text(ref.share);
    holder.observed = ref.observed;
    holder.assumed = ref.assumed;
    list.push_back(std::move(holder));
  }
  return list;
}

DeviceInfo describe_device(const DeviceIndex& device_index, const Pool& pool, uint32_t device) {
  DeviceInfo info;
  uint32_t local;
  const SliceTable& slice = pool.slice_of(device, &local);
  info.name = {pool.driver_text, pool.name_text, std::string(device_index.strings().text(slice.names[local]))};
  info.slice = slice.name;
  const Where& place = slice.where_of(local);
  if (place.kind == Where::kNode) info.node = device_index.strings().text(place.node);
  info.allow_multiple_allocations = (slice.flags[local] & kMultiple) != 0;
  info.available = pool.state_of(device) == PoolState::kComplete && test_bit(pool.available(), device);
  for (const api::DeviceTaint* taint : device_index.taints(pool, device)) info.taints.push_back(*taint);
  info.holders = describe_holders(device_index, pool, slice.names[local]);
  return info;
}

}  // namespace

std::string_view pool_state_name(PoolState state) {
  switch (state) {
    case PoolState::kComplete:
      return "complete";
    case PoolState::kIncomplete:
      return "incomplete";
    case PoolState::kInvalid:
      break;
  }
  return "invalid";
}

Inventory::Inventory(const Features& features) : device_index_(std::make_unique<DeviceIndex>(features)) {}
Inventory::~Inventory() = default;

const Features& Inventory::features() const {
  return device_index_->features();
}
void Inventory::set_features(const Features& features) {
  device_index_->set_features(features);
}
void Inventory::apply_slice(const api::ResourceSlice& slice) {
  device_index_->apply_slice(slice);
}
void Inventory::remove_slice(std::string_view name) {
  device_index_->remove_slice(name);
}
void Inventory::apply_class(const api::DeviceClass& device_class) {
  device_index_->apply_class(device_class);
}
void Inventory::remove_class(std::string_view name) {
  device_index_->remove_class(name);
}
void Inventory::apply_taint_rule(const api::DeviceTaintRule& rule) {
  device_index_->apply_taint_rule(rule);
}
void Inventory::remove_taint_rule(std::string_view name) {
  device_index_->remove_taint_rule(name);
}
NodeId Inventory::apply_node(const std::shared_ptr<const api::Node>& node) {
  return device_index_->apply_node(node->metadata.name, DeviceIndex::Labels(node, &node->metadata.labels));
}
NodeId Inventory::apply_node(std::string_view name, api::StringMap labels) {
  return device_index_->apply_node(name, std::make_shared<const api::StringMap>(std::move(labels)));
}
void Inventory::remove_node(std::string_view name) {
  device_index_->remove_node(name);
}
void Inventory::apply_claim(const api::ResourceClaim& claim) {
  device_index_->set_allocation(claim.metadata.uid, claim.status.allocation ? &*claim.status.allocation : nullptr,
                                false);
}
void Inventory::apply_allocation(std::string_view claim_uid, const api::AllocationResult& allocation) {
  device_index_->set_allocation(claim_uid, &allocation, false);
}
void Inventory::remove_claim(std::string_view claim_uid) {
  device_index_->set_allocation(claim_uid, nullptr, false);
}
void Inventory::assume(std::string_view claim_uid, const api::AllocationResult& allocation) {
  device_index_->set_allocation(claim_uid, &allocation, true);
}
void Inventory::forget(std::string_view claim_uid) {
  device_index_->set_allocation(claim_uid, nullptr, true);
}
void Inventory::forget_all() {
  device_index_->forget_all();
}
bool Inventory::assumed(std::string_view claim_uid) const {
  const DeviceIndex::ClaimUse* claim = device_index_->find_claim(claim_uid);
  return claim != nullptr && claim->has_assumed;
}
NodeId Inventory::node_id(std::string_view name) const {
  return device_index_->find_node(name);
}
std::string Inventory::node_name(NodeId id) const {
  return device_index_->node_name(id);
}
bool Inventory::knows(NodeId id) const {
  return device_index_->knows(id);
}
std::vector<NodeId> Inventory::nodes() const {
  return device_index_->applied_nodes();
}
size_t Inventory::device_count() const {
  return device_index_->device_count();
}
size_t Inventory::claim_count() const {
  return device_index_->claim_count();
}
size_t Inventory::slice_count() const {
  return device_index_->slice_count();
}
uint64_t Inventory::version() const {
  return device_index_->version();
}

uint64_t Inventory::tables_version() const {
  return device_index_->tables_version();
}
bool Inventory::are_free(const api::AllocationResult& allocation) const {
  return std::all_of(allocation.results.begin(), allocation.results.end(), [&](const auto& result) {
    const Pool* pool = device_index_->find_pool(result.driver, result.pool);
    const StrId name = device_index_->strings().find(result.device);
    if (pool == nullptr || name == kNoStr || pool->state != PoolState::kComplete || pool->holders.contains(name))
      return false;
    size_t named = 0;
    bool simple = true;
    pool->for_each_named(name, [&](uint32_t device) {
      ++named;
      simple = simple && !pool->shareable(device) && pool->uses_begin(device) == pool->uses_end(device);
    });
    return named == 1 && simple;
  });
}

std::vector<PoolInfo> Inventory::pools() const {
  std::vector<PoolInfo> list;
  for (PoolId id = 0; id < device_index_->pool_slots(); ++id)
    if (const Pool* pool = device_index_->pool(id); pool != nullptr && pool->has_slices())
      list.push_back(describe_pool(*device_index_, *pool));
  std::sort(list.begin(), list.end(), [](const PoolInfo& a, const PoolInfo& b) {
    return std::tie(a.driver, a.name) < std::tie(b.driver, b.name);
  });
  return list;
}

std::optional<PoolInfo> Inventory::pool(std::string_view driver, std::string_view name) const {
  const Pool* pool = device_index_->find_pool(driver, name);
  if (pool == nullptr || !pool->has_slices()) return std::nullopt;
  return describe_pool(*device_index_, *pool);
}

Usage& Usage::operator+=(const Usage& more) {
  total += more.total;
  used += more.used;
  free += more.free;
  tainted += more.tainted;
  return *this;
}

Usage Inventory::usage(PoolId id, std::span<const std::string> ignored_taints) const {
  Usage usage;
  const Pool* pool = id < device_index_->pool_slots() ? device_index_->pool(id) : nullptr;
  if (pool == nullptr) return usage;
  usage.total = pool->size();
  usage.used = static_cast<uint32_t>(count_bits(pool->charged(), pool->words()));
  Words tainted(pool->words(), 0), barred(pool->words(), 0);
  if (device_index_->features().device_taints) device_index_->mark_tainted(*pool, ignored_taints, tainted, barred);
  usage.tainted = static_cast<uint32_t>(count_bits(tainted.data(), tainted.size()));
  if (pool->state != PoolState::kComplete) return usage;
  for (uint64_t& word : barred) word = ~word;
  usage.free = pool->count_free(barred.data());
  return usage;
}

std::vector<DeviceInfo> Inventory::devices(PoolId id) const {
  std::vector<DeviceInfo> list;
  const Pool* pool = id < device_index_->pool_slots() ? device_index_->pool(id) : nullptr;
  for (uint32_t i = 0; pool != nullptr && i < pool->size(); ++i)
    list.push_back(describe_device(*device_index_, *pool, i));
  return list;
}

std::optional<DeviceInfo> Inventory::device(const DeviceName& name) const {
  const Pool* pool = device_index_->find_pool(name.driver, name.pool);
  StrId id = device_index_->strings().find(name.device);
  uint32_t device = pool == nullptr || id == kNoStr ? kNone : pool->find_device(id);
  if (device == kNone) return std::nullopt;
  return describe_device(*device_index_, *pool, device);
}

std::vector<Inventory::PlacedTaint> Inventory::placed_taints(const DeviceName& name) const {
  std::vector<PlacedTaint> list;
  const Pool* pool = device_index_->find_pool(name.driver, name.pool);
  const StrId id = pool == nullptr ? kNoStr : device_index_->strings().find(name.device);
  if (const uint32_t device = id == kNoStr ? kNone : pool->find_device(id); device != kNone) {
    uint32_t local = 0;
    const SliceTable& slice = pool->slice_of(device, &local);
    for (const api::DeviceTaint& taint : slice.taint_sets[slice.taints_of[local]]) list.push_back({taint, "", ""});
  }
  if (device_index_->rules().empty()) return list;
  for (const api::DeviceTaintRule* rule : device_index_->rules().of_device(name.driver, name.pool, name.device))
    list.push_back({rule->taint, rule->metadata.uid, rule->metadata.name});
  return list;
}

std::vector<api::DeviceTaint> Inventory::taints(const DeviceName& name) const {
  std::vector<api::DeviceTaint> list;
  for (PlacedTaint& placed : placed_taints(name)) list.push_back(std::move(placed.taint));
  return list;
}

size_t Inventory::count_selected(const api::DeviceTaintRule& rule) const {
  size_t count = 0;
  for (PoolId id = 0; id < device_index_->pool_slots(); ++id) {
    const Pool* pool = device_index_->pool(id);
    if (pool == nullptr || !selects_pool(rule, pool->driver_text, pool->name_text)) continue;
    if (!rule.device) {
      count += pool->size();
    } else if (const StrId device = device_index_->strings().find(*rule.device); device != kNoStr) {
      pool->for_each_named(device, [&count](uint32_t) { ++count; });
    }
  }
  return count;
}

bool Inventory::any_taints(std::string_view driver, std::string_view name) const {
  const Pool* pool = device_index_->find_pool(driver, name);
  return pool != nullptr && device_index_->any_taints(*pool);
}

std::vector<Holder> Inventory::holders(const DeviceName& name) const {
  const Pool* pool = device_index_->find_pool(name.driver, name.pool);
  StrId id = device_index_->strings().find(name.device);
  if (pool == nullptr || id == kNoStr) return {};
  return describe_holders(*device_index_, *pool, id);
}

std::vector<std::string> Inventory::classes() const {
  std::vector<std::string> names;
  for (const auto& [name, entry] : device_index_->classes()) names.push_back(name);
  return names;
}

}  // namespace dra::inventory
