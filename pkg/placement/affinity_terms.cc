#include "pkg/placement/affinity_terms.h"

#include <algorithm>

namespace dra::placement {

bool AffinityTerm::reads_namespace_labels() const {
  return !namespace_selector.matches_nothing() && !namespace_selector.matches_everything();
}

bool AffinityTerm::depends_on_namespace(const std::string& ns, const api::StringMap& labels) const {
  return reads_namespace_labels() && selector.matches(labels) &&
         !std::binary_search(namespaces.begin(), namespaces.end(), ns);
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
    ++entries_[known->second]->users;
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
  entries_[id] = std::make_unique<Entry>(Entry{std::move(term), std::move(text), 1, {}});
  const AffinityTerm& kept = entries_[id]->term;
  if (!kept.namespace_selector.matches_nothing())
    enter(id, kept, std::string(kByLabels));
  else
    for (const std::string& ns : kept.namespaces) enter(id, kept, ns);
  for (Cached& audience : audiences_) count_term(audience, id, true);
  return id;
}

void AffinityTerms::enter(TermId id, const AffinityTerm& term, const std::string& name) {
  Scope& scope = scopes_[name];
  scope.by_anchor[term.selector.anchor()].insert(id);
  bool reads_more = false;
  for (const api::LabelSelectorRequirement& one : term.selector.requirements())
    reads_more = ++scope.reads[one.key] == 1 || reads_more;
  if (!reads_more) return;
  // Pods that were alike may not be any more.
  for (auto next = audiences_.begin(); next != audiences_.end();) {
    const auto audience = next++;
    if (name != kByLabels && audience->ns != name) continue;
    places_ -= audience->places;
    audience_by_text_.erase(audience->text);
    audiences_.erase(audience);
  }
}

void AffinityTerms::leave(TermId id, const AffinityTerm& term, const std::string& name) {
  const auto scope = scopes_.find(name);
  const auto bucket = scope->second.by_anchor.find(term.selector.anchor());
  bucket->second.erase(id);
  if (bucket->second.empty()) scope->second.by_anchor.erase(bucket);
  for (const api::LabelSelectorRequirement& one : term.selector.requirements())
    if (const auto read = scope->second.reads.find(one.key); --read->second == 0) scope->second.reads.erase(read);
  if (scope->second.by_anchor.empty()) scopes_.erase(scope);
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
    Entry& entry = *entries_[one.term];
    if (--entry.users > 0) continue;
    by_text_.erase(entry.text);
    for (Cached& audience : audiences_) count_term(audience, one.term, false);
    if (!entry.term.namespace_selector.matches_nothing())
      leave(one.term, entry.term, std::string(kByLabels));
    else
      for (const std::string& ns : entry.term.namespaces) leave(one.term, entry.term, ns);
    entries_[one.term].reset();
    free_.push_back(one.term);
  }
}

namespace {

void change_totals(AffinityTerms::PerNode& on_nodes, NodeIndex node, const AffinityTerms::Totals& change, bool added) {
  const auto totals = on_nodes.try_emplace(node).first;
  const int64_t sign = added ? 1 : -1;
  totals->second.anti += sign * change.anti;
  totals->second.weight += sign * change.weight;
  totals->second.pods += added ? change.pods : -change.pods;
  if (totals->second.pods == 0) on_nodes.erase(totals);
}

}  // namespace

void AffinityTerms::add(const std::vector<Carried>& carried, NodeIndex node, int64_t sign) {
  for (const Carried& one : carried) {
    const Totals change{one.anti, one.weight, 1};
    Entry& entry = *entries_[one.term];
    change_totals(entry.on_nodes, node, change, sign > 0);
    for (Cached& audience : audiences_)
      if (one.term < audience.matched.size() && audience.matched[one.term])
        add_to(audience, entry.term, node, change, sign > 0);
  }
}

void AffinityTerms::add_to(Cached& audience, const AffinityTerm& term, NodeIndex node, const Totals& change,
                           bool added) const {
  const auto of_key = audience.on_nodes.try_emplace(term.topology_key).first;
  const size_t before = of_key->second.size();
  change_totals(of_key->second, node, change, added);
  const size_t after = of_key->second.size();
  audience.places += after - before;
  places_ += after - before;
  if (after == 0) audience.on_nodes.erase(of_key);
}

// The term is new, or about to go; then it is on no node any more.
void AffinityTerms::count_term(Cached& audience, TermId id, bool added) const {
  const AffinityTerm& term = entries_[id]->term;
  if (audience.matched.size() <= id) audience.matched.resize(std::max<size_t>(entries_.size(), id + 1));
  const bool matches =
      added ? term.matches(audience.ns, audience.ns_labels, audience.labels) : bool{audience.matched[id]};
  if (matches) audience.terms += added ? 1 : -1;
  if (term.depends_on_namespace(audience.ns, audience.labels)) audience.selecting += added ? 1 : -1;
  audience.matched[id] = added && matches;
}

template <class F>
void AffinityTerms::each_near(const std::string& name, const api::StringMap& labels, F&& f) const {
  const auto scope = scopes_.find(name);
  if (scope == scopes_.end()) return;
  const auto visit = [&](const std::string& anchor) {
    const auto bucket = scope->second.by_anchor.find(anchor);
    if (bucket == scope->second.by_anchor.end()) return;
    for (const TermId id : bucket->second) f(id);
  };
  visit("");
  for (const auto& [key, value] : labels) visit(anchor_text(key, value));
}

bool AffinityTerms::reads(const std::string& name, const std::string& key) const {
  const auto scope = scopes_.find(name);
  return scope != scopes_.end() && scope->second.reads.contains(key);
}

void AffinityTerms::build(Cached& audience) const {
  const auto meet = [&](TermId id) {
    count_term(audience, id, true);
    if (!audience.matched[id]) return;
    for (const auto& [node, totals] : entries_[id]->on_nodes) add_to(audience, entries_[id]->term, node, totals, true);
  };
  each_near(std::string(kByLabels), audience.labels, meet);
  each_near(audience.ns, audience.labels, meet);
}

void AffinityTerms::trim() const {
  while (audiences_.size() > kMaxAudiences || (places_ > kMaxPlaces && audiences_.size() > 1)) {
    places_ -= audiences_.back().places;
    audience_by_text_.erase(audiences_.back().text);
    audiences_.pop_back();
  }
}

const AffinityTerms::Audience& AffinityTerms::audience(const std::string& ns, const api::StringMap& ns_labels,
                                                       const api::StringMap& labels) const {
  static const Audience kNone;
  if (!scopes_.contains(ns) && !scopes_.contains(std::string(kByLabels))) return kNone;
  Cached made;
  made.text = ns;
  for (const auto& [key, value] : labels) {
    if (!reads(std::string(kByLabels), key) && !reads(ns, key)) continue;
    made.labels.emplace(key, value);
    made.text += '\x1e' + anchor_text(key, value);
  }
  const auto known = audience_by_text_.find(made.text);
  if (known != audience_by_text_.end()) {
    audiences_.splice(audiences_.begin(), audiences_, known->second);
    if (audiences_.front().ns_labels == ns_labels) return audiences_.front();
    places_ -= audiences_.front().places;
    audiences_.pop_front();
    audience_by_text_.erase(known);
  }
  made.ns = ns;
  made.ns_labels = ns_labels;
  build(made);
  audiences_.push_front(std::move(made));
  audience_by_text_.emplace(audiences_.front().text, audiences_.begin());
  trim();
  return audiences_.front();
}

}  // namespace dra::placement
