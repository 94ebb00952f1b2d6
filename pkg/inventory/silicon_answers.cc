// Silicon: why a device is excluded, and what is odd about what is published and recorded. Visits what it must: for
// explanations, audits and doctor, not for decisions.
#include <algorithm>

#include "pkg/inventory/device_index.h"
#include "pkg/inventory/silicon.h"
#include "pkg/inventory/silicon_visit.h"

namespace dra::inventory {

using identity::Face;
using identity::kNoNumber;
using identity::Value;

std::optional<Silicon::Entry> Silicon::entry_of(const Pool& pool, uint32_t device) const {
  uint32_t local;
  const SliceTable& slice = pool.slice_of(device, &local);
  if (!slice.names_silicon || !faces(slice).any(local)) return std::nullopt;
  return Entry{pool.id, pool.ref_of(device), &slice, local, slice.where_of(local).kind != Where::kNode};
}

// The values by which the held name and the published device conflict; none: they do not.
std::vector<std::string> Silicon::why_conflict(const Held& held, const Entry& entry) const {
  std::vector<std::string> values;
  const Pool& pool = *held.pool;
  if (entry.pool == pool.id && entry.slice->names[entry.local] == held.device) return values;
  const Face face = faces(entry).face(entry.local);
  const StrId type = faces(entry).type(entry.local);
  bool recorded = false;
  for (const HolderRef& holder : *held.holders) {
    if (!counts(holder)) continue;
    if (holder.record != nullptr) {
      recorded = true;
      record_excludes(pool, held.device, *holder.record, entry, &values);
      continue;
    }
    if (recorded) continue;
    pool.for_each_named(held.device, [&](uint32_t number) {
      uint32_t local;
      const SliceTable& slice = pool.slice_of(number, &local);
      if (!slice.names_silicon) return;
      if (entry.pool == pool.id && !exclusive(pool, faces(slice).type(local), type)) return;
      append_shared(faces(slice).face(local), face, values);
    });
  }
  std::sort(values.begin(), values.end());
  return values;
}

std::optional<Silicon::Reason> Silicon::why_excluded(const Pool& pool, uint32_t device) const {
  const std::optional<Entry> entry = entry_of(pool, device);
  if (!entry) return std::nullopt;
  const NodeId node = entry->wide ? kNone : device_index_.find_node(strings_.text(pool.where(device).node));
  std::optional<Reason> best;
  for (const Held& held : held_near(node)) {
    std::vector<std::string> values = why_conflict(held, *entry);
    if (values.empty()) continue;
    DeviceName holder{held.pool->driver_text, held.pool->name_text, std::string(strings_.text(held.device))};
    if (best && best->holder.text() <= holder.text()) continue;
    best = Reason{std::move(holder), std::move(values.front())};
    for (const HolderRef& one : *held.holders)
      if (counts(one)) best->claims.push_back(one.claim);
  }
  return best ? best : why_crowded(*entry, node);
}

// It shares a value with too many other names: the first of them.
std::optional<Silicon::Reason> Silicon::why_crowded(const Entry& entry, NodeId node) const {
  const NodeState* const local = node < nodes_.size() ? nodes_[node].get() : nullptr;
  for (const NodeState* of : {&wide_, local}) {
    if (of == nullptr) continue;
    for (const auto& [i, value] : of->crowded) {
      if (of->entries[i].pool != entry.pool || of->entries[i].ref != entry.ref) continue;
      std::optional<Reason> best;
      size_t names = 0;
      for (const auto& [j, other] : of->crowded) {
        if (other != value) continue;
        ++names;
        const Entry& one = of->entries[j];
        const Pool& pool = pool_of(one);
        DeviceName name{pool.driver_text, pool.name_text, std::string(strings_.text(one.slice->names[one.local]))};
        if (j != i && (!best || name.text() < best->holder.text())) best = Reason{std::move(name), ""};
      }
      if (best)
        best->value = std::string(strings_.text(value)) + ", which " + std::to_string(names) +
                      " devices publish: too many to tell apart";
      return best;
    }
  }
  return std::nullopt;
}

std::string Silicon::shared_text(const Pool& pool, uint32_t device, const Pool& other_pool, uint32_t other) const {
  const std::optional<Entry> a = entry_of(pool, device), b = entry_of(other_pool, other);
  std::vector<std::string> values;
  if (a && b) append_shared(faces(*a).face(a->local), faces(*b).face(b->local), values);
  return values.empty() ? std::string() : *std::min_element(values.begin(), values.end());
}

std::string Silicon::plugin_driver(const Pool& pool, uint32_t device, std::string_view node) const {
  const auto at = plugin_.find(node);
  if (at == plugin_.end()) return {};
  const Where& where = pool.where(device);
  if (where.kind == Where::kNode && strings_.text(where.node) == node && at->second.contains(pool.driver_text))
    return pool.driver_text;
  const std::optional<Entry> entry = entry_of(pool, device);
  const NodeId id = device_index_.find_node(node);
  std::string found;
  if (!entry || id == kNone) return found;
  each_local(id, [&](const Pool& other, const SliceTable& slice, uint32_t first, uint32_t local) {
    if (!at->second.contains(other.driver_text) || !slice.names_silicon || !faces(slice).any(local)) return;
    const Entry rival{other.id, other.ref_of(first + local), &slice, local, false};
    if (conflict(*entry, rival) && (found.empty() || other.driver_text < found)) found = other.driver_text;
  });
  return found;
}

// Every held name that is published on the node or recorded there; kNone: that has no node.
std::vector<Silicon::Held> Silicon::held_near(NodeId node) const {
  std::vector<Held> out;
  std::set<Name> seen;
  const auto add = [&](const Pool& pool, StrId device) {
    const auto holders = pool.holders.find(device);
    if (holders != pool.holders.end() && seen.emplace(pool.id, device).second)
      out.push_back({&pool, device, &holders->second});
  };
  const auto add_entries = [&](const NodeState& of) {
    for (const Entry& entry : of.entries) add(pool_of(entry), entry.slice->names[entry.local]);
  };
  const auto add_record = [&](const Pool& pool, StrId device, const HolderRef&) { add(pool, device); };
  add_entries(wide_);
  each_record_at("", add_record);
  if (node != kNone) {
    if (node < nodes_.size() && nodes_[node]) add_entries(*nodes_[node]);
    each_record_at(device_index_.node_name(node), add_record);
    return out;
  }
  for (const auto& of : nodes_)
    if (of) add_entries(*of);
  for (const auto& [at, names] : records_) each_record_at(at, add_record);
  return out;
}

std::vector<Silicon::Double> Silicon::doubles(const Pool& pool, StrId device, bool observed_only) const {
  std::vector<Double> out;
  if (silicon_slices_ == 0 && records_.empty()) return out;
  const auto concerned = [&](const HolderRef& holder) { return counts(holder) && (holder.observed || !observed_only); };
  const auto holders_of = [&](const std::vector<HolderRef>& all) {
    std::vector<ClaimIndex> claims;
    for (const HolderRef& holder : all)
      if (concerned(holder)) claims.push_back(holder.claim);
    return claims;
  };
  // All that is known of a name: what is published, and what the allocations concerned recorded; under all its types.
  // Not what one recorded that excludes nobody: a decision about a share beside it does not look at that, either.
  struct Known {
    std::vector<Face> faces;
    std::vector<StrId> types;
  };
  const auto known_of = [&](const Pool& of, StrId name, const std::vector<HolderRef>& all) {
    Known known;
    of.for_each_named(name, [&](uint32_t number) {
      uint32_t local;
      const SliceTable& slice = of.slice_of(number, &local);
      if (!slice.names_silicon || !faces(slice).any(local)) return;
      known.faces.push_back(faces(slice).face(local));
      known.types.push_back(faces(slice).type(local));
    });
    for (const HolderRef& holder : all) {
      if (holder.record == nullptr || !concerned(holder)) continue;
      known.faces.push_back(holder.record->face());
      known.types.push_back(holder.record->type);
    }
    return known;
  };
  const auto held = pool.holders.find(device);
  if (held == pool.holders.end()) return out;
  const std::vector<ClaimIndex> claims = holders_of(held->second);
  const Known known = known_of(pool, device, held->second);
  if (claims.empty() || known.faces.empty()) return out;
  std::set<NodeId> nodes;
  for (const Face& face : known.faces)
    nodes.insert(face.node == kNoNumber ? kNone : device_index_.find_node(strings_.text(face.node)));
  const auto compare = [&](const Held& other) {
    const std::vector<ClaimIndex> others = holders_of(*other.holders);
    if (others.empty()) return;
    const Known theirs = known_of(*other.pool, other.device, *other.holders);
    bool may = other.pool != &pool;
    for (const StrId a : known.types)
      for (const StrId b : theirs.types) may = may || exclusive(pool, a, b);
    std::vector<std::string> values;
    for (size_t a = 0; may && a < known.faces.size(); ++a)
      for (const Face& b : theirs.faces) append_shared(known.faces[a], b, values);
    if (values.empty()) return;
    out.push_back({{pool.driver_text, pool.name_text, std::string(strings_.text(device))},
                   {other.pool->driver_text, other.pool->name_text, std::string(strings_.text(other.device))},
                   *std::min_element(values.begin(), values.end()),
                   claims,
                   others});
  };
  std::set<Name> compared{{pool.id, device}};
  for (const NodeId node : nodes) {
    const bool plain = node != kNone && wide_.entries.empty() && !records_.contains("") &&
                       (node >= nodes_.size() || !nodes_[node] || !nodes_[node]->full);
    if (plain) continue;
    for (const Held& other : held_near(node))
      if (compared.emplace(other.pool->id, other.device).second) compare(other);
  }
  return out;
}

Silicon::Findings Silicon::findings() const {
  Findings out;
  for (PoolId id = 0; id < device_index_.pool_slots(); ++id) {
    const Pool* pool = device_index_.pool(id);
    if (pool == nullptr) continue;
    const auto name_of = [&](StrId device) {
      return DeviceName{pool->driver_text, pool->name_text, std::string(strings_.text(device))};
    };
    for (const auto& [slice_name, slice] : pool->slices()) {
      if (!slice->names_silicon) continue;
      for (const auto& [local, key] : faces(*slice).malformed())
        out.malformed.emplace_back(name_of(slice->names[local]), strings_.text(key));
    }
    for (const auto& [device, holders] : pool->holders) {
      bool published = false, recorded = false, changed = false;
      std::vector<Value> now;
      pool->for_each_named(device, [&](uint32_t number) {
        published = true;
        uint32_t local;
        const SliceTable& slice = pool->slice_of(number, &local);
        if (!slice.names_silicon) return;
        const Face face = faces(slice).face(local);
        now.insert(now.end(), face.own.begin(), face.own.end());
      });
      for (const HolderRef& holder : holders) {
        if (holder.record == nullptr) continue;
        recorded = true;
        for (const Value& value : holder.record->own) {
          const bool some =
              std::any_of(now.begin(), now.end(), [&](const Value& one) { return one.space == value.space; });
          changed = changed || (some && std::find(now.begin(), now.end(), value) == now.end());
        }
      }
      if (changed) out.changed.push_back(name_of(device));
      if (!published && !recorded) out.unknown.push_back(name_of(device));
    }
  }
  std::sort(out.malformed.begin(), out.malformed.end());
  out.malformed.erase(std::unique(out.malformed.begin(), out.malformed.end()), out.malformed.end());
  std::sort(out.changed.begin(), out.changed.end());
  std::sort(out.unknown.begin(), out.unknown.end());
  return out;
}

}  // namespace dra::inventory
