// LabelColumns: the labels of all nodes as one column per key, which holds the number of each node's value.
//
// A rule that reads one label of 5,000 nodes compares small numbers instead of searching 5,000 maps. A column is made
// when its key is first needed and kept up to date from then on; trim() forgets those not used recently, so that
// selectors with ever new keys cost time, not memory. Not thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "pkg/api/meta.h"
#include "pkg/base/strings.h"

namespace dra::placement {

using NodeIndex = uint32_t;

struct LabelColumn {
  static constexpr int32_t kNone = -1;  // the node lacks the label, or is not known

  int32_t value_of(NodeIndex node) const { return node < of_node.size() ? of_node[node] : kNone; }
  int32_t find(std::string_view value) const;

  std::vector<int32_t> of_node;
  std::vector<std::string> values;  // by number; some may no longer be in use
  std::unordered_map<std::string, int32_t, StringHash, std::equal_to<>> numbers;
  uint64_t last_use = 0;
};

class LabelColumns {
 public:
  static constexpr size_t kMaxColumns = 256;

  // `labels` must live until the next call for the node; nullptr: the node was deleted.
  void set(NodeIndex node, const api::StringMap* labels);
  // The same labels are now at this address.
  void moved(NodeIndex node, const api::StringMap* labels) { labels_[node] = labels; }
  // Valid until trim().
  const LabelColumn& column(const std::string& key);
  void trim();
  size_t columns() const { return columns_.size(); }

 private:
  void put(LabelColumn& column, const std::string& key, NodeIndex node) const;

  std::vector<const api::StringMap*> labels_;
  size_t known_ = 0;
  std::unordered_map<std::string, std::unique_ptr<LabelColumn>> columns_;
  uint64_t clock_ = 0;
};

}  // namespace dra::placement
