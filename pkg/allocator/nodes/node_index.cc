#include "pkg/allocator/nodes/node_index.h"

#include <algorithm>

namespace dra::allocator {

using inventory::NodeId;
using inventory::Pool;
using inventory::PoolId;

namespace {
constexpr size_t kEntriesPerStep = 128;  // of a vector that is made
}

NodeCounts* NodeIndex::counts(FilterId filter, bool admin) {
  NodeCounts& counts = counts_[uint64_t{filter} * 2 + admin];
  if (counts.last_used_ == 0 || counts.seen_ < device_index_.changes_begin()) {
    counts = NodeCounts{};
    counts.filter_ = filter;
    counts.admin_ = admin;
    counts.seen_ = device_index_.changes_end();
  }
  counts.last_used_ = ++clock_;
  filters_.touch(filter);
  for (; counts.next_ < device_index_.pool_slots() && !counts.made_; ++counts.next_)
    if (const Pool* pool = device_index_.pool(counts.next_); pool != nullptr && pool->local_node == inventory::kNoStr)
      if (!update(counts, counts.next_)) return nullptr;
  counts.made_ = true;
  PoolId last = inventory::kNone;
  for (; counts.seen_ < device_index_.changes_end(); ++counts.seen_) {
    const PoolId id = device_index_.change(counts.seen_);
    if (id != last && !note_change(counts, id)) return nullptr;
    last = id;
  }
  return &counts;
}

// A pool of a node that has not been queried yet need not be counted.
bool NodeIndex::note_change(NodeCounts& counts, PoolId id) {
  bool known = id < counts.by_pool_.size() && counts.by_pool_[id].known;
  const Pool* pool = device_index_.pool(id);
  if (!known) {
    if (pool == nullptr) return true;
    if (pool->local_node != inventory::kNoStr) {
      NodeId node = device_index_.find_node(device_index_.strings().text(pool->local_node));
      if (node >= counts.by_node_.size() || !counts.by_node_[node].asked) return true;
    }
  }
  return update(counts, id);
}

bool NodeIndex::ask(NodeCounts& counts, NodeId node) {
  if (node >= counts.by_node_.size()) {
    meter_.charge(device_index_.node_slots() / kEntriesPerStep);
    counts.by_node_.resize(device_index_.node_slots());
  }
  for (PoolId id : device_index_.pools_naming(node))
    if (device_index_.pool(id)->local_node != inventory::kNoStr && !update(counts, id)) return false;
  counts.by_node_[node].asked = true;
  return true;
}

bool NodeIndex::update(NodeCounts& counts, PoolId id) {
  if (counts.by_pool_.size() <= id) {
    meter_.charge(device_index_.pool_slots() / kEntriesPerStep);
    counts.by_pool_.resize(device_index_.pool_slots());
  }
  NodeCounts::Contribution& kept = counts.by_pool_[id];
  NodeCounts::Contribution now;
  const Pool* pool = device_index_.pool(id);
  now.known = pool != nullptr;
  if (pool != nullptr && pool->size() > 0) {
    const FilterMask* made = filters_.mask(counts.filter_, *pool);
    if (made == nullptr) return false;
    const FilterMask& mask = *made;
    for (size_t w = 0; w < pool->words(); ++w) {
      uint64_t word = mask.usable()[w] & (counts.admin_ ? ~uint64_t{0} : filters_.available(counts.filter_, *pool)[w]);
      now.candidates += static_cast<uint32_t>(std::popcount(word));
      if (!pool->any_shareable()) continue;
      for (; word != 0; word &= word - 1)
        now.shareable += pool->shareable(static_cast<uint32_t>(w * 64 + static_cast<size_t>(std::countr_zero(word))));
    }
    if (pool->local_node != inventory::kNoStr)
      now.node = device_index_.find_node(device_index_.strings().text(pool->local_node));
  }
  auto place = [&counts, this](NodeId node) -> NodeCounts::Count& {
    if (node == inventory::kNone) return counts.everywhere_;
    if (counts.by_node_.size() <= node) counts.by_node_.resize(device_index_.node_slots());
    return counts.by_node_[node];
  };
  NodeCounts::Count& before = place(kept.node);
  before.candidates -= kept.candidates;
  before.shareable -= kept.shareable;
  NodeCounts::Count& after = place(now.node);
  after.candidates += now.candidates;
  after.shareable += now.shareable;
  kept = now;
  return true;
}

void NodeIndex::trim() {
  const size_t most_bytes = max_bytes();
  size_t bytes = 0;
  auto size_of = [](const NodeCounts& counts) {
    return sizeof(NodeCounts) + counts.by_node_.capacity() * sizeof(NodeCounts::OfNode) +
           counts.by_pool_.capacity() * sizeof(NodeCounts::Contribution);
  };
  for (const auto& [key, counts] : counts_) bytes += size_of(counts);
  if (bytes <= most_bytes) return;
  std::vector<std::pair<uint64_t, uint64_t>> by_use;
  for (const auto& [key, counts] : counts_) by_use.emplace_back(counts.last_used_, key);
  std::sort(by_use.begin(), by_use.end());
  std::vector<NodeCounts> dropped;
  for (const auto& [used, key] : by_use) {
    if (bytes <= most_bytes / 2) break;
    auto it = counts_.find(key);
    bytes -= size_of(it->second);
    dropped.push_back(std::move(it->second));
    counts_.erase(it);
  }
  deferred_frees_.add(dropped, kFreesOfCounts);
}

}  // namespace dra::allocator
