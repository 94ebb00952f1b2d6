#include "pkg/allocator/node_index.h"

namespace dra::allocator {

const NodeCounts& NodeIndex::counts(FilterId filter, bool admin) {
  NodeCounts& counts = counts_[uint64_t{filter} * 2 + admin];
  if (!counts.made || counts.seen < core_.changes_begin()) {
    counts = NodeCounts{};
    counts.made = true;
    for (inventory::PoolId id = 0; id < core_.pool_slots(); ++id) update(counts, filter, admin, id);
  } else {
    inventory::PoolId last = inventory::kNone;
    for (uint64_t at = counts.seen; at < core_.changes_end(); ++at) {
      inventory::PoolId id = core_.change(at);
      if (id != last) update(counts, filter, admin, id);
      last = id;
    }
  }
  counts.seen = core_.changes_end();
  return counts;
}

void NodeIndex::update(NodeCounts& counts, FilterId filter, bool admin, inventory::PoolId id) {
  if (counts.by_pool.size() <= id) counts.by_pool.resize(core_.pool_slots());
  NodeCounts::Contribution& kept = counts.by_pool[id];
  NodeCounts::Contribution now;
  if (const inventory::Pool* pool = core_.pool(id); pool != nullptr && pool->size() > 0) {
    const FilterMask& mask = filters_.mask(filter, *pool);
    for (size_t w = 0; w < mask.usable.size(); ++w) {
      uint64_t word = mask.usable[w] & (admin ? ~uint64_t{0} : pool->available()[w]);
      now.candidates += static_cast<uint32_t>(std::popcount(word));
      if (!pool->any_shareable()) continue;
      for (; word != 0; word &= word - 1)
        now.shareable += pool->shareable(static_cast<uint32_t>(w * 64 + static_cast<size_t>(std::countr_zero(word))));
    }
    if (pool->local_node != inventory::kNoStr) now.node = core_.find_node(core_.strings().text(pool->local_node));
  }
  if (kept.candidates != 0) {
    if (kept.node == inventory::kNone) {
      counts.everywhere -= kept.candidates;
    } else {
      counts.by_node[kept.node] -= kept.candidates;
    }
  }
  counts.shareable += now.shareable;
  counts.shareable -= kept.shareable;
  if (now.node == inventory::kNone) {
    counts.everywhere += now.candidates;
  } else {
    if (counts.by_node.size() <= now.node) counts.by_node.resize(core_.node_count(), 0);
    counts.by_node[now.node] += now.candidates;
  }
  kept = now;
}

}  // namespace dra::allocator
