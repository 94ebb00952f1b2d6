#include "pkg/inventory/device_index.h"

#include <algorithm>

#include "pkg/api/selectors.h"
#include "pkg/base/check.h"

namespace dra::inventory {
namespace {

constexpr size_t kMaxLog = 1 << 16;

std::string pool_key(std::string_view driver, std::string_view name) {
  std::string key(driver);
  key += '\n';
  key += name;
  return key;
}

bool erase_value(std::vector<PoolId>& list, PoolId id) {
  auto it = std::find(list.begin(), list.end(), id);
  if (it == list.end()) return false;
  list.erase(it);
  return true;
}

}  // namespace

DeviceIndex::~DeviceIndex() {
  for (ClaimUse& claim : claims_)
    for (HeldRef& held : claim.held) {
      strings_.release(held.device);
      if (held.share != kNoStr) strings_.release(held.share);
    }
  pools_.clear();
}

void DeviceIndex::set_features(const Features& features) {
  Features same = features;
  same.fractional_ranges = features_.fractional_ranges;
  same.selectors_of_137 = features_.selectors_of_137;
  same.either_capacity_name = features_.either_capacity_name;
  same.incomplete_pool_excludes_node = features_.incomplete_pool_excludes_node;
  DRA_CHECK(pool_index_.empty() || same == features_);
  features_ = features;
  ++next_serial_;  // other devices may satisfy a request
}

// ---- pools

Pool& DeviceIndex::pool_for(std::string_view driver, std::string_view name) {
  std::string key = pool_key(driver, name);
  if (auto it = pool_index_.find(key); it != pool_index_.end()) return *pools_[it->second];
  PoolId id;
  if (free_pools_.empty()) {
    id = static_cast<PoolId>(pools_.size());
    pools_.emplace_back();
  } else {
    id = free_pools_.back();
    free_pools_.pop_back();
  }
  pools_[id] = std::make_unique<Pool>(id, driver, name, strings_, features_);
  pools_[id]->table_version = next_serial_++;
  pool_index_.emplace(std::move(key), id);
  return *pools_[id];
}

const Pool* DeviceIndex::find_pool(std::string_view driver, std::string_view name) const {
  auto it = pool_index_.find(pool_key(driver, name));
  return it == pool_index_.end() ? nullptr : pools_[it->second].get();
}

void DeviceIndex::note_change(PoolId id) {
  ++version_;
  log_.push_back(id);
  if (log_.size() > kMaxLog) {
    log_.pop_front();
    ++log_begin_;
  }
}

DeviceIndex::PoolBefore DeviceIndex::before_change(const Pool& pool) const {
  // Keeps the node's number, not the text: the change may release strings.
  return {pool.size(), pool.local_node == kNoStr ? kNone : find_node(pool.local_node_text), pool.wide};
}

void DeviceIndex::after_change(Pool& pool, const PoolBefore& before) {
  device_count_ = device_count_ - before.devices + pool.size();
  // A pool of several nodes that loses its devices leaves all of them, and the log does not say where it was.
  const NodeId node_after = pool.local_node == kNoStr ? kNone : known_node(pool.local_node_text).id;
  const bool moved = before.node != node_after || (before.node == kNone && pool.size() == 0);
  if (before.devices > 0 && moved) ++moves_version_;
  pool.table_version = next_serial_++;
  const Pool::NodeChanges changes = pool.take_node_changes();
  for (StrId name : changes.left) {
    Node& node = known_node(strings_.text(name));
    erase_value(node.named_by, pool.id);
    ++node.named_version;
  }
  for (StrId name : changes.entered) {
    Node& node = known_node(strings_.text(name));
    node.named_by.push_back(pool.id);
    ++node.named_version;
  }
  // Only now: an update of a slice leaves its node and enters it again.
  for (StrId name : changes.left) forget_if_unnamed(find_node(strings_.text(name)));
  if (before.wide && !pool.wide) erase_value(wide_pools_, pool.id);
  if (!before.wide && pool.wide) wide_pools_.push_back(pool.id);
  if (before.wide || pool.wide) ++places_version_;
  note_change(pool.id);
}

void DeviceIndex::drop_if_unused(Pool& pool) {
  if (pool.has_slices() || !pool.holders.empty()) return;
  PoolId id = pool.id;
  pool_index_.erase(pool_key(pool.driver_text, pool.name_text));
  pools_[id].reset();
  free_pools_.push_back(id);
  note_change(id);
}

// `change` returns the slice that no longer counts, which others may refer to until the end.
template <class F>
void DeviceIndex::change_slices(Pool& pool, const PoolBefore& before, const SliceTable* added, F&& change) {
  const int64_t generation = pool.generation;
  const std::unique_ptr<SliceTable> gone = change();
  if (gone && !gone->takes.empty()) --taking_slices_;
  if (added != nullptr && !added->takes.empty()) ++taking_slices_;
  if (gone) silicon_.note_slice(pool, *gone, -1);
  if (gone && added != nullptr) silicon_.note_replaced(*gone, *added);
  after_change(pool, before);
  if (added != nullptr) silicon_.note_slice(pool, *added, 1);
  // Slices that counted before do not count now, or the reverse.
  if (pool.generation != generation) silicon_.note_pool(pool);
}

void DeviceIndex::apply_slice(const api::ResourceSlice& slice) {
  auto known = slice_pool_.find(slice.metadata.name);
  Pool& pool = pool_for(slice.driver, slice.pool.name);
  if (known != slice_pool_.end() && known->second != pool.id) {
    // Driver and pool name are immutable, but the slice may have been deleted and recreated between two observations.
    Pool& old = *pools_[known->second];
    take_slice(old, slice.metadata.name);
  }
  slice_pool_[slice.metadata.name] = pool.id;
  const PoolBefore before = before_change(pool);
  auto table = std::make_unique<SliceTable>(slice, strings_, shapes_, features_);
  table->names_silicon = silicon_.concerns(*table);
  const SliceTable* added = table.get();
  change_slices(pool, before, added, [&] { return pool.put_slice(std::move(table)); });
  silicon_.settle();
}

void DeviceIndex::take_slice(Pool& pool, std::string_view name) {
  {
    const PoolBefore before = before_change(pool);
    change_slices(pool, before, nullptr, [&] { return pool.remove_slice(name); });
  }
  drop_if_unused(pool);
}

void DeviceIndex::remove_slice(std::string_view name) {
  auto it = slice_pool_.find(name);
  if (it == slice_pool_.end()) return;
  Pool& pool = *pools_[it->second];
  slice_pool_.erase(it);
  take_slice(pool, name);
  silicon_.settle();
}

// ---- nodes

NodeId DeviceIndex::find_node(std::string_view name) const {
  auto it = node_index_.find(name);
  return it == node_index_.end() ? kNone : it->second;
}

const DeviceIndex::Labels& DeviceIndex::no_labels() {
  static const Labels none = std::make_shared<const api::StringMap>();
  return none;
}

DeviceIndex::Node& DeviceIndex::known_node(std::string_view name) {
  if (NodeId id = find_node(name); id != kNone) return *nodes_[id];
  auto id = static_cast<NodeId>(nodes_.size());
  DRA_CHECK(id != kNone);
  Node& node = *nodes_.emplace_back(std::make_unique<Node>());
  node.id = id;
  node.name = name;
  node_index_.emplace(node.name, id);
  return node;
}

void DeviceIndex::forget_if_unnamed(NodeId id) {
  if (!knows(id) || nodes_[id]->applied || !nodes_[id]->named_by.empty()) return;
  node_index_.erase(nodes_[id]->name);
  nodes_[id].reset();
}

NodeId DeviceIndex::apply_node(std::string_view name, Labels labels) {
  Node& node = known_node(name);
  const bool same = *node.labels == *labels;
  node.labels = std::move(labels);
  if (node.applied && same) return node.id;
  if (!same) ++moves_version_;
  node.applied = true;
  silicon_.note_node(node.id);
  ++node.named_version;
  ++nodes_version_;
  ++version_;
  silicon_.settle();
  return node.id;
}

void DeviceIndex::remove_node(std::string_view name) {
  NodeId id = find_node(name);
  if (id == kNone) return;
  Node& node = *nodes_[id];
  node.labels = no_labels();
  ++moves_version_;
  node.applied = false;
  ++node.named_version;
  ++nodes_version_;
  ++version_;
  forget_if_unnamed(id);
  silicon_.note_node(id);
  silicon_.settle();
}

std::vector<NodeId> DeviceIndex::applied_nodes() const {
  std::vector<NodeId> ids;
  for (const auto& [name, id] : node_index_)
    if (nodes_[id]->applied) ids.push_back(id);
  std::sort(ids.begin(), ids.end(), [this](NodeId a, NodeId b) { return nodes_[a]->name < nodes_[b]->name; });
  return ids;
}

bool DeviceIndex::usable_on(const Where& place, const Node& node) const {
  switch (place.kind) {
    case Where::kNode:
      return strings_.text(place.node) == node.name;
    case Where::kAll:
      return true;
    case Where::kSelector:
      return api::matches(*place.selector, node.name, *node.labels);
    default:
      return false;
  }
}

const NodeView& DeviceIndex::view(NodeId id) const {
  const Node& node = node_at(id);
  if (&node == &unknown_) return node.view;
  uint64_t tables = 0;  // grows when one of their tables changes
  for (PoolId pool : node.named_by) tables = std::max(tables, pools_[pool]->table_version);
  const bool current = node.view_named == node.named_version && node.view_places == places_version_;
  if (current && node.view_tables == tables) return node.view;
  node.view = make_view(node);
  node.view.stamp = next_stamp_++;
  node.view_named = node.named_version;
  node.view_places = places_version_;
  node.view_tables = tables;
  return node.view;
}

// From the slices of the highest generation that matter to the node.
Judgement DeviceIndex::judge_newest(const Pool& pool, const Node& node) const {
  if (!pool.differs_by_node()) return {pool.state, pool.reason};
  const Pool::Places& places = pool.places();
  std::vector<const SliceTable*> relevant;
  if (const auto own = places.newest_of.find(strings_.find(node.name)); own != places.newest_of.end())
    relevant = own->second;
  for (const SliceTable* slice : places.newest_others) {
    bool matters = slice->has_counter_sets || usable_on(slice->where, node);
    for (size_t i = 0; i < slice->device_where.size() && !matters; ++i)
      matters = usable_on(slice->device_where[i], node);
    if (matters) relevant.push_back(slice);
  }
  return pool.judge_for(relevant);
}

// What the node sees of a pool that other nodes may see otherwise; nothing: no device of it.
std::optional<Segment> DeviceIndex::make_segment(const Pool& pool, const Node& node) const {
  Segment segment{pool.id, Words(pool.words(), 0), false, {}};
  uint32_t seen_first = pool.size();
  const auto see = [&](size_t position) {
    const SliceTable& slice = *pool.live()[position];
    const uint32_t first = pool.first_of(position);
    bool relevant = false;
    if (slice.where.kind != Where::kPerDevice) {
      relevant = usable_on(slice.where, node);
      if (relevant) set_range(segment.mask.data(), first, slice.size());
    } else {
      for (uint32_t i = 0; i < slice.size(); ++i) {
        if (!usable_on(slice.device_where[i], node)) continue;
        set_bit(segment.mask.data(), first + i);
        relevant = true;
      }
    }
    if (relevant) seen_first = std::min(seen_first, first);
    segment.conditional = segment.conditional || (relevant && !slice.conditions.empty());
  };
  const Pool::Places& places = pool.places();
  if (const auto own = places.live_of.find(strings_.find(node.name)); own != places.live_of.end())
    for (const uint32_t position : own->second) see(position);
  for (const uint32_t position : places.live_others) see(position);
  if (seen_first == pool.size()) return std::nullopt;
  // What a node sees of an older generation is complete.
  if (seen_first < pool.stale_first()) segment.judgement = judge_newest(pool, node);
  return segment;
}

NodeView DeviceIndex::make_view(const Node& node) const {
  NodeView view;
  std::vector<PoolId> ids = node.named_by;
  for (PoolId wide : wide_pools_)
    if (std::find(ids.begin(), ids.end(), wide) == ids.end()) ids.push_back(wide);
  for (PoolId pool_id : ids) {
    const Pool& pool = *pools_[pool_id];
    if (pool.live().empty()) continue;
    if (pool.local_node != kNoStr || pool.everywhere()) {
      const bool stale = pool.stale_first() == 0;
      view.segments.push_back({pool_id, {}, pool.has_conditions, stale ? Judgement{} : judge_newest(pool, node)});
    } else if (std::optional<Segment> segment = make_segment(pool, node)) {
      view.segments.push_back(std::move(*segment));
    }
  }
  std::sort(view.segments.begin(), view.segments.end(), [this](const Segment& a, const Segment& b) {
    const Pool& x = *pools_[a.pool];
    const Pool& y = *pools_[b.pool];
    return std::tie(a.conditional, x.driver_text, x.name_text) < std::tie(b.conditional, y.driver_text, y.name_text);
  });
  return view;
}

Judgement DeviceIndex::judge(const Pool& pool, NodeId node) const {
  if (pool.state == PoolState::kComplete) return {};
  for (const Segment& segment : view(node).segments)
    if (segment.pool == pool.id) return segment.judgement;
  return {pool.state, pool.reason};
}

Judgement DeviceIndex::judge_device(const Pool& pool, uint32_t device) const {
  if (pool.state == PoolState::kComplete || device >= pool.stale_first()) return {};
  const Where& place = pool.where(device);
  if (!pool.differs_by_node() || place.kind != Where::kNode) return {pool.state, pool.reason};
  return judge(pool, find_node(strings_.text(place.node)));
}

bool DeviceIndex::may_be_usable(const Pool& pool, size_t slice) const {
  const uint32_t first = pool.first_of(slice);
  if (pool.state == PoolState::kComplete || first >= pool.stale_first()) return true;
  if (!pool.differs_by_node()) return false;
  const Where& place = pool.live()[slice]->where;
  // Where slices of several nodes matter, too, the answer changes with labels of nodes, and callers keep it.
  if (place.kind != Where::kNode || !pool.places().newest_others.empty()) return true;
  return judge(pool, find_node(strings_.text(place.node))).state == PoolState::kComplete;
}

// ---- classes and taint rules

bool shares_silicon(const api::DeviceClass& device_class) {
  const auto found = device_class.metadata.annotations.find(std::string(identity::kSharedSiliconAnnotation));
  return found != device_class.metadata.annotations.end() && found->second == "true";
}

void DeviceIndex::apply_class(const api::DeviceClass& device_class) {
  ClassEntry& entry = classes_[device_class.metadata.name];
  bool same = entry.object && entry.object->selectors == device_class.selectors &&
              entry.object->config == device_class.config && entry.object->unknown == device_class.unknown &&
              shares_silicon(*entry.object) == shares_silicon(device_class);
  entry.object = std::make_shared<const api::DeviceClass>(device_class);
  same = !shares_.apply_class(device_class.metadata.name, device_class.metadata.annotations) && same;
  if (same) return;
  entry.serial = next_serial_++;
  ++classes_version_;
  ++version_;
}

void DeviceIndex::remove_class(std::string_view name) {
  auto it = classes_.find(name);
  if (it == classes_.end()) return;
  classes_.erase(it);
  shares_.remove_class(name);
  ++classes_version_;
  ++version_;
}

const ClassEntry* DeviceIndex::find_class(std::string_view name) const {
  auto it = classes_.find(name);
  return it == classes_.end() ? nullptr : &it->second;
}

void DeviceIndex::touch_rule_pools(const api::DeviceTaintRule& rule) {
  for (const auto& pool : pools_) {
    if (!pool || !selects_pool(rule, pool->driver_text, pool->name_text)) continue;
    pool->table_version = next_serial_++;
    note_change(pool->id);
  }
  ++version_;
}

void DeviceIndex::apply_taint_rule(const api::DeviceTaintRule& rule) {
  // A rule's status affects no taint, and is written repeatedly while pods are evicted: ignore it.
  api::DeviceTaintRule before;
  if (!rules_.apply(rule, &before)) return;
  if (before.has_selector) touch_rule_pools(before);
  touch_rule_pools(rule);
}

void DeviceIndex::remove_taint_rule(std::string_view name) {
  api::DeviceTaintRule rule;
  if (rules_.remove(name, &rule)) touch_rule_pools(rule);
}

bool DeviceIndex::any_taints(const Pool& pool) const {
  for (const SliceTable* slice : pool.live())
    if (slice->taint_sets.size() > 1) return true;
  return rules_.any(pool.driver_text, pool.name_text);
}

std::vector<const api::DeviceTaint*> DeviceIndex::taints(const Pool& pool, uint32_t device) const {
  std::vector<const api::DeviceTaint*> list;
  uint32_t local;
  const SliceTable& slice = pool.slice_of(device, &local);
  for (const api::DeviceTaint& taint : slice.taint_sets[slice.taints_of[local]]) list.push_back(&taint);
  if (rules_.empty()) return list;
  for (const auto* rule : rules_.of_device(pool.driver_text, pool.name_text, strings_.text(slice.names[local])))
    list.push_back(&rule->taint);
  return list;
}

void DeviceIndex::mark_tainted(const Pool& pool, std::span<const std::string> ignored, Words& tainted,
                               Words& barred) const {
  auto mark = [&](const api::DeviceTaint& taint, size_t from, size_t count) {
    if (taint.effect != "NoSchedule" && taint.effect != "NoExecute") return;
    set_range(tainted.data(), from, count);
    const bool ignore =
        taint.effect == "NoSchedule" && std::find(ignored.begin(), ignored.end(), taint.key) != ignored.end();
    if (!ignore) set_range(barred.data(), from, count);
  };
  for (size_t s = 0; s < pool.live().size(); ++s) {
    const SliceTable& slice = *pool.live()[s];
    for (uint32_t i = 0; slice.taint_sets.size() > 1 && i < slice.size(); ++i)
      for (const api::DeviceTaint& taint : slice.taint_sets[slice.taints_of[i]]) mark(taint, pool.first_of(s) + i, 1);
  }
  for (const api::DeviceTaintRule* rule : rules_.of_pool(pool.driver_text, pool.name_text)) {
    if (!rule->device) {
      mark(rule->taint, 0, pool.size());
    } else if (const StrId device = strings_.find(*rule->device); device != kNoStr) {
      pool.for_each_named(device, [&, taint = &rule->taint](uint32_t number) { mark(*taint, number, 1); });
    }
  }
}

bool DeviceIndex::matches(const api::ResourceSlice& slice) {
  const Pool* pool = find_pool(slice.driver, slice.pool.name);
  if (pool == nullptr) return false;
  auto it = pool->slices().find(slice.metadata.name);
  return it != pool->slices().end() && it->second->same_as(SliceTable(slice, strings_, shapes_, features_));
}

// ---- claims

std::optional<ClaimIndex> DeviceIndex::claim_index(std::string_view uid) const {
  auto it = claim_index_.find(uid);
  return it == claim_index_.end() ? std::nullopt : std::optional<ClaimIndex>(it->second);
}

const DeviceIndex::ClaimUse* DeviceIndex::find_claim(std::string_view uid) const {
  auto it = claim_index_.find(uid);
  return it == claim_index_.end() ? nullptr : &claims_[it->second];
}

void DeviceIndex::drop_layer(ClaimIndex index, bool assumed) {
  ClaimUse& claim = claims_[index];
  std::vector<HeldRef> rest;
  for (const HeldRef& held : claim.held) {
    if (held.assumed != assumed) {
      rest.push_back(held);
      continue;
    }
    Pool& pool = *pools_[held.pool];
    auto it = pool.holders.find(held.device);
    auto holder = std::find_if(it->second.begin(), it->second.end(), [&](const HolderRef& h) {
      return h.claim == index && h.share == held.share && (assumed ? h.assumed : h.observed);
    });
    (assumed ? holder->assumed : holder->observed) = false;
    if (!assumed) holder->opaque = false;
    if (!holder->assumed && !holder->observed) {
      silicon_.note_record(pool, held.device, *holder, false);
      if (holder->share != kNoStr) strings_.release(holder->share);
      if (holder->terms != kNoStr) strings_.release(holder->terms);
      for (const auto& [capacity, amount] : holder->consumed) strings_.release(capacity);
      it->second.erase(holder);
    }
    StrId device_id = held.device;
    silicon_.note_holder(pool, device_id);
    bool last = it->second.empty();
    if (last) pool.holders.erase(it);
    pool.for_each_named(device_id, [&pool](uint32_t device) { pool.refresh_device(device); });
    if (last) strings_.release(device_id);
    strings_.release(device_id);
    if (held.share != kNoStr) strings_.release(held.share);
    note_change(pool.id);
    drop_if_unused(pool);
  }
  claim.held = std::move(rest);
}

void DeviceIndex::add_holder(Pool& pool, StrId device, ClaimIndex index,
                             const api::DeviceRequestAllocationResult& result, bool assumed, StrId share, bool opaque,
                             std::shared_ptr<const HeldRecord> record, StrId terms) {
  auto [it, fresh] = pool.holders.try_emplace(device);
  if (fresh) strings_.retain(device);
  auto holder = std::find_if(it->second.begin(), it->second.end(),
                             [&](const HolderRef& h) { return h.claim == index && h.share == share; });
  if (holder == it->second.end()) {
    HolderRef added;
    added.claim = index;
    added.share = share;
    if (share != kNoStr) strings_.retain(share);
    for (const auto& [capacity, text] : result.consumed_capacity)
      if (auto quantity = api::Quantity::parse(text); quantity && quantity->sign() >= 0)  // else: counts as nothing
        added.consumed.emplace_back(strings_.intern(capacity), to_amount(*quantity));
    it->second.push_back(std::move(added));
    holder = it->second.end() - 1;
  }
  // What is stored says more than what was assumed.
  if (terms != kNoStr && (holder->terms == kNoStr || !assumed)) {
    strings_.retain(terms);
    if (holder->terms != kNoStr) strings_.release(holder->terms);
    holder->terms = terms;
  }
  if (record != nullptr && holder->record == nullptr) {
    holder->record = std::move(record);
    silicon_.note_record(pool, device, *holder, true);
  }
  silicon_.note_holder(pool, device);
  (assumed ? holder->assumed : holder->observed) = true;
  if (!assumed) holder->opaque = opaque;  // what is decided here has no such field
}

void DeviceIndex::set_allocation(std::string_view uid, const api::AllocationResult* allocation, bool assumed,
                                 const identity::Records* recorded, const api::ResourceClaim* of) {
  bool any = allocation != nullptr && std::any_of(allocation->results.begin(), allocation->results.end(),
                                                  [](const auto& result) { return !result.admin_access; });
  auto known = claim_index_.find(uid);
  if (known == claim_index_.end() && !any && !(assumed && allocation != nullptr)) return;
  ClaimIndex index;
  if (known != claim_index_.end()) {
    index = known->second;
  } else {
    if (free_claims_.empty()) {
      index = static_cast<ClaimIndex>(claims_.size());
      claims_.emplace_back();
    } else {
      index = free_claims_.back();
      free_claims_.pop_back();
    }
    claims_[index].uid = uid;
    claim_index_.emplace(std::string(uid), index);
  }
  drop_layer(index, assumed);
  ClaimUse& claim = claims_[index];
  claim.changed = ++version_;
  if (assumed) claim.has_assumed = allocation != nullptr;
  const bool opaque =
      allocation != nullptr && api::refusing_field(allocation->unknown, features_.ignored_fields) != nullptr;
  identity::Records records = allocation == nullptr ? identity::Records() : recorded_in(*allocation);
  if (recorded != nullptr) records.insert(recorded->begin(), recorded->end());
  for (size_t i = 0; allocation != nullptr && i < allocation->results.size(); ++i) {
    const api::DeviceRequestAllocationResult& result = allocation->results[i];
    if (result.admin_access) continue;
    Pool& pool = pool_for(result.driver, result.pool);
    StrId device = strings_.intern(result.device);
    StrId share = result.share_id ? strings_.intern(*result.share_id) : kNoStr;
    bool twice = std::any_of(claim.held.begin(), claim.held.end(), [&](const HeldRef& h) {
      return h.pool == pool.id && h.device == device && h.share == share && h.assumed == assumed;
    });
    if (twice) {
      strings_.release(device);
      if (share != kNoStr) strings_.release(share);
      continue;
    }
    std::shared_ptr<const HeldRecord> record;
    std::string type;
    if (!records.empty())
      if (const auto own = records.find(result.driver + "/" + result.pool + "/" + result.device);
          own != records.end()) {
        record = std::make_shared<const HeldRecord>(own->second, strings_);
        type = own->second.type.value_or("");
      }
    StrId terms = kNoStr;
    if (share != kNoStr) {
      if (const uint32_t number = pool.find_device(device); type.empty() && number != kNone)
        type = shares_.type_of(pool, number);
      terms = strings_.intern(shares_.terms_of(uid, of, *allocation, result, type));
    }
    add_holder(pool, device, index, result, assumed, share, opaque, std::move(record), terms);
    if (terms != kNoStr) strings_.release(terms);
    claim.held.push_back({pool.id, device, share, assumed});
    pool.for_each_named(device, [&pool](uint32_t number) { pool.refresh_device(number); });
    note_change(pool.id);
  }
  silicon_.settle();
  if (!claim.held.empty() || claim.has_assumed) return;
  claim_index_.erase(claim_index_.find(uid));
  owners_.erase(index);
  claim = ClaimUse{};
  claim.changed = version_;
  free_claims_.push_back(index);
}

void DeviceIndex::set_owner(std::string_view uid, std::string_view owner) {
  if (owner.empty() && owners_.empty()) return;
  const std::optional<ClaimIndex> claim = claim_index(uid);
  if (!claim) return;
  if (owner.empty())
    owners_.erase(*claim);
  else
    owners_[*claim] = owner;
}

bool DeviceIndex::owns(ClaimIndex owner, ClaimIndex claim) const {
  const auto known = owners_.find(claim);
  return known != owners_.end() && known->second == claims_[owner].uid;
}

void DeviceIndex::forget_all() {
  std::vector<std::string> uids;
  for (const auto& [uid, index] : claim_index_)
    if (claims_[index].has_assumed) uids.push_back(uid);
  for (const std::string& uid : uids) set_allocation(uid, nullptr, true);
}

}  // namespace dra::inventory
