#include "pkg/placement/pod_counts.h"

#include <algorithm>

namespace dra::placement {
namespace {

std::string label_set_text(const std::string& ns, const api::StringMap& labels) {
  std::string out = ns;
  for (const auto& [key, value] : labels) out += '\x1e' + anchor_text(key, value);
  return out;
}

// Each part's anchor is a label of every matching pod; the first is enough.
const std::string& anchor_of(const PodQuery& query) {
  static const std::string kNoAnchor;
  for (const PodQuery::Part& part : query.parts)
    if (!part.selector.anchor().empty()) return part.selector.anchor();
  return kNoAnchor;
}

}  // namespace

bool PodQuery::matches(const std::string& ns, const api::StringMap& labels) const {
  return std::all_of(parts.begin(), parts.end(),
                     [&](const Part& part) { return part.namespaces.contains(ns) && part.selector.matches(labels); });
}

std::string PodQuery::text() const {
  std::string out;
  for (const Part& part : parts) {
    part.namespaces.append_to(out);
    out += part.selector.text();
    out += '\x1d';
  }
  return out;
}

void PodCounts::change(PerNode& pods, NodeIndex node, int32_t running, int32_t terminating) {
  const auto entry = pods.try_emplace(node).first;
  entry->second.running += running;
  entry->second.terminating += terminating;
  if (entry->second.running == 0 && entry->second.terminating == 0) pods.erase(entry);
}

void PodCounts::try_bucket(const std::string& anchor, LabelSet& set) const {
  const auto found = by_anchor_.find(anchor);
  if (found == by_anchor_.end()) return;
  for (const QueryId id : found->second)
    if (queries_.at(id).query.matches(set.ns, set.labels)) set.queries.push_back(id);
}

PodCounts::SetId PodCounts::acquire(const std::string& ns, const api::StringMap& labels) {
  std::string text = label_set_text(ns, labels);
  if (const auto known = by_text_.find(text); known != by_text_.end()) {
    ++sets_[known->second].users;
    return known->second;
  }
  SetId id = 0;
  if (free_.empty()) {
    id = static_cast<SetId>(sets_.size());
    sets_.emplace_back();
  } else {
    id = free_.back();
    free_.pop_back();
  }
  LabelSet& set = sets_[id];
  set = {std::move(text), ns, labels, 1, {}, {}};
  by_text_.emplace(set.text, id);
  by_namespace_[ns].insert(id);
  try_bucket("", set);
  for (const auto& [key, value] : labels) try_bucket(anchor_text(key, value), set);
  return id;
}

void PodCounts::release(SetId id) {
  LabelSet& set = sets_[id];
  if (--set.users > 0) return;
  by_text_.erase(set.text);
  const auto of_namespace = by_namespace_.find(set.ns);
  of_namespace->second.erase(id);
  if (of_namespace->second.empty()) by_namespace_.erase(of_namespace);
  set = {};
  free_.push_back(id);
}

void PodCounts::add(SetId id, NodeIndex node, bool terminating, int32_t sign) {
  LabelSet& set = sets_[id];
  const int32_t running = terminating ? 0 : sign;
  change(set.pods, node, running, sign - running);
  std::erase_if(set.queries, [&](QueryId query) {
    const auto known = queries_.find(query);
    if (known == queries_.end()) return true;
    change(known->second.pods, node, running, sign - running);
    return false;
  });
}

const PodCounts::PerNode& PodCounts::matching(const PodQuery& query) {
  std::string text = query.text();
  if (const auto known = query_by_text_.find(text); known != query_by_text_.end()) {
    Query& found = queries_.at(known->second);
    found.last_use = ++clock_;
    return found.pods;
  }
  const QueryId id = next_++;
  query_by_text_.emplace(text, id);
  bucket(anchor_of(query)).push_back(id);
  Query& made = queries_[id];
  made = {query, std::move(text), {}, ++clock_};
  const auto try_namespace = [&](const std::unordered_set<SetId>& ids) {
    for (const SetId set_id : ids) {
      LabelSet& set = sets_[set_id];
      if (!query.matches(set.ns, set.labels)) continue;
      set.queries.push_back(id);
      for (const auto& [node, count] : set.pods) change(made.pods, node, count.running, count.terminating);
    }
  };
  if (query.parts.empty() || query.parts.front().namespaces.all) {
    for (const auto& [ns, ids] : by_namespace_) try_namespace(ids);
  } else {
    for (const std::string& ns : query.parts.front().namespaces.names)
      if (const auto ids = by_namespace_.find(ns); ids != by_namespace_.end()) try_namespace(ids->second);
  }
  return made.pods;
}

void PodCounts::forget(QueryId id) {
  const auto known = queries_.find(id);
  query_by_text_.erase(known->second.text);
  const auto in_bucket = by_anchor_.find(anchor_of(known->second.query));
  std::erase(in_bucket->second, id);
  if (in_bucket->second.empty()) by_anchor_.erase(in_bucket);
  queries_.erase(known);
}

// Forgets an eighth at once: finding the oldest means visiting all of them.
void PodCounts::trim() {
  if (queries_.size() <= kMaxQueries) return;
  std::vector<std::pair<uint64_t, QueryId>> by_age;
  for (const auto& [id, query] : queries_) by_age.emplace_back(query.last_use, id);
  std::sort(by_age.begin(), by_age.end());
  by_age.resize(by_age.size() / 8);
  for (const auto& [used, id] : by_age) forget(id);
}

}  // namespace dra::placement
