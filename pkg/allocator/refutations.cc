#include "pkg/allocator/refutations.h"

namespace dra::allocator {

Refutations::Nodes& Refutations::of(const std::string& shape) {
  if (shapes_.size() >= kMaxShapes && !shapes_.contains(shape)) shapes_.clear();
  Nodes& nodes = shapes_[shape];
  bool afresh = nodes.seen < core_.changes_begin() || nodes.moves != core_.moves_version();
  for (uint64_t at = nodes.seen; at < core_.changes_end() && !afresh; ++at) {
    const inventory::Pool* pool = core_.pool(core_.change(at));
    if (pool == nullptr || pool->local_node == inventory::kNoStr) {
      // Gone, or of several nodes: which of them it mattered to is not known. Without devices it mattered to none.
      afresh = pool == nullptr || pool->size() > 0;
      continue;
    }
    inventory::NodeId node = core_.find_node(core_.strings().text(pool->local_node));
    if ((node >> 6) < nodes.refuted.size()) inventory::clear_bit(nodes.refuted.data(), node);
  }
  if (afresh) nodes.refuted.clear();
  nodes.seen = core_.changes_end();
  nodes.moves = core_.moves_version();
  return nodes;
}

}  // namespace dra::allocator
