// Silicon: what is published and recorded on a node, and which names of it exclude each other.
#include <algorithm>

#include "pkg/inventory/device_index.h"
#include "pkg/inventory/silicon.h"
#include "pkg/inventory/silicon_visit.h"

namespace dra::inventory {

using identity::Face;
using identity::Value;

const Pool& Silicon::pool_of(const Entry& entry) const {
  return *device_index_.pool(entry.pool);
}

const SliceFaces& Silicon::faces(const SliceTable& slice) const {
  if (!slice.faces) slice.faces = std::make_unique<SliceFaces>(slice, keys_, rules_, strings_);
  return *slice.faces;
}

bool Silicon::exclusive(const Pool& pool, StrId type, StrId other) const {
  return type != kNoStr && other != kNoStr && type != other &&
         rules_.excludes(pool.driver_text, std::string(strings_.text(type)), std::string(strings_.text(other)));
}

bool Silicon::conflict(const Entry& a, const Entry& b) const {
  if (a.pool == b.pool) {
    const Pool& pool = pool_of(a);
    if (!exclusive(pool, faces(a).type(a.local), faces(b).type(b.local))) return false;
    if (a.slice->names[a.local] == b.slice->names[b.local]) return false;
  }
  return identity::one_piece(faces(a).face(a.local), faces(b).face(b.local));
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

void Silicon::NodeState::begin(bool in_full) {
  built = true;
  full = in_full;
  entries.clear();
  edges.clear();
  crowded.clear();
  first_edge.assign(1, 0);
}

void Silicon::build(NodeId node, NodeState& of, bool full) {
  of.begin(full);
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
  // Names of one pool whose driver has no types that exclude each other need no comparison.
  const auto pool_at = [&](size_t i) { return of.entries[values[i].second].pool; };
  for (size_t first = 0, end = 0; first < values.size(); first = end) {
    for (end = first; end < values.size() && values[end].first == values[first].first;) ++end;
    std::sort(values.begin() + static_cast<ptrdiff_t>(first), values.begin() + static_cast<ptrdiff_t>(end),
              [&](const auto& a, const auto& b) {
                return std::pair(of.entries[a.second].pool, a.second) < std::pair(of.entries[b.second].pool, b.second);
              });
    size_t compared = 0;
    for (size_t begin = first, next = first; begin < end; begin = next) {
      for (next = begin; next < end && pool_at(next) == pool_at(begin);) ++next;
      compared += (next - begin) * (end - next);
      if (rules_.exclusive.contains(pool_of(of.entries[values[begin].second]).driver_text))
        compared += (next - begin) * (next - begin) / 2;
    }
    if (compared > kMaxPairs) {
      for (size_t i = first; i < end; ++i) of.crowded.emplace(values[i].second, values[i].first);
      continue;
    }
    for (size_t begin = first, next = first; begin < end; begin = next) {
      for (next = begin; next < end && pool_at(next) == pool_at(begin);) ++next;
      const bool within = rules_.exclusive.contains(pool_of(of.entries[values[begin].second]).driver_text);
      for (size_t i = begin; i < next; ++i)
        for (size_t j = within ? i + 1 : next; j < end; ++j)
          if (conflict(of.entries[values[i].second], of.entries[values[j].second])) {
            pairs.emplace_back(values[i].second, values[j].second);
            pairs.emplace_back(values[j].second, values[i].second);
          }
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

}  // namespace dra::inventory
