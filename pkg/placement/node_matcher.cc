#include "pkg/placement/node_matcher.h"

#include <algorithm>

#include "pkg/api/selectors.h"

namespace dra::placement {
namespace {

const std::optional<api::NodeSelector>& required_of(const api::Pod& pod) {
  static const std::optional<api::NodeSelector> kNone;
  return pod.node_affinity ? pod.node_affinity->required : kNone;
}

}  // namespace

TermMatcher::TermMatcher(const Cluster& cluster, const api::NodeSelectorTerm& term)
    : cluster_(&cluster),
      term_(&term),
      never_((term.match_expressions.empty() && term.match_fields.empty()) || !api::well_formed(term)) {
  if (never_) return;
  for (const api::NodeSelectorRequirement& r : term.match_expressions) {
    const LabelColumn& column = cluster.column(r.key);
    const bool negative = r.op == "NotIn" || r.op == "DoesNotExist";
    Expression expression{&column, std::vector<uint8_t>(column.values.size() + 1, negative || r.op == "Exists")};
    expression.truth[0] = negative;
    if (r.op == "In" || r.op == "NotIn") {
      for (const std::string& value : r.values)
        if (const int32_t number = column.find(value); number != LabelColumn::kNone)
          expression.truth[static_cast<size_t>(number) + 1] = r.op == "In";
    } else if (r.op == "DoesNotExist") {
      std::fill(expression.truth.begin() + 1, expression.truth.end(), 0);
    } else if (r.op == "Gt" || r.op == "Lt") {
      for (size_t i = 0; i < column.values.size(); ++i)
        expression.truth[i + 1] = api::matches(api::NodeSelectorTerm{{r}, {}}, "", {{r.key, column.values[i]}});
    }
    expressions_.push_back(std::move(expression));
  }
}

bool TermMatcher::matches(NodeIndex node) const {
  if (never_) return false;
  for (const Expression& expression : expressions_)
    if (!expression.truth[static_cast<size_t>(expression.column->value_of(node) + 1)]) return false;
  for (const api::NodeSelectorRequirement& field : term_->match_fields) {
    const std::string_view value = field.key == "metadata.name" ? cluster_->rest(node).name : std::string_view();
    if ((field.values[0] == value) != (field.op == "In")) return false;
  }
  return true;
}

NodeMatcher::NodeMatcher(const Cluster& cluster, const api::StringMap& node_selector,
                         const std::optional<api::NodeSelector>& required, bool many)
    : cluster_(cluster), node_selector_(node_selector), required_(required), many_(many) {
  if (!many) return;
  for (const auto& [key, value] : node_selector) {
    const LabelColumn& column = cluster.column(key);
    wanted_.emplace_back(&column, column.find(value));
  }
  if (required)
    for (const api::NodeSelectorTerm& term : required->terms) terms_.emplace_back(cluster, term);
}

NodeMatcher::NodeMatcher(const Cluster& cluster, const api::Pod& pod, bool many)
    : NodeMatcher(cluster, pod.node_selector, required_of(pod), many) {}

bool NodeMatcher::matches(NodeIndex node) const {
  if (!many_) {
    const api::ObjectMeta& metadata = cluster_.rest(node).node->metadata;
    return api::has_labels(node_selector_, metadata.labels) &&
           (!required_ || api::matches(*required_, metadata.name, metadata.labels));
  }
  for (const auto& [column, number] : wanted_)
    if (number == LabelColumn::kNone || column->value_of(node) != number) return false;
  return !required_ || std::any_of(terms_.begin(), terms_.end(), [&](const auto& term) { return term.matches(node); });
}

}  // namespace dra::placement
