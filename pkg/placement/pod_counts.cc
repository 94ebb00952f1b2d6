#include "pkg/placement/pod_counts.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace dra::placement {
namespace {

// Upper estimates, with the allocator's share and the slack of containers that grow.
constexpr size_t kBytesPerNode = 48;
constexpr size_t kBytesPerLink = 32;
constexpr size_t kBytesPerQuery = 768;
constexpr size_t kBytesPerPart = 256;
constexpr size_t kBytesPerNamespace = 64;
constexpr size_t kAskedSlots = 4096;
// Not the text of any label set.
constexpr const char* kUnknownLabels = "\x1f";

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

// The text is stored twice, and the selectors again as strings and lists.
size_t own_bytes_of(const PodQuery& query, const std::string& text) {
  size_t bytes = kBytesPerQuery + 6 * text.size();
  for (const PodQuery::Part& part : query.parts)
    bytes += kBytesPerPart + part.namespaces.names.size() * kBytesPerNamespace;
  return bytes;
}

// Removes the element at `at` in constant time; returns whether another one has taken its place.
template <class T>
bool drop_at(std::vector<T>& list, size_t at) {
  const bool moved = at + 1 < list.size();
  if (moved) list[at] = list.back();
  list.pop_back();
  if (list.capacity() > 16 && list.size() < list.capacity() / 4) list.shrink_to_fit();
  return moved;
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

void PodCounts::link(SetId set, QueryId query) {
  std::vector<Link>& of_set = sets_[set].queries;
  std::vector<Link>& of_query = queries_[query].sets;
  of_set.push_back({query, static_cast<uint32_t>(of_query.size())});
  of_query.push_back({set, static_cast<uint32_t>(of_set.size() - 1)});
  bytes_ += kBytesPerLink;
}

void PodCounts::unlink_set(SetId id) {
  for (const Link& link : sets_[id].queries) {
    std::vector<Link>& of_query = queries_[link.other].sets;
    if (drop_at(of_query, link.back))
      sets_[of_query[link.back].other].queries[of_query[link.back].back].back = link.back;
  }
  bytes_ -= sets_[id].queries.size() * kBytesPerLink;
  sets_[id].queries.clear();
}

void PodCounts::unlink_query(QueryId id) {
  for (const Link& link : queries_[id].sets) {
    std::vector<Link>& of_set = sets_[link.other].queries;
    if (drop_at(of_set, link.back)) queries_[of_set[link.back].other].sets[of_set[link.back].back].back = link.back;
  }
  bytes_ -= queries_[id].sets.size() * kBytesPerLink;
  queries_[id].sets.clear();
}

size_t PodCounts::links() const {
  size_t sum = 0;
  for (const LabelSet& set : sets_) sum += set.queries.size();
  return sum;
}

void PodCounts::try_bucket(const std::string& anchor, SetId id) {
  const auto found = by_anchor_.find(anchor);
  if (found == by_anchor_.end()) return;
  const LabelSet& set = sets_[id];
  for (const QueryId query : found->second)
    if (queries_[query].query.matches(set.ns, set.labels)) link(id, query);
}

PodCounts::SetId PodCounts::acquire(const std::string& ns, const api::StringMap& labels) {
  return acquire(label_set_text(ns, labels), ns, &labels);
}

PodCounts::SetId PodCounts::acquire_unknown(const std::string& ns) {
  return acquire(ns + kUnknownLabels, ns, nullptr);
}

PodCounts::SetId PodCounts::acquire(std::string text, const std::string& ns, const api::StringMap* labels) {
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
  set = {std::move(text), ns, labels ? *labels : api::StringMap(), labels == nullptr, 1, {}, {}};
  by_text_.emplace(set.text, id);
  if (set.unknown) {
    unknown_.emplace(ns, id);
    return id;
  }
  by_namespace_[ns].insert(id);
  try_bucket("", id);
  for (const auto& [key, value] : set.labels) try_bucket(anchor_text(key, value), id);
  return id;
}

void PodCounts::release(SetId id) {
  LabelSet& set = sets_[id];
  if (--set.users > 0) return;
  unlink_set(id);
  by_text_.erase(set.text);
  if (set.unknown) {
    unknown_.erase(set.ns);
  } else {
    const auto of_namespace = by_namespace_.find(set.ns);
    of_namespace->second.erase(id);
    if (of_namespace->second.empty()) by_namespace_.erase(of_namespace);
  }
  set = {};
  free_.push_back(id);
}

PodCounts::PerNode PodCounts::unknown(const PodQuery& query) const {
  PerNode out;
  for (const auto& [ns, id] : unknown_) {
    if (!std::all_of(query.parts.begin(), query.parts.end(), [&ns = ns](const PodQuery::Part& part) {
          return part.namespaces.contains(ns) && !part.selector.matches_nothing();
        }))
      continue;
    for (const auto& [node, count] : sets_[id].pods) change(out, node, count.running, count.terminating);
  }
  return out;
}

void PodCounts::add(SetId id, NodeIndex node, bool terminating, int32_t sign) {
  LabelSet& set = sets_[id];
  const int32_t running = terminating ? 0 : sign;
  change(set.pods, node, running, sign - running);
  for (const Link& link : set.queries) {
    PerNode& pods = queries_[link.other].pods;
    const size_t before = pods.size();
    change(pods, node, running, sign - running);
    bytes_ += kBytesPerNode * pods.size();
    bytes_ -= kBytesPerNode * before;
  }
}

template <class F>
void PodCounts::each_set_in(const NamespaceSet& namespaces, F&& f) const {
  if (namespaces.all) {
    for (const auto& [ns, ids] : by_namespace_) f(ids);
    return;
  }
  for (const std::string& ns : namespaces.names)
    if (const auto ids = by_namespace_.find(ns); ids != by_namespace_.end()) f(ids->second);
}

size_t PodCounts::sets_in(const NamespaceSet& namespaces) const {
  if (namespaces.all) return sets();
  size_t sum = 0;
  each_set_in(namespaces, [&](const std::unordered_set<SetId>& ids) { sum += ids.size(); });
  return sum;
}

// Remembers it. A query may be taken for one that was never asked, when another has overwritten its slot.
bool PodCounts::asked_before(const std::string& text) {
  asked_.resize(kAskedSlots);
  const size_t hash = std::hash<std::string>()(text);
  return std::exchange(asked_[hash % kAskedSlots], hash) == hash;
}

const PodCounts::PerNode& PodCounts::matching(const PodQuery& query) {
  std::string text = query.text();
  if (const auto known = query_by_text_.find(text); known != query_by_text_.end()) {
    Query& found = queries_[known->second];
    found.last_use = decisions_;
    by_age_.splice(by_age_.begin(), by_age_, found.age);
    return found.pods;
  }
  static const NamespaceSet kAll{true, {}};
  PerNode pods;
  std::vector<SetId> matched;
  each_set_in(query.parts.empty() ? kAll : query.parts.front().namespaces, [&](const std::unordered_set<SetId>& ids) {
    for (const SetId id : ids) {
      const LabelSet& set = sets_[id];
      if (!query.matches(set.ns, set.labels)) continue;
      matched.push_back(id);
      for (const auto& [node, count] : set.pods) change(pods, node, count.running, count.terminating);
    }
  });
  return store(query, std::move(text), matched, std::move(pods));
}

const PodCounts::PerNode& PodCounts::store(const PodQuery& query, std::string text, const std::vector<SetId>& sets,
                                           PerNode pods) {
  const size_t own_bytes = own_bytes_of(query, text);
  const size_t bytes = own_bytes + kBytesPerNode * pods.size() + kBytesPerLink * sets.size();
  if (bytes > max_bytes_ / 4 || (bytes_ + bytes > max_bytes_ / 2 && !asked_before(text))) {
    answer_ = std::move(pods);
    return answer_;
  }
  while (bytes_ + bytes > max_bytes_ && !by_age_.empty()) forget(by_age_.back());
  QueryId id = static_cast<QueryId>(queries_.size());
  if (free_queries_.empty()) {
    queries_.emplace_back();
  } else {
    id = free_queries_.back();
    free_queries_.pop_back();
  }
  by_anchor_[anchor_of(query)].push_back(id);
  query_by_text_.emplace(text, id);
  by_age_.push_front(id);
  Query& made = queries_[id];
  made = {query, std::move(text), std::move(pods), {}, own_bytes, decisions_, by_age_.begin()};
  bytes_ += own_bytes + kBytesPerNode * made.pods.size();
  made.sets.reserve(sets.size());
  for (const SetId set : sets) link(set, id);
  return made.pods;
}

void PodCounts::forget(QueryId id) {
  unlink_query(id);
  Query& query = queries_[id];
  bytes_ -= query.own_bytes + kBytesPerNode * query.pods.size();
  query_by_text_.erase(query.text);
  const auto bucket = by_anchor_.find(anchor_of(query.query));
  std::erase(bucket->second, id);
  if (bucket->second.empty()) by_anchor_.erase(bucket);
  by_age_.erase(query.age);
  query = {};
  free_queries_.push_back(id);
}

void PodCounts::trim() {
  ++decisions_;
  const auto idle = [this] { return queries_[by_age_.back()].last_use + kIdleDecisions < decisions_; };
  while (!by_age_.empty() && (bytes_ > max_bytes_ || queries() > kMaxQueries || idle())) forget(by_age_.back());
}

bool PodCounts::forget_one_unused_since(uint64_t decision) {
  if (bytes_ <= kLittleBytes || queries_[by_age_.back()].last_use >= decision) return false;
  forget(by_age_.back());
  return true;
}

}  // namespace dra::placement
