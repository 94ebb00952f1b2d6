#include "pkg/inventory/silicon.h"

#include <algorithm>

#include "pkg/inventory/device_index.h"

namespace dra::inventory {

using identity::Face;
using identity::kNoNumber;
using identity::Value;

HeldRecord::HeldRecord(const identity::Record& record, Strings& strings)
    : node_text(record.node.value_or("")), shared(record.shared), strings_(strings) {
  const auto read = [&](const std::vector<std::string>& texts, std::vector<Value>& into) {
    for (const std::string& text : texts)
      into.push_back({strings.intern(text), strings.intern(text.substr(0, text.find(' ')))});
    std::sort(into.begin(), into.end());
  };
  read(record.own, own);
  read(record.part_of, part_of);
  if (record.node) node = strings.intern(*record.node);
  if (record.type) type = strings.intern(*record.type);
}

HeldRecord::~HeldRecord() {
  for (const auto* list : {&own, &part_of})
    for (const Value& value : *list) {
      strings_.release(value.text);
      strings_.release(value.space);
    }
  if (node != kNoStr) strings_.release(node);
  if (type != kNoStr) strings_.release(type);
}

Silicon::Silicon(DeviceIndex& device_index, Strings& strings) : device_index_(device_index), strings_(strings) {
  set_rules(identity::Rules());
}

Silicon::~Silicon() {
  for (const StrId id : kept_) strings_.release(id);
}

// ---- what changes

void Silicon::set_rules(const identity::Rules& rules) {
  rules_ = rules;
  std::vector<StrId> kept;
  keys_.clear();
  const auto add = [&](const auto& table, bool parent) {
    for (const auto& [attribute, space] : table) {
      kept.push_back(strings_.intern(attribute));
      kept.push_back(strings_.intern(space));
      keys_.push_back({kept[kept.size() - 2], kept.back(), parent});
    }
  };
  add(rules_.own, false);
  add(rules_.parent, true);
  std::sort(keys_.begin(), keys_.end());
  for (const StrId id : std::exchange(kept_, std::move(kept))) strings_.release(id);
  silicon_slices_ = 0;
  for (PoolId id = 0; id < device_index_.pool_slots(); ++id) {
    const Pool* pool = device_index_.pool(id);
    if (pool == nullptr) continue;
    for (const auto& [name, slice] : pool->slices()) {
      slice->faces.reset();
      slice->names_silicon = concerns(*slice);
      silicon_slices_ += slice->names_silicon;
    }
  }
  wide_stale_ = true;
  mark_all();
  settle();
}

// Both lists are sorted by key.
bool Silicon::concerns(const SliceTable& slice) const {
  size_t at = 0;
  for (const ColumnMark& column : slice.marks) {
    while (at < keys_.size() && keys_[at].key < column.key) ++at;
    if (at < keys_.size() && keys_[at].key == column.key) return true;
  }
  return false;
}

void Silicon::mark(NodeId node, bool structure) {
  if (node == kNone) return;
  NodeState& of = state(node);
  if (structure) of.built = false;
  if (dirty_.empty() || dirty_.back() != node) dirty_.push_back(node);
}

void Silicon::mark_all() {
  for (NodeId node = 0; node < device_index_.node_slots(); ++node)
    if (device_index_.knows(node)) mark(node, true);
  wide_dirty_ = true;
  wide_.built = false;
}

void Silicon::mark_wide_holder() {
  wide_dirty_ = true;
  for (const NodeId node : linked_) mark(node, false);
}

Silicon::NodeState& Silicon::state(NodeId node) {
  if (node >= nodes_.size()) nodes_.resize(device_index_.node_slots());
  if (!nodes_[node]) nodes_[node] = std::make_unique<NodeState>();
  return *nodes_[node];
}

// What is recorded of the slice's devices is compared with what they publish now.
void Silicon::mark_recorded(const Pool& pool, const SliceTable& slice) {
  for (const StrId name : slice.names) {
    const auto holders = pool.holders.find(name);
    if (holders == pool.holders.end()) continue;
    for (const HolderRef& holder : holders->second) {
      if (holder.record == nullptr) continue;
      if (holder.record->node == kNoStr) return mark_all();
      mark(device_index_.find_node(holder.record->node_text), false);
      if (!wide_values_.empty()) wide_dirty_ = true;
    }
  }
}

void Silicon::note_slice(const Pool& pool, const SliceTable& slice, int by) {
  if (slice.names_silicon) silicon_slices_ += static_cast<size_t>(static_cast<ptrdiff_t>(by));
  if (!records_.empty()) mark_recorded(pool, slice);
  if (!slice.names_silicon && plugin_.empty()) return;
  bool wide = false;
  StrId last = kNoStr;
  const auto place = [&](const Where& where) {
    if (where.kind == Where::kNode) {
      if (std::exchange(last, where.node) != where.node) mark(device_index_.find_node(strings_.text(where.node)), true);
    } else {
      wide = true;
    }
  };
  if (slice.where.kind == Where::kPerDevice) {
    for (const Where& where : slice.device_where) place(where);
  } else {
    place(slice.where);
  }
  if (!wide || !slice.names_silicon) return;
  wide_stale_ = true;
  mark_all();
}

// It became known, or is no longer.
void Silicon::note_node(NodeId node) {
  if (silicon_slices_ == 0 && records_.empty() && plugin_.empty()) return;
  if (!device_index_.knows(node)) {
    dirty_.push_back(node);
  } else {
    mark(node, true);
  }
  if (!wide_values_.empty()) wide_dirty_ = true;
}

void Silicon::note_pool(const Pool& pool) {
  for (const auto& [name, slice] : pool.slices()) note_slice(pool, *slice);
}

void Silicon::note_holder(const Pool& pool, StrId device) {
  if (silicon_slices_ == 0 && records_.empty()) return;
  if (pool.local_node != kNoStr) return mark(device_index_.find_node(pool.local_node_text), false);
  pool.for_each_named(device, [&](uint32_t number) {
    uint32_t local;
    const SliceTable& slice = pool.slice_of(number, &local);
    if (!slice.names_silicon) return;
    const Where& where = slice.where_of(local);
    where.kind == Where::kNode ? mark(device_index_.find_node(strings_.text(where.node)), false) : mark_wide_holder();
  });
}

void Silicon::note_record(const Pool& pool, StrId device, const HolderRef& holder, bool added) {
  if (holder.record == nullptr) return;
  const std::string& node = holder.record->node_text;
  auto& names = records_[node];
  const Name name(pool.id, device);
  if (added) {
    ++names[name];
  } else if (const auto found = names.find(name); found != names.end() && --found->second == 0) {
    names.erase(found);
  }
  if (names.empty()) records_.erase(node);
  if (holder.record->node == kNoStr) return mark_all();
  const NodeId at = device_index_.find_node(node);
  mark(at, false);
  if (at == kNone || !wide_values_.empty()) {
    wide_dirty_ = true;
    wide_.built = false;
    // Its values may be those of a device without a node.
    if (at != kNone) mark(at, true);
  }
}

void Silicon::set_plugin_drivers(const std::string& node, std::set<std::string, std::less<>> drivers) {
  const auto known = plugin_.find(node);
  if (known == plugin_.end() ? drivers.empty() : known->second == drivers) return;
  if (drivers.empty()) {
    plugin_.erase(known);
  } else {
    plugin_[node] = std::move(drivers);
  }
  mark(device_index_.find_node(node), true);
  ++device_index_.next_serial_;  // other devices may satisfy a request
  ++device_index_.version_;
  settle();
}

// ---- what is there

const Pool& Silicon::pool_of(const Entry& entry) const {
  return *device_index_.pool(entry.pool);
}

const SliceFaces& Silicon::faces(const SliceTable& slice) const {
  if (!slice.faces) slice.faces = std::make_unique<SliceFaces>(slice, keys_, rules_, strings_);
  return *slice.faces;
}

bool Silicon::exclusive(const Pool& pool, StrId type, StrId other) const {
  if (type == kNoStr || other == kNoStr || type == other) return false;
  const auto found = rules_.exclusive.find(pool.driver_text);
  if (found == rules_.exclusive.end()) return false;
  return found->second.contains(std::minmax(std::string(strings_.text(type)), std::string(strings_.text(other))));
}

bool Silicon::conflict(const Entry& a, const Entry& b) const {
  if (a.pool == b.pool) {
    const Pool& pool = pool_of(a);
    if (!exclusive(pool, faces(a).type(a.local), faces(b).type(b.local))) return false;
    if (a.slice->names[a.local] == b.slice->names[b.local]) return false;
  }
  return identity::one_piece(faces(a).face(a.local), faces(b).face(b.local));
}

// Calls f(pool, slice, position of its first device, local) for each device with this node.
template <class F>
void Silicon::each_local(NodeId node, F&& f) const {
  const StrId name = strings_.find(device_index_.node_name(node));
  if (name == kNoStr) return;
  for (const PoolId id : device_index_.pools_naming(node)) {
    const Pool& pool = *device_index_.pool(id);
    const auto visit = [&](size_t position) {
      const SliceTable& slice = *pool.live()[position];
      for (uint32_t local = 0; local < slice.size(); ++local) {
        const Where& where = slice.where_of(local);
        if (where.kind == Where::kNode && where.node == name) f(pool, slice, pool.first_of(position), local);
      }
    };
    if (pool.local_node != kNoStr) {
      for (size_t position = 0; position < pool.live().size(); ++position) visit(position);
      continue;
    }
    const Pool::Places& places = pool.places();
    if (const auto own = places.live_of.find(name); own != places.live_of.end())
      for (const uint32_t position : own->second) visit(position);
    for (const uint32_t position : places.live_others)
      if (pool.live()[position]->where.kind == Where::kPerDevice) visit(position);
  }
}

template <class F>
void Silicon::each_wide(F&& f) const {
  for (PoolId id = 0; id < device_index_.pool_slots(); ++id) {
    const Pool* pool = device_index_.pool(id);
    if (pool == nullptr || !pool->wide) continue;
    for (size_t position = 0; position < pool->live().size(); ++position) {
      const SliceTable& slice = *pool->live()[position];
      if (!slice.names_silicon) continue;
      for (uint32_t local = 0; local < slice.size(); ++local)
        if (slice.where_of(local).kind != Where::kNode && faces(slice).any(local))
          f(*pool, slice, pool->first_of(position), local);
    }
  }
}

// Calls f(pool, device, holder) for each record that holds on the node ("": on none).
template <class F>
void Silicon::each_record_at(const std::string& node, F&& f) const {
  const auto found = records_.find(node);
  if (found == records_.end()) return;
  for (const auto& [name, users] : found->second) {
    const Pool& pool = *device_index_.pool(name.first);
    const auto holders = pool.holders.find(name.second);
    if (holders == pool.holders.end()) continue;
    for (const HolderRef& holder : holders->second)
      if (holder.record != nullptr && holder.record->node_text == node) f(pool, name.second, holder);
  }
}

// No two names of the node can exclude each other, whatever is held.
bool Silicon::is_plain(NodeId node) const {
  if (!wide_values_.empty() || records_.contains("")) return false;
  if (plugin_.contains(device_index_.node_name(node))) return false;
  const Pool* one = nullptr;
  bool plain = true;
  const auto& ids = device_index_.pools_naming(node);
  for (const PoolId id : ids) {
    const Pool& pool = *device_index_.pool(id);
    const bool names = std::any_of(pool.live().begin(), pool.live().end(),
                                   [](const SliceTable* slice) { return slice->names_silicon; });
    if (!names) continue;
    if (one != nullptr) return false;
    one = &pool;
  }
  if (one == nullptr || !rules_.exclusive.contains(one->driver_text)) return true;
  const StrId type_key = strings_.find(one->driver_text + "/type");
  if (type_key == kNoStr) return true;
  StrId first = kNoStr;
  each_local(node, [&](const Pool& pool, const SliceTable& slice, uint32_t, uint32_t local) {
    if (&pool != one) return;
    const StrId type = slice.attribute(local, type_key);
    if (type == kNoStr) return;
    if (first == kNoStr) first = type;
    plain = plain && type == first;
  });
  return plain;
}

// The record says what the slices say.
bool Silicon::as_published(const Pool& pool, StrId device, const HeldRecord& record) const {
  const uint32_t number = pool.find_device(device);
  if (number == kNone) return false;
  uint32_t local;
  const SliceTable& slice = pool.slice_of(number, &local);
  if (!slice.names_silicon) return false;
  const Face now = faces(slice).face(local);
  return now.node == record.node && faces(slice).type(local) == record.type &&
         std::equal(now.own.begin(), now.own.end(), record.own.begin(), record.own.end()) &&
         std::equal(now.part_of.begin(), now.part_of.end(), record.part_of.begin(), record.part_of.end());
}

void Silicon::build(NodeId node, NodeState& of, bool full) {
  of.built = true;
  of.full = full;
  of.entries.clear();
  of.edges.clear();
  of.first_edge.assign(1, 0);
  linked_.erase(node);
  if (!full) return;
  each_local(node, [&](const Pool& pool, const SliceTable& slice, uint32_t first, uint32_t local) {
    if (slice.names_silicon && faces(slice).any(local))
      of.entries.push_back({pool.id, pool.ref_of(first + local), &slice, local, false});
  });
  link_wide(node, of);
  add_edges(of);
}

// Adds the devices without a node that share a value with one of the node, or with a record.
void Silicon::link_wide(NodeId node, NodeState& of) {
  if (wide_values_.empty()) return;
  std::set<std::pair<PoolId, DeviceRef>> added;
  const auto link = [&](const Face& face) {
    for (const auto* side : {&face.own, &face.part_of})
      for (const Value& value : *side)
        if (const auto found = wide_values_.find(value.text); found != wide_values_.end())
          for (const Entry& entry : found->second)
            if (added.emplace(entry.pool, entry.ref).second) of.entries.push_back(entry);
  };
  const size_t local = of.entries.size();
  for (size_t i = 0; i < local; ++i) {
    const Entry entry = of.entries[i];
    link(faces(entry).face(entry.local));
  }
  each_record_at(device_index_.node_name(node),
                 [&](const Pool&, StrId, const HolderRef& holder) { link(holder.record->face()); });
  if (of.entries.size() > local) linked_.insert(node);
}

void Silicon::add_edges(NodeState& of) {
  std::vector<std::pair<StrId, uint32_t>> values;
  for (uint32_t i = 0; i < of.entries.size(); ++i) {
    const Face face = faces(of.entries[i]).face(of.entries[i].local);
    for (const auto* side : {&face.own, &face.part_of})
      for (const Value& value : *side) values.emplace_back(value.text, i);
  }
  std::sort(values.begin(), values.end());
  std::vector<std::pair<uint32_t, uint32_t>> pairs;
  for (size_t first = 0, end = 0; first < values.size(); first = end) {
    for (end = first; end < values.size() && values[end].first == values[first].first;) ++end;
    for (size_t i = first; i < end; ++i)
      for (size_t j = i + 1; j < end; ++j)
        if (conflict(of.entries[values[i].second], of.entries[values[j].second])) {
          pairs.emplace_back(values[i].second, values[j].second);
          pairs.emplace_back(values[j].second, values[i].second);
        }
  }
  std::sort(pairs.begin(), pairs.end());
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
  size_t at = 0;
  for (uint32_t i = 0; i < of.entries.size(); ++i) {
    for (; at < pairs.size() && pairs[at].first == i; ++at) of.edges.push_back(pairs[at].second);
    of.first_edge.push_back(static_cast<uint32_t>(of.edges.size()));
  }
}

// ---- what is excluded

bool Silicon::counts(const HolderRef& holder) const {
  return holder.record == nullptr || !holder.record->shared;
}

void Silicon::append_shared(const Face& a, const Face& b, std::vector<std::string>& values) const {
  const uint32_t any = identity::shared_value(a, b);
  if (any == kNoNumber) return;
  const auto common = [&](std::span<const Value> x, std::span<const Value> y) {
    for (const Value& value : x)
      if (std::find(y.begin(), y.end(), value) != y.end()) values.emplace_back(strings_.text(value.text));
  };
  const size_t before = values.size();
  common(a.own, b.own);
  common(a.own, b.part_of);
  common(a.part_of, b.own);
  if (values.size() == before) common(a.part_of, b.part_of);
}

bool Silicon::record_excludes(const Pool& pool, StrId device, const HeldRecord& record, const Entry& entry,
                              std::vector<std::string>* values) const {
  if (entry.pool == pool.id && entry.slice->names[entry.local] == device) return false;
  const Face face = faces(entry).face(entry.local);
  const bool same_pool = entry.pool == pool.id;
  const StrId type = faces(entry).type(entry.local);
  bool excludes = false;
  const auto against = [&](const Face& held) {
    if (!identity::one_piece(held, face)) return;
    excludes = true;
    if (values != nullptr) append_shared(held, face, *values);
  };
  std::vector<Face> published;
  std::vector<StrId> types{record.type};
  pool.for_each_named(device, [&](uint32_t number) {
    uint32_t local;
    const SliceTable& slice = pool.slice_of(number, &local);
    if (!slice.names_silicon) return;
    published.push_back(faces(slice).face(local));
    types.push_back(faces(slice).type(local));
  });
  if (!same_pool || std::any_of(types.begin(), types.end(), [&](StrId one) { return exclusive(pool, one, type); })) {
    against(record.face());
    for (const Face& one : published) against(one);
  }
  if (excludes || !same_pool) return excludes;
  // The driver may have numbered its devices anew: this one has a value that the held one had.
  if (record.node != face.node && record.node != kNoStr && face.node != kNoNumber) return false;
  for (const Value& value : face.own) {
    if (!std::binary_search(record.own.begin(), record.own.end(), value)) continue;
    bool some = false, still = false;
    for (const Face& one : published)
      for (const Value& now : one.own) {
        some = some || now.space == value.space;
        still = still || now == value;
      }
    if (!some || still) continue;
    excludes = true;
    if (values != nullptr) values->emplace_back(strings_.text(value.text));
  }
  return excludes;
}

void Silicon::judge(NodeId node, NodeState& of, std::vector<uint8_t>& excluded, std::vector<uint8_t>& plugged) {
  excluded.assign(of.entries.size(), 0);
  plugged.assign(of.entries.size(), 0);
  const std::string name = node == kNone ? std::string() : device_index_.node_name(node);
  const auto plugin = plugin_.find(name);
  for (uint32_t i = 0; i < of.entries.size(); ++i) {
    const Entry& entry = of.entries[i];
    const Pool& pool = pool_of(entry);
    const bool plugs =
        node != kNone && !entry.wide && plugin != plugin_.end() && plugin->second.contains(pool.driver_text);
    const auto holders = pool.holders.find(entry.slice->names[entry.local]);
    const bool holds =
        holders != pool.holders.end() && std::any_of(holders->second.begin(), holders->second.end(),
                                                     [this](const HolderRef& holder) { return counts(holder); });
    if (!plugs && !holds) continue;
    plugged[i] = plugged[i] || plugs;
    for (uint32_t at = of.first_edge[i]; at < of.first_edge[i + 1]; ++at) {
      excluded[of.edges[at]] |= holds;
      plugged[of.edges[at]] |= plugs;
    }
  }
  const auto record = [&](const Pool& pool, StrId device, const HolderRef& holder) {
    if (!counts(holder) || as_published(pool, device, *holder.record)) return;
    for (uint32_t i = 0; i < of.entries.size(); ++i)
      if (excluded[i] == 0 && record_excludes(pool, device, *holder.record, of.entries[i], nullptr)) excluded[i] = 1;
  };
  if (node != kNone) each_record_at(name, record);
  each_record_at("", record);
  // Devices that are published here, and were recorded on another node.
  for (const Entry& entry : of.entries) {
    const StrId device = entry.slice->names[entry.local];
    const auto holders = pool_of(entry).holders.find(device);
    if (holders == pool_of(entry).holders.end()) continue;
    for (const HolderRef& holder : holders->second)
      if (holder.record != nullptr && holder.record->node != kNoStr && holder.record->node_text != name)
        record(pool_of(entry), device, holder);
  }
  if (node != kNone) return;
  // Records of nodes that nobody knows.
  for (const auto& [at, names] : records_)
    if (!at.empty() && device_index_.find_node(at) == kNone) each_record_at(at, record);
}

void Silicon::clear_marks(NodeId node) {
  each_local(node, [&](const Pool& pool, const SliceTable&, uint32_t first, uint32_t local) {
    if (device_index_.pools_[pool.id]->set_silicon(first + local, false, false)) device_index_.note_use(pool.id);
  });
}

void Silicon::contribute(std::vector<Name>& before, std::vector<Name> now,
                         std::unordered_map<Name, uint32_t, NameHash>& counted, bool plugin) {
  std::sort(now.begin(), now.end());
  now.erase(std::unique(now.begin(), now.end()), now.end());
  if (now.empty() && before.empty()) return;
  // Also what is as before: the slice may be a new one.
  std::set<Name> touched(now.begin(), now.end());
  for (const Name& name : now) ++counted[name];
  for (const Name& name : before) {
    touched.insert(name);
    if (const auto found = counted.find(name); --found->second == 0) counted.erase(found);
  }
  before = std::move(now);
  for (const Name& name : touched) {
    Pool* pool = device_index_.pools_[name.first].get();
    if (pool == nullptr) continue;
    bool changed = false;
    pool->for_each_named(name.second, [&](uint32_t number) {
      if (pool->where(number).kind == Where::kNode) return;
      const bool on = counted.contains(name);
      changed =
          pool->set_silicon(number, plugin ? pool->is_excluded(number) : on, plugin ? on : pool->is_plugins(number)) ||
          changed;
    });
    if (changed) device_index_.note_use(pool->id);
  }
}

void Silicon::apply(NodeId node, NodeState& of, const std::vector<uint8_t>& excluded,
                    const std::vector<uint8_t>& plugged) {
  std::vector<Name> excludes, plugs;
  bool marked = false;
  for (uint32_t i = 0; i < of.entries.size(); ++i) {
    const Entry& entry = of.entries[i];
    Pool& pool = *device_index_.pools_[entry.pool];
    if (entry.wide) {
      const Name name(entry.pool, entry.slice->names[entry.local]);
      if (excluded[i] != 0) excludes.push_back(name);
      if (plugged[i] != 0) plugs.push_back(name);
      continue;
    }
    marked = marked || excluded[i] != 0 || plugged[i] != 0;
    if (pool.set_silicon(pool.number_of(entry.ref), excluded[i] != 0, plugged[i] != 0)) device_index_.note_use(pool.id);
  }
  contribute(of.excludes, std::move(excludes), wide_excluded_, false);
  contribute(of.plugs, std::move(plugs), wide_plugged_, true);
  if (node == kNone) return;
  const auto plugin = plugin_.find(device_index_.node_name(node));
  if (plugin != plugin_.end()) {
    each_local(node, [&](const Pool& pool, const SliceTable& slice, uint32_t first, uint32_t local) {
      if (slice.names_silicon && faces(slice).any(local)) return;
      const bool on = plugin->second.contains(pool.driver_text);
      marked = marked || on;
      if (device_index_.pools_[pool.id]->set_silicon(first + local, false, on)) device_index_.note_use(pool.id);
    });
  }
  of.marked = marked;
}

void Silicon::settle_node(NodeId node) {
  if (node != kNone && !device_index_.knows(node)) {
    if (node < nodes_.size() && nodes_[node]) {
      contribute(nodes_[node]->excludes, {}, wide_excluded_, false);
      contribute(nodes_[node]->plugs, {}, wide_plugged_, true);
      nodes_[node].reset();
    }
    linked_.erase(node);
    return;
  }
  NodeState& of = state(node);
  const bool plain = is_plain(node);
  bool full = !plain;
  if (plain)
    each_record_at(device_index_.node_name(node), [&](const Pool& pool, StrId device, const HolderRef& holder) {
      full = full || (counts(holder) && !as_published(pool, device, *holder.record));
    });
  if (!of.built || of.full != full) {
    // What was marked may no longer be among the entries.
    if (of.marked) clear_marks(node);
    of.marked = false;
    build(node, of, full);
  }
  if (!full && of.excludes.empty() && of.plugs.empty()) return;
  std::vector<uint8_t> excluded, plugged;
  judge(node, of, excluded, plugged);
  apply(node, of, excluded, plugged);
}

void Silicon::settle() {
  if (dirty_.empty() && !wide_dirty_ && !wide_stale_) return;
  if (std::exchange(wide_stale_, false)) {
    wide_values_.clear();
    wide_.built = false;
    wide_dirty_ = true;
    each_wide([&](const Pool& pool, const SliceTable& slice, uint32_t first, uint32_t local) {
      const Entry entry{pool.id, pool.ref_of(first + local), &slice, local, true};
      const Face face = faces(slice).face(local);
      for (const auto* side : {&face.own, &face.part_of})
        for (const Value& value : *side) wide_values_[value.text].push_back(entry);
    });
  }
  if (std::exchange(wide_dirty_, false)) {
    if (!wide_.built) {
      wide_.built = wide_.full = true;
      wide_.entries.clear();
      wide_.edges.clear();
      wide_.first_edge.assign(1, 0);
      if (!wide_values_.empty())
        each_wide([&](const Pool& pool, const SliceTable& slice, uint32_t first, uint32_t local) {
          wide_.entries.push_back({pool.id, pool.ref_of(first + local), &slice, local, true});
        });
      add_edges(wide_);
    }
    std::vector<uint8_t> excluded, plugged;
    judge(kNone, wide_, excluded, plugged);
    apply(kNone, wide_, excluded, plugged);
  }
  std::vector<NodeId> nodes = std::exchange(dirty_, {});
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  for (const NodeId node : nodes) settle_node(node);
}

// ---- answers

void Silicon::each_device_of(NodeId node, const std::function<void(const Pool&, uint32_t)>& f) const {
  if (device_index_.knows(node))
    each_local(node,
               [&](const Pool& pool, const SliceTable&, uint32_t first, uint32_t local) { f(pool, first + local); });
}

bool Silicon::any_rivals(NodeId node) const {
  return !wide_.edges.empty() || (node < nodes_.size() && nodes_[node] && !nodes_[node]->edges.empty());
}

std::vector<RivalPair> Silicon::rivals(NodeId node) const {
  std::vector<RivalPair> out;
  const auto add = [&](const NodeState& of) {
    for (uint32_t i = 0; i < of.entries.size(); ++i)
      for (uint32_t at = of.first_edge[i]; at < of.first_edge[i + 1]; ++at) {
        if (of.edges[at] < i) continue;
        const Entry& a = of.entries[i];
        const Entry& b = of.entries[of.edges[at]];
        out.push_back({a.pool, pool_of(a).number_of(a.ref), b.pool, pool_of(b).number_of(b.ref)});
      }
  };
  add(wide_);
  if (node < nodes_.size() && nodes_[node]) add(*nodes_[node]);
  return out;
}

std::optional<identity::Record> Silicon::record_of(const Pool& pool, uint32_t device) const {
  uint32_t local;
  const SliceTable& slice = pool.slice_of(device, &local);
  if (!slice.names_silicon || !faces(slice).any(local)) return std::nullopt;
  const Face face = faces(slice).face(local);
  identity::Record record;
  for (const Value& value : face.own) record.own.emplace_back(strings_.text(value.text));
  for (const Value& value : face.part_of) record.part_of.emplace_back(strings_.text(value.text));
  std::sort(record.own.begin(), record.own.end());
  std::sort(record.part_of.begin(), record.part_of.end());
  if (face.node != kNoNumber) record.node = std::string(strings_.text(face.node));
  if (const StrId type = faces(slice).type(local); type != kNoStr) record.type = std::string(strings_.text(type));
  return record;
}

}  // namespace dra::inventory
