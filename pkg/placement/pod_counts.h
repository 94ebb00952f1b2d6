// PodCounts: how many pods match a selector, by node, kept up to date with every pod.
//
//   SetId labels = counts.acquire("default", pod.metadata.labels);  // pods with equal labels share it
//   counts.add(labels, node, terminating, +1);
//   for (const auto& [node, count] : counts.matching(query)) ...
//
// A query is first answered from all label sets of its namespaces and kept up to date from then on: a pod then costs
// only the queries that it matches. trim() forgets the queries not used recently. Not thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "pkg/placement/label_columns.h"
#include "pkg/placement/selector.h"

namespace dra::placement {

// Pods that are in one of a part's namespaces and match its selector, for every part.
struct PodQuery {
  struct Part {
    NamespaceSet namespaces;
    Selector selector;
  };
  std::vector<Part> parts;

  bool matches(const std::string& ns, const api::StringMap& labels) const;
  std::string text() const;
};

class PodCounts {
 public:
  using SetId = uint32_t;
  static constexpr size_t kMaxQueries = 4096;

  struct Count {
    int32_t running = 0;
    int32_t terminating = 0;  // with a deletionTimestamp
    int64_t all() const { return int64_t{running} + terminating; }
  };
  using PerNode = std::unordered_map<NodeIndex, Count>;

  // Each acquire() needs one release(); remove all pods of the set before the last one.
  SetId acquire(const std::string& ns, const api::StringMap& labels);
  void release(SetId set);
  void add(SetId set, NodeIndex node, bool terminating, int32_t change);

  // Valid until the next call.
  const PerNode& matching(const PodQuery& query);
  void trim();

  size_t sets() const { return by_text_.size(); }
  size_t queries() const { return queries_.size(); }

 private:
  using QueryId = uint64_t;
  struct LabelSet {
    std::string text;
    std::string ns;
    api::StringMap labels;
    uint32_t users = 0;
    PerNode pods;
    std::vector<QueryId> queries;  // that match; some may be forgotten
  };
  struct Query {
    PodQuery query;
    std::string text;
    PerNode pods;
    uint64_t last_use = 0;
  };

  static void change(PerNode& pods, NodeIndex node, int32_t running, int32_t terminating);
  // The list of queries to which a query with this anchor belongs.
  std::vector<QueryId>& bucket(const std::string& anchor) { return by_anchor_[anchor]; }
  void try_bucket(const std::string& anchor, LabelSet& set) const;
  void forget(QueryId id);

  std::vector<LabelSet> sets_;
  std::vector<SetId> free_;
  std::unordered_map<std::string, SetId> by_text_;
  std::unordered_map<std::string, std::unordered_set<SetId>> by_namespace_;
  std::unordered_map<QueryId, Query> queries_;
  std::unordered_map<std::string, QueryId> query_by_text_;
  std::unordered_map<std::string, std::vector<QueryId>> by_anchor_;  // "": without one
  QueryId next_ = 1;
  uint64_t clock_ = 0;
};

}  // namespace dra::placement
