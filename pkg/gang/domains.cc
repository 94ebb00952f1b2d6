// Session: the domains of the topology levels to try, and an upper bound on the members of each.
#include <algorithm>

#include "pkg/api/topology_level.h"
#include "pkg/gang/levels.h"
#include "pkg/gang/session.h"
#include "pkg/inventory/device_index.h"

namespace dra::gang {

// The value of a label or device attribute; null: by that level alone the node is in no domain.
const std::string* Session::value_of(NodeId node, uint32_t level, const Nodes& nodes) const {
  const std::string& key = levels_[level];
  if (!key.starts_with(api::kAttributeLevel)) return nodes.label(node, key);
  const auto [known, made] = attributes_.try_emplace({node, level});
  if (made) known->second = attribute_of_node(inventory_, node, key);
  return known->second ? &*known->second : nullptr;
}

// The values of the level and of all wider ones; nothing: the node is in no domain of it.
std::optional<std::string> Session::path_of(NodeId node, uint32_t level, const Nodes& nodes) const {
  std::string path;
  for (uint32_t wider = 0; wider <= level; ++wider) {
    const std::string* value = value_of(node, wider, nodes);
    if (value == nullptr && wider == level) return std::nullopt;
    path += (value == nullptr ? "-" : "=" + *value) + "\n";
  }
  return path;
}

void Session::make_domains(const GangRequest& request, const Nodes& nodes) {
  domains_.clear();
  paths_.clear();
  attributes_.clear();
  unknown_levels_.clear();
  no_domain_.clear();
  levels_ = request.topology.levels;
  std::vector<NodeId> all;
  std::vector<bool> seen(inventory_.device_index().node_count(), false);
  for (const KindNodes& kind : kinds_)
    for (const NodeId node : kind.ids)
      if (!seen[node]) {
        seen[node] = true;
        all.push_back(node);
      }
  const std::optional<uint32_t> required = request.topology.required, preferred = request.topology.preferred;
  // Narrow to wide. A preferred level that is wider than the required one has no effect.
  if (preferred || required) {
    const uint32_t first = std::max(preferred.value_or(0), required.value_or(0));
    for (uint32_t level = first + 1; level-- > required.value_or(0);) add_level(level, request, nodes, all);
  }
  if (required) return;
  Domain cluster;
  cluster.nodes = std::move(all);
  count_fits(cluster);
  domains_.push_back(std::move(cluster));
  paths_.emplace_back();
}

void Session::add_level(uint32_t level, const GangRequest& request, const Nodes& nodes,
                        const std::vector<NodeId>& all) {
  const std::string& key = levels_[level];
  std::map<std::string, Domain> by_path;
  for (const NodeId node : all)
    if (std::optional<std::string> path = path_of(node, level, nodes)) {
      Domain& domain = by_path[*path];
      if (domain.nodes.empty()) domain.text = key + "=" + *value_of(node, level, nodes);
      domain.nodes.push_back(node);
    }
  if (by_path.empty()) {
    unknown_levels_.push_back(key);
    if (request.topology.required == level)
      no_domain_ = "no node that its members may go to has " + words_of_level(key);
    return;
  }
  const bool required = request.topology.required == level;
  std::vector<std::pair<std::string, Domain>> made;
  for (auto& [path, domain] : by_path) {
    const auto here = std::count_if(request.placed.begin(), request.placed.end(),
                                    [&](NodeId node) { return path_of(node, level, nodes) == path; });
    domain.holds_placed = here > 0;
    if (required && static_cast<size_t>(here) < request.placed.size()) continue;
    domain.level = level;
    count_fits(domain);
    made.emplace_back(path, std::move(domain));
  }
  if (made.empty())
    no_domain_ = "no domain of the required level " + key + " holds the members that are placed already";
  // The smallest with enough capacity first, so that large ones stay whole.
  std::stable_sort(made.begin(), made.end(), [](const auto& a, const auto& b) {
    return std::tuple(!a.second.holds_placed, a.second.spare) < std::tuple(!b.second.holds_placed, b.second.spare);
  });
  for (auto& [path, domain] : made) {
    paths_.push_back(path);
    domains_.push_back(std::move(domain));
  }
}

// Upper bound on the members of the kind, by counting.
uint64_t Session::fit_count_of_kind(uint32_t kind, const Domain& domain) const {
  std::vector<bool> in(inventory_.device_index().node_count(), false);
  for (const NodeId node : domain.nodes) in[node] = true;
  const uint64_t size = table_.kinds[kind].members.size();
  uint64_t sum = 0;
  for (size_t i = 0; i < kinds_[kind].ids.size() && sum < size; ++i)
    if (in[kinds_[kind].ids[i]]) sum += std::min<uint64_t>(kinds_[kind].fits.now[i], size);
  return std::min({sum, size, kinds_[kind].fits.total_now});
}

void Session::count_fits(Domain& domain) {
  constexpr uint64_t kMostOfNode = 1u << 16;  // nodes that no device limits count as equal
  std::vector<bool> in(inventory_.device_index().node_count(), false);
  for (const NodeId node : domain.nodes) in[node] = true;
  for (uint32_t k = 0; k < kinds_.size(); ++k) {
    const KindNodes& kind = kinds_[k];
    const uint64_t size = table_.kinds[k].members.size();
    uint64_t now = 0, at_best = 0;
    for (size_t i = 0; i < kind.ids.size(); ++i) {
      if (!in[kind.ids[i]]) continue;
      now += std::min<uint64_t>(kind.fits.now[i], size);
      at_best += std::min<uint64_t>(kind.fits.at_best[i], size);
      domain.spare += std::min<uint64_t>(kind.fits.now[i], kMostOfNode);
    }
    domain.fits += std::min({now, size, kind.fits.total_now});
    domain.at_best += std::min({at_best, size, kind.fits.total_at_best});
    meter_.charge(kind.ids.size() / 64 + 1);
  }
}

// The domain, then wider ones around it as far as members may be placed.
std::vector<const Domain*> Session::chain_from(const Domain& domain, const Nodes& nodes) const {
  std::vector<const Domain*> chain{&domain};
  if (!domain.level || domain.nodes.empty()) return chain;
  for (size_t i = 0; i < domains_.size(); ++i) {
    const Domain& wider = domains_[i];
    const bool around =
        !wider.level || (*wider.level < *domain.level && path_of(domain.nodes[0], *wider.level, nodes) == paths_[i]);
    if (around) chain.push_back(&wider);
  }
  return chain;
}

}  // namespace dra::gang
