#include "pkg/placement/affinity_terms.h"

#include <algorithm>

namespace dra::placement {
bool AffinityTerm::reads_namespace_labels() const {
  return !namespace_selector.matches_nothing() && !namespace_selector.matches_everything();
}

AffinityTerm AffinityTerm::of(const api::PodAffinityTerm& term, const std::string& own_namespace) {
  AffinityTerm out{term.topology_key, term.namespaces, Selector(term.namespace_selector),
                   Selector(term.label_selector)};
  if (out.namespaces.empty() && !term.namespace_selector) out.namespaces.push_back(own_namespace);
  std::sort(out.namespaces.begin(), out.namespaces.end());
  out.namespaces.erase(std::unique(out.namespaces.begin(), out.namespaces.end()), out.namespaces.end());
  return out;
}

bool AffinityTerm::matches(const std::string& ns, const api::StringMap& ns_labels, const api::StringMap& labels) const {
  return (std::binary_search(namespaces.begin(), namespaces.end(), ns) || namespace_selector.matches(ns_labels)) &&
         selector.matches(labels);
}

std::string AffinityTerm::text() const {
  std::string out = topology_key + '\x1d';
  NamespaceSet{false, namespaces}.append_to(out);
  return out + namespace_selector.text() + '\x1d' + selector.text();
}

AffinityTerms::TermId AffinityTerms::acquire(AffinityTerm term) {
  std::string text = term.text();
  if (const auto known = by_text_.find(text); known != by_text_.end()) {
    ++entries_[known->second].users;
    return known->second;
  }
  TermId id = 0;
  if (free_.empty()) {
    id = static_cast<TermId>(entries_.size());
    entries_.emplace_back();
  } else {
    id = free_.back();
    free_.pop_back();
  }
  by_text_.emplace(text, id);
  by_anchor_[term.selector.anchor()].push_back(id);
  if (term.reads_namespace_labels()) ++selecting_;
  entries_[id] = {std::move(term), std::move(text), 1, {}};
  return id;
}

std::vector<AffinityTerms::Carried> AffinityTerms::acquire(const api::Pod& pod) {
  std::vector<Carried> out;
  const auto carry = [&](const api::PodAffinityTerm& term, int32_t anti, int64_t weight) {
    AffinityTerm parsed = AffinityTerm::of(term, pod.metadata.ns);
    if (!parsed.selector.matches_nothing()) out.push_back({acquire(std::move(parsed)), anti, weight});
  };
  for (const api::PodAffinityTerm& term : pod.pod_anti_affinity.required) carry(term, 1, 0);
  for (const api::PodAffinityTerm& term : pod.pod_affinity.required) carry(term, 0, 1);
  for (const api::WeightedPodAffinityTerm& term : pod.pod_affinity.preferred) carry(term.term, 0, term.weight);
  for (const api::WeightedPodAffinityTerm& term : pod.pod_anti_affinity.preferred) carry(term.term, 0, -term.weight);
  return out;
}

void AffinityTerms::release(const std::vector<Carried>& carried) {
  for (const Carried& one : carried) {
    Entry& entry = entries_[one.term];
    if (--entry.users > 0) continue;
    by_text_.erase(entry.text);
    const auto bucket = by_anchor_.find(entry.term.selector.anchor());
    std::erase(bucket->second, one.term);
    if (bucket->second.empty()) by_anchor_.erase(bucket);
    if (entry.term.reads_namespace_labels()) --selecting_;
    entry = {};
    free_.push_back(one.term);
  }
}

void AffinityTerms::add(const std::vector<Carried>& carried, NodeIndex node, int64_t sign) {
  for (const Carried& one : carried) {
    auto& on_nodes = entries_[one.term].on_nodes;
    const auto totals = on_nodes.try_emplace(node).first;
    totals->second.anti += sign * one.anti;
    totals->second.weight += sign * one.weight;
    totals->second.pods += static_cast<uint32_t>(sign);
    if (totals->second.pods == 0) on_nodes.erase(totals);
  }
}

template <class F>
void AffinityTerms::each_near(const api::StringMap& labels, F&& f) const {
  if (by_text_.empty()) return;
  const auto visit = [&](const std::string& anchor) {
    const auto bucket = by_anchor_.find(anchor);
    if (bucket == by_anchor_.end()) return;
    for (const TermId id : bucket->second) f(entries_[id]);
  };
  visit("");
  for (const auto& [key, value] : labels) visit(anchor_text(key, value));
}

std::vector<const AffinityTerms::Entry*> AffinityTerms::matching(const std::string& ns, const api::StringMap& ns_labels,
                                                                 const api::StringMap& labels) const {
  std::vector<const Entry*> out;
  each_near(labels, [&](const Entry& entry) {
    if (entry.term.matches(ns, ns_labels, labels)) out.push_back(&entry);
  });
  return out;
}

bool AffinityTerms::depend_on_labels_of(const std::string& ns, const api::StringMap& labels) const {
  bool depends = false;
  if (selecting_ == 0) return false;
  each_near(labels, [&](const Entry& entry) {
    const AffinityTerm& term = entry.term;
    depends = depends || (term.reads_namespace_labels() && term.selector.matches(labels) &&
                          !std::binary_search(term.namespaces.begin(), term.namespaces.end(), ns));
  });
  return depends;
}

}  // namespace dra::placement
