#include "pkg/allocator/search/refutations.h"

#include <algorithm>

namespace dra::allocator {

Refutations::Nodes& Refutations::of(const std::string& shape) {
  if (shapes_.size() >= kMaxShapes && !shapes_.contains(shape)) drop_oldest();
  Nodes& nodes = shapes_[shape];
  nodes.last_used_ = ++clock_;
  bool afresh = nodes.seen_ < device_index_.changes_begin() || nodes.moves_ != device_index_.moves_version();
  for (uint64_t at = nodes.seen_; at < device_index_.changes_end() && !afresh; ++at) {
    const inventory::Pool* pool = device_index_.pool(device_index_.change(at));
    if (pool == nullptr || pool->local_node == inventory::kNoStr) {
      // Removed, or on several nodes: unknown which nodes it affected. A pool without devices affects none.
      afresh = pool == nullptr || pool->size() > 0;
      continue;
    }
    const inventory::NodeId node = device_index_.find_node(device_index_.strings().text(pool->local_node));
    nodes.refuted.remove(node);
    nodes.undecided.remove(node);
    if (node == nodes.begun) forget_begun(nodes);
  }
  if (afresh) {
    nodes.refuted.clear();
    nodes.undecided.clear();
    forget_begun(nodes);
  }
  nodes.seen_ = device_index_.changes_end();
  nodes.moves_ = device_index_.moves_version();
  return nodes;
}

std::unordered_map<std::string, Refutations::Nodes>::iterator Refutations::oldest() {
  return std::min_element(shapes_.begin(), shapes_.end(),
                          [](const auto& a, const auto& b) { return a.second.last_used_ < b.second.last_used_; });
}

void Refutations::drop_oldest() {
  const auto dropped = oldest();
  forget_begun(dropped->second);
  shapes_.erase(dropped);
}

void Refutations::forget_begun(Nodes& nodes) {
  nodes.begun = inventory::kNone;
  nodes.begun_steps = 0;
  deferred_frees_.add(nodes.dead, 1);
}

void Refutations::clear() {
  for (auto& [shape, nodes] : shapes_) forget_begun(nodes);
  deferred_frees_.add(shapes_, 4);
}

// Drops the dead states of the least recently continued searches: those searches start over.
void Refutations::trim() {
  size_t bytes = 0;
  for (const auto& [shape, nodes] : shapes_) bytes += shape.size();
  for (; bytes > kMaxShapeBytes; drop_oldest()) bytes -= oldest()->first.size();
  size_t states = 0;
  for (const auto& [shape, nodes] : shapes_) states += nodes.dead.size();
  while (states > kMaxDeadStates) {
    Nodes* oldest = nullptr;
    for (auto& [shape, nodes] : shapes_)
      if (!nodes.dead.empty() && (oldest == nullptr || nodes.last_used_ < oldest->last_used_)) oldest = &nodes;
    states -= oldest->dead.size();
    forget_begun(*oldest);
  }
}

}  // namespace dra::allocator
