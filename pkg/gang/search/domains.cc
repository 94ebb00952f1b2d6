// Session: the domains of the topology levels to try, and an upper bound on the members of each.
#include <algorithm>
#include <numeric>
#include <tuple>

#include "pkg/api/topology_level.h"
#include "pkg/gang/levels.h"
#include "pkg/gang/search/session.h"
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

std::optional<std::string> Session::path_of(NodeId node, uint32_t level, const Nodes& nodes) const {
  return gang::path_of(level, [&](uint32_t wider) { return value_of(node, wider, nodes); });
}

void Session::begin_domains(const GangRequest& request) {
  domains_.clear();
  paths_.clear();
  attributes_.clear();
  unknown_levels_.clear();
  no_domain_.clear();
  all_nodes_.clear();
  levels_left_.clear();
  counting_.reset();
  levels_ = request.topology.levels;
  std::vector<bool> seen(inventory_.device_index().node_slots(), false);
  for (const KindNodes& kind : kinds_)
    for (const NodeId node : kind.ids)
      if (!seen[node]) {
        seen[node] = true;
        all_nodes_.push_back(node);
      }
  // Narrow to wide. A preferred level that is wider than the required one has no effect.
  const std::optional<uint32_t> required = request.topology.required, preferred = request.topology.preferred;
  if (!required) levels_left_.emplace_back();
  if (!preferred && !required) return;
  const uint32_t first = std::max(preferred.value_or(0), required.value_or(0));
  for (uint32_t level = required.value_or(0); level <= first; ++level) levels_left_.emplace_back(level);
}

bool Session::make_domains(const GangRequest& request, const Nodes& nodes) {
  while (true) {
    if (!counting_) {
      if (levels_left_.empty()) break;
      counting_.emplace(Counting{.level = levels_left_.back()});
      levels_left_.pop_back();
    }
    if (!find_paths(nodes)) return false;
    if (!counting_->divided) divide(request, nodes);
    if (!count_fits()) return false;
    end_level();
  }
  prepared_ = true;
  return true;
}

bool Session::find_paths(const Nodes& nodes) {
  Counting& c = *counting_;
  if (!c.level) return true;
  while (c.next < all_nodes_.size()) {
    const NodeId node = all_nodes_[c.next++];
    if (std::optional<std::string> path = path_of(node, *c.level, nodes)) c.by_path[std::move(*path)].push_back(node);
    // An attribute is looked for among the devices of the node.
    meter_.charge(levels_[*c.level].starts_with(api::kAttributeLevel) ? 16 : 1);
    if (meter_.stopped()) return false;
  }
  return true;
}

// Makes the domains of the level, in the order of their paths, without those that the group may not go to.
void Session::divide(const GangRequest& request, const Nodes& nodes) {
  Counting& made = *counting_;
  made.divided = true;
  made.domain_of.assign(inventory_.device_index().node_slots(), kInNone);
  const std::optional<uint32_t> level = made.level;
  if (!level) {
    Domain& cluster = made.domains.emplace_back();
    cluster.nodes = all_nodes_;
    made.paths.emplace_back();
    for (const NodeId node : all_nodes_) made.domain_of[node] = 0;
    return;
  }
  const bool required = request.topology.required == level;
  if (made.by_path.empty()) {
    unknown_levels_.push_back(levels_[*level]);
    if (required) no_domain_ = "no node that its members may go to has " + words_of_level(levels_[*level]);
    return;
  }
  std::map<std::string, size_t> placed;
  for (const NodeId node : request.placed)
    if (std::optional<std::string> path = path_of(node, *level, nodes)) ++placed[std::move(*path)];
  for (auto& [path, in_it] : made.by_path) {
    const auto here = placed.find(path);
    if (required && (here == placed.end() ? 0 : here->second) < request.placed.size()) continue;
    for (const NodeId node : in_it) made.domain_of[node] = static_cast<uint32_t>(made.domains.size());
    Domain& domain = made.domains.emplace_back();
    domain.level = level;
    domain.text = levels_[*level] + "=" + *value_of(in_it.front(), *level, nodes);
    domain.holds_placed = here != placed.end();
    domain.nodes = std::move(in_it);
    made.paths.push_back(path);
  }
  if (made.domains.empty())
    no_domain_ = "no domain of the required level " + levels_[*level] + " holds the members that are placed already";
}

// Adds what fits of each kind to all domains of the level, kind by kind.
bool Session::count_fits() {
  constexpr uint64_t kMostOfNode = 1u << 16;  // nodes that no device limits count as equal
  constexpr size_t kNodesPerStep = 64;
  Counting& c = *counting_;
  if (c.domains.empty()) return true;
  for (; c.kind < kinds_.size(); ++c.kind) {
    if (meter_.stopped()) return false;
    const KindNodes& kind = kinds_[c.kind];
    const uint64_t size = table_.kinds[c.kind].members.size();
    c.now.assign(c.domains.size(), 0);
    c.at_best.assign(c.domains.size(), 0);
    for (size_t i = 0; i < kind.ids.size(); ++i) {
      const uint32_t at = c.domain_of[kind.ids[i]];
      if (at == kInNone) continue;
      c.now[at] += std::min<uint64_t>(kind.fits.now[i], size);
      c.at_best[at] += std::min<uint64_t>(kind.fits.at_best[i], size);
      c.domains[at].spare += std::min<uint64_t>(kind.fits.now[i], kMostOfNode);
    }
    for (size_t at = 0; at < c.domains.size(); ++at) {
      c.domains[at].fits += std::min({c.now[at], size, kind.fits.total_now});
      c.domains[at].at_best += std::min({c.at_best[at], size, kind.fits.total_at_best});
    }
    meter_.charge((kind.ids.size() + c.domains.size()) / kNodesPerStep + 1);
  }
  return true;
}

void Session::end_level() {
  Counting& c = *counting_;
  std::vector<size_t> order(c.domains.size());
  std::iota(order.begin(), order.end(), size_t{0});
  // The smallest with enough capacity first, so that large ones stay whole.
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    const Domain &x = c.domains[a], &y = c.domains[b];
    return std::tuple(!x.holds_placed, x.spare) < std::tuple(!y.holds_placed, y.spare);
  });
  for (const size_t at : order) {
    paths_.push_back(std::move(c.paths[at]));
    domains_.push_back(std::move(c.domains[at]));
  }
  counting_.reset();
}

// Upper bound on the members of the kind, by counting.
uint64_t Session::fit_count_of_kind(uint32_t kind, const Domain& domain) const {
  std::vector<bool> in(inventory_.device_index().node_slots(), false);
  for (const NodeId node : domain.nodes) in[node] = true;
  const uint64_t size = table_.kinds[kind].members.size();
  uint64_t sum = 0;
  for (size_t i = 0; i < kinds_[kind].ids.size() && sum < size; ++i)
    if (in[kinds_[kind].ids[i]]) sum += std::min<uint64_t>(kinds_[kind].fits.now[i], size);
  return std::min({sum, size, kinds_[kind].fits.total_now});
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
