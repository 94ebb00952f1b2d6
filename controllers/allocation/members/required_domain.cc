#include "controllers/allocation/members/required_domain.h"

#include "pkg/api/topology_level.h"
#include "pkg/gang/levels.h"

namespace dra::allocation {

const std::optional<std::string>& RequiredDomain::of(const std::string& node) {
  const auto [known, made] = paths_.try_emplace(node);
  if (made)
    known->second =
        gang::path_of(*topology_.required, [&](uint32_t level) { return value_of(node, topology_.levels[level]); });
  return known->second;
}

std::optional<std::string> RequiredDomain::of_most(const std::vector<std::string>& nodes) {
  std::map<std::string, size_t> counts;
  size_t most = 0;
  for (const std::string& node : nodes)
    if (const std::optional<std::string>& path = of(node)) most = std::max(most, ++counts[*path]);
  for (const std::string& node : nodes)
    if (const std::optional<std::string>& path = of(node); path && counts[*path] == most) return path;
  return std::nullopt;
}

std::optional<std::string> RequiredDomain::value_of(const std::string& node, const std::string& key) const {
  if (key.starts_with(api::kAttributeLevel)) return gang::attribute_of_node(inventory_, inventory_.node_id(node), key);
  const api::Node* known = view_.node(node);
  if (known == nullptr) return std::nullopt;
  const auto label = known->metadata.labels.find(key);
  return label == known->metadata.labels.end() ? std::nullopt : std::optional(label->second);
}

}  // namespace dra::allocation
