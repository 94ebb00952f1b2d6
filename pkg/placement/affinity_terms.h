// AffinityTerms: the inter-pod affinity terms of the pods on nodes: for each distinct term, on which nodes, how often.
//
// Pods of one workload have equal terms, so a pending pod is matched against a few terms instead of all pods. A term is
// looked up by the label that its selector requires. Not thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "pkg/api/core.h"
#include "pkg/placement/label_columns.h"
#include "pkg/placement/selector.h"

namespace dra::placement {

// A term of a pod, parsed.
struct AffinityTerm {
  std::string topology_key;
  std::vector<std::string> namespaces;  // sorted; the pod's own where the term names none and selects none
  Selector namespace_selector;
  Selector selector;

  static AffinityTerm of(const api::PodAffinityTerm& term, const std::string& own_namespace);
  // Whether the term matches a pod with these labels in a namespace of this name and labels.
  bool matches(const std::string& ns, const api::StringMap& ns_labels, const api::StringMap& labels) const;
  // It selects namespaces by label: some but not all of them.
  bool reads_namespace_labels() const;
  std::string text() const;
};

class AffinityTerms {
 public:
  using TermId = uint32_t;
  // One term of one pod: required anti-affinity counts 1; what preferred terms, and required affinity (with weight 1),
  // add to the score of a pod that the term matches.
  struct Carried {
    TermId term = 0;
    int32_t anti = 0;
    int64_t weight = 0;
    bool operator==(const Carried&) const = default;
  };
  struct Totals {
    int64_t anti = 0;
    int64_t weight = 0;
    uint32_t pods = 0;
  };
  struct Entry {
    AffinityTerm term;
    std::string text;
    uint32_t users = 0;
    std::unordered_map<NodeIndex, Totals> on_nodes;
  };

  // Adds the terms of a pod, each until release().
  std::vector<Carried> acquire(const api::Pod& pod);
  void release(const std::vector<Carried>& carried);
  void add(const std::vector<Carried>& carried, NodeIndex node, int64_t sign);

  // The terms that match a pod with these labels in this namespace. Valid until the next change.
  std::vector<const Entry*> matching(const std::string& ns, const api::StringMap& ns_labels,
                                     const api::StringMap& labels) const;
  // Whether the labels of its namespace decide if some term matches a pod with these labels.
  bool depend_on_labels_of(const std::string& ns, const api::StringMap& labels) const;
  size_t terms() const { return by_text_.size(); }

 private:
  TermId acquire(AffinityTerm term);
  // Those whose anchor is among the labels, or that have none.
  template <class F>
  void each_near(const api::StringMap& labels, F&& f) const;

  std::vector<Entry> entries_;
  std::vector<TermId> free_;
  std::unordered_map<std::string, TermId> by_text_;
  std::unordered_map<std::string, std::vector<TermId>> by_anchor_;
  size_t selecting_ = 0;
};

}  // namespace dra::placement
