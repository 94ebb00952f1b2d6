#include "pkg/placement/label_columns.h"

#include <algorithm>

namespace dra::placement {

int32_t LabelColumn::find(std::string_view value) const {
  const auto number = numbers.find(value);
  return number == numbers.end() ? kNone : number->second;
}

void LabelColumns::put(LabelColumn& column, const std::string& key, NodeIndex node) const {
  if (column.of_node.size() < labels_.size()) column.of_node.resize(labels_.size(), LabelColumn::kNone);
  int32_t& cell = column.of_node[node];
  cell = LabelColumn::kNone;
  if (!labels_[node]) return;
  const auto label = labels_[node]->find(key);
  if (label == labels_[node]->end()) return;
  const auto [entry, added] = column.numbers.emplace(label->second, static_cast<int32_t>(column.values.size()));
  if (added) column.values.push_back(label->second);
  cell = entry->second;
}

void LabelColumns::set(NodeIndex node, const api::StringMap* labels) {
  if (labels_.size() <= node) labels_.resize(node + 1, nullptr);
  known_ += (labels ? 1 : 0);
  known_ -= (labels_[node] ? 1 : 0);
  labels_[node] = labels;
  for (auto& [key, column] : columns_) put(*column, key, node);
}

const LabelColumn& LabelColumns::column(const std::string& key) {
  std::unique_ptr<LabelColumn>& column = columns_[key];
  if (!column) {
    column = std::make_unique<LabelColumn>();
    column->of_node.resize(labels_.size(), LabelColumn::kNone);
    for (NodeIndex node = 0; node < labels_.size(); ++node) put(*column, key, node);
  }
  column->last_use = ++clock_;
  return *column;
}

// Also forgets columns most of whose values no node has any more: deleted nodes leave their names behind.
void LabelColumns::trim() {
  std::erase_if(columns_, [this](const auto& entry) { return entry.second->values.size() > 2 * known_ + 64; });
  while (columns_.size() > kMaxColumns)
    columns_.erase(std::min_element(columns_.begin(), columns_.end(), [](const auto& a, const auto& b) {
      return a.second->last_use < b.second->last_use;
    }));
}

}  // namespace dra::placement
