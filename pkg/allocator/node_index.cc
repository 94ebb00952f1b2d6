#include "pkg/allocator/node_index.h"

namespace dra::allocator {

using inventory::NodeId;
using inventory::Pool;
using inventory::PoolId;

NodeCounts& NodeIndex::counts(FilterId filter, bool admin) {
  NodeCounts& counts = counts_[uint64_t{filter} * 2 + admin];
  if (!counts.made_ || counts.seen_ < core_.changes_begin()) {
    counts = NodeCounts{};
    counts.made_ = true;
    counts.filter_ = filter;
    counts.admin_ = admin;
    for (PoolId id = 0; id < core_.pool_slots(); ++id)
      if (const Pool* pool = core_.pool(id); pool != nullptr && pool->local_node == inventory::kNoStr)
        update(counts, id);
  } else {
    PoolId last = inventory::kNone;
    for (uint64_t at = counts.seen_; at < core_.changes_end(); ++at) {
      PoolId id = core_.change(at);
      if (id != last) note_change(counts, id);
      last = id;
    }
  }
  counts.seen_ = core_.changes_end();
  return counts;
}

// A pool of a node that nobody has asked for yet need not be counted.
void NodeIndex::note_change(NodeCounts& counts, PoolId id) {
  bool known = id < counts.by_pool_.size() && counts.by_pool_[id].known;
  const Pool* pool = core_.pool(id);
  if (!known) {
    if (pool == nullptr) return;
    if (pool->local_node != inventory::kNoStr) {
      NodeId node = core_.find_node(core_.strings().text(pool->local_node));
      if (node >= counts.by_node_.size() || !counts.by_node_[node].asked) return;
    }
  }
  update(counts, id);
}

void NodeIndex::ask(NodeCounts& counts, NodeId node) {
  if (node >= counts.by_node_.size()) counts.by_node_.resize(core_.node_count());
  counts.by_node_[node].asked = true;
  for (PoolId id : *core_.pools_naming(node))
    if (core_.pool(id)->local_node != inventory::kNoStr) update(counts, id);
}

void NodeIndex::update(NodeCounts& counts, PoolId id) {
  if (counts.by_pool_.size() <= id) counts.by_pool_.resize(core_.pool_slots());
  NodeCounts::Contribution& kept = counts.by_pool_[id];
  NodeCounts::Contribution now;
  const Pool* pool = core_.pool(id);
  now.known = pool != nullptr;
  if (pool != nullptr && pool->size() > 0) {
    const FilterMask& mask = filters_.mask(counts.filter_, *pool);
    for (size_t w = 0; w < pool->words(); ++w) {
      uint64_t word = mask.usable()[w] & (counts.admin_ ? ~uint64_t{0} : pool->available()[w]);
      now.candidates += static_cast<uint32_t>(std::popcount(word));
      if (!pool->any_shareable()) continue;
      for (; word != 0; word &= word - 1)
        now.shareable += pool->shareable(static_cast<uint32_t>(w * 64 + static_cast<size_t>(std::countr_zero(word))));
    }
    if (pool->local_node != inventory::kNoStr) now.node = core_.find_node(core_.strings().text(pool->local_node));
  }
  auto place = [&counts, this](NodeId node) -> NodeCounts::Count& {
    if (node == inventory::kNone) return counts.everywhere_;
    if (counts.by_node_.size() <= node) counts.by_node_.resize(core_.node_count());
    return counts.by_node_[node];
  };
  NodeCounts::Count& before = place(kept.node);
  before.candidates -= kept.candidates;
  before.shareable -= kept.shareable;
  NodeCounts::Count& after = place(now.node);
  after.candidates += now.candidates;
  after.shareable += now.shareable;
  kept = now;
}

}  // namespace dra::allocator
