#include "pkg/inventory/node_match.h"

#include <algorithm>
#include <charconv>

namespace dra::inventory {
namespace {

bool parse_int(std::string_view text, int64_t& out) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size();
}

// `value` is null when the label is absent.
bool requirement_holds(const api::NodeSelectorRequirement& r, const std::string_view* value) {
  auto listed = [&] { return std::find(r.values.begin(), r.values.end(), *value) != r.values.end(); };
  if (r.op == "In") return value != nullptr && listed();
  if (r.op == "NotIn") return value == nullptr || !listed();
  if (r.op == "Exists") return value != nullptr;
  if (r.op == "DoesNotExist") return value == nullptr;
  int64_t have = 0;
  int64_t bound = 0;
  if ((r.op != "Gt" && r.op != "Lt") || value == nullptr || r.values.size() != 1) return false;
  if (!parse_int(*value, have) || !parse_int(r.values[0], bound)) return false;
  return r.op == "Gt" ? have > bound : have < bound;
}

}  // namespace

bool term_matches(const api::NodeSelectorTerm& term, std::string_view node_name, const api::StringMap& labels) {
  if (term.match_expressions.empty() && term.match_fields.empty()) return false;
  for (const api::NodeSelectorRequirement& r : term.match_expressions) {
    auto it = labels.find(r.key);
    std::string_view value = it == labels.end() ? std::string_view() : std::string_view(it->second);
    if (!requirement_holds(r, it == labels.end() ? nullptr : &value)) return false;
  }
  for (const api::NodeSelectorRequirement& r : term.match_fields)
    if (r.key != "metadata.name" || !requirement_holds(r, &node_name)) return false;
  return true;
}

bool node_matches(const api::NodeSelector& selector, std::string_view node_name, const api::StringMap& labels) {
  return std::any_of(selector.terms.begin(), selector.terms.end(),
                     [&](const api::NodeSelectorTerm& term) { return term_matches(term, node_name, labels); });
}

}  // namespace dra::inventory
