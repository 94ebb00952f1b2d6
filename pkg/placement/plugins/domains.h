// Domains: the values of one topology key, with a number for each. Internal to pkg/placement.
//
// A node that lacks the key is in no domain; domain_of() is then 0, which belongs to no value.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "pkg/placement/cluster.h"

namespace dra::placement {

struct Domains {
  Domains(const Cluster& cluster, const std::string& topology_key)
      : key(topology_key), column(&cluster.column(topology_key)), sums(column->values.size() + 1) {}

  bool has(NodeIndex node) const { return column->value_of(node) != LabelColumn::kNone; }
  size_t domain_of(NodeIndex node) const { return static_cast<size_t>(column->value_of(node) + 1); }
  int64_t sum_of(NodeIndex node) const { return sums[domain_of(node)]; }
  // Ignores nodes without the key and nodes that are not known.
  void add(NodeIndex node, int64_t amount) {
    if (has(node)) sums[domain_of(node)] += amount;
  }

  std::string key;
  const LabelColumn* column;
  std::vector<int64_t> sums;  // by domain; [0] is not used by add()
};

// One Domains per key.
class DomainsByKey {
 public:
  explicit DomainsByKey(const Cluster& cluster) : cluster_(cluster) {}
  Domains& of(const std::string& key) {
    for (Domains& one : all_)
      if (one.key == key) return one;
    return all_.emplace_back(cluster_, key);
  }
  const std::deque<Domains>& all() const { return all_; }

 private:
  const Cluster& cluster_;
  std::deque<Domains> all_;  // references stay valid
};

}  // namespace dra::placement
