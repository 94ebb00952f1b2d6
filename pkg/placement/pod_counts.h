// PodCounts: how many pods match a selector, by node, kept up to date with every pod.
//
//   SetId labels = counts.acquire("default", pod.metadata.labels);  // pods with equal labels share it
//   counts.add(labels, node, terminating, +1);
//   for (const auto& [node, count] : counts.matching(query)) ...
//
// A query is first answered from all label sets of its namespaces and kept up to date from then on: a pod then costs
// only the queries that it matches. All queries together take at most kMaxBytes, whatever pods ask: those not used for
// longest are forgotten, and when half of the bytes are taken a query is kept only if it is asked again, so that
// selectors used once do not displace others. Pods whose labels are not kept (api/pod_bounds.h) match no query;
// unknown() has them. Not thread-safe.
#pragma once

#include <cstdint>
#include <deque>
#include <list>
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
  static constexpr size_t kMaxQueries = 1024;  // a pod that all of them match costs tens of microseconds
  static constexpr size_t kMaxBytes = size_t{16} << 20;
  // A query that this many decisions have not used is forgotten.
  static constexpr uint64_t kIdleDecisions = 1024;
  static constexpr size_t kLittleBytes = size_t{128} << 10;

  struct Count {
    int32_t running = 0;
    int32_t terminating = 0;  // with a deletionTimestamp
    int64_t all() const { return int64_t{running} + terminating; }
  };
  using PerNode = std::unordered_map<NodeIndex, Count>;

  explicit PodCounts(size_t max_bytes = kMaxBytes) : max_bytes_(max_bytes) {}

  // Each acquire() needs one release(); remove all pods of the set before the last one.
  SetId acquire(const std::string& ns, const api::StringMap& labels);
  // For a pod whose labels are unknown.
  SetId acquire_unknown(const std::string& ns);
  void release(SetId set);
  void add(SetId set, NodeIndex node, bool terminating, int32_t change);

  // Valid until the next call of any function that is not const.
  const PerNode& matching(const PodQuery& query);
  // The pods that the query might count, because their labels are unknown. Each may match or not.
  PerNode unknown(const PodQuery& query) const;
  // Once per decision: forgets the queries that are too many, too large or idle.
  void trim();
  // The number of the current decision.
  uint64_t decision() const { return decisions_; }
  // Forgets one query that no decision has used since that one. False if there is none, or if all together take little.
  bool forget_one_unused_since(uint64_t decision);

  size_t sets() const { return by_text_.size(); }
  // The label sets that a query of these namespaces is compared with when it is first answered.
  size_t sets_in(const NamespaceSet& namespaces) const;
  size_t queries() const { return query_by_text_.size(); }
  // What the queries take, an upper estimate.
  size_t bytes() const { return bytes_; }
  // How many queries the label sets list as theirs.
  size_t links() const;

 private:
  using QueryId = uint32_t;
  // A label set and a query that matches it list each other. `back` is the place in the list of the other, so that
  // either end is removed without a search.
  struct Link {
    uint32_t other = 0;
    uint32_t back = 0;
  };
  struct LabelSet {
    std::string text;
    std::string ns;
    api::StringMap labels;
    bool unknown = false;
    uint32_t users = 0;
    PerNode pods;
    std::vector<Link> queries;
  };
  struct Query {
    PodQuery query;
    std::string text;
    PerNode pods;
    std::vector<Link> sets;
    size_t own_bytes = 0;  // without `pods` and `sets`
    uint64_t last_use = 0;
    std::list<QueryId>::iterator age;
  };

  SetId acquire(std::string text, const std::string& ns, const api::StringMap* labels);
  static void change(PerNode& pods, NodeIndex node, int32_t running, int32_t terminating);
  template <class F>
  void each_set_in(const NamespaceSet& namespaces, F&& f) const;
  void try_bucket(const std::string& anchor, SetId set);
  void link(SetId set, QueryId query);
  void unlink_set(SetId set);
  void unlink_query(QueryId query);
  bool asked_before(const std::string& text);
  const PerNode& store(const PodQuery& query, std::string text, const std::vector<SetId>& sets, PerNode pods);
  void forget(QueryId id);

  size_t max_bytes_;
  size_t bytes_ = 0;
  std::vector<LabelSet> sets_;
  std::vector<SetId> free_;
  std::unordered_map<std::string, SetId> by_text_;
  std::unordered_map<std::string, std::unordered_set<SetId>> by_namespace_;
  std::unordered_map<std::string, SetId> unknown_;  // by namespace; these sets are not in by_namespace_
  std::deque<Query> queries_;
  std::vector<QueryId> free_queries_;
  std::list<QueryId> by_age_;  // the most recently used first
  std::unordered_map<std::string, QueryId> query_by_text_;
  std::unordered_map<std::string, std::vector<QueryId>> by_anchor_;  // "": without one
  std::vector<size_t> asked_;  // hashes of queries that were answered and not kept
  PerNode answer_;             // of such a query
  uint64_t decisions_ = 0;
};

}  // namespace dra::placement
