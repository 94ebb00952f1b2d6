#include "pkg/protocol/topology.h"

#include <algorithm>

#include "pkg/api/topology_level.h"
#include "pkg/base/strings.h"

namespace dra::protocol {

TopologyWish topology_wish(const api::StringMap& annotations) {
  TopologyWish wish;
  const auto read = [&](std::string_view annotation, std::string& out) {
    const auto text = annotations.find(std::string(annotation));
    if (text == annotations.end() || text->second.empty()) return;
    if (api::topology_level_problems(text->second).empty()) {
      out = text->second;
      return;
    }
    constexpr size_t kShown = 64;
    wish.ignored += (wish.ignored.empty() ? "" : "; ") + std::string("annotation ") + std::string(annotation) + ": " +
                    quote(text->second.substr(0, kShown)) +
                    " is neither the key of a label nor attribute:<domain>/<name>";
  };
  read(kTopologyRequiredAnnotation, wish.required);
  read(kTopologyPreferredAnnotation, wish.preferred);
  return wish;
}

std::vector<std::string> levels_for(const TopologyWish& wish, const std::vector<std::string>& levels) {
  const auto has = [&](const std::string& key) {
    return key.empty() || std::find(levels.begin(), levels.end(), key) != levels.end();
  };
  if (has(wish.required) && has(wish.preferred)) return levels;
  std::vector<std::string> own;
  for (const std::string& key : {wish.required, wish.preferred})
    if (!key.empty() && std::find(own.begin(), own.end(), key) == own.end()) own.push_back(key);
  return own;
}

}  // namespace dra::protocol
