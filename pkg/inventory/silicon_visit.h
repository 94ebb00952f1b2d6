// Loops of Silicon over devices and records, for its own files alone.
#pragma once

#include <string>

#include "pkg/inventory/device_index.h"
#include "pkg/inventory/silicon.h"

namespace dra::inventory {

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

}  // namespace dra::inventory
