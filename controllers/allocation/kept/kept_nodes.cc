#include "controllers/allocation/kept/kept_nodes.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "controllers/allocation/options.h"
#include "controllers/allocation/protocol.h"

namespace dra::allocation {

using namespace protocol;
using namespace reconcile;

bool KeptNodes::keep(const std::string& group, One one, size_t all_nodes) {
  const auto known = kept_.find(group);
  one.began = known == kept_.end() ? one.since : known->second.began;
  if (one.since - one.began > kLongest) return false;  // tidy() ends it
  // The first entry of a namespace, by rank, is not limited: a group may need most of the cluster.
  std::set<std::string_view> of_others(one.nodes.begin(), one.nodes.end());
  bool is_first = true;
  for (const auto& [name, other] : kept_) {
    if (name == group || other.ns != one.ns || other.nodes.empty()) continue;
    is_first = is_first && one.rank < other.rank;
    of_others.insert(other.nodes.begin(), other.nodes.end());
  }
  if (!is_first && 2 * of_others.size() > all_nodes) {
    if (known != kept_.end()) kept_.erase(known);
    return false;
  }
  kept_.insert_or_assign(group, std::move(one));
  if (kept_.size() <= kMost) return true;
  std::map<std::string_view, size_t> of_namespace;
  for (const auto& [name, other] : kept_) ++of_namespace[other.ns];
  const auto last = std::max_element(kept_.begin(), kept_.end(), [&](const auto& a, const auto& b) {
    const size_t of_a = of_namespace[a.second.ns], of_b = of_namespace[b.second.ns];
    return of_a != of_b ? of_a < of_b : a.second.rank < b.second.rank;
  });
  const bool kept = last->first != group;
  kept_.erase(last);
  return kept;
}

const KeptNodes::One* KeptNodes::keeps(std::string_view node, const api::Pod& pod, const std::string& group) const {
  const auto own = group.empty() ? kept_.end() : kept_.find(group);
  for (const auto& [name, one] : kept_) {
    if (name == group || pod.priority > one.priority || !one.nodes.contains(node)) continue;
    if (own != kept_.end() && own->second.rank < one.rank) continue;
    return &one;
  }
  return nullptr;
}

void KeptNodes::tidy(const View& view, const Options& options) {
  const auto lasts = [&](const One& one) { return view.now() - one.began; };
  for (auto& [group, one] : kept_)
    if (lasts(one) > kLongest) one.nodes.clear();
  std::erase_if(kept_, [&](const auto& entry) {
    const One& one = entry.second;
    const api::Pod* pod = view.pod(one.pod);
    if (pod == nullptr || pod->metadata.uid != one.pod_uid) return true;
    if (one.nodes.empty() ? lasts(one) > kLongest + kRest : view.now() - one.since > kForget) return true;
    const Role role = role_of(*pod, options);
    return role != Role::kGated && role != Role::kToBind;
  });
}

}  // namespace dra::allocation
