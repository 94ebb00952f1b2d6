#include "pkg/inventory/silicon.h"

#include <algorithm>

#include "pkg/inventory/device_index.h"
#include "pkg/inventory/silicon_visit.h"

namespace dra::inventory {

using identity::Face;
using identity::kNoNumber;
using identity::Value;

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
  StrId last = kNoStr;
  for (const StrId name : slice.names) {
    const auto holders = pool.holders.find(name);
    if (holders == pool.holders.end()) continue;
    for (const HolderRef& holder : holders->second) {
      if (holder.record == nullptr || (last != kNoStr && holder.record->node == last)) continue;
      if (holder.record->node == kNoStr) return mark_all();
      last = holder.record->node;
      mark(device_index_.find_node(holder.record->node_text), false);
      if (!wide_values_.empty()) wide_dirty_ = true;
    }
  }
}

void Silicon::note_slice(const Pool& pool, const SliceTable& slice, int by) {
  if (slice.names_silicon) silicon_slices_ += static_cast<size_t>(static_cast<ptrdiff_t>(by));
  if (!records_.empty()) mark_recorded(pool, slice);
  if (!slice.names_silicon && plugin_.empty() && !tracks_published_) return;
  bool wide = false;
  StrId last = kNoStr;
  const auto place = [&](const Where& where) {
    if (where.kind == Where::kNode) {
      if (std::exchange(last, where.node) == where.node) return;
      const NodeId node = device_index_.find_node(strings_.text(where.node));
      mark(node, true);
      if (tracks_published_ && node != kNone) published_.insert(node);
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

// Most updates of a slice change something else.
void Silicon::note_replaced(const SliceTable& gone, const SliceTable& added) const {
  if (!gone.faces || !added.names_silicon || gone.size() != added.size() || gone.where.kind != Where::kNode ||
      added.where.kind != Where::kNode || gone.where.node != added.where.node)
    return;
  std::vector<StrId> read;
  const StrId type = strings_.find(std::string(strings_.text(added.driver)) + "/type");
  for (const SliceTable* slice : {&gone, &added})
    for (const ColumnMark& column : slice->marks)
      if (column.key == type ||
          std::any_of(keys_.begin(), keys_.end(), [&](const SiliconKey& one) { return one.key == column.key; }))
        read.push_back(column.key);
  std::sort(read.begin(), read.end());
  read.erase(std::unique(read.begin(), read.end()), read.end());
  for (uint32_t local = 0; local < added.size(); ++local)
    for (const StrId key : read)
      if (gone.attribute(local, key) != added.attribute(local, key)) return;
  added.faces = std::move(gone.faces);
  added.faces->adopted_by(added);
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

void Silicon::set_plugin_drivers(const std::string& node, PluginDrivers drivers) {
  const auto known = plugin_.find(node);
  if (known == plugin_.end() ? drivers.empty() : known->second == drivers) return;
  const auto same_driver = [](const auto& a, const auto& b) { return a.first == b.first; };
  if (known != plugin_.end() &&
      std::equal(known->second.begin(), known->second.end(), drivers.begin(), drivers.end(), same_driver)) {
    known->second = std::move(drivers);  // other words
    return;
  }
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

void Silicon::track_published(bool on) {
  tracks_published_ = on;
  if (!on) published_.clear();
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
      wide_.begin(true);
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

bool Silicon::names(const SliceTable& slice, uint32_t local) const {
  return slice.names_silicon && faces(slice).any(local);
}

std::optional<identity::Record> Silicon::record_of(const Pool& pool, uint32_t device) const {
  uint32_t local;
  const SliceTable& slice = pool.slice_of(device, &local);
  if (!names(slice, local)) return std::nullopt;
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
