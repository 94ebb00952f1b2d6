// AffinityTerms: the inter-pod affinity terms that pods on nodes carry, by term: on which nodes, how many.
//
// Pods of one workload carry equal terms, so a pending pod is matched against a few terms instead of all pods. A term
// is found by the label that its selector asks for. Not thread-safe.
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
  // A pod with these labels, in a namespace of this name and labels, is one that the term means.
  bool matches(const std::string& ns, const api::StringMap& ns_labels, const api::StringMap& labels) const;
  // It selects namespaces by label: neither all nor none of them.
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

  // The terms of a pod, each held until release().
  std::vector<Carried> acquire(const api::Pod& pod);
  void release(const std::vector<Carried>& carried);
  void add(const std::vector<Carried>& carried, NodeIndex node, int64_t sign);

  // Those that mean a pod with these labels in this namespace. Valid until the next change.
  std::vector<const Entry*> matching(const std::string& ns, const api::StringMap& ns_labels,
                                     const api::StringMap& labels) const;
  // Whether some term means a pod with these labels depends on the labels of its namespace.
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
