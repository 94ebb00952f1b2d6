#include "pkg/placement/node_selector.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>

namespace dra::placement {
namespace {

std::optional<int64_t> decimal_integer(const std::string& text) {
  int64_t out = 0;
  // Go's ParseInt also takes a leading plus sign.
  const char* begin = text.data() + (text.size() > 1 && text[0] == '+' && text[1] != '-' ? 1 : 0);
  const char* end = text.data() + text.size();
  auto [stopped, error] = std::from_chars(begin, end, out);
  if (error != std::errc() || stopped != end || begin == end) return std::nullopt;
  return out;
}

// `value` is nullptr when the node has no such label.
bool holds(const api::NodeSelectorRequirement& requirement, const std::string* value) {
  const auto& values = requirement.values;
  if (requirement.op == "In") return value && std::find(values.begin(), values.end(), *value) != values.end();
  if (requirement.op == "NotIn") return !value || std::find(values.begin(), values.end(), *value) == values.end();
  if (requirement.op == "Exists") return value != nullptr;
  if (requirement.op == "DoesNotExist") return value == nullptr;
  if ((requirement.op != "Gt" && requirement.op != "Lt") || !value || values.size() != 1) return false;
  const std::optional<int64_t> have = decimal_integer(*value);
  const std::optional<int64_t> bound = decimal_integer(values[0]);
  if (!have || !bound) return false;
  return requirement.op == "Gt" ? *have > *bound : *have < *bound;
}

}  // namespace

bool matches(const api::NodeSelectorTerm& term, const std::string& node_name, const api::StringMap& labels) {
  if (term.match_expressions.empty() && term.match_fields.empty()) return false;
  for (const api::NodeSelectorRequirement& requirement : term.match_expressions) {
    auto label = labels.find(requirement.key);
    if (!holds(requirement, label == labels.end() ? nullptr : &label->second)) return false;
  }
  for (const api::NodeSelectorRequirement& requirement : term.match_fields) {
    if (requirement.key != "metadata.name" || (requirement.op != "In" && requirement.op != "NotIn")) return false;
    if (!holds(requirement, &node_name)) return false;
  }
  return true;
}

bool matches(const api::NodeSelector& selector, const std::string& node_name, const api::StringMap& labels) {
  return std::any_of(selector.terms.begin(), selector.terms.end(),
                     [&](const api::NodeSelectorTerm& term) { return matches(term, node_name, labels); });
}

bool has_labels(const api::StringMap& wanted, const api::StringMap& labels) {
  return std::all_of(wanted.begin(), wanted.end(), [&](const auto& entry) {
    auto label = labels.find(entry.first);
    return label != labels.end() && label->second == entry.second;
  });
}

}  // namespace dra::placement
