#include "pkg/allocator/nodes/node_marks.h"

namespace dra::allocator {

void NodeMarks::follow() {
  changed_.resize(device_index_.node_slots(), 0);
  tables_.resize(device_index_.pool_slots(), 0);
  bool all = nodes_version_ != device_index_.nodes_version() || seen_ < device_index_.changes_begin();
  nodes_version_ = device_index_.nodes_version();
  if (seen_ == device_index_.changes_end() && !all) return;
  ++now_;
  seen_ = std::max(seen_, device_index_.changes_begin());
  for (; seen_ < device_index_.changes_end(); ++seen_) {
    const inventory::PoolId id = device_index_.change(seen_);
    const inventory::Pool* pool = device_index_.pool(id);
    const inventory::NodeId node = pool == nullptr || pool->local_node == inventory::kNoStr
                                       ? inventory::kNone
                                       : device_index_.find_node(pool->local_node_text);
    if (node == inventory::kNone || tables_[id] != pool->table_version)
      all = true;
    else
      changed_[node] = now_;
    if (pool != nullptr) tables_[id] = pool->table_version;
  }
  if (all) all_changed_ = now_;
}

}  // namespace dra::allocator
