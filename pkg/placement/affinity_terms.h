// AffinityTerms: the inter-pod affinity terms of the pods on nodes: for each distinct term, on which nodes, how often.
//
// Pods of one workload have equal terms, so a pending pod is matched against a few terms instead of all pods. A term is
// looked up by the namespaces that it reaches, then by the label that its selector requires.
//
// What the matching terms add up to is kept for pods alike (Audience) and follows every pod that is placed or removed,
// so terms that a pod's labels do not decide, however many, cost only the first decision for such pods.
// Not thread-safe, const functions included.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
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
  // It matches the pod if the labels of the pod's namespace say so.
  bool depends_on_namespace(const std::string& ns, const api::StringMap& labels) const;
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

  using PerNode = std::unordered_map<NodeIndex, Totals>;
  // What the terms that match a pod add up to.
  struct Audience {
    size_t terms = 0;      // that match
    size_t selecting = 0;  // that match if the labels of the pod's namespace say so; some of them may not match now
    std::unordered_map<std::string, PerNode> on_nodes;  // by topology key
  };
  static constexpr size_t kMaxAudiences = 64;
  static constexpr size_t kMaxPlaces = 100'000;  // nodes of all audiences but the last one in use

  // For a pod with these labels in this namespace. Valid until the next call.
  const Audience& audience(const std::string& ns, const api::StringMap& ns_labels, const api::StringMap& labels) const;
  size_t terms() const { return by_text_.size(); }

 private:
  TermId acquire(AffinityTerm term);
  // Terms that reach one namespace by its name or, under kByLabels, namespaces by their labels.
  struct Scope {
    // A set, since all terms without an anchor share one entry and each must leave it without a search.
    std::unordered_map<std::string, std::unordered_set<TermId>> by_anchor;
    std::unordered_map<std::string, size_t> reads;  // label keys, and how many requirements read them
  };
  struct Cached : Audience {
    std::string text;  // of the namespace and the labels that terms read
    std::string ns;
    api::StringMap ns_labels, labels;
    std::vector<bool> matched;  // by term
    size_t places = 0;
  };
  static constexpr std::string_view kByLabels = "";  // not the name of a namespace

  void enter(TermId id, const AffinityTerm& term, const std::string& scope);
  void leave(TermId id, const AffinityTerm& term, const std::string& scope);
  // The terms of the scope whose anchor is among the labels, or that have none.
  template <class F>
  void each_near(const std::string& scope, const api::StringMap& labels, F&& f) const;
  bool reads(const std::string& scope, const std::string& key) const;
  void build(Cached& audience) const;
  void count_term(Cached& audience, TermId id, bool added) const;
  void add_to(Cached& audience, const AffinityTerm& term, NodeIndex node, const Totals& change, bool added) const;
  void trim() const;

  std::vector<std::unique_ptr<Entry>> entries_;  // by id; nullptr: free
  std::vector<TermId> free_;
  std::unordered_map<std::string, TermId> by_text_;
  std::unordered_map<std::string, Scope> scopes_;
  mutable std::list<Cached> audiences_;  // the last one used comes first
  mutable std::unordered_map<std::string, std::list<Cached>::iterator> audience_by_text_;
  mutable size_t places_ = 0;
};

}  // namespace dra::placement
