// Silicon: what is excluded by what is held, and the marks of it in the pools.
#include <algorithm>

#include "pkg/inventory/device_index.h"
#include "pkg/inventory/silicon.h"
#include "pkg/inventory/silicon_visit.h"

namespace dra::inventory {

using identity::Face;
using identity::kNoNumber;
using identity::Value;

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
  for (const auto& [i, value] : of.crowded) excluded[i] = 1;
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
    set_marks(*device_index_.pools_[pool.id], first + local, false, false);
  });
}

void Silicon::set_marks(Pool& pool, uint32_t device, bool excluded, bool plugins) {
  const bool frees = (pool.is_excluded(device) && !excluded) || (pool.is_plugins(device) && !plugins);
  if (!pool.set_silicon(device, excluded, plugins)) return;
  device_index_.note_change(pool.id);
  if (!frees) return;
  const bool first = freed_.empty();
  freed_.insert(pool.driver_text);
  if (first && freed_callback_) freed_callback_();
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
    pool->for_each_named(name.second, [&](uint32_t number) {
      if (pool->where(number).kind == Where::kNode) return;
      const bool on = counted.contains(name);
      set_marks(*pool, number, plugin ? pool->is_excluded(number) : on, plugin ? on : pool->is_plugins(number));
    });
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
    set_marks(pool, pool.number_of(entry.ref), excluded[i] != 0, plugged[i] != 0);
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
      set_marks(*device_index_.pools_[pool.id], first + local, false, on);
    });
  }
  of.marked = marked;
}

}  // namespace dra::inventory
