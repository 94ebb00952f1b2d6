#include "pkg/inventory/inventory.h"

#include <algorithm>
#include <bit>

#include "pkg/api/core.h"
#include "pkg/inventory/device_index.h"
#include "pkg/inventory/noted.h"

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
  info.differs_by_node = pool.differs_by_node();
  info.refused = pool.refused;
  info.refuses_some = pool.refuses_some;
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
  info.refused = pool.why_refused(device);
  info.available = device_index.judge_device(pool, device).state == PoolState::kComplete &&
                   test_bit(pool.available(), device) && info.refused.empty();
  for (const api::DeviceTaint* taint : device_index.taints(pool, device)) info.taints.push_back(*taint);
  info.holders = describe_holders(device_index, pool, slice.names[local]);
  info.plugins = pool.is_plugins(device);
  if (pool.is_excluded(device) && info.holders.empty())
    if (const auto why = device_index.silicon().why_excluded(pool, device)) {
      info.held_as = DeviceInfo::HeldAs{why->holder.text(), why->value, {}};
      for (const ClaimIndex claim : why->claims) info.held_as->claims.push_back(device_index.claim(claim).uid);
    }
  return info;
}

// The devices of one node's part of the pool; `node` empty: those that several nodes can use. All of them if the whole
// pool is one part.
Words devices_of_part(const DeviceIndex& device_index, const Pool& pool, std::string_view node) {
  Words part(pool.words(), 0);
  if (pool.node_names.empty() || pool.local_node != kNoStr) {
    set_range(part.data(), 0, pool.size());
    return part;
  }
  const StrId wanted = node.empty() ? kNoStr : device_index.strings().find(node);
  for (uint32_t device = 0; device < pool.size(); ++device) {
    const Where& place = pool.where(device);
    const StrId at = place.kind == Where::kNode ? place.node : kNoStr;
    if (at == wanted) set_bit(part.data(), device);
  }
  return part;
}

Usage usage_among(const DeviceIndex& device_index, const Pool& pool, const Words& among,
                  std::span<const std::string> ignored_taints) {
  const auto count = [&](const uint64_t* bits) {
    uint32_t sum = 0;
    for (size_t w = 0; w < among.size(); ++w) sum += static_cast<uint32_t>(std::popcount(bits[w] & among[w]));
    return sum;
  };
  Usage usage;
  usage.total = static_cast<uint32_t>(count_bits(among.data(), among.size()));
  usage.used = count(pool.charged());
  Words tainted(pool.words(), 0), barred(pool.words(), 0);
  if (device_index.features().device_taints) device_index.mark_tainted(pool, ignored_taints, tainted, barred);
  usage.tainted = count(tainted.data());
  for (size_t w = 0; w < among.size(); ++w) {
    const uint64_t unheld = among[w] & ~pool.charged()[w];
    usage.held_as += static_cast<uint32_t>(std::popcount(unheld & pool.excluded()[w]));
    usage.plugins += static_cast<uint32_t>(std::popcount(unheld & pool.plugins()[w] & ~pool.excluded()[w]));
  }
  for (size_t w = 0; w < among.size(); ++w)
    usage.cut +=
        static_cast<uint32_t>(std::popcount(among[w] & ~(pool.charged()[w] | pool.available()[w] | tainted[w])));
  if (pool.state != PoolState::kComplete && !pool.differs_by_node() && pool.stale_first() == pool.size()) return usage;
  for (size_t w = 0; w < among.size(); ++w) barred[w] = ~barred[w] & among[w];
  if (pool.state != PoolState::kComplete || pool.refuses_any())
    for (uint32_t device = 0; device < pool.size(); ++device)
      if (test_bit(barred.data(), device) &&
          (pool.refuses(device) || device_index.judge_device(pool, device).state != PoolState::kComplete))
        clear_bit(barred.data(), device);
  usage.free = pool.count_free(barred.data());
  return usage;
}

PoolInfo describe_part(const DeviceIndex& device_index, const Pool& pool, StrId node) {
  PoolInfo info = describe_pool(device_index, pool);
  info.node = node == kNoStr ? std::string_view() : device_index.strings().text(node);
  const Words part = devices_of_part(device_index, pool, info.node);
  info.devices = static_cast<uint32_t>(count_bits(part.data(), part.size()));
  info.held = info.available = 0;
  for (size_t w = 0; w < part.size(); ++w) {
    info.held += static_cast<uint32_t>(std::popcount(part[w] & pool.charged()[w]));
    info.available += static_cast<uint32_t>(std::popcount(part[w] & pool.available()[w]));
  }
  if (node == kNoStr) return info;
  Judgement judgement = device_index.judge(pool, device_index.find_node(info.node));
  info.state = judgement.state;
  info.reason = std::move(judgement.reason);
  return info;
}

// The number of a device of this name: of the one that the node can use, else of the first; kNone if there is none.
uint32_t number_on(const DeviceIndex& device_index, const Pool& pool, std::string_view device, std::string_view node) {
  const StrId id = device_index.strings().find(device);
  const uint32_t first = id == kNoStr ? kNone : pool.find_device(id);
  const NodeId at = first == kNone ? kNone : device_index.find_node(node);
  if (at == kNone) return first;
  for (const Segment& segment : device_index.view(at).segments) {
    if (segment.pool != pool.id) continue;
    uint32_t found = kNone;
    pool.for_each_named(id, [&](uint32_t number) {
      if (segment.mask.empty() || test_bit(segment.mask.data(), number)) found = std::min(found, number);
    });
    return found == kNone ? first : found;
  }
  return first;
}

}  // namespace

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
  const identity::Records noted = noted_on(*device_index_, claim);
  device_index_->set_allocation(claim.metadata.uid, claim.status.allocation ? &*claim.status.allocation : nullptr,
                                false, noted.empty() ? nullptr : &noted, &claim);
  const auto& owners = claim.metadata.owner_references;
  const auto owner = std::find_if(owners.begin(), owners.end(), [](const api::OwnerReference& one) {
    return one.kind == "ResourceClaim" && one.api_version.starts_with("resource.k8s.io/");
  });
  device_index_->set_owner(claim.metadata.uid, owner == owners.end() ? std::string_view() : owner->uid);
}
void Inventory::apply_allocation(std::string_view claim_uid, const api::AllocationResult& allocation) {
  device_index_->set_allocation(claim_uid, &allocation, false);
}
void Inventory::remove_claim(std::string_view claim_uid) {
  device_index_->set_allocation(claim_uid, nullptr, false);
}
void Inventory::assume(std::string_view claim_uid, const api::AllocationResult& allocation,
                       const api::ResourceClaim* of) {
  device_index_->set_allocation(claim_uid, &allocation, true, nullptr, of);
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
      simple = simple && !pool->shareable(device) && !pool->refuses(device) &&
               pool->uses_begin(device) == pool->uses_end(device) && !pool->is_excluded(device) &&
               !pool->is_plugins(device);
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

std::vector<PoolInfo> Inventory::pools_by_node() const {
  std::vector<PoolInfo> list;
  for (PoolInfo& whole : pools()) {
    const Pool& pool = *device_index_->pool(whole.id);
    if (pool.local_node != kNoStr || pool.node_names.empty()) {
      if (pool.local_node != kNoStr) whole = describe_part(*device_index_, pool, pool.local_node);
      list.push_back(std::move(whole));
      continue;
    }
    std::vector<StrId> nodes = pool.node_names;
    std::sort(nodes.begin(), nodes.end(),
              [this](StrId a, StrId b) { return device_index_->strings().text(a) < device_index_->strings().text(b); });
    for (const StrId node : nodes) list.push_back(describe_part(*device_index_, pool, node));
    PoolInfo rest = describe_part(*device_index_, pool, kNoStr);
    if (rest.devices > 0) list.push_back(std::move(rest));
  }
  return list;
}

std::optional<PoolInfo> Inventory::pool_on(std::string_view driver, std::string_view name,
                                           std::string_view node) const {
  const Pool* pool = device_index_->find_pool(driver, name);
  if (pool == nullptr || !pool->has_slices()) return std::nullopt;
  PoolInfo info = describe_pool(*device_index_, *pool);
  if (const NodeId id = device_index_->find_node(node); id != kNone) {
    Judgement judgement = device_index_->judge(*pool, id);
    info.state = judgement.state;
    info.reason = std::move(judgement.reason);
  }
  return info;
}

Usage Inventory::usage(PoolId id, std::span<const std::string> ignored_taints) const {
  const Pool* pool = id < device_index_->pool_slots() ? device_index_->pool(id) : nullptr;
  if (pool == nullptr) return {};
  Words all(pool->words(), 0);
  set_range(all.data(), 0, pool->size());
  return usage_among(*device_index_, *pool, all, ignored_taints);
}

Usage Inventory::usage(const PoolInfo& part, std::span<const std::string> ignored_taints) const {
  const Pool* pool = part.id < device_index_->pool_slots() ? device_index_->pool(part.id) : nullptr;
  if (pool == nullptr) return {};
  return usage_among(*device_index_, *pool, devices_of_part(*device_index_, *pool, part.node), ignored_taints);
}

std::vector<DeviceInfo> Inventory::devices(PoolId id) const {
  std::vector<DeviceInfo> list;
  const Pool* pool = id < device_index_->pool_slots() ? device_index_->pool(id) : nullptr;
  for (uint32_t i = 0; pool != nullptr && i < pool->size(); ++i)
    list.push_back(describe_device(*device_index_, *pool, i));
  return list;
}

std::optional<DeviceInfo> Inventory::device(const DeviceName& name) const {
  return device_on(name, {});
}

std::optional<DeviceInfo> Inventory::device_on(const DeviceName& name, std::string_view node) const {
  const Pool* pool = device_index_->find_pool(name.driver, name.pool);
  const uint32_t found = pool == nullptr ? kNone : number_on(*device_index_, *pool, name.device, node);
  return found == kNone ? std::nullopt : std::optional(describe_device(*device_index_, *pool, found));
}

std::vector<Inventory::PlacedTaint> Inventory::placed_taints(const DeviceName& name, std::string_view node) const {
  std::vector<PlacedTaint> list;
  const Pool* pool = device_index_->find_pool(name.driver, name.pool);
  if (const uint32_t device = pool == nullptr ? kNone : number_on(*device_index_, *pool, name.device, node);
      device != kNone) {
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

bool Inventory::any_takes() const {
  return device_index_->any_takes();
}

const NodeTakes* Inventory::takes_of(const DeviceName& name, bool& known) const {
  const Pool* pool = device_index_->find_pool(name.driver, name.pool);
  const StrId text = pool == nullptr ? kNoStr : device_index_->strings().find(name.device);
  const uint32_t device = text == kNoStr ? kNone : pool->find_device(text);
  known = device != kNone;
  return known ? pool->takes(device) : nullptr;
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
