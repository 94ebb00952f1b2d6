// FreeGroups::gaps(): where devices of one request are free and those of another are not.
#include <algorithm>
#include <map>

#include "pkg/allocator/explain/free_groups.h"
#include "pkg/inventory/value_code.h"

namespace dra::allocator {

using inventory::NodeId;
using inventory::Pool;

namespace {

// The texts of a column's values by number, from the devices that have one value alone.
std::map<uint32_t, std::string> texts_of_values(const inventory::DeviceIndex& device_index, NodeId node,
                                                const Column& column, inventory::StrId key) {
  std::map<uint32_t, std::string> texts;
  uint32_t local = 0;
  for (const inventory::Segment& segment : device_index.view(node).segments) {
    const Pool& pool = *device_index.pool(segment.pool);
    for (uint32_t device = 0; device < pool.words() * 64; ++device, ++local) {
      if (device >= pool.size() || column.missing(local) || (column.value[local] & kListFlag) != 0) continue;
      const inventory::StrId value = pool.attribute(device, key);
      if (value != inventory::kNoStr && !texts.contains(column.value[local]))
        texts[column.value[local]] = inventory::value_text(device_index.strings().text(value));
    }
  }
  return texts;
}

std::string unquoted(std::string text) {
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"') text = text.substr(1, text.size() - 2);
  return text;
}

}  // namespace

std::string FreeGroups::gaps(const PlanPairs& entry, const PairRule& rule, NodeId node) {
  if (!device_index_.knows(node) || meter_.stopped() || rule.terms.size() < 2) return "";
  const PlanColumn& key = plan_.columns[entry.column];
  const Column& column = columns_.get(device_index_.view(node), key.key, key.which);
  std::vector<GroupTerm> terms;
  if (!add_terms(entry, node, column, terms)) return "";
  std::map<uint32_t, std::vector<uint32_t>> free;  // by value: devices of each term
  for (size_t t = 0; t < terms.size(); ++t)
    for (const GroupDevice& device : terms[t].free) {
      if (device.end - device.begin != 1) return "";
      std::vector<uint32_t>& counts = free[*device.begin];
      counts.resize(terms.size());
      ++counts[t];
    }
  const std::map<uint32_t, std::string> texts = texts_of_values(device_index_, node, column, key.key);
  const std::string name = rule.attribute.substr(rule.attribute.rfind('/') + 1);
  std::vector<std::string> found;
  for (const auto& [value, counts] : free) {
    const auto most = std::max_element(counts.begin(), counts.end());
    const auto none = std::find(counts.begin(), counts.end(), 0u);
    const auto text = texts.find(value);
    if (none == counts.end() || text == texts.end()) continue;
    found.push_back(std::to_string(*most) + " " + rule.terms[static_cast<size_t>(most - counts.begin())].name + " of " +
                    name + " " + unquoted(text->second) + (*most == 1 ? " has" : " have") + " no free " +
                    rule.terms[static_cast<size_t>(none - counts.begin())].name);
  }
  std::sort(found.begin(), found.end());
  std::string out;
  for (size_t i = 0; i < std::min(found.size(), kMostGaps); ++i) out += (i == 0 ? "" : ", ") + found[i];
  const size_t more = found.size() - std::min(found.size(), kMostGaps);
  return more == 0 ? out : out + ", and " + std::to_string(more) + (more == 1 ? " value" : " values") + " more";
}

}  // namespace dra::allocator
